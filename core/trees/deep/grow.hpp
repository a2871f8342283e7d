// trees/deep/: growth of deep trees for forests, in time that depends on a node's rows and not on the bins.
//   grow           depth-first growth; grower: several trees at the same time
//   rows           rows of a node with their statistics; node_features: the bins that these rows fall into
//   scan           the best split over the touched bins; gain_bound: an upper bound that ends a scan early;
//                  class_sweep: the best split of several classes; median_scan: that by the absolute error
//   out_of_bag     leaves of rows that the tree was not grown on
//
// Growth of a deep tree, as forests want them: thousands of small nodes that each look at a few features. Growth
// (trees/grow.hpp) counts all features of a node into one histogram, which pays where nodes are large and all features
// are looked at; here a node costs its own rows times the features it looks at, whatever the number of bins.
//
// The trees are the same, node by node: same candidates, ties, draws of features and numbers of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "histogram/histogram.hpp"
#include "threads/interrupt.hpp"
#include "threads/vector.hpp"
#include "trees/deep/class_sweep.hpp"
#include "trees/deep/gain_bound.hpp"
#include "trees/deep/median_scan.hpp"
#include "trees/deep/node_features.hpp"
#include "trees/deep/rows.hpp"
#include "trees/deep/scan.hpp"
#include "trees/feature_sampling.hpp"
#include "trees/growing_tree.hpp"

namespace committee {

// What the growth of one tree needs, kept for the next one.
template <class Nodes, class Item>
struct DeepBuffers {
  template <class... Table>
  explicit DeepBuffers(const Table&... table) : nodes(table...) {}

  Vector<Item> items, right_items;
  Vector<std::uint64_t> moments;  // of several targets
  Vector<double> distinct;        // targets, of medians
  ClassSums class_sums;           // of more than two classes
  ClassSweep sweep;
  Nodes nodes;
  BinList list;
};

template <class Table, class Nodes, class Criterion, class Item>
class DeepGrowth {
 public:
  DeepGrowth(const Table& table, const GrowthLimits& limits, int planes, Units units, std::uint64_t seed,
             DeepBuffers<Nodes, Item>& buffers)
      : table_(table),
        buffers_(buffers),
        planes_(planes),
        draw_(table.n_features, limits.max_features, seed, limits.max_features_tree, limits.feature_weights),
        tree_(limits, units, by_class_ ? 0 : planes),
        medians_(tree_.rules(), buffers.distinct) {
    if constexpr (kSweeps)
      if (by_class_) buffers.sweep.begin_tree(buffers.items, units, planes, most_bins_);
  }

  // Grows the tree over buffers.items.
  FlatTree grow() {
    const auto n = buffers_.items.size();
    buffers_.right_items.resize(buffers_.items.size());
    tree_.leaf_of_row.assign(table_.n_rows, -1);
    add_root_sums();
    tree_.add_root(n, node_sums_.data(), planes_of_node_.held());
    open_.push_back({{0, n, 0, 0}, false});
    // depth first, left child first: a small node's rows are used up before those of another one are looked at
    while (!open_.empty()) {
      const Node node = open_.back();
      open_.pop_back();
      watch_.after(node.size() * draw_.wanted());
      expand(node);
    }
    if (by_class_) hand_over_class_sums();
    return std::move(tree_);
  }

 private:
  using Node = DeepNode;
  static constexpr bool kOfClasses = std::is_same_v<Item, ClassItem>;
  static constexpr bool kSweeps = kOfClasses && std::is_same_v<Criterion, Gini> && Nodes::kByRow;

  void add_root_sums() {
    node_sums_.assign(planes_, 0);
    if constexpr (kOfClasses)
      if (by_class_) {
        buffers_.class_sums.begin_tree(buffers_.items, planes_);
        return look(0);
      }
    for (const Item& item : buffers_.items) planes_of_node_.template add<true>(node_sums_.data(), item);
    sums_ = node_sums_;
  }

  // Looks at the classes that a node holds.
  void look(std::int32_t node) {
    const ClassSums& all = buffers_.class_sums;
    planes_of_node_.hold(all.labels(node), all.held(node));
    node_sums_.assign(all.sums(node), all.sums(node) + all.held(node));
  }

  void hand_over_class_sums() {
    const ClassSums& all = buffers_.class_sums;
    tree_.n_classes = planes_;
    tree_.class_offset = all.offset;
    tree_.class_label = all.label;
    tree_.sums.resize(all.sum.size());
    tree_.rules().units.read(all.sum.data(), static_cast<int>(all.sum.size()), tree_.sums.data());
  }

  std::uint64_t* top_sums() { return sums_.data() + sums_.size() - planes_; }

  // Takes the node's sums off the stack, and puts its children's there if it has any.
  void expand(Node node) {
    if (by_class_) {
      look(node.id);
    } else {
      node_sums_.assign(top_sums(), top_sums() + planes_);
      sums_.resize(sums_.size() - planes_);
    }
    if (!tree_.may_split(node, node_sums_.data(), planes_of_node_.held())) return leaf(node);
    const Split split = find_split(node);
    if (split.feature < 0) return leaf(node);
    const std::int64_t middle = node.begin + partition(node, split);
    const std::int32_t first = tree_.add_children(node.id, split);
    open_.push_back({node.right(middle, first + 1), node.in_block});
    open_.push_back({node.left(middle, first), node.in_block});
    record_children(node, middle, first);
  }

  void record_children(const Node& node, std::int64_t middle, std::int32_t first) {
    if constexpr (kOfClasses)
      if (by_class_) {
        buffers_.class_sums.add_children(node.id, buffers_.items.data() + node.begin, middle - node.begin,
                                         node.end - middle);
        tree_.count[first] = middle - node.begin;
        tree_.count[first + 1] = node.end - middle;
        return;
      }
    sums_.resize(sums_.size() + 2 * planes_);
    std::uint64_t* const left = top_sums();
    std::uint64_t* const right = left - planes_;
    for (int k = 0; k < planes_; ++k) {
      left[k] = best_left_[k];
      right[k] = node_sums_[k] - left[k];
    }
    tree_.record(first, middle - node.begin, left);
    tree_.record(first + 1, node.end - middle, right);
  }

  void leaf(const Node& node) {
    for (std::int64_t i = node.begin; i < node.end; ++i) {
      tree_.leaf_of_row[buffers_.nodes.row_of_table(node, buffers_.items[i].row)] = node.id;
    }
  }

  // --- the best split ------------------------------------------------------------------------------------------

  Split find_split(Node& node) {
    buffers_.nodes.begin_node(node, buffers_.items.data(), draw_.wanted(), node_sums_.data(), planes_of_node_);
    Split best = planes_of_node_.is_identity() ? find_split<2, true>(node)
                 : planes_of_node_.held() == 2 ? find_split<2, false>(node)
                                               : find_split<0, false>(node);
    buffers_.nodes.end_node();
    return best;
  }

  template <int kPlanes, bool kIdentity>
  Split find_split(const Node& node) {
    constexpr bool kMedians = std::is_same_v<Criterion, AbsoluteError>;
    using OfValues = std::conditional_t<kMedians, SquaredError, Criterion>;
    [[maybe_unused]] ListScan<OfValues, kPlanes> scan(tree_.rules(), planes_of_node_.held(), running_);
    const auto width = planes_of_node_.held();
    if constexpr (kMedians) medians_.start(buffers_.items.data() + node.begin, node.size());
    const double most = most_gain<Criterion>(buffers_.items.data() + node.begin, node.size(), node_sums_.data(), width,
                                             tree_.rules().units);
    const bool sweeps = begin_sweep(node);
    double largest = tree_.rules().limits.least();
    bool settled = false;  // no other feature's split can be larger
    found_.clear();
    found_left_.resize(draw_.wanted() * width);
    for_features(node.path, settled, [&](std::int32_t j) {
      std::uint64_t* const left = found_left_.data() + found_.size() * width;
      const auto missing = static_cast<std::int32_t>(table_.missing_bin(j));
      if (sweeps && !table_.categorical[j]) {
        found_.push_back(sweep(node, missing, j));
      } else if constexpr (kMedians) {
        found_.push_back(medians_.best(buffers_.nodes.codes(node, j), missing, j, table_.categorical[j] != 0, left));
      } else {
        buffers_.list.make_room(missing + 1, width);
        buffers_.nodes.template count<kPlanes, kIdentity>(j, planes_of_node_, buffers_.list);
        found_.push_back(table_.categorical[j]
                             ? best_categories(scan_features<Criterion>, tree_.rules(), node_sums_.data(),
                                               buffers_.list, planes_of_node_, missing, j, left)
                             : scan.best(node_sums_.data(), buffers_.list, missing, j, left));
      }
      if (found_.back().feature < 0)
        found_.pop_back();
      else if (is_larger(found_.back().gain, largest))
        largest = found_.back().gain;
      settled = node.size() == 2 || !is_larger(most, largest);  // two rows are parted in one way
    });
    return best_of_found(width);
  }

  // Are the node's features of numbers scanned row by row? Elsewhere each of their bins has a cell of all its classes.
  bool begin_sweep(const Node& node) {
    if constexpr (kSweeps)
      if (by_class_ && buffers_.sweep.is_exact() &&
          planes_of_node_.held() * std::min(node.size(), most_bins_) > kCells * node.size()) {
        buffers_.sweep.start(buffers_.items.data() + node.begin, node.size(), planes_of_node_, node_sums_.data());
        return true;
      }
    return false;
  }
  static constexpr std::int64_t kCells = 5;  // of a bin and class that take as long as a row
  Split sweep(const Node& node, std::int32_t missing_bin, std::int32_t j) {
    if constexpr (kSweeps)
      return buffers_.sweep.best(buffers_.nodes.codes(node, j), tree_.rules().limits, missing_bin, j);
    return Split{};
  }

  // The first that was looked at wins a tie.
  Split best_of_found(std::int64_t width) {
    std::int64_t best = found_.size();
    double gain = tree_.rules().limits.least();
    for (std::int64_t i = 0; i < found_.size(); ++i)
      if (is_larger(found_[i].gain, gain)) {
        best = i;
        gain = found_[i].gain;
      }
    if (best == found_.size()) return Split{};
    const auto left = found_left_.begin() + static_cast<std::ptrdiff_t>(best * width);
    best_left_.assign(left, left + static_cast<std::ptrdiff_t>(width));
    return std::move(found_[best]);
  }

  // visit(j) for the features that vary in the node, until it is settled: all, or those that are drawn.
  template <class Visit>
  void for_features(std::uint64_t path, const bool& settled, Visit&& visit) {
    draw_.visit(path, [&](std::int32_t j) {
      if (settled) return true;
      if (!buffers_.nodes.varies(j)) return false;
      visit(j);
      return true;
    });
  }

  // --- its rows ------------------------------------------------------------------------------------------------

  // Stable; returns how many rows go left.
  std::int64_t partition(const Node& node, const Split& split) {
    const auto missing = static_cast<std::int32_t>(table_.missing_bin(split.feature));
    const auto code_of = buffers_.nodes.codes(node, split.feature);
    if (!split.category_is_left.empty()) {
      const std::uint8_t* const is_left = split.category_is_left.data();
      return partition(node, code_of,
                       [&](std::int32_t code) { return code == missing ? split.missing_left : is_left[code] != 0; });
    }
    const std::int32_t bin = split.bin;
    if (!split.missing_left) return partition(node, code_of, [bin](std::int32_t code) { return code <= bin; });
    return partition(node, code_of, [bin, missing](std::int32_t code) { return (code <= bin) | (code == missing); });
  }

  template <class CodeOf, class GoesLeft>
  std::int64_t partition(const Node& node, const CodeOf& code_of, GoesLeft&& goes_left) {
    Item* const items = buffers_.items.data() + node.begin;
    Item* const right = buffers_.right_items.data();
    std::int64_t n_left = 0, n_right = 0;
    for (std::int64_t i = 0; i < node.size(); ++i) {
      const Item item = items[i];
      const bool left = goes_left(code_of(item.row));
      items[n_left] = item;  // both, so that nothing branches: the slot that is not taken is written again
      right[n_right] = item;
      n_left += left;
      n_right += !left;
    }
    std::copy_n(right, n_right, items + n_left);
    return n_left;
  }

  const Table& table_;
  DeepBuffers<Nodes, Item>& buffers_;
  const int planes_;
  const bool by_class_ = kOfClasses && planes_ > 2;  // nodes have the sums of the classes that they hold
  const std::int64_t most_bins_ = most_bins(table_);
  FeatureDraw draw_;
  GrowingTree tree_;
  InterruptWatch watch_;
  NodePlanes planes_of_node_{planes_};
  Vector<Node> open_;
  Vector<std::uint64_t> sums_;       // of the open nodes
  Vector<std::uint64_t> node_sums_;  // of the planes that the node holds
  Vector<Split> found_;
  Vector<std::uint64_t> found_left_, best_left_;
  RunningPlanes running_;
  MedianScan medians_;
};

}  // namespace committee
