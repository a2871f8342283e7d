#include "../deep_grow.hpp"

#include <memory>
#include <string>

#include "../deep_walk.hpp"
#include "arrays.hpp"
#include "grown_tree.hpp"

namespace committee {
namespace {

class PyDeepGrower {
 public:
  PyDeepGrower(Codes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, const std::string& criterion,
               int n_classes, int max_depth, std::int64_t min_samples_leaf, double min_weight_leaf, double min_gain,
               std::int64_t max_features, int n_threads)
      : codes_(codes) {
    require_codes(codes, n_bins);
    require(extent(codes, 0) >= 1, "codes needs at least one row");
    require(length(categorical) == extent(codes, 1), "categorical needs one flag per column");
    require(n_classes >= 1 && n_classes <= 65535, "n_classes must lie in [1, 65535]");
    require(max_depth >= 0 && max_features >= 0, "limits must not be negative");
    require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
    require(min_weight_leaf >= 0.0 && min_gain >= 0.0, "min_weight_leaf and min_gain must not be negative");
    const CriterionName name = criterion_named(criterion);
    require(name != CriterionName::abstaining && name != CriterionName::confidence,
            "deep trees are grown by criterion 'gini', 'entropy' or 'squared_error'");
    const GrowthLimits limits{max_depth, 0, min_samples_leaf, min_weight_leaf, min_gain, max_features};
    nb::gil_scoped_release release;
    if (is_wide(codes))
      grower_ = std::make_unique<DeepTableGrower<std::uint16_t>>(
          table_of<std::uint16_t>(codes, n_bins, categorical.data()), name, n_classes, limits, n_threads);
    else
      grower_ = std::make_unique<DeepTableGrower<std::uint8_t>>(
          table_of<std::uint8_t>(codes, n_bins, categorical.data()), name, n_classes, limits, n_threads);
  }

  GrownTree grow_classes(In1<std::uint16_t> labels, In1<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) const {
    const std::int64_t n = grower_->n_rows();
    require(length(labels) == n, "labels needs one number per row");
    require(length(weights) == n, "weights needs one number per row");
    return grown([&] {
      return grower_->grow_classes(labels.data(), weights.data(), data_or_null(rows), rows ? length(*rows) : n, seed);
    });
  }

  GrownTree grow_targets(In1<double> targets, In1<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) const {
    const std::int64_t n = grower_->n_rows();
    require(length(targets) == n && length(weights) == n, "targets and weights need one number per row");
    return grown([&] {
      return grower_->grow_targets(targets.data(), weights.data(), data_or_null(rows), rows ? length(*rows) : n, seed);
    });
  }

 private:
  template <class Run>
  static GrownTree grown(Run&& run) {
    FlatTree tree;
    {
      nb::gil_scoped_release release;
      tree = run();
    }
    return GrownTree(std::move(tree));
  }

  Codes codes_;  // keeps the table's memory
  std::unique_ptr<DeepGrower> grower_;
};

template <class Code>
Vector<std::int32_t> leaves_of(const BinnedTable<Code>& table, const TreeArrays& tree, const In1<std::int32_t>& rows) {
  nb::gil_scoped_release release;
  for (std::int64_t i = 0; i < length(rows); ++i)
    require(rows.data()[i] >= 0 && rows.data()[i] < table.n_rows, "rows holds a number outside the table");
  Vector<std::int32_t> leaves(length(rows));
  CodeWalk<Code>(table, tree).walk(rows.data(), length(rows), leaves.data());
  return leaves;
}

nb::object walk_codes(Codes codes, In1<std::int32_t> n_bins, const GrownTree& tree, In1<std::int32_t> rows) {
  require_codes(codes, n_bins);
  const auto feature = nb::cast<In1<std::int32_t>>(tree.feature);
  for (std::int64_t i = 0; i < length(feature); ++i)
    require(feature(i) < static_cast<std::int32_t>(extent(codes, 1)), "the tree was grown on more columns");
  const auto bin = nb::cast<In1<std::int32_t>>(tree.bin), left = nb::cast<In1<std::int32_t>>(tree.left);
  const auto missing_left = nb::cast<In1<std::uint8_t>>(tree.missing_left);
  const auto offset = nb::cast<In1<std::int64_t>>(tree.category_offset);
  const auto bits = nb::cast<In1<std::uint32_t>>(tree.category_bits);
  const TreeArrays arrays{length(feature),     feature.data(), bin.data(), left.data(),
                          missing_left.data(), offset.data(),  bits.data()};
  return array_of(is_wide(codes) ? leaves_of(table_of<std::uint16_t>(codes, n_bins, nullptr), arrays, rows)
                                 : leaves_of(table_of<std::uint8_t>(codes, n_bins, nullptr), arrays, rows));
}

}  // namespace

void register_deep_grow(nb::module_& m) {
  nb::class_<PyDeepGrower>(m, "DeepGrower")
      .def(nb::init<Codes, In1<std::int32_t>, In1<std::uint8_t>, const std::string&, int, int, std::int64_t, double,
                    double, std::int64_t, int>(),
           "codes"_a.noconvert(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), "criterion"_a, "n_classes"_a,
           nb::kw_only(), "max_depth"_a, "min_samples_leaf"_a, "min_weight_leaf"_a, "min_gain"_a, "max_features"_a,
           "n_threads"_a)
      .def("grow_classes", &PyDeepGrower::grow_classes, "labels"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a)
      .def("grow_targets", &PyDeepGrower::grow_targets, "targets"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a);
  m.def("walk_codes", &walk_codes, "codes"_a.noconvert(), "n_bins"_a.noconvert(), "tree"_a, "rows"_a.noconvert());
}

}  // namespace committee
