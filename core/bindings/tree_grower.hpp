// Growers as Python sees them: what they are made of is checked, and a tree is grown without the interpreter lock.
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/grown_tree.hpp"
#include "trees/grower.hpp"
#include "trees/growing_tree.hpp"

namespace committee {

inline void require_table(const AnyCodes& codes, const In1<std::int32_t>& n_bins,
                          const In1<std::uint8_t>& categorical) {
  require_codes(codes, n_bins);
  require(extent(codes, 0) >= 1, "codes needs at least one row");
  require(length(categorical) == extent(codes, 1), "categorical needs one flag per column");
}

inline void require_limits(const TreeLimits& limits) {
  require(
      limits.max_depth >= 0 && limits.max_leaf_nodes >= 0 && limits.max_features >= 0 && limits.max_features_tree >= 0,
      "limits must not be negative");
  require(limits.min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
}

inline void require_limits(const GrowthLimits& limits) {
  require_limits(static_cast<const TreeLimits&>(limits));
  require(limits.min_weight_leaf >= 0.0, "min_weight_leaf must not be negative");
  require(!std::isnan(limits.min_gain), "min_gain must be a number");
}

// The weights by which features are drawn; none: all alike.
inline Vector<std::uint32_t> feature_weights_of(const std::optional<In1<std::uint32_t>>& weights, std::int64_t p) {
  if (!weights) return {};
  require(length(*weights) == p, "feature_weights needs one number per column");
  return {weights->data(), weights->data() + p};
}

// A grower on labels or targets: TableGrower, or DeepTableGrower.
class PyTreeGrower {
 public:
  GrownTree grow_targets(In<double> targets, In1<double> weights, std::optional<In1<std::int32_t>> rows,
                         std::uint64_t seed) {
    require(targets.ndim() == 1 || targets.ndim() == 2, "targets must be (n,) or (n, n_targets)");
    const std::int64_t n_targets = targets.ndim() == 1 ? 1 : extent(targets, 1);
    require(n_targets >= 1 && n_targets <= 65534, "n_targets must lie in [1, 65534]");
    require(extent(targets, 0) == n_rows() && length(weights) == n_rows(),
            "targets and weights need one number, or line, per row");
    const Targets of_rows{targets.data(), n_targets};
    return grown([&] { return grower_->grow_targets(of_rows, weighted(rows, weights.data(), 1), seed); });
  }

 protected:
  PyTreeGrower(const AnyCodes& codes, int n_classes) : n_classes_(n_classes), codes_(codes) {
    require(n_classes >= 1 && n_classes <= 65535, "n_classes must lie in [1, 65535]");
  }

  template <template <class> class GrowerOf>
  void make(const In1<std::int32_t>& n_bins, const In1<std::uint8_t>& categorical, CriterionName criterion,
            const GrowthLimits& limits, int n_threads) {
    with_table(codes_, n_bins, categorical.data(), [&]<class Table>(Table table) {
      nb::gil_scoped_release release;
      grower_ = std::make_unique<GrowerOf<Table>>(std::move(table), criterion, n_classes_, limits, n_threads);
    });
  }

  GrownTree grow_on_labels(const In1<std::uint16_t>& labels, const double* weights, std::int64_t n_outputs,
                           const std::optional<In1<std::int32_t>>& rows, std::uint64_t seed) {
    require(length(labels) == n_rows(), "labels needs one number per row");
    return grown([&] { return grower_->grow_classes(labels.data(), weighted(rows, weights, n_outputs), seed); });
  }

  std::int64_t n_rows() const { return grower_->n_rows(); }

  const int n_classes_;

 private:
  WeightedRows weighted(const std::optional<In1<std::int32_t>>& rows, const double* weights,
                        std::int64_t n_outputs) const {
    return {data_or_null(rows), rows ? length(*rows) : n_rows(), weights, n_outputs};
  }

  template <class Run>
  static GrownTree grown(Run&& run) {
    FlatTree tree;
    {
      nb::gil_scoped_release release;
      tree = run();
    }
    return GrownTree(std::move(tree));
  }

  AnyCodes codes_;  // keeps the table's memory; that of a sparse one is kept beside this object
  std::unique_ptr<Grower> grower_;
};

}  // namespace committee
