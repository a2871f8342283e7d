// Children of a split node: partition its rows, find both histograms and both best splits. The smaller child's
// histogram is counted; the larger child's is the parent's minus the smaller child's.
//
// A node's children depend on the node alone, not on when it is split: those of several nodes may be found at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "histogram/column_histogram.hpp"
#include "threads/vector.hpp"
#include "trees/feature_sampling.hpp"
#include "trees/gradient/growth.hpp"
#include "trees/gradient/node_scan.hpp"
#include "trees/growing_tree.hpp"
#include "trees/interactions.hpp"
#include "trees/split.hpp"
#include "trees/tree.hpp"

namespace committee {

// A node as the storage of its rows (Nodes) needs it.
struct NodeRows : NodeRange {  // of the list that growth keeps in order
  std::int32_t place = 0;      // its number among the nodes that were requested, and that of its left child
  std::int32_t left_place = -1;
};

// Open nodes change places often, and are large: they stay where they are, and pointers to them move.
struct GradientNode : NodeRows {
  Bounds bounds{};
  GradientSums sums{}, left_sums{};
  GradientHistogram histogram{}, of_smaller{};  // of the smaller child, where it came before it was asked for
  NodeSplit split{};
  ColumnSet used{};                        // on the way to it, where interactions are limited
  std::optional<NodeSplit> unseen_left{};  // the split with all on the left that the node has not seen
  std::unique_ptr<GradientNode> left_child{}, right_child{};  // once they are found

  std::int64_t middle() const { return begin + left_sums.count; }
  bool left_is_smaller() const { return 2 * left_sums.count <= size(); }
  std::int64_t smaller_size() const { return std::min(left_sums.count, size() - left_sums.count); }
};

template <class Nodes>
class GradientChildren {
  using Table = typename Nodes::Table;
  using Node = GradientNode;

 public:
  // `weighted`: rows have weights, and what a node has not seen follows the side that weighs more.
  GradientChildren(Nodes& nodes, const GradientGrowth& growth, bool weighted, std::int64_t score, std::uint64_t seed)
      : nodes_(nodes),
        histograms_(nodes.histograms()),
        table_(histograms_.table()),
        growth_(growth),
        directions_(growth.directions(score)),
        bounded_(growth.bounded(score)),
        limits_(GradientLimits::of(growth.penalty, growth.min_hessian_leaf, growth.min_gain, growth.min_samples_leaf,
                                   histograms_.layout())),
        n_outputs_(histograms_.n_outputs()),
        weighted_(weighted),
        seed_(seed),
        draws_thresholds_(growth.draws_thresholds(seed)),
        draw_(table_.n_features, growth.max_features, seed, 0, growth.feature_weights),
        most_scanned_(most_scanned()),
        allowed_(growth.interactions.limited() ? table_.n_features : 0) {}

  // The root's histogram and best split.
  void start(Node& root) {
    if (!may_split(root)) return;
    if (!scans_rows(root)) root.histogram = nodes_.root();
    root.sums = sums_of(root);
    find_splits({&root});
  }

  // `last`: no node is split after this one.
  void find(Node& node, bool last) {
    nodes_.part(node, node.split, node.middle());
    send_unseen(node);
    node.left_child = std::make_unique<Node>(Node{{node.left(node.middle(), -1), node.left_place}, node.bounds});
    node.right_child = std::make_unique<Node>(Node{{node.right(node.middle(), -1), node.left_place + 1}, node.bounds});
    Node &left = *node.left_child, &right = *node.right_child;
    left.sums = std::move(node.left_sums);
    right.sums = std::move(node.sums);
    right.sums -= left.sums;
    bound(node, left, right);
    if (growth_.interactions.limited()) left.used = right.used = with_column(std::move(node.used), node.split.feature);
    const bool left_may = !last && may_split(left), right_may = !last && may_split(right);
    share_histogram(node, left, right, left_may && !scans_rows(left), right_may && !scans_rows(right));
    Vector<Node*> splitting;
    splitting.reserve(2);
    if (left_may) splitting.push_back(&left);
    if (right_may) splitting.push_back(&right);
    if (!splitting.empty()) find_splits(splitting);
  }

  // The node stays a leaf: its histogram and those of its children are free again.
  void give_back(Node& node) {
    if (!node.histogram.sums.empty()) histograms_.give_back(std::move(node.histogram));
    for (Node* child : {node.left_child.get(), node.right_child.get()})
      if (child != nullptr) give_back(*child);
  }

  Nodes& nodes() { return nodes_; }

  bool may_split(const NodeRange& node) const { return growth_.may_split(node.depth, node.size()); }

  // Elementary operations of `find`, about: rows are parted, those of the smaller child counted, two histograms read.
  std::int64_t work(const Node& node) const {
    const std::int64_t counted = scans_rows(node) ? node.size() : node.smaller_size();
    return 4 * node.size() + n_outputs_ * (table_.cells_of(counted) + 8 * table_.n_cells());
  }

 private:
  std::int64_t most_scanned() const {
    if constexpr (Nodes::kScansRows) return nodes_.most_scanned(draw_.wanted());
    return 0;
  }

  // Are the node's columns counted when they are scanned? Then it has no histogram, and neither have its children.
  bool scans_rows(const NodeRange& node) const { return node.size() <= most_scanned_; }

  // A column of a node, in the node's histogram or in one of few columns.
  struct ColumnCells {
    const GradientHistogram& histogram;
    std::int64_t cell, n_cells;
  };
  ColumnCells cells_of(const Node& node, std::int32_t j) {
    if constexpr (Nodes::kScansRows) {
      if (scans_rows(node)) {
        const auto few = nodes_.few(node);
        of_few_.narrow = histograms_.layout().packed;
        of_few_.sums.resize(few.size());
        std::int64_t cell = 0;
        few.count(&j, 1, of_few_.sums.data(), &cell);
        return {of_few_, cell, few.n_cells()};
      }
    }
    return {node.histogram, table_.cell[j], table_.n_cells()};
  }
  GradientScan scan_of(const Node& node, const ColumnCells& cells) const {
    return {histograms_.layout(), limits_, cells.histogram, node.sums, cells.n_cells, node.bounds, bounded_};
  }

  // The sums over one feature's cells are the node's.
  GradientSums sums_of(const Node& node) {
    const GradientSums none(n_outputs_);
    const ColumnCells cells = cells_of(node, 0);
    const GradientScan scan(histograms_.layout(), limits_, cells.histogram, none, cells.n_cells, {}, false);
    NodeSplit all;
    all.bin = static_cast<std::int32_t>(table_.missing_bin(0) - 1);
    all.missing_left = true;
    return scan.settle(all, cells.cell, table_.missing_bin(0));
  }

  // The best split of each node: all their features are scanned together.
  void find_splits(const Vector<Node*>& nodes) {
    tasks_.clear();
    Vector<GradientScan> scans;
    scans.reserve(nodes.size());
    std::int64_t work = 0, together = Table::kTogether;
    for (std::int64_t s = 0; s < nodes.size(); ++s) {
      const Node& node = *nodes[s];
      scans.push_back(scan_of(node, {node.histogram, 0, table_.n_cells()}));
      for (const std::int32_t j : features_of(node))
        if (may_part(node, j)) tasks_.emplace_back(s, j);
      work += n_outputs_ * (4 * table_.n_cells() + (scans_rows(node) ? table_.cells_of(node.size()) : 0));
      if (scans_rows(node)) together = kFewTogether;
    }
    // the features of one node in a block
    const auto end_of = [&](std::int64_t begin) {
      std::int64_t end = begin + 1;
      while (end < tasks_.size() && end % together != 0 && tasks_[end].first == tasks_[begin].first) ++end;
      return end;
    };
    found_.resize(tasks_.size());
    histograms_.team().blocks_of(together, tasks_.size(), work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; t = end_of(t)) {
        const std::int64_t s = tasks_[t].first;
        found_[t] =
            scans_rows(*nodes[s]) ? best_of_few(*nodes[s], t, end_of(t)) : best_of(scans[s], *nodes[s], t, end_of(t));
      }
    });
    for (std::int64_t t = 0; t < tasks_.size(); t = end_of(t)) offer(found_[t], nodes[tasks_[t].first]->split);
    for (Node* node : nodes)
      if (const std::int32_t j = node->split.feature; j >= 0) {
        const ColumnCells cells = cells_of(*node, j);
        node->left_sums = scan_of(*node, cells).settle(node->split, cells.cell, table_.missing_bin(j));
      }
  }
  static void offer(NodeSplit& found, NodeSplit& best) {
    if (found.feature >= 0 && found.gain > best.gain) best = std::move(found);
  }

  // The best split of a node among the features of the tasks [begin, end), the first of those that tie.
  NodeSplit best_of(const GradientScan& scan, const Node& node, std::int64_t begin, std::int64_t end) const {
    NodeSplit best;
    for (std::int64_t t = begin; t < end; ++t)
      offer_feature(scan, node, tasks_[t].second, table_.cell[tasks_[t].second], best);
    return best;
  }
  // The same of a node without a histogram.
  NodeSplit best_of_few(const Node& node, std::int64_t begin, std::int64_t end) const {
    NodeSplit best;
    if constexpr (Nodes::kScansRows) {
      const auto few = nodes_.few(node);
      GradientHistogram some{histograms_.layout().packed, Vector<std::uint64_t>(few.size())};
      const GradientScan scan = scan_of(node, {some, 0, few.n_cells()});
      std::int32_t features[kColumnsTogether];
      std::int64_t cell[kColumnsTogether];
      for (std::int64_t t = begin; t < end; t += kColumnsTogether) {
        const std::int64_t n = std::min(end - t, kColumnsTogether);
        for (std::int64_t c = 0; c < n; ++c) features[c] = tasks_[t + c].second;
        for (std::int64_t next = t + n; next < std::min(end, t + 2 * n); ++next) few.prefetch(tasks_[next].second);
        few.count(features, n, some.sums.data(), cell);
        for (std::int64_t c = 0; c < n; ++c) offer_feature(scan, node, features[c], cell[c], best);
      }
    }
    return best;
  }
  void offer_feature(const GradientScan& scan, const Node& node, std::int32_t j, std::int64_t cell,
                     NodeSplit& best) const {
    std::optional<SplitMix> random;
    if (draws_thresholds_) random.emplace(scramble(scramble(seed_) + word_of(j)), node.path);
    NodeSplit found = scan.best(cell, table_.missing_bin(j), j, table_.categorical[j] != 0,
                                directions_.empty() ? 0 : directions_[j], random ? &*random : nullptr);
    offer(found, best);
  }
  static constexpr std::int64_t kFewTogether = 128;

  // A side without the zeros of a sparse column needs rows enough.
  bool may_part(const Node& node, std::int32_t j) const {
    const std::int64_t zeros = zero_cell(table_, j);
    return zeros < 0 ||
           node.size() - histograms_.rows_in(node.histogram, zeros, table_.n_cells()) >= growth_.min_samples_leaf;
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
    if (parent.histogram.sums.empty()) return;
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
    if (!smaller_may && !smaller.histogram.sums.empty()) histograms_.give_back(std::move(smaller.histogram));
  }

  // What the node has not seen follows the side that weighs more: the one of more rows, or once the weights are known.
  void send_unseen(Node& node) {
    const bool larger = node.left_sums.count > node.size() - node.left_sums.count;
    if (!weighted_ && !larger) return;
    NodeSplit split = node.split;
    const std::int64_t missing_bin = table_.missing_bin(split.feature);
    const ColumnCells cells = cells_of(node, split.feature);
    const auto unseen = [&](std::int64_t b) {
      return histograms_.rows_in(cells.histogram, cells.cell + b, cells.n_cells) == 0;
    };
    split.missing_left |= unseen(missing_bin);
    for (std::int64_t b = 0; b < split.category_is_left.size(); ++b) split.category_is_left[b] |= unseen(b);
    if (weighted_)
      node.unseen_left = std::move(split);
    else
      node.split = std::move(split);
  }

  Nodes& nodes_;
  GradientHistograms<Table>& histograms_;
  const Table& table_;
  const GradientGrowth& growth_;
  const Directions directions_;
  const bool bounded_;
  const GradientLimits limits_;
  const std::int64_t n_outputs_;
  const bool weighted_;
  const std::uint64_t seed_;
  const bool draws_thresholds_;
  FeatureDraw draw_;
  const std::int64_t most_scanned_;  // rows of a node
  Vector<std::uint8_t> allowed_;     // by feature, of the node that is looked at
  // of find_splits, kept from node to node
  Vector<std::int32_t> features_;
  Vector<std::pair<std::int64_t, std::int32_t>> tasks_;
  Vector<NodeSplit> found_;
  GradientHistogram of_few_;  // of one column
};

}  // namespace committee
