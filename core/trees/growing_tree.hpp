// A tree during growth: limits, row ranges of its nodes, the order in which nodes are split, and node records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "bins/counter_rng.hpp"
#include "threads/vector.hpp"
#include "trees/split.hpp"
#include "trees/tree.hpp"

namespace committee {

struct TreeLimits {
  int max_depth = 0;                // 0: unlimited
  std::int64_t max_leaf_nodes = 0;  // 0: unlimited
  std::int64_t min_samples_leaf = 1;
  std::int64_t max_features = 0;            // drawn for each node, a tie going to the first drawn; 0: all, in order
  std::int64_t max_features_tree = 0;       // drawn for a tree, and for its nodes out of these; 0: all
  Vector<std::uint32_t> feature_weights{};  // of the draws; empty: all features alike

  bool may_split(int depth, std::int64_t n_rows) const {
    return (max_depth == 0 || depth < max_depth) && n_rows >= std::max<std::int64_t>(2, 2 * min_samples_leaf);
  }
};

// A node's rows are begin..end of a list that growth keeps in order: those of its left child come first.
struct NodeRange {
  std::int64_t begin, end;
  int depth;
  std::int32_t id;
  std::uint64_t path = 0;  // the way from the root, scrambled: unlike the id the same for every order of growth

  std::int64_t size() const { return end - begin; }
  NodeRange left(std::int64_t middle, std::int32_t child) const {
    return {begin, middle, depth + 1, child, scramble(path + kStride)};
  }
  NodeRange right(std::int64_t middle, std::int32_t child) const {
    return {middle, end, depth + 1, child, scramble(path + 2 * kStride)};
  }
};

// The nodes that can be split. With a limit on the leaves the first by `After` is next; without one their order does
// not matter, and the last that came is next, depth-first, which keeps few histograms alive.
template <class Node, class After>
class OpenNodes {
 public:
  OpenNodes(std::int64_t max_leaf_nodes, After after) : max_leaf_nodes_(max_leaf_nodes), after_(after) {}

  void push(Node node) {
    nodes_.push_back(std::move(node));
    if (max_leaf_nodes_ > 0) std::push_heap(nodes_.begin(), nodes_.end(), after_);
  }

  bool full() const { return n_leaves_ == max_leaf_nodes_; }  // 0 is never reached
  // How many more nodes can be split; -1: any number.
  std::int64_t n_left() const { return max_leaf_nodes_ > 0 ? max_leaf_nodes_ - n_leaves_ : -1; }
  template <class Visit>
  void each(Visit&& visit) {
    for (Node& node : nodes_) visit(node);
  }

  // Splits node after node, which pushes its children; those that are left over stay leaves.
  template <class Split, class Leaf>
  void grow(Split&& split, Leaf&& leaf) {
    while (!nodes_.empty() && !full()) split(next());
    for (Node& node : nodes_) leaf(node);
  }

 private:
  // The next node, which becomes two leaves.
  Node next() {
    if (max_leaf_nodes_ > 0) std::pop_heap(nodes_.begin(), nodes_.end(), after_);
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    ++n_leaves_;
    return node;
  }

  std::int64_t max_leaf_nodes_, n_leaves_ = 1;
  After after_;
  Vector<Node> nodes_;
};

// A tree on packed weights while it grows: the record of its nodes, and from their sums whether they may be split.

struct GrowthLimits : TreeLimits {
  double min_weight_leaf = 0.0;  // share of the total weight
  double min_gain = 0.0;         // share of the total weight; below 0: split even if nothing is gained
};

class GrowingTree : public FlatTree {
 public:
  // `planes`: sums of each node; 0 if they are kept elsewhere.
  GrowingTree(const GrowthLimits& limits, const Units& units, int planes)
      : limits_(limits), rules_{units, {}}, planes_(planes) {}

  // The root, whose weight turns shares into limits; `packed`: its sums, as many as `held`.
  void add_root(std::int64_t n_rows, const std::uint64_t* packed, int held) {
    const std::int32_t root = add_node(planes_);
    record(root, n_rows, packed);
    Vector<double> w(held);
    rules_.units.read(packed, held, w.data());
    const double total = rules_.units.weight(w.data(), held);
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

  // `packed`: the node's sums, as many as `held`.
  bool may_split(const NodeRange& node, const std::uint64_t* packed, int held) const {
    return limits_.may_split(node.depth, node.size()) && !is_pure(packed, held);
  }

  // How splits are looked for, once there is a root.
  const SplitRules& rules() const { return rules_; }

 private:
  bool is_pure(const std::uint64_t* packed, int held) const {
    if (rules_.units.moment_unit > 0.0) return false;
    double total = 0.0, most = 0.0;
    for (int k = 0; k < held; ++k) {
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
