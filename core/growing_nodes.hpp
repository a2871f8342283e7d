// The nodes of a tree while it grows, whatever it is grown on: what limits them, their rows, and which is next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "scramble.hpp"
#include "vector.hpp"

namespace committee {

struct TreeLimits {
  int max_depth = 0;                // 0: unlimited
  std::int64_t max_leaf_nodes = 0;  // 0: unlimited
  std::int64_t min_samples_leaf = 1;
  std::int64_t max_features = 0;       // drawn for each node, a tie going to the first drawn; 0: all, in order
  std::int64_t max_features_tree = 0;  // drawn for a tree, and for its nodes out of these; 0: all

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

}  // namespace committee
