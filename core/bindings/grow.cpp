#include <memory>
#include <mutex>
#include <string>

#include "../grower.hpp"
#include "arrays.hpp"
#include "grown_tree.hpp"

namespace committee {
namespace {

class PyGrower {
 public:
  PyGrower(Codes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, const std::string& criterion,
           int n_classes, int max_depth, std::int64_t max_leaf_nodes, std::int64_t min_samples_leaf,
           double min_weight_leaf, double min_gain, std::int64_t max_features, int n_threads)
      : codes_(codes), n_classes_(n_classes) {
    require_codes(codes, n_bins);
    require(extent(codes, 0) >= 1, "codes needs at least one row");
    require(length(categorical) == extent(codes, 1), "categorical needs one flag per column");
    require(n_classes >= 1 && n_classes <= 65535, "n_classes must lie in [1, 65535]");
    require(max_depth >= 0 && max_leaf_nodes >= 0 && max_features >= 0, "limits must not be negative");
    require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
    require(min_weight_leaf >= 0.0 && min_gain >= 0.0, "min_weight_leaf and min_gain must not be negative");
    const CriterionName name = criterion_named(criterion);
    require(name != CriterionName::abstaining || max_depth == 1,
            "criterion 'abstaining' grows stumps: max_depth must be 1");
    const GrowthLimits limits{max_depth, max_leaf_nodes, min_samples_leaf, min_weight_leaf, min_gain, max_features};
    if (is_wide(codes))
      grower_ = std::make_unique<TableGrower<std::uint16_t>>(table_of<std::uint16_t>(codes, n_bins, categorical.data()),
                                                             name, n_classes, limits, n_threads);
    else
      grower_ = std::make_unique<TableGrower<std::uint8_t>>(table_of<std::uint8_t>(codes, n_bins, categorical.data()),
                                                            name, n_classes, limits, n_threads);
  }

  GrownTree grow_classes(In1<std::uint16_t> labels, In<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) {
    const std::int64_t n = grower_->n_rows();
    require(length(labels) == n, "labels needs one number per row");
    require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
    require(extent(weights, 0) == n, "weights needs one number per row");
    require(weights.ndim() == 1 || extent(weights, 1) == n_classes_, "weights must be (n,) or (n, n_classes)");
    const std::int64_t n_outputs = weights.ndim() == 1 ? 1 : extent(weights, 1);
    return grown([&] {
      return grower_->grow_classes(labels.data(), weights.data(), n_outputs, data_or_null(rows),
                                   rows ? length(*rows) : n, seed);
    });
  }

  GrownTree grow_targets(In1<double> targets, In1<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) {
    const std::int64_t n = grower_->n_rows();
    require(length(targets) == n && length(weights) == n, "targets and weights need one number per row");
    return grown([&] {
      return grower_->grow_targets(targets.data(), weights.data(), data_or_null(rows), rows ? length(*rows) : n, seed);
    });
  }

 private:
  template <class Run>
  GrownTree grown(Run&& run) {
    FlatTree tree;
    {
      nb::gil_scoped_release release;
      const std::scoped_lock one_at_a_time(growing_);  // the buffers are shared
      tree = run();
    }
    return GrownTree(std::move(tree));
  }

  Codes codes_;  // keeps the table's memory
  int n_classes_;
  std::mutex growing_;
  std::unique_ptr<Grower> grower_;
};

}  // namespace

void register_grow(nb::module_& m) {
  nb::class_<GrownTree>(m, "GrownTree")
      .def_ro("feature", &GrownTree::feature)
      .def_ro("bin", &GrownTree::bin)
      .def_ro("left", &GrownTree::left)
      .def_ro("missing_left", &GrownTree::missing_left)
      .def_ro("category_offset", &GrownTree::category_offset)
      .def_ro("category_bits", &GrownTree::category_bits)
      .def_ro("gain", &GrownTree::gain)
      .def_ro("count", &GrownTree::count)
      .def_ro("sums", &GrownTree::sums)
      .def_ro("leaf_of_row", &GrownTree::leaf_of_row)
      .def("forget_rows", [](GrownTree& tree) { tree.leaf_of_row = nb::none(); });
  nb::class_<PyGrower>(m, "Grower")
      .def(nb::init<Codes, In1<std::int32_t>, In1<std::uint8_t>, const std::string&, int, int, std::int64_t,
                    std::int64_t, double, double, std::int64_t, int>(),
           "codes"_a.noconvert(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), "criterion"_a, "n_classes"_a,
           nb::kw_only(), "max_depth"_a, "max_leaf_nodes"_a, "min_samples_leaf"_a, "min_weight_leaf"_a, "min_gain"_a,
           "max_features"_a, "n_threads"_a)
      .def("grow_classes", &PyGrower::grow_classes, "labels"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a)
      .def("grow_targets", &PyGrower::grow_targets, "targets"_a.noconvert(), "weights"_a.noconvert(),
           "rows"_a.noconvert().none(), "seed"_a);
}

}  // namespace committee
