// trees/gradient/: growth of gradient-boosted trees from histograms alone.
//   grow             leaf-wise or depth-wise growth; growth: its settings and its result; grower: reused buffers
//   children         both children of a split node: rows, histograms, best splits
//   node_scan        the best split of a node; threshold_scan: eight thresholds at a time
//   first_splits     the best split of all rows on each column, for screening
//   rows             rows in node order, their packed statistics, leaf sums
//   local_rows       nodes whose rows are in this process; sharded_rows: nodes whose rows are on other workers
//   shard            one part of a distributed table; sharded_grower: the grower over such parts
//
// Growth of one gradient tree: the next node is the one that gains most (leaf-wise) or the shallowest (depth-wise); its
// children were found before it is split, or are then (children.hpp).
//
// Nodes has the rows: local_rows.hpp parts and counts those of this machine, sharded_rows.hpp requests histograms of
// several nodes at a time. Growth reads histograms alone, so that the tree is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/gradient/children.hpp"
#include "trees/gradient/growth.hpp"
#include "trees/growing_tree.hpp"

namespace committee {

template <class Nodes>
class GradientGrowing {
  using Node = GradientNode;
  using Owned = std::unique_ptr<Node>;

 public:
  // `found_by`: finds children with all threads of the team; `alone`: others that do on one thread each, at a time.
  GradientGrowing(GradientChildren<Nodes>& found_by, Vector<GradientChildren<Nodes>*> alone,
                  const GradientGrowth& growth, ThreadTeam& team)
      : found_by_(found_by), alone_(std::move(alone)), growth_(growth), team_(team) {}

  GradientTree grow(std::int64_t n_in_use) {
    if (growth_.max_leaf_nodes > 0 && growth_.max_leaf_nodes <= kLeavesForeseen) {
      tree_.reserve(2 * growth_.max_leaf_nodes - 1);
      tree_.bounds.reserve(2 * growth_.max_leaf_nodes - 1);
      leaves_.reserve(growth_.max_leaf_nodes);
    }
    auto root = std::make_unique<Node>(Node{{{0, n_in_use, 0, add_node(growth_.bounds())}}, growth_.bounds()});
    tree_.count[0] = n_in_use;
    found_by_.start(*root);
    consider(std::move(root));
    open_.grow([&](Owned node) { expand(*node); }, [&](Owned& node) { leaf(*node); });
    return std::move(tree_);
  }

  const Vector<NodeRows>& leaves() const { return leaves_; }

  // Rows that growth has not seen, of a bin without rows in the node, go where most weight went.
  void settle_unseen(GradientTree& tree, const Vector<double>& weight_of_node) const {
    for (const auto& [id, split] : unseen_left_)
      if (const std::int32_t left = tree.left[id]; is_larger(weight_of_node[left], weight_of_node[left + 1]))
        tree.set_split(id, split, left);
  }

 private:
  static constexpr std::int64_t kLeavesForeseen = 64;  // whose memory a smaller tree may waste

  std::int32_t add_node(const Bounds& bounds) {
    tree_.bounds.push_back(bounds);
    return tree_.add_node(0);
  }

  void leaf(Node& node) {
    found_by_.give_back(node);
    leaves_.push_back(node);
  }

  void consider(Owned node) {
    if (node->split.feature < 0) return leaf(*node);
    open_.push(std::move(node));
  }

  struct Later {
    bool leaf_wise;
    bool operator()(const Node& a, const Node& b) const {
      if (leaf_wise && a.split.gain != b.split.gain) return a.split.gain < b.split.gain;
      if (!leaf_wise && a.depth != b.depth) return a.depth > b.depth;
      return a.id > b.id;
    }
    bool operator()(const Owned& a, const Owned& b) const { return (*this)(*a, *b); }
  };

  void expand(Node& node) {
    if (node.left_child == nullptr) find_children(node);
    Node &left = *node.left_child, &right = *node.right_child;
    left.id = add_node(left.bounds);
    right.id = add_node(right.bounds);
    tree_.set_split(node.id, node.split, left.id);
    tree_.count[left.id] = left.size();
    tree_.count[right.id] = right.size();
    if (node.unseen_left) unseen_left_.emplace_back(node.id, std::move(*node.unseen_left));
    consider(std::move(node.right_child));  // depth-first takes the last one: the left child
    consider(std::move(node.left_child));
  }

  void find_children(Node& node) {
    if constexpr (Nodes::kAsked) {
      if (node.left_place < 0) ask(node);
    } else if (!alone_.empty()) {
      if (const Vector<Node*> nodes = together(node); nodes.size() > 1) {
        std::int64_t work = 0;
        for (const Node* one : nodes) work += found_by_.work(*one);
        team_.each(nodes.size(), work, [&](std::int64_t i) { alone_[i]->find(*nodes[i], false); });
        return;
      }
    }
    found_by_.find(node, open_.full());
  }

  // The node, and as many of those that will be split soon as save the most when a thread finds the children of each,
  // beside all threads that find them one node after the other, as threads take time to meet. The largest comes first.
  Vector<Node*> together(Node& node) {
    Vector<Node*> nodes{&node};
    for (Node* other : next_ones([](const Node& one) { return one.left_child == nullptr; })) {
      if (nodes.size() == alone_.size()) break;
      nodes.push_back(other);
    }
    const std::int64_t threads = team_.size();
    std::int64_t total = 0, one_by_one = 0, most_saved = 0, n_together = 1;
    Vector<std::int64_t> works;
    for (const Node* one : nodes) {
      const std::int64_t work = found_by_.work(*one);
      works.push_back(work);
      total += work;
      one_by_one += std::min(work, work / threads + kMeetings * work_per_wake() / 2);
      const std::int64_t saved = one_by_one - busiest(works, threads) - work_per_wake() / 2;
      if (saved <= most_saved || team_.wanted(total) == 1) continue;
      most_saved = saved;
      n_together = works.size();
    }
    nodes.resize(n_together);
    std::sort(nodes.begin(), nodes.end(), [&](Node* a, Node* b) { return found_by_.work(*a) > found_by_.work(*b); });
    return nodes;
  }

  // What the thread with the most to do has when each takes the largest part that is left as soon as it is free.
  static std::int64_t busiest(Vector<std::int64_t> parts, std::int64_t threads) {
    std::sort(parts.begin(), parts.end(), std::greater<>());
    Vector<std::int64_t> loads(std::min(threads, parts.size()), 0);
    for (const std::int64_t part : parts) *std::min_element(loads.begin(), loads.end()) += part;
    return *std::max_element(loads.begin(), loads.end());
  }
  static constexpr std::int64_t kMeetings = 4;  // of the threads that find the children of one node

  // Open nodes that are split after the one that is next, the first of them first: for certain (level by level, and
  // without a limit on the leaves) or probably.
  template <class Wanted>
  Vector<Node*> next_ones(Wanted&& wanted) {
    Vector<Node*> others;
    const std::int64_t left_over = open_.n_left();
    if (left_over == 0) return others;
    open_.each([&](const Owned& other) {
      if (wanted(*other)) others.push_back(other.get());
    });
    std::sort(others.begin(), others.end(), [&](Node* a, Node* b) { return Later{growth_.leaf_wise}(*b, *a); });
    if (left_over > 0 && others.size() > left_over) others.resize(left_over);
    return others;
  }

  // Asks for the parting of a node, and for the histogram of its smaller child; of other open nodes too, that are
  // expanded for certain or may well be and have few rows.
  void ask(Node& node) {
    Vector<Node*> asked{&node};
    const std::int64_t left_over = open_.n_left();
    const bool certain = !growth_.leaf_wise || left_over < 0;
    std::int64_t room = std::max(Nodes::kFewRows, node.smaller_size());
    for (Node* other : next_ones(
             [&](const Node& one) { return one.left_place < 0 && (growth_.leaf_wise || one.depth == node.depth); })) {
      room -= other->smaller_size();
      if (!certain && room < 0) break;
      asked.push_back(other);
    }
    Vector<typename Nodes::Order> orders;
    for (std::int64_t i = 0; i < asked.size(); ++i) {
      const Node& one = *asked[i];
      const bool last = left_over >= 0 && (!growth_.leaf_wise || i == 0) && i == left_over;
      const bool counted = !last && (found_by_.may_split(one.left(one.middle(), -1)) ||
                                     found_by_.may_split(one.right(one.middle(), -1)));
      orders.push_back({one.place, one.split, counted, one.left_is_smaller(), one.smaller_size()});
    }
    found_by_.nodes().ask(orders, [&](std::int64_t i, std::int32_t left_place, GradientHistogram histogram) {
      asked[i]->left_place = left_place;
      asked[i]->of_smaller = std::move(histogram);
    });
  }

  GradientChildren<Nodes>& found_by_;
  const Vector<GradientChildren<Nodes>*> alone_;
  const GradientGrowth& growth_;
  ThreadTeam& team_;
  GradientTree tree_;
  OpenNodes<Owned, Later> open_{growth_.max_leaf_nodes, Later{growth_.leaf_wise}};
  Vector<NodeRows> leaves_;
  Vector<std::pair<std::int32_t, NodeSplit>> unseen_left_;  // by node: its split with all that is unseen on the left
};

}  // namespace committee
