// Growth of one gradient tree: the histogram of the smaller child is counted, the larger one's is what it leaves of
// the parent's; the next node is the one that gains most (leaf-wise) or the shallowest (depth-wise).
//
// Who has the rows is for Nodes to say: nodes_here.hpp parts and counts those of this machine, nodes_elsewhere.hpp asks
// for histograms of several nodes at a time. Growth reads histograms alone, so that the tree is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "feature_draw.hpp"
#include "gradient_node_scan.hpp"
#include "growing_nodes.hpp"
#include "interactions.hpp"
#include "split.hpp"
#include "tree.hpp"
#include "vector.hpp"

namespace committee {

// The sign by feature that weights must follow; empty where all are free.
using Directions = Vector<std::int8_t>;

struct GradientGrowth : TreeLimits {
  double min_hessian_leaf = 0.0, min_gain = 0.0;
  LeafPenalty penalty{};
  bool leaf_wise = true;
  Vector<Directions> monotone{};  // of each score, or one of all; empty: free
  Interactions interactions{};
  bool draw_thresholds = false;  // one for each feature of a node

  Directions directions(std::int64_t score) const {
    return monotone.empty() ? Directions{} : monotone[monotone.size() > 1 ? score : 0];
  }

  // The same of q columns, which rise.
  GradientGrowth of_columns(const std::int32_t* features, std::int64_t q) const {
    GradientGrowth some = *this;
    for (Directions& signs : some.monotone) {
      if (signs.empty()) continue;
      for (std::int64_t i = 0; i < q; ++i) signs[i] = signs[features[i]];
      signs.resize(q);
    }
    some.interactions = interactions.among(features, q);
    return some;
  }
};

// A grown tree: structure, and the limits of every node's weight.
struct GradientTree : FlatTree {
  Vector<Bounds> bounds;
  Vector<double> value;   // nodes x outputs
  Vector<double> weight;  // of the rows of each node; empty where rows have no weights
};

// The weights of all nodes, from their sums.
inline void weigh(GradientTree& tree, const GradientGrowth& growth, std::int64_t score, std::int64_t n_outputs) {
  const bool bounded = !growth.directions(score).empty();
  for (std::int64_t i = 0; i < tree.feature.size(); ++i)
    for (std::int64_t d = 0; d < n_outputs; ++d) {
      const double G = tree.sums[i * 2 * n_outputs + d], H = tree.sums[i * 2 * n_outputs + n_outputs + d];
      tree.value.push_back(bounded ? growth.penalty.weight_within(G, H, tree.bounds[i].lower, tree.bounds[i].upper)
                                   : growth.penalty.weight(G, H));
    }
}

// A node as those who have its rows know it.
struct NodeRows : NodeRange {  // of the list that growth keeps in order
  std::int32_t place = 0;      // its number among the nodes that were asked for, and that of its left child
  std::int32_t left_place = -1;
};

template <class Nodes>
class GradientGrowing {
  using Table = typename Nodes::Table;

 public:
  // `weighted`: rows have weights, and what a node has not seen follows the side that weighs more (settle_unseen).
  GradientGrowing(Nodes& nodes, const GradientGrowth& growth, bool weighted, std::int64_t score, std::uint64_t seed)
      : nodes_(nodes),
        histograms_(nodes.histograms()),
        table_(histograms_.table()),
        growth_(growth),
        directions_(growth.directions(score)),
        limits_(GradientLimits::of(growth.penalty, growth.min_hessian_leaf, growth.min_gain, growth.min_samples_leaf,
                                   histograms_.layout())),
        n_outputs_(histograms_.n_outputs()),
        weighted_(weighted),
        seed_(seed),
        draw_(table_.n_features, growth.max_features, seed),
        allowed_(growth.interactions.limited() ? table_.n_features : 0) {}

  GradientTree grow(std::int64_t n_in_use) {
    Node root{{{0, n_in_use, 0, add_node({})}}};
    tree_.count[0] = n_in_use;
    if (may_split(root)) {
      root.histogram = nodes_.root();
      root.sums = sums_of(root.histogram);
      find_splits({&root});
    }
    consider(std::move(root));
    open_.grow([&](Node&& node) { expand(std::move(node)); }, [&](Node& node) { leaf(node); });
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
  struct Node : NodeRows {
    Bounds bounds{};
    GradientSums sums{}, left_sums{};
    GradientHistogram histogram{}, of_smaller{};  // of the smaller child, where it came before it was asked for
    NodeSplit split{};
    ColumnSet used{};  // on the way to it, where interactions are limited

    std::int64_t middle() const { return begin + left_sums.count; }
    bool left_is_smaller() const { return 2 * left_sums.count <= size(); }
  };

  std::int32_t add_node(const Bounds& bounds) {
    tree_.bounds.push_back(bounds);
    return tree_.add_node(0);
  }

  // The sums over one feature's cells are the node's.
  GradientSums sums_of(const GradientHistogram& histogram) const {
    const GradientSums none(n_outputs_);
    const GradientScan scan(histograms_.layout(), limits_, histogram, none, table_.n_cells(), {}, false);
    NodeSplit all;
    all.bin = static_cast<std::int32_t>(table_.missing_bin(0) - 1);
    all.missing_left = true;
    return scan.settle(all, 0, table_.missing_bin(0));
  }

  bool may_split(const NodeRange& node) const { return growth_.may_split(node.depth, node.size()); }

  void leaf(Node& node) {
    if (!node.histogram.sums.empty()) histograms_.give_back(std::move(node.histogram));
    leaves_.push_back(node);
  }

  void consider(Node node) {
    if (node.split.feature < 0) return leaf(node);
    open_.push(std::move(node));
  }

  struct Later {
    bool leaf_wise;
    bool operator()(const Node& a, const Node& b) const {
      if (leaf_wise && a.split.gain != b.split.gain) return a.split.gain < b.split.gain;
      if (!leaf_wise && a.depth != b.depth) return a.depth > b.depth;
      return a.id > b.id;
    }
  };

  // The best split of each node: all their features are scanned together.
  void find_splits(const Vector<Node*>& nodes) {
    Vector<GradientScan> scans;
    scans.reserve(nodes.size());
    tasks_.clear();
    for (Node* node : nodes) {
      for (const std::int32_t j : features_of(*node))
        if (may_part(*node, j)) tasks_.emplace_back(scans.size(), j);
      scans.emplace_back(histograms_.layout(), limits_, node->histogram, node->sums, table_.n_cells(), node->bounds,
                         !directions_.empty());
    }
    found_.resize(tasks_.size());
    const std::int64_t work = nodes.size() * 4 * n_outputs_ * table_.n_cells();
    histograms_.team().blocks_of(Table::kTogether, tasks_.size(), work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const auto [scan, j] = tasks_[t];
        SplitMix random(scramble(scramble(seed_) + word_of(j)), nodes[scan]->path);
        found_[t] =
            scans[scan].best(table_.cell[j], table_.missing_bin(j), j, table_.categorical[j] != 0,
                             directions_.empty() ? 0 : directions_[j], growth_.draw_thresholds ? &random : nullptr);
      }
    });
    for (std::int64_t t = 0; t < tasks_.size(); ++t) {
      NodeSplit& best = nodes[tasks_[t].first]->split;
      if (found_[t].feature >= 0 && found_[t].gain > best.gain) best = std::move(found_[t]);
    }
    for (std::int64_t s = 0; s < nodes.size(); ++s)
      if (const std::int32_t j = nodes[s]->split.feature; j >= 0)
        nodes[s]->left_sums = scans[s].settle(nodes[s]->split, table_.cell[j], table_.missing_bin(j));
  }

  // A side without the zeros of a sparse column needs rows enough.
  bool may_part(const Node& node, std::int32_t j) const {
    const std::int64_t zeros = zero_cell(table_, j);
    return zeros < 0 || node.size() - histograms_.rows_in(node.histogram, zeros) >= growth_.min_samples_leaf;
  }

  const Vector<std::int32_t>& features_of(const Node& node) {
    features_.clear();
    const bool limited = growth_.interactions.limited();
    const std::int64_t n_allowed = limited ? growth_.interactions.allow(node.used, allowed_) : table_.n_features;
    draw_.visit(node.path, draw_.share_of(n_allowed), [&](std::int32_t j) {
      if (limited && allowed_[j] == 0) return false;
      features_.push_back(j);
      return true;
    });
    return features_;
  }

  void expand(Node node) {
    if constexpr (Nodes::kAsked)
      if (node.left_place < 0) ask(node);
    nodes_.part(node, node.split, node.middle());
    send_unseen(node);
    Node left{{node.left(node.middle(), -1), node.left_place}, node.bounds};
    Node right{{node.right(node.middle(), -1), node.left_place + 1}, node.bounds};
    left.sums = std::move(node.left_sums);
    right.sums = std::move(node.sums);
    right.sums -= left.sums;
    bound(node, left, right);
    if (growth_.interactions.limited()) left.used = right.used = with_column(std::move(node.used), node.split.feature);
    left.id = add_node(left.bounds);
    right.id = add_node(right.bounds);
    tree_.set_split(node.id, node.split, left.id);
    tree_.count[left.id] = left.size();
    tree_.count[right.id] = right.size();
    const bool last = open_.full();
    const bool left_may = !last && may_split(left), right_may = !last && may_split(right);
    share_histogram(node, left, right, left_may, right_may);
    Vector<Node*> splitting;
    if (left_may) splitting.push_back(&left);
    if (right_may) splitting.push_back(&right);
    if (!splitting.empty()) find_splits(splitting);
    consider(std::move(right));  // depth-first takes the last one: the left child
    consider(std::move(left));
  }

  // A split on a monotone feature keeps all that is below it on its side of the two weights' middle.
  void bound(const Node& node, Node& left, Node& right) const {
    const int direction = directions_.empty() ? 0 : directions_[node.split.feature];
    if (direction == 0) return;
    const double middle = 0.5 * (weight(left) + weight(right));
    (direction > 0 ? left.bounds.upper : left.bounds.lower) = middle;
    (direction > 0 ? right.bounds.lower : right.bounds.upper) = middle;
  }
  double weight(const Node& node) const {
    const double u = limits_.weight_unit;
    const GradientSums& sums = node.sums;
    return u * limits_.penalty.weight_within(sums.gradient(0), sums.hessian(0), node.bounds.lower / u,
                                             node.bounds.upper / u);
  }

  void share_histogram(Node& parent, Node& left, Node& right, bool left_may, bool right_may) {
    if (!left_may && !right_may) return histograms_.give_back(std::move(parent.histogram));
    const bool left_is_smaller = left.size() <= right.size();
    Node& smaller = left_is_smaller ? left : right;
    Node& larger = left_is_smaller ? right : left;
    const bool smaller_may = left_is_smaller ? left_may : right_may,
               larger_may = left_is_smaller ? right_may : left_may;
    if constexpr (Nodes::kAsked) {
      smaller.histogram = std::move(parent.of_smaller);
    } else {
      if (!smaller_may && parent.histogram.narrow) {
        larger.histogram = nodes_.without(std::move(parent.histogram), smaller);
        return;
      }
      smaller.histogram = nodes_.build(smaller);
    }
    if (larger_may)
      larger.histogram = histograms_.rest(std::move(parent.histogram), smaller.histogram, larger.size());
    else
      histograms_.give_back(std::move(parent.histogram));
  }

  // Asks for the parting of a node, and for the histogram of its smaller child; of other open nodes too, that are
  // expanded for certain (level by level, and without a limit on the leaves) or may well be and have few rows.
  void ask(Node& node) {
    Vector<Node*> asked{&node};
    const std::int64_t left_over = open_.n_left();
    if (left_over != 0) {
      Vector<Node*> others;
      open_.each([&](Node& other) {
        if (other.left_place < 0 && (growth_.leaf_wise || other.depth == node.depth)) others.push_back(&other);
      });
      std::sort(others.begin(), others.end(), [&](Node* a, Node* b) { return Later{growth_.leaf_wise}(*b, *a); });
      const bool certain = !growth_.leaf_wise || left_over < 0;
      std::int64_t room = std::max(Nodes::kFewRows, smaller_size(node));
      for (Node* other : others) {
        if (left_over > 0 && asked.size() > left_over) break;
        room -= smaller_size(*other);
        if (!certain && room < 0) break;
        asked.push_back(other);
      }
    }
    Vector<typename Nodes::Order> orders;
    for (std::int64_t i = 0; i < asked.size(); ++i) {
      const Node& one = *asked[i];
      const bool last = left_over >= 0 && (!growth_.leaf_wise || i == 0) && i == left_over;
      const bool counted = !last && (may_split(one.left(one.middle(), -1)) || may_split(one.right(one.middle(), -1)));
      orders.push_back({one.place, one.split, counted, one.left_is_smaller(), smaller_size(one)});
    }
    nodes_.ask(orders, [&](std::int64_t i, std::int32_t left_place, GradientHistogram histogram) {
      asked[i]->left_place = left_place;
      asked[i]->of_smaller = std::move(histogram);
    });
  }
  static std::int64_t smaller_size(const Node& node) {
    return std::min(node.left_sums.count, node.size() - node.left_sums.count);
  }

  // What the node has not seen follows the side that weighs more: the one of more rows, or once the weights are known.
  void send_unseen(Node& node) {
    const bool larger = node.left_sums.count > node.size() - node.left_sums.count;
    if (!weighted_ && !larger) return;
    NodeSplit split = node.split;
    const std::int64_t cell = table_.cell[split.feature], missing_bin = table_.missing_bin(split.feature);
    const auto unseen = [&](std::int64_t b) { return histograms_.rows_in(node.histogram, cell + b) == 0; };
    split.missing_left |= unseen(missing_bin);
    for (std::int64_t b = 0; b < split.category_is_left.size(); ++b) split.category_is_left[b] |= unseen(b);
    if (weighted_)
      unseen_left_.emplace_back(node.id, std::move(split));
    else
      node.split = std::move(split);
  }

  Nodes& nodes_;
  GradientHistograms<Table>& histograms_;
  const Table& table_;
  const GradientGrowth& growth_;
  const Directions directions_;
  const GradientLimits limits_;
  const std::int64_t n_outputs_;
  const bool weighted_;
  const std::uint64_t seed_;
  FeatureDraw draw_;
  Vector<std::uint8_t> allowed_;  // by feature, of the node that is looked at
  GradientTree tree_;
  OpenNodes<Node, Later> open_{growth_.max_leaf_nodes, Later{growth_.leaf_wise}};
  Vector<NodeRows> leaves_;
  Vector<std::pair<std::int32_t, NodeSplit>> unseen_left_;  // by node: its split with all that is unseen on the left
  // of find_splits, kept from node to node
  Vector<std::int32_t> features_;
  Vector<std::pair<std::int64_t, std::int32_t>> tasks_;
  Vector<NodeSplit> found_;
};

}  // namespace committee
