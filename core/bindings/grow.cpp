#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/tree_grower.hpp"
#include "trees/table_grower.hpp"

namespace committee {
namespace {

class PyGrower : public PyTreeGrower {
 public:
  PyGrower(AnyCodes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, const std::string& criterion,
           int n_classes, int max_depth, std::int64_t max_leaf_nodes, std::int64_t min_samples_leaf,
           double min_weight_leaf, double min_gain, std::int64_t max_features, std::int64_t max_features_tree,
           std::optional<In1<std::uint32_t>> feature_weights, int n_threads)
      : PyTreeGrower(codes, n_classes) {
    require_table(codes, n_bins, categorical);
    const GrowthLimits limits{{max_depth, max_leaf_nodes, min_samples_leaf, max_features, max_features_tree,
                               feature_weights_of(feature_weights, length(n_bins))},
                              min_weight_leaf,
                              min_gain};
    require_limits(limits);
    const CriterionName name = criterion_named(criterion);
    require(limits.min_gain >= 0.0 || !is_of_targets(name),
            "min_gain must not be negative for a criterion of targets, which does not know pure nodes");
    require(name != CriterionName::absolute_error, "only deep trees are grown by criterion 'absolute_error'");
    require(name != CriterionName::abstaining || max_depth == 1,
            "criterion 'abstaining' grows stumps: max_depth must be 1");
    make<TableGrower>(n_bins, categorical, name, limits, n_threads);
  }

  GrownTree grow_classes(In1<std::uint16_t> labels, In<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) {
    require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
    require(extent(weights, 0) == n_rows(), "weights needs one number per row");
    require(weights.ndim() == 1 || extent(weights, 1) == n_classes_, "weights must be (n,) or (n, n_classes)");
    const std::int64_t n_outputs = weights.ndim() == 1 ? 1 : extent(weights, 1);
    return grow_on_labels(labels, weights.data(), n_outputs, rows, seed);
  }
};

template <class T>
void append(Vector<T>& all, const Vector<T>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

// The nodes of trees one after the other, in one array for each property; and how many each tree has.
nb::tuple joined_nodes(const std::vector<nb::object>& trees) {
  Vector<std::int64_t> n_nodes;
  FlatTree all;
  Vector<std::int64_t> category_offset{0};
  Vector<std::uint32_t> category_bits;
  for (const nb::object& object : trees) {
    const TreeNodes* tree = nullptr;
    if (!nb::try_cast(object, tree) || tree == nullptr) throw nb::type_error("joined_nodes takes grown trees");
    n_nodes.push_back(tree->n_nodes());
    append(all.feature, tree->feature);
    append(all.bin, tree->bin);
    append(all.left, tree->left);
    append(all.missing_left, tree->missing_left);
    append(all.gain, tree->gain);
    append(all.count, tree->count);
    const std::int64_t words_before = category_bits.size();
    append(category_bits, tree->category_bits);
    for (std::int64_t i = 0; i < tree->n_nodes(); ++i)
      category_offset.push_back(words_before + tree->category_offset[i + 1]);
  }
  return nb::make_tuple(array_of(std::move(n_nodes)), array_of(std::move(all.feature)), array_of(std::move(all.bin)),
                        array_of(std::move(all.left)), array_of(std::move(all.missing_left)),
                        array_of(std::move(category_offset)), array_of(std::move(category_bits)),
                        array_of(std::move(all.gain)), array_of(std::move(all.count)));
}

}  // namespace

void register_grow(nb::module_& m) {
  nb::class_<TreeNodes>(m, "TreeNodes")
      .def(nb::init<nb::tuple>(), "nodes"_a)
      .def("nodes", &TreeNodes::arrays)
      .def_prop_ro("feature", &TreeNodes::array<&TreeNodes::feature>)
      .def_prop_ro("bin", &TreeNodes::array<&TreeNodes::bin>)
      .def_prop_ro("left", &TreeNodes::array<&TreeNodes::left>)
      .def_prop_ro("missing_left", &TreeNodes::array<&TreeNodes::missing_left>)
      .def_prop_ro("category_offset", &TreeNodes::array<&TreeNodes::category_offset>)
      .def_prop_ro("category_bits", &TreeNodes::array<&TreeNodes::category_bits>)
      .def_prop_ro("gain", &TreeNodes::array<&TreeNodes::gain>)
      .def_prop_ro("count", &TreeNodes::array<&TreeNodes::count>)
      .def_prop_ro("sums", &TreeNodes::sums_array)
      .def_ro("n_classes", &TreeNodes::n_classes)
      .def("leaf_sums", &TreeNodes::leaf_sums);
  nb::class_<GrownTree, TreeNodes>(m, "GrownTree")
      .def(nb::init<nb::tuple, nb::object>(), "nodes"_a, "leaf_of_row"_a.none())
      .def_ro("leaf_of_row", &GrownTree::leaf_of_row)
      .def("forget_rows", [](GrownTree& tree) { tree.leaf_of_row = nb::none(); });
  m.def("joined_nodes", &joined_nodes, "trees"_a);
  nb::class_<PyGrower>(m, "Grower")
      .def(nb::init<AnyCodes, In1<std::int32_t>, In1<std::uint8_t>, const std::string&, int, int, std::int64_t,
                    std::int64_t, double, double, std::int64_t, std::int64_t, std::optional<In1<std::uint32_t>>, int>(),
           "codes"_a.noconvert(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), "criterion"_a, "n_classes"_a,
           nb::kw_only(), "max_depth"_a, "max_leaf_nodes"_a, "min_samples_leaf"_a, "min_weight_leaf"_a, "min_gain"_a,
           "max_features"_a, "max_features_tree"_a = 0, "feature_weights"_a.noconvert() = nb::none(), "n_threads"_a,
           nb::keep_alive<1, 2>())
      .def("grow_classes", &PyGrower::grow_classes, "labels"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a)
      .def("grow_targets", &PyGrower::grow_targets, "targets"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a);
}

}  // namespace committee
