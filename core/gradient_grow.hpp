// Growth of one gradient tree: the histogram of the smaller child is counted, the larger one's is what it leaves of
// the parent's; the next node is the one that gains most (leaf-wise) or the shallowest (depth-wise).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "gradient_split.hpp"
#include "grow.hpp"
#include "partition.hpp"
#include "tree.hpp"
#include "vector.hpp"

namespace committee {

struct GradientGrowth {             // the limits of a tree
  int max_depth = 0;                // 0: unlimited
  std::int64_t max_leaf_nodes = 0;  // 0: unlimited
  std::int64_t min_samples_leaf = 1;
  double min_hessian_leaf = 0.0, min_gain = 0.0;
  LeafPenalty penalty{};
  std::int64_t max_features = 0;  // per node; 0: all
  bool leaf_wise = true;
  Vector<std::int8_t> monotone{};  // per feature, or empty
};

struct GradientLeaf {
  std::int64_t begin, end;
  std::int32_t id;
};

// A grown tree: structure, and the limits of every node's weight.
struct GradientTree : FlatTree {
  Vector<Bounds> bounds;
  Vector<double> value;  // nodes x outputs
};

template <class Code>
class GradientGrowing {
 public:
  GradientGrowing(const BinnedTable<Code>& table, const Code* const* columns, const GradientGrowth& growth,
                  std::int64_t n_outputs, GradientHistograms<Code>& histograms, Vector<std::int32_t>& rows,
                  Vector<std::int32_t>& scratch, std::uint64_t seed, ThreadTeam& team)
      : table_(table),
        columns_(columns),
        growth_(growth),
        limits_(GradientLimits::of(growth.penalty, growth.min_hessian_leaf, growth.min_gain, growth.min_samples_leaf,
                                   histograms.layout())),
        n_outputs_(n_outputs),
        histograms_(histograms),
        rows_(rows),
        scratch_(scratch),
        seed_(seed),
        team_(team) {}

  GradientTree grow(std::int64_t n_in_use, bool all_rows) {
    all_rows_ = all_rows;
    Node root{.begin = 0, .end = n_in_use, .depth = 0, .id = add_node({})};
    tree_.count[0] = n_in_use;
    if (may_split(root)) {
      root.histogram = build(root);
      root.sums = sums_of(root.histogram);
      find_splits({&root});
    }
    consider(std::move(root));
    std::int64_t leaves = 1;
    for (; !open_.empty() && (growth_.max_leaf_nodes == 0 || leaves < growth_.max_leaf_nodes); ++leaves)
      expand(next_open(), leaves + 1 == growth_.max_leaf_nodes);
    for (Node& node : open_) leaf(node);
    return std::move(tree_);
  }

  const Vector<GradientLeaf>& leaves() const { return leaves_; }

 private:
  struct Node {
    std::int64_t begin, end;  // its rows: rows_[begin..end)
    int depth;
    std::int32_t id;
    Bounds bounds{};
    GradientSums sums{}, left{};
    GradientHistogram histogram{};
    GradientSplit split{};
    std::int64_t size() const { return end - begin; }
  };

  std::int32_t add_node(const Bounds& bounds) {
    tree_.bounds.push_back(bounds);
    return tree_.add_node(0);
  }

  GradientHistogram build(const Node& node) {
    return histograms_.build(all_rows_ && node.id == 0 ? nullptr : rows_.data() + node.begin, node.size());
  }

  // The sums over one feature's cells are the node's.
  GradientSums sums_of(const GradientHistogram& histogram) const {
    const GradientSums none(n_outputs_);
    const GradientScan scan(histograms_.layout(), limits_, histogram, none, table_.n_cells(), {}, false);
    GradientSplit all;
    all.bin = static_cast<std::int32_t>(table_.missing_bin(0) - 1);
    all.missing_left = true;
    return scan.settle(all, 0, table_.missing_bin(0));
  }

  bool may_split(const Node& node) const {
    return (growth_.max_depth == 0 || node.depth < growth_.max_depth) &&
           node.size() >= std::max<std::int64_t>(2, 2 * growth_.min_samples_leaf);
  }

  void leaf(Node& node) {
    if (!node.histogram.sums.empty()) histograms_.give_back(std::move(node.histogram));
    leaves_.push_back({node.begin, node.end, node.id});
  }

  void consider(Node node) {
    if (node.split.feature < 0) return leaf(node);
    open_.push_back(std::move(node));
    if (ordered()) std::push_heap(open_.begin(), open_.end(), later_);
  }

  // Without a limit on the leaves the order does not matter, and depth-first keeps few histograms alive.
  bool ordered() const { return growth_.max_leaf_nodes > 0; }

  Node next_open() {
    if (ordered()) std::pop_heap(open_.begin(), open_.end(), later_);
    Node node = std::move(open_.back());
    open_.pop_back();
    return node;
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
      for (const std::int32_t j : features_of(*node)) tasks_.emplace_back(scans.size(), j);
      scans.emplace_back(histograms_.layout(), limits_, node->histogram, node->sums, table_.n_cells(), node->bounds,
                         !growth_.monotone.empty());
    }
    found_.resize(tasks_.size());
    const std::int64_t work = nodes.size() * 4 * n_outputs_ * table_.n_cells();
    team_.each(tasks_.size(), work, [&](std::int64_t t) {
      const auto [scan, j] = tasks_[t];
      found_[t] = scans[scan].best(table_.cell[j], table_.missing_bin(j), j, table_.categorical[j] != 0,
                                   growth_.monotone.empty() ? 0 : growth_.monotone[j]);
    });
    for (std::int64_t t = 0; t < tasks_.size(); ++t) {
      GradientSplit& best = nodes[tasks_[t].first]->split;
      if (found_[t].feature >= 0 && found_[t].gain > best.gain) best = std::move(found_[t]);
    }
    for (std::int64_t s = 0; s < nodes.size(); ++s)
      if (const std::int32_t j = nodes[s]->split.feature; j >= 0)
        nodes[s]->left = scans[s].settle(nodes[s]->split, table_.cell[j], table_.missing_bin(j));
  }

  // All features, or some drawn for this node.
  const Vector<std::int32_t>& features_of(const Node& node) {
    const std::int64_t p = table_.n_features;
    features_.resize(p);
    std::iota(features_.begin(), features_.end(), 0);
    if (growth_.max_features <= 0 || growth_.max_features >= p) return features_;
    SplitMix random(seed_, word_of(node.id));
    for (std::int64_t i = 0; i < growth_.max_features; ++i) std::swap(features_[i], features_[i + random.below(p - i)]);
    features_.resize(growth_.max_features);
    std::sort(features_.begin(), features_.end());
    return features_;
  }

  void expand(Node node, bool last) {
    const std::int64_t middle = node.begin + partition(node);
    Node left{.begin = node.begin, .end = middle, .depth = node.depth + 1, .id = -1, .bounds = node.bounds};
    Node right{.begin = middle, .end = node.end, .depth = node.depth + 1, .id = -1, .bounds = node.bounds};
    left.sums = std::move(node.left);
    right.sums = std::move(node.sums);
    right.sums -= left.sums;
    bound(node, left, right);
    left.id = add_node(left.bounds);
    right.id = add_node(right.bounds);
    tree_.set_split(node.id, node.split, left.id);
    tree_.count[left.id] = left.size();
    tree_.count[right.id] = right.size();
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
    const int direction = growth_.monotone.empty() ? 0 : growth_.monotone[node.split.feature];
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
    if (!smaller_may && parent.histogram.narrow) {
      larger.histogram = histograms_.without(std::move(parent.histogram), rows_.data() + smaller.begin, smaller.size());
      return;
    }
    smaller.histogram = build(smaller);
    if (larger_may)
      larger.histogram = histograms_.rest(std::move(parent.histogram), smaller.histogram, larger.size());
    else
      histograms_.give_back(std::move(parent.histogram));
  }

  std::int64_t partition(const Node& node) {
    const std::int64_t j = node.split.feature, missing = table_.missing_bin(j);
    Vector<std::uint8_t> is_left(missing + 1);
    for (std::int64_t b = 0; b < missing; ++b)
      is_left[b] = node.split.category_is_left.empty() ? b <= node.split.bin : node.split.category_is_left[b];
    is_left[missing] = node.split.missing_left;
    return partition_rows(rows_.data() + node.begin, scratch_.data() + node.begin, node.size(), columns_[j], 1, is_left,
                          team_);
  }

  const BinnedTable<Code>& table_;
  const Code* const* const columns_;  // the table again, column by column
  const GradientGrowth& growth_;
  const GradientLimits limits_;
  const std::int64_t n_outputs_;
  GradientHistograms<Code>& histograms_;
  Vector<std::int32_t>&rows_, &scratch_;
  const std::uint64_t seed_;
  ThreadTeam& team_;
  const Later later_{growth_.leaf_wise};
  bool all_rows_ = false;
  GradientTree tree_;
  Vector<Node> open_;
  Vector<GradientLeaf> leaves_;
  // of find_splits, kept from node to node
  Vector<std::int32_t> features_;
  Vector<std::pair<std::int64_t, std::int32_t>> tasks_;
  Vector<GradientSplit> found_;
};

}  // namespace committee
