// A GradientGrower: one binned table, one set of limits, and the buffers that a boosting run reuses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "columns.hpp"
#include "gradient_grow.hpp"
#include "order_free_sum.hpp"
#include "vector.hpp"

namespace committee {

// What a round is about: gradients and hessians (n_outputs x n), perhaps some of the rows and of the features.
struct GradientRound {
  const double* gradient;
  const double* hessian;
  const double* weights;     // what the rows weigh in both; null: all alike
  const std::int32_t* rows;  // null: all
  std::int64_t n_in_use;
  const std::int32_t* features;  // null: all
  std::int64_t n_features;
  std::uint64_t seed;
  std::int64_t score;  // whose directions the tree follows
};

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

  const Vector<std::int32_t>& leaf_of_row() const override { return leaf_of_row_; }
  std::int64_t n_rows() const override { return table_.n_rows; }
  std::int64_t n_features() const override { return table_.n_features; }
  std::int64_t n_directions() const override { return growth_.monotone.size(); }

  GradientTree grow(const GradientRound& round) override {
    ThreadTeam team(n_threads_);
    use_rows(round, team);
    const WordLayout layout = pack(round, team);
    if (round.features != nullptr) {
      check_features(round);
      Chosen some = choose(round.features, round.n_features, columns_, team);
      const std::int64_t q = round.n_features;
      some.growth.max_features = growth_.max_features > 0 ? std::min(growth_.max_features, q) : q;
      return grow_on(some, round.features, columns_, layout, round, team);
    }
    if (!parting_.empty()) return grow_on(narrow_, parting_.data(), *narrow_columns_, layout, round, team);
    return grow_on(table_, columns_.all(), growth_, layout, round, team);
  }

 private:
  TableGradientGrower(Table table, GradientGrowth growth, int n_outputs, int n_threads, ThreadTeam&& team)
      : table_(std::move(table)),
        growth_(std::move(growth)),
        n_outputs_(n_outputs),
        n_threads_(n_threads),
        columns_(table_, team),
        leaf_of_row_(table_.n_rows, -1) {
    if constexpr (std::is_same_v<Table, SparseTable>) leave_out_idle_columns(team);
  }

  // Some of the columns, numbered anew.
  struct Chosen {
    Table table;
    GradientGrowth growth;
  };

  Chosen choose(const std::int32_t* features, std::int64_t q, TableColumns<Table>& columns, ThreadTeam& team) const {
    Chosen some{{}, growth_};
    some.table.n_rows = table_.n_rows;
    some.table.n_features = q;
    some.table.cell.push_back(0);
    for (Directions& directions : some.growth.monotone) {
      if (directions.empty()) continue;
      for (std::int64_t i = 0; i < q; ++i) directions[i] = directions[features[i]];  // features rise
      directions.resize(q);
    }
    some.growth.interactions = growth_.interactions.among(features, q);
    for (std::int64_t i = 0; i < q; ++i) {
      const std::int32_t j = features[i];
      some.table.cell.push_back(some.table.cell.back() + table_.cell[j + 1] - table_.cell[j]);
      some.table.categorical.push_back(table_.categorical[j]);
    }
    columns.fill(some.table, features, team);
    return some;
  }

  void check_features(const GradientRound& round) const {
    for (std::int64_t i = 0; i < round.n_features; ++i) {
      const std::int32_t j = round.features[i];
      if (j < 0 || j >= table_.n_features) throw std::invalid_argument("features holds a number outside the table");
      if (i > 0 && j <= round.features[i - 1]) throw std::invalid_argument("features must rise");
    }
  }

  // One side of a split on a sparse column has none of its zeros. So a column of fewer entries than a leaf has rows
  // parts no node, and trees are grown without it; but where columns are drawn it is drawn as well, and what is drawn
  // of a column depends on its number.
  void leave_out_idle_columns(ThreadTeam& team) {
    if (growth_.max_features > 0 || growth_.draw_thresholds) return;
    for (std::int64_t j = 0; j < table_.n_features; ++j)
      if (table_.column_start[j + 1] - table_.column_start[j] >= growth_.min_samples_leaf)
        parting_.push_back(static_cast<std::int32_t>(j));
    if (parting_.size() == table_.n_features) return parting_.clear();
    if (parting_.empty()) parting_.push_back(0);
    narrow_columns_.emplace(table_, team);
    narrow_ = choose(parting_.data(), parting_.size(), *narrow_columns_, team);
  }

  GradientTree grow_on(const Chosen& some, const std::int32_t* features, const TableColumns<Table>& columns,
                       const WordLayout& layout, const GradientRound& round, ThreadTeam& team) {
    GradientTree tree = grow_on(some.table, columns.some(some.table, features), some.growth, layout, round, team);
    for (std::int32_t& feature : tree.feature)
      if (feature >= 0) feature = features[feature];
    return tree;
  }

  template <class Columns>
  GradientTree grow_on(const Table& table, const Columns& columns, const GradientGrowth& growth,
                       const WordLayout& layout, const GradientRound& round, ThreadTeam& team) {
    GradientHistograms<Table> histograms(table, n_outputs_, team, idle_);
    histograms.use(layout, words_.data());
    GradientGrowing<Table, Columns> growing(histograms, columns, growth, {rows_, leaf_of_row_}, round.weights,
                                            round.score, round.seed);
    GradientTree tree = growing.grow(round.n_in_use, round.rows == nullptr);
    sum_leaves(tree, growing.leaves(), round, team);
    weigh(tree, growth.penalty, !growth.directions(round.score).empty());
    if (round.rows != nullptr) walk_others(tree, table, columns, team);
    return tree;
  }

  // The rows of this tree, each at most once.
  void use_rows(const GradientRound& round, ThreadTeam& team) {
    const auto n = table_.n_rows;
    rows_.resize(n);
    if (round.rows == nullptr) return count_up(rows_.data(), round.n_in_use, team);
    std::int32_t last = -1;
    for (std::int64_t i = 0; i < round.n_in_use; ++i) {
      const std::int32_t row = round.rows[i];
      if (row <= last || row >= table_.n_rows) throw std::invalid_argument("rows must rise and stay within the table");
      last = rows_[i] = row;
    }
  }

  // All rows are packed, those of the tree or not: it is one sweep. Units are those of the tree's rows, which are the
  // same however often a row is given.
  WordLayout pack(const GradientRound& round, ThreadTeam& team) {
    const std::int64_t n = table_.n_rows, m = round.n_in_use;
    const WeightUnits units = round.weights ? weight_units(round.weights, round.rows, m) : WeightUnits{};
    const double* const weights = units.usable() ? round.weights : nullptr;
    const GradientRange range = range_of(round, weights, team);
    const double most = weights ? static_cast<double>(units.largest) : 1.0;  // a unit's are known
    largest_gradient_ = most * range.largest_gradient;
    largest_hessian_ = most * range.largest_hessian;
    WordLayout layout =
        word_layout(range, weights ? units.all : m, static_cast<double>((weights ? units.all : m) * n_outputs_));
    if (weights) units.fit(layout);
    words_.resize((layout.packed ? 1 : 2) * n * n_outputs_);
    for (std::int64_t d = 0; d < n_outputs_; ++d)
      team.blocks(n, n * n_outputs_, [&](std::int64_t begin, std::int64_t end) {
        const double *const g = round.gradient + d * n + begin, *const h = round.hessian + d * n + begin;
        const double* const w = weights ? weights + begin : nullptr;
        const std::int64_t size = end - begin;
        if (layout.packed) {
          std::uint64_t* const words = words_.data() + d * n + begin;
          w ? pack_units(g, h, w, size, layout, words) : pack_words(g, h, size, layout, words);
        } else {
          std::uint64_t *const gradients = words_.data() + 2 * d * n + begin, *const pairs = gradients + n;
          w ? pack_wide_units(g, h, w, size, layout, gradients, pairs)
            : pack_wide(g, h, size, layout, gradients, pairs);
        }
      });
    return layout;
  }

  GradientRange range_of(const GradientRound& round, const double* weights, ThreadTeam& team) const {
    const std::int64_t n = table_.n_rows, m = round.n_in_use;
    GradientRange range;
    Vector<GradientRange> ranges(n_blocks(m));
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      const double *const g = round.gradient + d * n, *const h = round.hessian + d * n;
      team.blocks(m, m * n_outputs_, [&](std::int64_t begin, std::int64_t end) {
        ranges[begin / kRowBlock] = weights || round.rows ? range_of_units(g, h, weights, round.rows, begin, end)
                                                          : committee::range_of(g + begin, h + begin, end - begin);
      });
      for (const GradientRange& other : ranges) range.add(other);
    }
    if (!std::isfinite(range.gradients) || !std::isfinite(range.hessians))
      throw std::invalid_argument(
          "gradients must be finite, and hessians finite and not negative; rescale the target or the weights");
    if (range.largest_gradient > 1e150 || range.largest_hessian > 1e150)
      throw std::invalid_argument("a gradient or hessian is larger than 1e150; rescale the target or the weights");
    return range;
  }

  // Gradients and hessians of the leaves once more, in full precision; every leaf's rows learn its number.
  void sum_leaves(GradientTree& tree, const Vector<LeafRows>& leaves, const GradientRound& round, ThreadTeam& team) {
    const SumUnit of_gradients(largest_gradient_), of_hessians(largest_hessian_);
    Vector<LeafRows> parts;  // of at most a block each
    for (const LeafRows& leaf : leaves)
      for (std::int64_t i = leaf.begin; i < leaf.end; i += kRowBlock)
        parts.push_back({i, std::min(leaf.end, i + kRowBlock), leaf.id});
    const std::int64_t n = table_.n_rows, width = 2 * n_outputs_;
    Vector<Multiples> partial(parts.size() * width);
    if (round.rows != nullptr) std::fill(leaf_of_row_.begin(), leaf_of_row_.end(), -1);
    team.each(parts.size(), 4 * round.n_in_use * n_outputs_, [&](std::int64_t k) {
      const LeafRows& part = parts[k];
      Multiples* const out = partial.data() + k * width;
      for (std::int64_t d = 0; d < n_outputs_; ++d) {
        const double *const g = round.gradient + d * n, *const h = round.hessian + d * n;
        out[d] = of_gradients.sum(part.begin, part.end, [&](std::int64_t i) { return g[rows_[i]]; });
        out[n_outputs_ + d] = of_hessians.sum(part.begin, part.end, [&](std::int64_t i) { return h[rows_[i]]; });
      }
      for (std::int64_t i = part.begin; i < part.end; ++i) leaf_of_row_[rows_[i]] = part.id;
    });
    const auto n_nodes = tree.feature.size();
    Vector<Multiples> total(n_nodes * width, 0);
    for (std::int64_t k = 0; k < parts.size(); ++k)
      for (std::int64_t d = 0; d < width; ++d) total[parts[k].id * width + d] += partial[k * width + d];
    tree.sums.resize(n_nodes * width);
    for (std::int64_t i = 0; i < n_nodes; ++i)
      for (std::int64_t d = 0; d < width; ++d)
        tree.sums[i * width + d] = (d < n_outputs_ ? of_gradients : of_hessians).value(total[i * width + d]);
    for (std::int64_t i = n_nodes - 1; i >= 0; --i)  // children come after their parents
      if (tree.left[i] >= 0)
        for (std::int64_t d = 0; d < width; ++d)
          tree.sums[i * width + d] = tree.sums[tree.left[i] * width + d] + tree.sums[(tree.left[i] + 1) * width + d];
  }

  void weigh(GradientTree& tree, const LeafPenalty& penalty, bool bounded) const {
    const std::int64_t D = n_outputs_;
    for (std::int64_t i = 0; i < tree.feature.size(); ++i)
      for (std::int64_t d = 0; d < D; ++d) {
        const double G = tree.sums[i * 2 * D + d], H = tree.sums[i * 2 * D + D + d];
        tree.value.push_back(bounded ? penalty.weight_within(G, H, tree.bounds[i].lower, tree.bounds[i].upper)
                                     : penalty.weight(G, H));
      }
  }

  // Rows that the tree was not grown on find their leaves.
  template <class Columns>
  void walk_others(const GradientTree& tree, const Table& table, const Columns& columns, ThreadTeam& team) {
    const std::int64_t n = table.n_rows;
    team.blocks(n, 8 * n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int32_t& at = leaf_of_row_[row];
        if (at >= 0) continue;
        at = 0;
        while (tree.left[at] >= 0) {
          const std::int32_t j = tree.feature[at];
          const std::int64_t code = columns.code(row, j);
          bool goes_left = code <= tree.bin[at];
          if (code == table.missing_bin(j))
            goes_left = tree.missing_left[at] != 0;
          else if (!tree.category_bits[at].empty())
            goes_left = (tree.category_bits[at][code / 32] >> (code % 32)) & 1u;
          at = tree.left[at] + !goes_left;
        }
      }
    });
  }

  const Table table_;
  const GradientGrowth growth_;
  const std::int64_t n_outputs_;
  const int n_threads_;
  TableColumns<Table> columns_;
  Vector<std::int32_t> parting_;  // columns that can part a node; none where all can
  Chosen narrow_{};               // the table of these
  std::optional<TableColumns<Table>> narrow_columns_;
  Vector<std::int32_t> rows_;
  Vector<std::int32_t> leaf_of_row_;  // while a tree grows, room for parting its rows
  Vector<std::uint64_t> words_;
  double largest_gradient_ = 0.0, largest_hessian_ = 0.0;  // of this tree's rows
  IdleHistograms idle_;
};

}  // namespace committee
