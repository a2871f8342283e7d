// Growth of one tree over a binned table: histogram of the smaller child, the larger one by subtraction,
// best-first under max_leaf_nodes, else depth-first (left child first), which keeps few histograms alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "histogram/histogram.hpp"
#include "histogram/partition.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/feature_sampling.hpp"
#include "trees/feature_scan.hpp"
#include "trees/growing_tree.hpp"
#include "trees/split.hpp"
#include "trees/tree.hpp"

namespace committee {

// The buffers of one boosting run: kept between trees, so that a round allocates nothing of size n.
struct GrowthBuffers {
  Vector<std::int32_t> rows, scratch_rows;
  Vector<std::uint64_t> packed;   // n per output
  Vector<std::uint64_t> moments;  // n x targets, squared error only
  Vector<std::uint64_t> private_histograms;
  Vector<std::unique_ptr<Vector<std::uint64_t>>> idle_histograms;
};

using Histogram = std::unique_ptr<Vector<std::uint64_t>>;

// What a tree's rows add to histograms.
struct Statistics {
  int planes;
  Units units;
  // fill(rows, n, histogram) adds the statistics of some rows; without a list the first n of the table.
  std::function<void(const std::int32_t*, std::int64_t, std::uint64_t*)> fill;
};

template <class Table>
class Growth {
 public:
  Growth(const Table& table, CriterionName criterion, const GrowthLimits& limits, const Statistics& statistics,
         std::uint64_t seed, GrowthBuffers& buffers, ThreadTeam& team)
      : table_(table),
        scan_(scan_of(criterion)),
        statistics_(statistics),
        planes_(statistics.planes),
        buffers_(buffers),
        team_(team),
        draw_(table.n_features, limits.max_features, seed, limits.max_features_tree, limits.feature_weights),
        tree_(limits, statistics.units, planes_),
        open_(limits.max_leaf_nodes, {}) {}

  // Grows the tree over buffers.rows.
  FlatTree grow(std::int64_t n_in_use, bool all_rows) {
    all_rows_ = all_rows;
    Node root{{0, n_in_use, 0, 0}};
    root.histogram = build(root);
    root.sums = feature_sums(*root.histogram, 0);
    tree_.add_root(n_in_use, root.sums.data(), planes_);
    consider(std::move(root));
    open_.grow([&](Node&& node) { expand(std::move(node)); }, [&](Node& node) { leaf(node); });
    return std::move(tree_);
  }

  const Vector<LeafRows>& leaves() const { return leaves_; }

 private:
  struct Node : NodeRange {  // of buffers.rows
    Vector<std::uint64_t> sums{};
    Histogram histogram{};
    Split split{};
  };

  struct LessGain {
    bool operator()(const Node& a, const Node& b) const {
      return a.split.gain != b.split.gain ? a.split.gain < b.split.gain : a.id > b.id;
    }
  };

  Histogram take_histogram() {
    Histogram h;
    if (buffers_.idle_histograms.empty()) {
      h = std::make_unique<Vector<std::uint64_t>>();
    } else {
      h = std::move(buffers_.idle_histograms.back());
      buffers_.idle_histograms.pop_back();
    }
    h->assign(planes_ * table_.n_cells(), 0);
    return h;
  }

  Histogram build(const Node& node) {
    Histogram h = take_histogram();
    statistics_.fill(all_rows_ && node.id == 0 ? nullptr : buffers_.rows.data() + node.begin, node.size(), h->data());
    complete(table_, h->data(), planes_);
    return h;
  }

  // The sums over one feature's cells are the node's sums.
  Vector<std::uint64_t> feature_sums(const Vector<std::uint64_t>& h, std::int64_t j) const {
    Vector<std::uint64_t> sums(planes_, 0);
    for (int k = 0; k < planes_; ++k)
      for (std::int64_t c = table_.cell[j]; c < table_.cell[j + 1]; ++c) sums[k] += h[k * table_.n_cells() + c];
    return sums;
  }

  bool may_split(const Node& node) const { return tree_.may_split(node, node.sums.data(), planes_); }

  void leaf(Node& node) {
    if (node.histogram) buffers_.idle_histograms.push_back(std::move(node.histogram));
    leaves_.push_back({node.begin, node.end, node.id});
  }

  // Finds the node's best split; it stays open if there is one.
  void consider(Node node) {
    if (may_split(node)) node.split = find_split(node);
    if (node.split.feature < 0) return leaf(node);
    open_.push(std::move(node));
  }

  Split find_split(const Node& node) {
    const Vector<std::int32_t> features = features_of(node);
    Vector<Split> found(features.size());
    const std::int64_t n_cells = table_.n_cells();
    const NodeCells cells{tree_.rules(),
                          planes_,
                          node.sums.data(),
                          node.histogram->data(),
                          n_cells,
                          table_.cell.data(),
                          table_.categorical.data()};
    team_.blocks_of(Table::kTogether, features.size(), 8 * planes_ * n_cells,
                    [&](std::int64_t begin, std::int64_t end) {
                      scan_(cells, features.data() + begin, end - begin, found.data() + begin);
                    });
    Split best;
    best.gain = tree_.rules().limits.least();
    for (Split& split : found)
      if (split.feature >= 0 && is_larger(split.gain, best.gain)) best = std::move(split);
    return best;
  }

  // Are the values of a sparse column all zero in the node?
  bool all_zeros(const Node& node, std::int32_t j) const {
    const std::int64_t zeros = zero_cell(table_, j);
    if (zeros < 0) return false;
    bool all = true;
    for (int k = 0; k < planes_; ++k) all &= (*node.histogram)[k * table_.n_cells() + zeros] == node.sums[k];
    return all;
  }

  // All features, or some of those that vary in the node; columns of zeros alone are left out.
  Vector<std::int32_t> features_of(const Node& node) {
    Vector<std::int32_t> features;
    draw_.visit(node.path, [&](std::int32_t j) {
      const bool counts = !draw_.drawn() || varies(node, j);
      if (counts && !all_zeros(node, j)) features.push_back(j);
      return counts;
    });
    return features;
  }
  bool varies(const Node& node, std::int32_t j) const {
    return committee::varies(node.histogram->data() + table_.cell[j], table_.n_cells(), planes_,
                             table_.cell[j + 1] - table_.cell[j]);
  }

  void expand(Node node) {
    const std::int64_t middle = node.begin + partition(node);
    const std::int32_t first = tree_.add_children(node.id, node.split);
    Node left{node.left(middle, first)}, right{node.right(middle, first + 1)};
    left.sums = node.split.left;
    right.sums = node.sums;
    for (int k = 0; k < planes_; ++k) right.sums[k] -= left.sums[k];
    tree_.record(left.id, left.size(), left.sums.data());
    tree_.record(right.id, right.size(), right.sums.data());
    share_histogram(node, left, right);
    consider(std::move(right));  // depth-first takes the last one: the left child
    consider(std::move(left));
  }

  // The smaller child's histogram is built, the larger one's is what it leaves of the parent's.
  void share_histogram(Node& parent, Node& left, Node& right) {
    if (!may_split(left) && !may_split(right)) {
      buffers_.idle_histograms.push_back(std::move(parent.histogram));
      return;
    }
    Node& smaller = left.size() <= right.size() ? left : right;
    Node& larger = left.size() <= right.size() ? right : left;
    smaller.histogram = build(smaller);
    if (may_split(larger)) {
      std::uint64_t* const p = parent.histogram->data();
      const std::uint64_t* const s = smaller.histogram->data();
      for (std::int64_t i = 0; i < parent.histogram->size(); ++i) p[i] -= s[i];
    }
    larger.histogram = std::move(parent.histogram);
  }

  // Returns how many of the node's rows go left.
  std::int64_t partition(const Node& node) {
    const std::int64_t j = node.split.feature;
    const Vector<std::uint8_t> is_left = node.split.left_bins(table_.missing_bin(j));
    return part_rows(table_, j, is_left, buffers_.rows.data() + node.begin, buffers_.scratch_rows.data() + node.begin,
                     node.size(), team_);
  }

  const Table& table_;
  const ScanFeatures scan_;
  const Statistics& statistics_;
  const int planes_;
  GrowthBuffers& buffers_;
  ThreadTeam& team_;
  FeatureDraw draw_;
  bool all_rows_ = false;
  GrowingTree tree_;
  OpenNodes<Node, LessGain> open_;
  Vector<LeafRows> leaves_;
};

}  // namespace committee
