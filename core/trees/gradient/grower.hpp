// A GradientGrower: one binned table, one set of limits, and the buffers that a boosting run reuses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "threads/vector.hpp"
#include "trees/gradient/grow.hpp"
#include "trees/gradient/local_rows.hpp"
#include "trees/gradient/rows.hpp"

namespace committee {

class GradientGrower {
 public:
  virtual ~GradientGrower() = default;
  virtual GradientTree grow(const GradientRound& round) = 0;
  // The leaf of every row in the tree grown last, in memory that the next tree writes anew.
  virtual const Vector<std::int32_t>& leaf_of_row() const = 0;
  virtual std::int64_t n_rows() const = 0;
  virtual std::int64_t n_features() const = 0;
  virtual std::int64_t n_directions() const = 0;  // of how many scores; 0 where all are free
};

template <class Table>
class TableGradientGrower final : public GradientGrower {
 public:
  TableGradientGrower(Table table, GradientGrowth growth, int n_outputs, int n_threads)
      : TableGradientGrower(std::move(table), std::move(growth), n_outputs, n_threads, ThreadTeam(n_threads)) {}

  const Vector<std::int32_t>& leaf_of_row() const override { return rows_.leaf_of_row(); }
  std::int64_t n_rows() const override { return table().n_rows; }
  std::int64_t n_features() const override { return table().n_features; }
  std::int64_t n_directions() const override { return growth_.monotone.size(); }

  GradientTree grow(const GradientRound& round) override {
    ThreadTeam team(n_threads_);
    rows_.use(round, team);
    const RoundScale scale = scale_of(round, team);
    WordLayout layout = scale.layout();
    const WordTotals totals = rows_.pack(round, layout, scale.by_units(), team);
    if (layout.of_words && !scale.fine_enough(totals)) {
      layout = scale.wide();
      rows_.pack(round, layout, scale.by_units(), team);
    }
    if (round.features != nullptr) {
      const std::int64_t q = round.n_features;
      const Table some = chosen_columns(table(), round.features, q, rows_.columns(), team);
      GradientGrowth growth = growth_.of_columns(round.features, q);
      growth.max_features = growth_.max_features > 0 ? std::min(growth_.max_features, q) : q;
      return grow_on(some, growth, round.features, rows_.columns(), layout, scale, round, team);
    }
    if (!parting_.empty())
      return grow_on(narrow_, narrow_growth_, parting_.data(), *narrow_columns_, layout, scale, round, team);
    return grow_on(table(), rows_.columns().all(), growth_, layout, scale, round, team);
  }

 private:
  TableGradientGrower(Table table, GradientGrowth growth, int n_outputs, int n_threads, ThreadTeam&& team)
      : growth_(std::move(growth)), n_threads_(n_threads), rows_(std::move(table), n_outputs, team) {
    if constexpr (std::is_same_v<Table, SparseTable>) leave_out_idle_columns(team);
  }

  const Table& table() const { return rows_.table(); }

  RoundScale scale_of(const GradientRound& round, ThreadTeam& team) const {
    const std::int64_t m = round.n_in_use;
    RoundScale scale{{}, {}, m, rows_.n_outputs()};
    if (round.weights) scale.units = weight_units(round.weights, round.rows, m);
    scale.range = rows_.range(round, scale.by_units(), team);
    require_sound(scale.range);
    return scale;
  }

  // One side of a split on a sparse column has none of its zeros. So a column of fewer entries than a leaf has rows
  // parts no node, and trees are grown without it; but where columns are drawn it is drawn as well, and what is drawn
  // of a column depends on its number.
  void leave_out_idle_columns(ThreadTeam& team) {
    if (growth_.max_features > 0 || growth_.draw_thresholds > 0.0) return;
    for (std::int64_t j = 0; j < table().n_features; ++j)
      if (table().column_start[j + 1] - table().column_start[j] >= growth_.min_samples_leaf)
        parting_.push_back(static_cast<std::int32_t>(j));
    if (parting_.size() == table().n_features) return parting_.clear();
    if (parting_.empty()) parting_.push_back(0);
    narrow_columns_.emplace(table(), team);
    narrow_ = chosen_columns(table(), parting_.data(), parting_.size(), *narrow_columns_, team);
    narrow_growth_ = growth_.of_columns(parting_.data(), parting_.size());
  }

  GradientTree grow_on(const Table& some, const GradientGrowth& growth, const std::int32_t* features,
                       const TableColumns<Table>& columns, const WordLayout& layout, const RoundScale& scale,
                       const GradientRound& round, ThreadTeam& team) {
    GradientTree tree = grow_on(some, columns.some(some, features), growth, layout, scale, round, team);
    for (std::int32_t& feature : tree.feature)
      if (feature >= 0) feature = features[feature];
    return tree;
  }

  template <class Columns>
  GradientTree grow_on(const Table& some, const Columns& columns, const GradientGrowth& growth,
                       const WordLayout& layout, const RoundScale& scale, const GradientRound& round,
                       ThreadTeam& team) {
    const bool all_rows = round.rows == nullptr, weighted = round.weights != nullptr;
    using Children = GradientChildren<LocalRows<Table>>;
    struct Counting {
      GradientHistograms<Table> histograms;
      LocalRows<Table> nodes;
      Children children;
      Counting(GradientRows<Table>& rows, const Table& some, const Columns& columns, const GradientGrowth& growth,
               const WordLayout& layout, const GradientRound& round, ThreadTeam& team, CountingRoom& room)
          : histograms(some, &columns, rows.n_outputs(), team, rows.idle(), room),
            nodes(histograms.use(layout, rows.words()), columns, rows.in_order(), rows.room(), round.n_in_use,
                  round.rows == nullptr),
            children(nodes, growth, round.weights != nullptr, round.score, round.seed) {}
    };
    // a tree counts its rows some three times over, and reads some sixty histograms
    const std::int64_t work = rows_.n_outputs() * (4 * some.cells_of(round.n_in_use) + 64 * some.n_cells());
    const std::int64_t n_alone = team.start_for(work) > 1 ? 2 * team.size() : 0;
    rows_.make_counting_rooms(1 + n_alone);
    std::deque<ThreadTeam> of_one;
    std::deque<Counting> counting;
    const auto add = [&](ThreadTeam& threads) {
      counting.emplace_back(rows_, some, columns, growth, layout, round, threads,
                            rows_.counting_room(count_of(counting.size())));
    };
    add(team);
    Vector<Children*> alone;
    for (std::int64_t i = 0; i < n_alone; ++i) {
      add(of_one.emplace_back(1));
      alone.push_back(&counting.back().children);
    }
    GradientGrowing<LocalRows<Table>> growing(counting.front().children, alone, growth, team);
    GradientTree tree = growing.grow(round.n_in_use);
    const double heaviest = weighted ? largest_weight(round.weights, round.rows, round.n_in_use) : 0.0;
    const LeafUnits units(scale, heaviest, weighted);
    Vector<LeafRows> leaves;
    for (const NodeRows& leaf : growing.leaves()) leaves.push_back({leaf.begin, leaf.end, leaf.id});
    add_up(tree, rows_.leaf_sums(leaves, tree.feature.size(), round, units, team), units, tree.weight);
    growing.settle_unseen(tree, tree.weight);
    weigh(tree, growth, round.score, rows_.n_outputs());
    if (!all_rows) rows_.walk_others(tree, some, columns, team);
    return tree;
  }

  const GradientGrowth growth_;
  const int n_threads_;
  GradientRows<Table> rows_;
  Vector<std::int32_t> parting_;  // columns that can part a node; none where all can
  Table narrow_{};                // the table of these
  GradientGrowth narrow_growth_{};
  std::optional<TableColumns<Table>> narrow_columns_;
};

}  // namespace committee
