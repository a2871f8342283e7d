// Growth of deep trees, as forests want them: thousands of small nodes that each look at a few features. Growth
// (grow.hpp) counts all features of a node into one histogram, which pays where nodes are large and all features
// are looked at; here a node costs its own rows times the features it looks at, whatever the number of bins.
//
// The trees are the same, node by node: same candidates, ties, draws of features and numbers of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "columns.hpp"
#include "deep_items.hpp"
#include "deep_scan.hpp"
#include "grower.hpp"
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
  Vector<std::int32_t> features;
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
        limits_(limits),
        units_(units),
        seed_(seed),
        buffers_(buffers),
        planes_(planes) {
    std::int64_t most_bins = 0;
    for (std::int64_t j = 0; j < table.n_features; ++j) most_bins = std::max(most_bins, table.missing_bin(j) + 1);
    buffers.histogram.make_room(most_bins, planes);
    buffers.list.make_room(most_bins, planes);
    buffers.features.resize(table.n_features);
    std::iota(buffers.features.begin(), buffers.features.end(), 0);
    const bool all = limits.max_features <= 0 || limits.max_features >= table.n_features;
    max_features_ = all ? table.n_features : limits.max_features;
    draws_features_ = !all;
  }

  // Grows the tree over buffers.items.
  FlatTree grow() {
    const auto n = buffers_.items.size();
    buffers_.right_items.resize(buffers_.items.size());
    tree_.leaf_of_row.assign(table_.n_rows, -1);
    sums_.assign(planes_, 0);
    for (const Item& item : buffers_.items) planes_of_node_.add_to_all(sums_.data(), item);
    open_.push_back({0, n, 0, tree_.add_node(planes_), false});
    Vector<double> units(planes_);
    units_.read(sums_.data(), planes_, units.data());
    const double total = units_.weight(units.data(), planes_);
    split_limits_ = {limits_.min_samples_leaf, limits_.min_weight_leaf * total,
                     std::max(limits_.min_gain * total, kNoise * (units_.moment_unit > 0.0 ? units_.spread : total))};
    record(open_.back(), sums_.data());
    // depth first, left child first: a small node's rows are used up before those of another one are looked at
    while (!open_.empty()) {
      const Node node = open_.back();
      open_.pop_back();
      expand(node);
    }
    return std::move(tree_);
  }

 private:
  struct Node {
    std::int64_t begin, end;  // its rows: buffers.items[begin..end)
    int depth;
    std::int32_t id;
    bool in_block;  // rows count within the block
    std::int64_t size() const { return end - begin; }
  };

  // As many codes as stay in the second cache: at 100,000 rows nothing is gained, at 1,000,000 two fifths of the time.
  static constexpr std::int64_t kBlockBytes = 1 << 18;

  std::uint64_t* top_sums() { return sums_.data() + sums_.size() - planes_; }

  void record(const Node& node, const std::uint64_t* packed) {
    tree_.count[node.id] = node.size();
    double* const sums = tree_.sums.data() + std::int64_t{node.id} * planes_;
    units_.read(packed, planes_, sums);
    if (units_.moment_unit > 0.0) sums[1] += units_.centre * sums[0];
  }

  bool may_split(const Node& node, const std::uint64_t* sums) const {
    return (limits_.max_depth == 0 || node.depth < limits_.max_depth) &&
           node.size() >= std::max<std::int64_t>(2, 2 * limits_.min_samples_leaf) && !is_pure(sums);
  }

  bool is_pure(const std::uint64_t* sums) const {
    if (units_.moment_unit > 0.0) return false;
    double total = 0.0, most = 0.0;
    for (int k = 0; k < planes_; ++k) {
      const double w = units_.fixed.weight(sums[k]);
      total += w;
      most = std::max(most, w);
    }
    return total <= 0.0 || most >= total;
  }

  // Takes the node's sums off the stack, and puts its children's there if it has any.
  void expand(Node node) {
    node_sums_.assign(top_sums(), top_sums() + planes_);
    sums_.resize(sums_.size() - planes_);
    if (!may_split(node, node_sums_.data())) return leaf(node);
    if (!node.in_block && pays_as_block(node)) move_to_block(node);
    const Split split = find_split(node);
    if (split.feature < 0) return leaf(node);
    const std::int64_t middle = node.begin + partition(node, split);
    const std::int32_t first = tree_.add_node(planes_);
    const std::int32_t second = tree_.add_node(planes_);
    tree_.set_split(node.id, split, first);
    open_.push_back({middle, node.end, node.depth + 1, second, node.in_block});
    open_.push_back({node.begin, middle, node.depth + 1, first, node.in_block});
    sums_.resize(sums_.size() + 2 * planes_, 0);
    std::uint64_t* const left = top_sums();
    std::uint64_t* const right = left - planes_;
    for (int slot = 0; slot < planes_of_node_.held(); ++slot) {
      const int k = planes_of_node_.plane(slot);
      left[k] = best_left_[slot];
      right[k] = node_sums_[k] - left[k];
    }
    record(open_.back(), left);
    record(open_[open_.size() - 2], right);
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
    return node.size() * bytes <= kBlockBytes && node.size() >= 8 && table_.n_features <= 16 * max_features_;
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
    ListScan<Criterion, kPlanes> scan(units_, split_limits_, planes_of_node_.held(), running_);
    const auto width = planes_of_node_.held();
    found_.clear();
    found_left_.resize(max_features_ * width);
    for_features(node, codes, items, [&](std::int32_t j) {
      const std::int64_t missing_bin = table_.missing_bin(j);
      buffers_.histogram.template count<kPlanes, kIdentity>(items, node.size(), codes.column(j), codes.row_step,
                                                            missing_bin + 1, planes_of_node_, buffers_.list);
      std::uint64_t* const left = found_left_.data() + found_.size() * width;
      const auto missing = static_cast<std::int32_t>(missing_bin);
      found_.push_back(table_.categorical[j]
                           ? best_categories<Criterion>(units_, split_limits_, node_sums_.data(), buffers_.list,
                                                        planes_of_node_, missing, j, left)
                           : scan.best(slot_sums_.data(), buffers_.list, missing, j, left));
      if (found_.back().feature < 0) found_.pop_back();
    });
    return best_of_found(width);
  }

  // The lowest feature wins a tie, in whatever order they were drawn.
  Split best_of_found(std::int64_t width) {
    order_.resize(found_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (draws_features_)
      std::sort(order_.begin(), order_.end(),
                [&](std::int64_t a, std::int64_t b) { return found_[a].feature < found_[b].feature; });
    std::int64_t best = found_.size();
    double gain = 0.0;
    for (const std::int64_t i : order_)
      if (found_[i].gain > gain * (1.0 + kTie)) {
        best = i;
        gain = found_[i].gain;
      }
    if (best == found_.size()) return Split{};
    const auto left = found_left_.begin() + static_cast<std::ptrdiff_t>(best * width);
    best_left_.assign(left, left + static_cast<std::ptrdiff_t>(width));
    return std::move(found_[best]);
  }

  // visit(j) for the features that vary in the node: all, or max_features of them, drawn as the other growth draws.
  template <class Visit>
  void for_features(const Node& node, const CodeView<Code>& codes, const Item* items, Visit&& visit) {
    const auto varies = [&](std::int32_t j) {
      const Code* const column = codes.column(j);
      const Code first = column[items[0].row * codes.row_step];
      for (std::int64_t i = 1; i < node.size(); ++i)
        if (column[items[i].row * codes.row_step] != first) return true;
      return false;
    };
    const std::int64_t p = table_.n_features;
    Vector<std::int32_t>& features = buffers_.features;
    if (!draws_features_) {
      for (const std::int32_t j : features)
        if (varies(j)) visit(j);
      return;
    }
    SplitMix random(seed_, word_of(node.id));
    swapped_.clear();
    std::int64_t seen = 0;
    for (std::int64_t i = 0; i < p && seen < max_features_; ++i) {
      const std::int64_t k = i + random.below(p - i);
      std::swap(features[i], features[k]);
      swapped_.push_back(k);
      const std::int32_t j = features[i];
      if (!varies(j)) continue;
      visit(j);
      ++seen;
    }
    for (std::int64_t i = swapped_.size(); i-- > 0;)  // in order again, without a look at those that were not drawn
      std::swap(features[i], features[swapped_[i]]);
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
  const GrowthLimits& limits_;
  const Units units_;
  const std::uint64_t seed_;
  DeepBuffers<Code, Item>& buffers_;
  const int planes_;
  std::int64_t max_features_;
  bool draws_features_;
  SplitLimits split_limits_;
  NodePlanes planes_of_node_{planes_};
  FlatTree tree_;
  Vector<Node> open_;
  Vector<std::uint64_t> sums_;  // of the open nodes
  Vector<std::uint64_t> node_sums_, slot_sums_;
  Vector<Split> found_;
  Vector<std::uint64_t> found_left_, best_left_;
  Vector<std::int64_t> order_;
  RunningPlanes running_;
  Vector<std::int64_t> swapped_;
};

// One binned table, one criterion and one set of limits, for any number of trees at the same time.
class DeepGrower {
 public:
  virtual ~DeepGrower() = default;
  virtual FlatTree grow_classes(const std::uint16_t* labels, const double* weights, const std::int32_t* rows,
                                std::int64_t n_in_use, std::uint64_t seed) = 0;
  virtual FlatTree grow_targets(const double* targets, const double* weights, const std::int32_t* rows,
                                std::int64_t n_in_use, std::uint64_t seed) = 0;
  virtual std::int64_t n_rows() const = 0;
};

template <class Code>
class DeepTableGrower final : public DeepGrower {
 public:
  DeepTableGrower(BinnedTable<Code> table, CriterionName criterion, int n_classes, GrowthLimits limits, int n_threads)
      : table_(std::move(table)), criterion_(criterion), n_classes_(n_classes), limits_(limits) {
    ThreadTeam team(n_threads);
    require_codes_in_range(table_, team);
    columns_ = by_column(table_, team);
  }

  std::int64_t n_rows() const override { return table_.n_rows; }

  FlatTree grow_classes(const std::uint16_t* labels, const double* weights, const std::int32_t* rows,
                        std::int64_t n_in_use, std::uint64_t seed) override {
    if (criterion_ == CriterionName::squared_error)
      throw std::invalid_argument("criterion 'squared_error' grows on targets, not on classes");
    const RowList list(rows, n_in_use, table_.n_rows);
    const auto buffers = class_pool_.take();
    const Units units = gather(buffers->items, list, labels, n_classes_, weights);
    return criterion_ == CriterionName::gini ? grow<Gini>(n_classes_, units, seed, *buffers)
                                             : grow<Entropy>(n_classes_, units, seed, *buffers);
  }

  FlatTree grow_targets(const double* targets, const double* weights, const std::int32_t* rows, std::int64_t n_in_use,
                        std::uint64_t seed) override {
    if (criterion_ != CriterionName::squared_error)
      throw std::invalid_argument("only criterion 'squared_error' grows on targets");
    const RowList list(rows, n_in_use, table_.n_rows);
    const auto buffers = target_pool_.take();
    const Units units = gather(buffers->items, list, targets, weights);
    return grow<SquaredError>(2, units, seed, *buffers);
  }

 private:
  // Buffers that no tree is using; as many come to exist as trees ever grew at the same time.
  template <class Item>
  class Pool {
   public:
    using Buffers = DeepBuffers<Code, Item>;
    auto take() {
      const auto give_back = [this](Buffers* buffers) {
        const std::scoped_lock lock(mutex_);
        idle_.emplace_back(buffers);
      };
      const std::scoped_lock lock(mutex_);
      Buffers* const buffers = idle_.empty() ? new Buffers : idle_.back().release();
      if (!idle_.empty()) idle_.pop_back();
      return std::unique_ptr<Buffers, decltype(give_back)>(buffers, give_back);
    }

   private:
    std::mutex mutex_;
    Vector<std::unique_ptr<Buffers>> idle_;
  };

  template <class Criterion, class Item>
  FlatTree grow(int planes, const Units& units, std::uint64_t seed, DeepBuffers<Code, Item>& buffers) const {
    return DeepGrowth<Code, Criterion, Item>(table_, columns_.data(), limits_, planes, units, seed, buffers).grow();
  }

  const BinnedTable<Code> table_;
  const CriterionName criterion_;
  const int n_classes_;
  const GrowthLimits limits_;
  Vector<Code> columns_;  // a large node reads whole columns; the copy is made once for all trees
  Pool<ClassItem> class_pool_;
  Pool<TargetItem> target_pool_;
};

}  // namespace committee
