// A tree on packed weights while it grows: the record of its nodes, and what their sums say about splitting them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "growing_nodes.hpp"
#include "split.hpp"
#include "tree.hpp"
#include "vector.hpp"

namespace committee {

struct GrowthLimits : TreeLimits {
  double min_weight_leaf = 0.0;  // share of the total weight
  double min_gain = 0.0;         // share of the total weight
};

class GrowingTree : public FlatTree {
 public:
  GrowingTree(const GrowthLimits& limits, const Units& units, int planes)
      : limits_(limits), units_(units), planes_(planes) {}

  // The root, whose weight turns shares into limits.
  void add_root(std::int64_t n_rows, const std::uint64_t* packed) {
    const std::int32_t root = add_node(planes_);
    record(root, n_rows, packed);
    Vector<double> w(planes_);
    units_.read(packed, planes_, w.data());
    const double total = units_.weight(w.data(), planes_);
    const double noise = kNoise * (units_.moment_unit > 0.0 ? units_.spread : total);
    split_limits_ = {limits_.min_samples_leaf, limits_.min_weight_leaf * total,
                     std::max(limits_.min_gain * total, noise)};
  }

  // The two children of a node that is split; returns the left one's number, the right one's is the next.
  std::int32_t add_children(std::int32_t parent, const NodeSplit& split) {
    const std::int32_t left_child = add_node(planes_);
    add_node(planes_);
    set_split(parent, split, left_child);
    return left_child;
  }

  void record(std::int32_t node, std::int64_t n_rows, const std::uint64_t* packed) {
    count[node] = n_rows;
    double* const to = sums.data() + std::int64_t{node} * planes_;
    units_.read(packed, planes_, to);
    if (units_.moment_unit > 0.0) to[1] += units_.centre * to[0];
  }

  bool may_split(const NodeRange& node, const std::uint64_t* packed) const {
    return limits_.may_split(node.depth, node.size()) && !is_pure(packed);
  }

  const SplitLimits& split_limits() const { return split_limits_; }

 private:
  bool is_pure(const std::uint64_t* packed) const {
    if (units_.moment_unit > 0.0) return false;
    double total = 0.0, most = 0.0;
    for (int k = 0; k < planes_; ++k) {
      const double w = units_.fixed.weight(packed[k]);
      total += w;
      most = std::max(most, w);
    }
    return total <= 0.0 || most >= total;
  }

  const GrowthLimits& limits_;
  const Units units_;
  const int planes_;
  SplitLimits split_limits_;
};

}  // namespace committee
