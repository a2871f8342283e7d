// Rows of a table or shard while gradient trees grow on them: sampled rows in node order, their packed statistics, and
// their sums per histogram cell and leaf.
//
// Whatever is found of rows here is a whole number or a largest number, so that of the parts of a table, in any order,
// the same is found as of the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <stdexcept>

#include "histogram/columns.hpp"
#include "histogram/gradient_histogram.hpp"
#include "histogram/gradient_words.hpp"
#include "histogram/reproducible_sum.hpp"
#include "threads/vector.hpp"
#include "trees/tree.hpp"

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

// The units of the sums over leaves: of gradients and hessians, and of weights where rows have any.
struct LeafUnits {
  SumUnit gradients, hessians, weights;
  std::int64_t n_outputs;
  bool weighted;

  LeafUnits(double largest_gradient, double largest_hessian, double largest_weight, std::int64_t n_outputs,
            bool weighted)
      : gradients(largest_gradient),
        hessians(largest_hessian),
        weights(largest_weight),
        n_outputs(n_outputs),
        weighted(weighted) {}
  LeafUnits(const RoundScale& scale, double largest_weight, bool weighted)
      : LeafUnits(scale.largest_gradient(), scale.largest_hessian(), largest_weight, scale.n_outputs, weighted) {}

  std::int64_t width() const { return 2 * n_outputs + weighted; }
  const SumUnit& of(std::int64_t column) const {
    return column < n_outputs ? gradients : column < 2 * n_outputs ? hessians : weights;
  }
  // What the column adds up, of each of n rows.
  const double* terms(std::int64_t column, const GradientRound& round, std::int64_t n) const {
    if (column == 2 * n_outputs) return round.weights;
    return column < n_outputs ? round.gradient + column * n : round.hessian + (column - n_outputs) * n;
  }
};

template <class Table>
class GradientRows {
 public:
  GradientRows(Table table, std::int64_t n_outputs, ThreadTeam& team)
      : table_(std::move(table)), n_outputs_(n_outputs), columns_(table_, team), leaf_of_row_(table_.n_rows, -1) {}

  const Table& table() const { return table_; }
  std::int64_t n_outputs() const { return n_outputs_; }
  const Vector<std::int32_t>& leaf_of_row() const { return leaf_of_row_; }
  const std::uint64_t* words() const { return words_.data(); }
  IdleHistograms& idle() { return idle_; }
  // Of the i-th of those that count at the same time; `make` is called before with their number.
  CountingRoom& counting_room(std::int64_t i = 0) { return counting_rooms_[size_of(i)]; }
  void make_counting_rooms(std::int64_t n) {
    while (count_of(counting_rooms_.size()) < n) counting_rooms_.emplace_back();
  }
  TableColumns<Table>& columns() { return columns_; }

  // The tree's rows in the order of its nodes, and room for parting them.
  std::int32_t* in_order() { return rows_.data(); }
  std::int32_t* room() { return leaf_of_row_.data(); }

  // The rows of this tree, each at most once.
  void use(const GradientRound& round, ThreadTeam& team) {
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

  GradientRange range(const GradientRound& round, bool by_units, ThreadTeam& team) const {
    const std::int64_t n = table_.n_rows, m = round.n_in_use;
    const double* const weights = by_units ? round.weights : nullptr;
    GradientRange range;
    Vector<GradientRange> ranges(n_blocks(m));
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      const double *const g = round.gradient + d * n, *const h = round.hessian + d * n;
      team.blocks(m, m * n_outputs_, [&](std::int64_t begin, std::int64_t end) {
        ranges[begin / kRowBlock] = weights || round.rows ? range_of_units(g, h, weights, round.rows, begin, end)
                                                          : range_of(g + begin, h + begin, end - begin);
      });
      for (const GradientRange& other : ranges) range.add(other);
    }
    return range;
  }

  // All rows are packed, those of the tree or not: it is one sweep. Totals are those of the tree's rows, where it is to
  // be seen whether words are fine enough.
  WordTotals pack(const GradientRound& round, const WordLayout& layout, bool by_units, ThreadTeam& team) {
    const std::int64_t n = table_.n_rows, planes = layout.packed ? 1 : 2;
    words_.resize(planes * n * n_outputs_);
    Vector<WordTotals> totals(n_blocks(n));
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      std::uint64_t* const words = words_.data() + planes * d * n;
      team.blocks(n, n * n_outputs_, [&](std::int64_t begin, std::int64_t end) {
        const double *const g = round.gradient + d * n + begin, *const h = round.hessian + d * n + begin;
        const double* const w = by_units ? round.weights + begin : nullptr;
        const std::int64_t size = end - begin;
        std::uint64_t *const gradients = words + begin, *const pairs = gradients + n;
        if (layout.packed)
          w ? pack_units(g, h, w, size, layout, gradients) : pack_words(g, h, size, layout, gradients);
        else
          w ? pack_wide_units(g, h, w, size, layout, gradients, pairs)
            : pack_wide(g, h, size, layout, gradients, pairs);
        if (layout.of_words && round.rows == nullptr)
          totals[begin / kRowBlock].add(totals_of(gradients, n, nullptr, size, layout));
      });
      if (layout.of_words && round.rows != nullptr)
        team.blocks(round.n_in_use, round.n_in_use, [&](std::int64_t begin, std::int64_t end) {
          totals[begin / kRowBlock].add(totals_of(words, n, round.rows + begin, end - begin, layout));
        });
    }
    WordTotals all;
    for (const WordTotals& block : totals) all.add(block);
    return all;
  }

  // Gradients, hessians and weights of the leaves once more, in full precision, (n_nodes x width); every leaf's rows
  // learn its number.
  Vector<Multiples> leaf_sums(const Vector<LeafRows>& leaves, std::int64_t n_nodes, const GradientRound& round,
                              const LeafUnits& units, ThreadTeam& team) {
    const std::int64_t n = table_.n_rows, width = units.width();
    if (round.rows != nullptr) std::fill(leaf_of_row_.begin(), leaf_of_row_.end(), -1);
    Vector<LeafRows> parts;  // of at most a block each
    for (const LeafRows& leaf : leaves)
      for (std::int64_t i = leaf.begin; i < leaf.end; i += kRowBlock)
        parts.push_back({i, std::min(leaf.end, i + kRowBlock), leaf.id});
    team.each(parts.size(), round.n_in_use, [&](std::int64_t k) {
      for (std::int64_t i = parts[k].begin; i < parts[k].end; ++i) leaf_of_row_[rows_[i]] = parts[k].id;
    });
    // the rows in the table's order, as the rows of a leaf are far apart; a thread's share is long beside the leaves
    const std::int64_t work = 4 * width * n, size = n_nodes * width;
    const std::int64_t shares = std::clamp<std::int64_t>(n / (8 * n_nodes), 1, team.wanted(work));
    Vector<Vector<Multiples>> of_shares(shares);
    team.each(shares, work, [&](std::int64_t share) {
      Vector<Multiples>& sums = of_shares[share];
      sums.assign(size, 0);
      Vector<SumUnit::Halves> halves(width + size);  // the first for rows that are in no leaf
      const std::int64_t last = n * (share + 1) / shares;
      for (std::int64_t begin = n * share / shares; begin < last; begin += SumUnit::kMostTerms) {
        std::fill(halves.begin(), halves.end(), SumUnit::Halves{});
        const std::int64_t end = std::min(last, begin + SumUnit::kMostTerms);
        for (std::int64_t d = 0; d < width; ++d)
          add_by_group(units.of(d), units.terms(d, round, n), leaf_of_row_.data(), begin, end,
                       halves.data() + width + d, width);
        for (std::int64_t k = 0; k < size; ++k) sums[k] += halves[width + k].multiples();
      }
    });
    Vector<Multiples> total = std::move(of_shares[0]);
    for (std::int64_t share = 1; share < shares; ++share)
      for (std::int64_t k = 0; k < size; ++k) total[k] += of_shares[share][k];
    return total;
  }

  // Rows that the tree was not grown on find their leaves. Those of a block are parted node by node, as the cells of a
  // column are next to each other: a walk of each row through the tree takes several times as long.
  template <class Columns>
  void walk_others(const FlatTree& tree, const Table& table, const Columns& columns, ThreadTeam& team) {
    const std::int64_t n = table.n_rows, n_nodes = tree.left.size();
    team.blocks(n, 8 * n, [&](std::int64_t begin, std::int64_t end) {
      Vector<std::int32_t> rows, first(n_nodes), last(n_nodes);
      for (std::int64_t row = begin; row < end; ++row)
        if (leaf_of_row_[row] < 0) rows.push_back(static_cast<std::int32_t>(row));
      if (rows.empty()) return;
      Vector<std::int32_t> room(rows.size());
      last[0] = static_cast<std::int32_t>(rows.size());
      for (std::int64_t at = 0; at < n_nodes; ++at) {  // children come after their parents
        if (first[at] == last[at]) continue;
        const std::int32_t left = tree.left[at];
        if (left < 0) {
          for (std::int32_t i = first[at]; i < last[at]; ++i) leaf_of_row_[rows[i]] = static_cast<std::int32_t>(at);
          continue;
        }
        first[left] = first[at];
        last[left] = first[left + 1] =
            part_node(tree, at, table, columns, rows.data(), first[at], last[at], room.data());
        last[left + 1] = last[at];
      }
    });
  }

 private:
  // The rows from `begin` to `end` that go left come first; where they end.
  template <class Columns>
  static std::int32_t part_node(const FlatTree& tree, std::int64_t node, const Table& table, const Columns& columns,
                                std::int32_t* rows, std::int32_t begin, std::int32_t end, std::int32_t* room) {
    const std::int64_t j = tree.feature[node], bin = tree.bin[node], missing = table.missing_bin(j);
    const bool missing_left = tree.missing_left[node] != 0;
    const auto& bits = tree.category_bits[node];
    const bool categorical = !bits.empty();
    std::int32_t n_left = begin, n_right = 0;
    for (std::int32_t i = begin; i < end; ++i) {
      const std::int32_t row = rows[i];
      const std::int64_t code = columns.code(row, j);
      bool goes_left = code <= bin;
      if (categorical && code != missing) goes_left = (bits[code / 32] >> (code % 32)) & 1u;
      goes_left = code == missing ? missing_left : goes_left;
      rows[n_left] = row;
      room[n_right] = row;
      n_left += goes_left;
      n_right += !goes_left;
    }
    std::copy_n(room, n_right, rows + n_left);
    return n_left;
  }

  const Table table_;
  const std::int64_t n_outputs_;
  TableColumns<Table> columns_;
  Vector<std::int32_t> rows_;
  Vector<std::int32_t> leaf_of_row_;  // while a tree grows, room for parting its rows
  Vector<std::uint64_t> words_;
  IdleHistograms idle_;
  std::deque<CountingRoom> counting_rooms_{1};
};

// Some columns of a table, numbered anew; their cells are written to `columns`.
template <class Table>
Table chosen_columns(const Table& table, const std::int32_t* features, std::int64_t q, TableColumns<Table>& columns,
                     ThreadTeam& team) {
  for (std::int64_t i = 0; i < q; ++i) {
    const std::int32_t j = features[i];
    if (j < 0 || j >= table.n_features) throw std::invalid_argument("features holds a number outside the table");
    if (i > 0 && j <= features[i - 1]) throw std::invalid_argument("features must rise");
  }
  Table some{};
  some.n_rows = table.n_rows;
  some.n_features = q;
  some.cell.push_back(0);
  for (std::int64_t i = 0; i < q; ++i) {
    const std::int32_t j = features[i];
    some.cell.push_back(some.cell.back() + table.cell[j + 1] - table.cell[j]);
    some.categorical.push_back(table.categorical[j]);
  }
  columns.fill(some, features, team);
  return some;
}

// The largest weight of some rows, null: all.
inline double largest_weight(const double* weights, const std::int32_t* rows, std::int64_t n) {
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, weights[rows ? rows[i] : i]);
  return largest;
}

// A tree's sums from those of its leaves, (nodes x 2 n_outputs), and the weight of its nodes if they have any.
inline void add_up(FlatTree& tree, const Vector<Multiples>& of_leaves, const LeafUnits& units, Vector<double>& weight) {
  const std::int64_t n = tree.feature.size(), width = units.width(), planes = 2 * units.n_outputs;
  Vector<double> sums(n * width);
  for (std::int64_t k = 0; k < n * width; ++k) sums[k] = units.of(k % width).value(of_leaves[k]);
  for (std::int64_t i = n - 1; i >= 0; --i)  // children come after their parents
    if (tree.left[i] >= 0)
      for (std::int64_t d = 0; d < width; ++d)
        sums[i * width + d] = sums[tree.left[i] * width + d] + sums[(tree.left[i] + 1) * width + d];
  tree.sums.resize(n * planes);
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(sums.data() + i * width, planes, tree.sums.data() + i * planes);
  weight.clear();
  for (std::int64_t i = 0; units.weighted && i < n; ++i) weight.push_back(sums[i * width + planes]);
}

}  // namespace committee
