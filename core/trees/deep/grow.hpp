// trees/deep/: growth of deep trees for forests, in time that depends on a node's rows and not on the bins.
//   grow           depth-first growth; grower: several trees at the same time
//   rows           rows of a node with their statistics; node_features: the bins that these rows fall into
//   scan           the best split over the touched bins; gain_bound: an upper bound that ends a scan early;
//                  median_scan: the best split by the absolute error
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
        tree_(limits, units, planes),
        medians_(tree_.rules(), buffers.distinct) {
    buffers.nodes.begin_tree(planes);
    buffers.list.make_room(most_bins(table), planes);
  }

  // Grows the tree over buffers.items.
  FlatTree grow() {
    const auto n = buffers_.items.size();
    buffers_.right_items.resize(buffers_.items.size());
    tree_.leaf_of_row.assign(table_.n_rows, -1);
    sums_.assign(planes_, 0);
    for (const Item& item : buffers_.items) planes_of_node_.add_to_all(sums_.data(), item);
    tree_.add_root(n, sums_.data());
    open_.push_back({{0, n, 0, 0}, false});
    // depth first, left child first: a small node's rows are used up before those of another one are looked at
    while (!open_.empty()) {
      const Node node = open_.back();
      open_.pop_back();
      watch_.after(node.size() * draw_.wanted());
      expand(node);
    }
    return std::move(tree_);
  }

 private:
  using Node = DeepNode;

  std::uint64_t* top_sums() { return sums_.data() + sums_.size() - planes_; }

  // Takes the node's sums off the stack, and puts its children's there if it has any.
  void expand(Node node) {
    node_sums_.assign(top_sums(), top_sums() + planes_);
    sums_.resize(sums_.size() - planes_);
    if (!tree_.may_split(node, node_sums_.data())) return leaf(node);
    const Split split = find_split(node);
    if (split.feature < 0) return leaf(node);
    const std::int64_t middle = node.begin + partition(node, split);
    const std::int32_t first = tree_.add_children(node.id, split);
    open_.push_back({node.right(middle, first + 1), node.in_block});
    open_.push_back({node.left(middle, first), node.in_block});
    sums_.resize(sums_.size() + 2 * planes_, 0);
    std::uint64_t* const left = top_sums();
    std::uint64_t* const right = left - planes_;
    for (int slot = 0; slot < planes_of_node_.held(); ++slot) {
      const int k = planes_of_node_.plane(slot);
      left[k] = best_left_[slot];
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
    planes_of_node_.look(node_sums_.data(), static_cast<const Item*>(nullptr));
    slot_sums_.resize(planes_of_node_.held());
    for (int slot = 0; slot < planes_of_node_.held(); ++slot)
      slot_sums_[slot] = node_sums_[planes_of_node_.plane(slot)];
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
    const double most = most_gain<Criterion>(buffers_.items.data() + node.begin, node.size(), slot_sums_.data(), width,
                                             tree_.rules().units);
    double largest = tree_.rules().limits.least();
    bool settled = false;  // no other feature's split can be larger
    found_.clear();
    found_left_.resize(draw_.wanted() * width);
    for_features(node.path, settled, [&](std::int32_t j) {
      std::uint64_t* const left = found_left_.data() + found_.size() * width;
      const auto missing = static_cast<std::int32_t>(table_.missing_bin(j));
      if constexpr (kMedians) {
        found_.push_back(medians_.best(buffers_.nodes.codes(node, j), missing, j, table_.categorical[j] != 0, left));
      } else {
        buffers_.nodes.template count<kPlanes, kIdentity>(j, planes_of_node_, buffers_.list);
        found_.push_back(table_.categorical[j]
                             ? best_categories(scan_features<Criterion>, tree_.rules(), node_sums_.data(),
                                               buffers_.list, planes_of_node_, missing, j, left)
                             : scan.best(slot_sums_.data(), buffers_.list, missing, j, left));
      }
      if (found_.back().feature < 0)
        found_.pop_back();
      else if (is_larger(found_.back().gain, largest))
        largest = found_.back().gain;
      settled = node.size() == 2 || !is_larger(most, largest);  // two rows are parted in one way
    });
    return best_of_found(width);
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
  FeatureDraw draw_;
  GrowingTree tree_;
  InterruptWatch watch_;
  NodePlanes planes_of_node_{planes_};
  Vector<Node> open_;
  Vector<std::uint64_t> sums_;  // of the open nodes
  Vector<std::uint64_t> node_sums_, slot_sums_;
  Vector<Split> found_;
  Vector<std::uint64_t> found_left_, best_left_;
  RunningPlanes running_;
  MedianScan medians_;
};

}  // namespace committee
