#include <string>

#include "bindings/tree_grower.hpp"
#include "trees/deep/grower.hpp"
#include "trees/deep/out_of_bag.hpp"

namespace committee {
namespace {

class PyDeepGrower : public PyTreeGrower {
 public:
  PyDeepGrower(AnyCodes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, const std::string& criterion,
               int n_classes, int max_depth, std::int64_t min_samples_leaf, double min_weight_leaf, double min_gain,
               std::int64_t max_features, std::int64_t max_features_tree,
               std::optional<In1<std::uint32_t>> feature_weights, int n_threads)
      : PyTreeGrower(codes, n_classes) {
    require_table(codes, n_bins, categorical);
    const GrowthLimits limits{{max_depth, 0, min_samples_leaf, max_features, max_features_tree,
                               feature_weights_of(feature_weights, length(n_bins))},
                              min_weight_leaf,
                              min_gain};
    require_limits(limits);
    const CriterionName name = criterion_named(criterion);
    require(limits.min_gain >= 0.0 || !is_of_targets(name),
            "min_gain must not be negative for a criterion of targets, which does not know pure nodes");
    require(name == CriterionName::gini || name == CriterionName::entropy || is_of_targets(name),
            "deep trees are grown by criterion 'gini', 'entropy', 'squared_error', 'poisson' or 'absolute_error'");
    make<DeepTableGrower>(n_bins, categorical, name, limits, n_threads);
  }

  GrownTree grow_classes(In1<std::uint16_t> labels, In1<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) {
    require(length(weights) == n_rows(), "weights needs one number per row");
    return grow_on_labels(labels, weights.data(), 1, rows, seed);
  }
};

template <class Table>
Vector<std::int32_t> leaves_of(const Table& table, const TreeArrays& tree, const In1<std::int32_t>& rows) {
  nb::gil_scoped_release release;
  for (std::int64_t i = 0; i < length(rows); ++i)
    require(rows.data()[i] >= 0 && rows.data()[i] < table.n_rows, "rows holds a number outside the table");
  Vector<std::int32_t> leaves(length(rows));
  CodeWalk<Table>(table, tree).walk(rows.data(), length(rows), leaves.data());
  return leaves;
}

nb::object walk_codes(AnyCodes codes, In1<std::int32_t> n_bins, const TreeNodes& tree, In1<std::int32_t> rows) {
  require_codes(codes, n_bins);
  for (std::int64_t i = 0; i < tree.n_nodes(); ++i) {
    const std::int64_t j = tree.feature[i], words = tree.category_offset[i + 1] - tree.category_offset[i];
    require(j < extent(codes, 1), "the tree was grown on more columns");
    require(j < 0 || words == 0 || 32 * words >= n_bins(j), "the tree was grown on fewer categories");
  }
  const TreeArrays arrays{tree.n_nodes(),           tree.feature.data(),      tree.bin.data(),
                          tree.left.data(),         tree.missing_left.data(), tree.category_offset.data(),
                          tree.category_bits.data()};
  return array_of(
      with_table(codes, n_bins, nullptr, [&](const auto& table) { return leaves_of(table, arrays, rows); }));
}

}  // namespace

void register_deep_grow(nb::module_& m) {
  nb::class_<PyDeepGrower>(m, "DeepGrower")
      .def(nb::init<AnyCodes, In1<std::int32_t>, In1<std::uint8_t>, const std::string&, int, int, std::int64_t, double,
                    double, std::int64_t, std::int64_t, std::optional<In1<std::uint32_t>>, int>(),
           "codes"_a.noconvert(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), "criterion"_a, "n_classes"_a,
           nb::kw_only(), "max_depth"_a, "min_samples_leaf"_a, "min_weight_leaf"_a, "min_gain"_a, "max_features"_a,
           "max_features_tree"_a = 0, "feature_weights"_a.noconvert() = nb::none(), "n_threads"_a,
           nb::keep_alive<1, 2>())
      .def("grow_classes", &PyDeepGrower::grow_classes, "labels"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a)
      .def("grow_targets", &PyDeepGrower::grow_targets, "targets"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a);
  m.def("walk_codes", &walk_codes, "codes"_a.noconvert(), "n_bins"_a.noconvert(), "tree"_a, "rows"_a.noconvert());
}

}  // namespace committee
