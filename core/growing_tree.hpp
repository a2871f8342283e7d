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
  double min_gain = 0.0;         // share of the total weight; below 0: split even if nothing is gained
};

class GrowingTree : public FlatTree {
 public:
  GrowingTree(const GrowthLimits& limits, const Units& units, int planes)
      : limits_(limits), rules_{units, {}}, planes_(planes) {}

  // The root, whose weight turns shares into limits.
  void add_root(std::int64_t n_rows, const std::uint64_t* packed) {
    const std::int32_t root = add_node(planes_);
    record(root, n_rows, packed);
    Vector<double> w(planes_);
    rules_.units.read(packed, planes_, w.data());
    const double total = rules_.units.weight(w.data(), planes_);
    const double noise = kNoise * (rules_.units.moment_unit > 0.0 ? rules_.units.spread : total);
    const double min_gain = limits_.min_gain < 0.0 ? -0.5 : std::max(limits_.min_gain * total, noise);
    rules_.limits = {limits_.min_samples_leaf, limits_.min_weight_leaf * total, min_gain, noise};
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
    rules_.units.read(packed, planes_, to);
    for (std::int64_t k = 0; k < rules_.units.centre.size(); ++k) to[1 + k] += rules_.units.centre[k] * to[0];
  }

  bool may_split(const NodeRange& node, const std::uint64_t* packed) const {
    return limits_.may_split(node.depth, node.size()) && !is_pure(packed);
  }

  // How splits are looked for, once there is a root.
  const SplitRules& rules() const { return rules_; }

 private:
  bool is_pure(const std::uint64_t* packed) const {
    if (rules_.units.moment_unit > 0.0) return false;
    double total = 0.0, most = 0.0;
    for (int k = 0; k < planes_; ++k) {
      const double w = rules_.units.fixed.weight(packed[k]);
      total += w;
      most = std::max(most, w);
    }
    return total <= 0.0 || most >= total;
  }

  const GrowthLimits& limits_;
  SplitRules rules_;
  const int planes_;
};

}  // namespace committee
