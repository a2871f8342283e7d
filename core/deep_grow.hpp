// Growth of a deep tree, as forests want them: thousands of small nodes that each look at a few features. Growth
// (grow.hpp) counts all features of a node into one histogram, which pays where nodes are large and all features
// are looked at; here a node costs its own rows times the features it looks at, whatever the number of bins.
//
// The trees are the same, node by node: same candidates, ties, draws of features and numbers of nodes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deep_items.hpp"
#include "deep_scan.hpp"
#include "feature_draw.hpp"
#include "growing_tree.hpp"
#include "histogram.hpp"
#include "interrupt.hpp"
#include "vector.hpp"

namespace committee {

// Codes to read: those of row r and feature j are at base[r * row_step + j * feature_step].
template <class Code>
struct CodeView {
  const Code* base;
  std::int64_t row_step, feature_step;
  const Code* column(std::int64_t j) const { return base + j * feature_step; }
};

// What the growth of one tree needs, kept for the next one.
template <class Code, class Item>
struct DeepBuffers {
  Vector<Item> items, right_items;
  Vector<Code> block;  // codes of the rows of a small node, row by row
  Vector<std::int32_t> block_rows;
  TouchedHistogram histogram;
  BinList list;
};

template <class Code, class Criterion, class Item>
class DeepGrowth {
 public:
  DeepGrowth(const BinnedTable<Code>& table, const Code* columns, const GrowthLimits& limits, int planes, Units units,
             std::uint64_t seed, DeepBuffers<Code, Item>& buffers)
      : table_(table),
        columns_{columns, 1, table.n_rows},
        buffers_(buffers),
        planes_(planes),
        draw_(table.n_features, limits.max_features, seed),
        tree_(limits, units, planes) {
    std::int64_t most_bins = 0;
    for (std::int64_t j = 0; j < table.n_features; ++j) most_bins = std::max(most_bins, table.missing_bin(j) + 1);
    buffers.histogram.make_room(most_bins, planes);
    buffers.list.make_room(most_bins, planes);
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
  struct Node : NodeRange {  // of buffers.items
    bool in_block;           // rows count within the block
  };

  // As many codes as stay in the second cache: at 100,000 rows nothing is gained, at 1,000,000 two fifths of the time.
  static constexpr std::int64_t kBlockBytes = 1 << 18;

  std::uint64_t* top_sums() { return sums_.data() + sums_.size() - planes_; }

  // Takes the node's sums off the stack, and puts its children's there if it has any.
  void expand(Node node) {
    node_sums_.assign(top_sums(), top_sums() + planes_);
    sums_.resize(sums_.size() - planes_);
    if (!tree_.may_split(node, node_sums_.data())) return leaf(node);
    if (!node.in_block && pays_as_block(node)) move_to_block(node);
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
      const std::int32_t row = buffers_.items[i].row;
      tree_.leaf_of_row[node.in_block ? buffers_.block_rows[row] : row] = node.id;
    }
  }

  // --- the block: a small node's codes side by side, for all of its descendants --------------------------------

  // A copy takes all features; with few of many looked at it would cost more than it saves.
  bool pays_as_block(const Node& node) const {
    const auto bytes = count_of(sizeof(Code)) * table_.n_features;
    return node.size() * bytes <= kBlockBytes && node.size() >= 8 && table_.n_features <= 16 * draw_.wanted();
  }

  void move_to_block(Node& node) {
    const std::int64_t p = table_.n_features;
    buffers_.block.resize(node.size() * p);
    buffers_.block_rows.resize(node.size());
    for (std::int64_t i = 0; i < node.size(); ++i) {
      Item& item = buffers_.items[node.begin + i];
      std::copy_n(table_.codes + item.row * p, p, buffers_.block.data() + i * p);
      buffers_.block_rows[i] = item.row;
      item.row = static_cast<std::int32_t>(i);
    }
    node.in_block = true;
  }

  CodeView<Code> view_of(const Node& node) const {
    return node.in_block ? CodeView<Code>{buffers_.block.data(), table_.n_features, 1} : columns_;
  }

  // --- the best split ------------------------------------------------------------------------------------------

  Split find_split(const Node& node) {
    planes_of_node_.look(node_sums_.data(), static_cast<const Item*>(nullptr));
    slot_sums_.resize(planes_of_node_.held());
    for (int slot = 0; slot < planes_of_node_.held(); ++slot)
      slot_sums_[slot] = node_sums_[planes_of_node_.plane(slot)];
    if (planes_of_node_.is_identity()) return find_split<2, true>(node);
    return planes_of_node_.held() == 2 ? find_split<2, false>(node) : find_split<0, false>(node);
  }

  template <int kPlanes, bool kIdentity>
  Split find_split(const Node& node) {
    const CodeView<Code> codes = view_of(node);
    const Item* const items = buffers_.items.data() + node.begin;
    ListScan<Criterion, kPlanes> scan(tree_.rules(), planes_of_node_.held(), running_);
    const auto width = planes_of_node_.held();
    found_.clear();
    found_left_.resize(draw_.wanted() * width);
    for_features(node, codes, items, [&](std::int32_t j) {
      const std::int64_t missing_bin = table_.missing_bin(j);
      buffers_.histogram.template count<kPlanes, kIdentity>(items, node.size(), codes.column(j), codes.row_step,
                                                            missing_bin + 1, planes_of_node_, buffers_.list);
      std::uint64_t* const left = found_left_.data() + found_.size() * width;
      const auto missing = static_cast<std::int32_t>(missing_bin);
      found_.push_back(table_.categorical[j]
                           ? best_categories<Criterion>(tree_.rules(), node_sums_.data(), buffers_.list,
                                                        planes_of_node_, missing, j, left)
                           : scan.best(slot_sums_.data(), buffers_.list, missing, j, left));
      if (found_.back().feature < 0) found_.pop_back();
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

  // visit(j) for the features that vary in the node: all, or those that are drawn.
  template <class Visit>
  void for_features(const Node& node, const CodeView<Code>& codes, const Item* items, Visit&& visit) {
    const auto varies = [&](std::int32_t j) {
      const Code* const column = codes.column(j);
      const Code first = column[items[0].row * codes.row_step];
      for (std::int64_t i = 1; i < node.size(); ++i)
        if (column[items[i].row * codes.row_step] != first) return true;
      return false;
    };
    draw_.visit(node.path, [&](std::int32_t j) {
      if (!varies(j)) return false;
      visit(j);
      return true;
    });
  }

  // --- its rows ------------------------------------------------------------------------------------------------

  // Stable; returns how many rows go left.
  std::int64_t partition(const Node& node, const Split& split) {
    const CodeView<Code> codes = view_of(node);
    const auto missing = static_cast<std::int32_t>(table_.missing_bin(split.feature));
    const Code* const column = codes.column(split.feature);
    if (!split.category_is_left.empty()) {
      const std::uint8_t* const is_left = split.category_is_left.data();
      return partition(node, column, codes.row_step,
                       [&](std::int32_t code) { return code == missing ? split.missing_left : is_left[code] != 0; });
    }
    const std::int32_t bin = split.bin;
    if (!split.missing_left)
      return partition(node, column, codes.row_step, [bin](std::int32_t code) { return code <= bin; });
    return partition(node, column, codes.row_step,
                     [bin, missing](std::int32_t code) { return (code <= bin) | (code == missing); });
  }

  template <class GoesLeft>
  std::int64_t partition(const Node& node, const Code* column, std::int64_t step, GoesLeft&& goes_left) {
    Item* const items = buffers_.items.data() + node.begin;
    Item* const right = buffers_.right_items.data();
    std::int64_t n_left = 0, n_right = 0;
    for (std::int64_t i = 0; i < node.size(); ++i) {
      const Item item = items[i];
      const bool left = goes_left(column[item.row * step]);
      items[n_left] = item;  // both, so that nothing branches: the slot that is not taken is written again
      right[n_right] = item;
      n_left += left;
      n_right += !left;
    }
    std::copy_n(right, n_right, items + n_left);
    return n_left;
  }

  const BinnedTable<Code>& table_;
  const CodeView<Code> columns_;
  DeepBuffers<Code, Item>& buffers_;
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
};

}  // namespace committee
