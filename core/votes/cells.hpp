// A binned table as one-feature voters see it: sums of row values per cell, of row weights per pair of cells, and
// back from numbers per cell to scores of rows. A voter that looks at one column alone votes the same on a whole cell,
// so every correlation with such a voter is a sum of these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "histogram/histogram.hpp"
#include "histogram/sparse_table.hpp"
#include "threads/interrupt.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct SignedValues {  // plane 0 holds a signed integer
  const std::uint64_t* value;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(0, value[row]);
  }
  void prefetch(std::int64_t row) const { __builtin_prefetch(value + row); }
};

// sums[cell] = sum of values over the rows in the cell. Values are truncated to multiples of at most 2^-61 of their
// total magnitude, so that the sums are exact from there on and the same for any number of threads.
template <class Table>
void cell_sums(const Table& table, const double* values, double* sums, Vector<std::uint64_t>& scratch,
               ThreadTeam& team) {
  const std::int64_t n = table.n_rows, n_cells = table.n_cells();
  const double total = block_sum(team, n, [&](std::int64_t i) { return std::abs(values[i]); });
  const double unit = exact_unit(total), inverse = 1.0 / unit;
  // the rounded values, the histogram, and what build_histogram needs for its threads
  Vector<std::uint64_t> rounded(n), histogram(n_cells, 0);
  team.blocks(n, 2 * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) rounded[i] = word_of(static_cast<std::int64_t>(values[i] * unit));
  });
  build_histogram(table, nullptr, n, SignedValues{rounded.data()}, histogram.data(), 1, scratch, team);
  complete(table, histogram.data(), 1);
  for (std::int64_t c = 0; c < table.cell.back(); ++c) sums[c] = static_cast<double>(signed_of(histogram[c])) * inverse;
}

// The lower half of a square matrix from its upper half.
template <class Number>
void mirror(Number* matrix, std::int64_t n, ThreadTeam& team) {
  constexpr std::int64_t kTile = 32;  // tiles of both halves stay in cache while one is copied to the other
  team.each((n + kTile - 1) / kTile, n * n, [&](std::int64_t tile) {
    for (std::int64_t b = 0, a = tile * kTile; b <= a; b += kTile)
      for (std::int64_t i = a; i < std::min(n, a + kTile); ++i)
        for (std::int64_t j = b; j < std::min(i, b + kTile); ++j) matrix[i * n + j] = matrix[j * n + i];
  });
}

// The cells of rows, one for each column: written out once, or, of a sparse table, each time that a row is asked for.
template <class Table>
class RowCells;

template <class Code>
class RowCells<BinnedTable<Code>> {
 public:
  struct Scratch {};
  RowCells(const BinnedTable<Code>& table, ThreadTeam& team) : p_(table.n_features), cells_(table.n_rows * p_) {
    team.blocks(table.n_rows, table.n_rows * p_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t g = 0; g < p_; ++g)
          cells_[i * p_ + g] = static_cast<std::uint32_t>(table.cell[g] + table.codes[i * p_ + g]);
    });
  }
  const std::uint32_t* of(std::int64_t i, Scratch&) const { return cells_.data() + i * p_; }

 private:
  const std::int64_t p_;
  Vector<std::uint32_t> cells_;
};

template <>
class RowCells<SparseTable> {
 public:
  using Scratch = Vector<std::uint32_t>;
  RowCells(const SparseTable& table, ThreadTeam&) : table_(table) {}
  const std::uint32_t* of(std::int64_t i, Scratch& scratch) const {
    scratch.resize(table_.n_features);
    table_.expand(i, scratch.data());
    return scratch.data();
  }

 private:
  const SparseTable& table_;
};

// pairs[a * n_cells + b] = sum of weights over the rows in both cells, a symmetric matrix: all products of one-feature
// voters in n p^2 / 2 additions. Each column's cells belong to one thread, rows are taken in order: the same bits for
// any number of threads. Rows of one weight are counted, in half the memory.
template <class Sum, class Table>
void add_pairs(const Table& table, const double* weights, double unit, double* pairs, ThreadTeam& team) {
  const std::int64_t n = table.n_rows, p = table.n_features, n_cells = table.cell.back();
  const RowCells<Table> row_cells(table, team);
  team.each(p, n * p * p / 2, [&](std::int64_t f) {
    const std::int64_t first = table.cell[f], n_own = table.cell[f + 1] - first, n_later = n_cells - first;
    Vector<Sum> sums(n_own * n_later, Sum{});
    typename RowCells<Table>::Scratch scratch;
    InterruptWatch watch;
    for (std::int64_t i = 0; i < n; ++i) {
      watch.after(p);
      const std::uint32_t* const cell = row_cells.of(i, scratch);
      Sum* const of_cell = sums.data() + (cell[f] - first) * n_later - first;
      const Sum w = weights ? static_cast<Sum>(weights[i]) : Sum{1};
#pragma GCC unroll 4
      for (std::int64_t g = f; g < p; ++g) of_cell[cell[g]] += w;
    }
    for (std::int64_t a = 0; a < n_own; ++a)
      for (std::int64_t c = 0; c < n_later; ++c)
        pairs[(first + a) * n_cells + first + c] = static_cast<double>(sums[a * n_later + c]) * unit;
  });
  mirror(pairs, n_cells, team);
}

template <class Table>
void cell_pairs(const Table& table, const double* weights, double* pairs, ThreadTeam& team) {
  const bool equal = std::all_of(weights, weights + table.n_rows, [&](double w) { return w == weights[0]; });
  if (equal && table.n_rows < INT32_MAX)
    add_pairs<std::uint32_t>(table, nullptr, weights[0], pairs, team);
  else
    add_pairs<double>(table, weights, 1.0, pairs, team);
}

// A stump's votes on the cells of its column: -1 on [low, high), +1 on the rest of [first, missing), `vote` on missing.
struct StumpCells {
  const std::int64_t* first;
  const std::int64_t* missing;
  const std::int64_t* low;
  const std::int64_t* high;
  const std::int8_t* vote;
  std::int64_t n;
};

// gram[j * N + k] = sum over pairs of cells of pairs * h_j * h_k, less mean_j mean_k where means are given: running
// sums down the matrix give each stump its row, running sums along the row give the products. Stumps come column by
// column, so a row begins at its stump's column and the rest is its mirror image.
inline void stump_gram(const double* pairs, std::int64_t n_cells, const StumpCells& stumps, const double* mean,
                       double* gram, ThreadTeam& team) {
  const std::int64_t C = n_cells, N = stumps.n;
  Vector<double> down((C + 1) * C, 0.0);
  constexpr std::int64_t kColumns = 64;
  team.each((C + kColumns - 1) / kColumns, C * C, [&](std::int64_t part) {
    for (std::int64_t a = 0; a < C; ++a)
      for (std::int64_t c = part * kColumns; c < std::min(C, (part + 1) * kColumns); ++c)
        down[(a + 1) * C + c] = down[a * C + c] + pairs[a * C + c];
  });
  constexpr std::int64_t kStumps = 16;
  team.each((N + kStumps - 1) / kStumps, 2 * N * (C + N), [&](std::int64_t part) {
    Vector<double> row(C), running(C + 1, 0.0);
    for (std::int64_t j = part * kStumps; j < std::min(N, (part + 1) * kStumps); ++j) {
      const std::int64_t from = stumps.first[j];
      const double* const to_first = down.data() + from * C;
      const double* const to_missing = down.data() + stumps.missing[j] * C;
      const double* const to_low = down.data() + stumps.low[j] * C;
      const double* const to_high = down.data() + stumps.high[j] * C;
      const double* const of_missing = pairs + stumps.missing[j] * C;
      const double v = stumps.vote[j];
      for (std::int64_t c = from; c < C; ++c)
        row[c] = (to_missing[c] - to_first[c]) - 2.0 * (to_high[c] - to_low[c]) + v * of_missing[c];
      running[from] = 0.0;
      for (std::int64_t c = from; c < C; ++c) running[c + 1] = running[c] + row[c];
      for (std::int64_t k = j; k < N; ++k)
        gram[j * N + k] = (running[stumps.missing[k]] - running[stumps.first[k]]) -
                          2.0 * (running[stumps.high[k]] - running[stumps.low[k]]) +
                          stumps.vote[k] * row[stumps.missing[k]];
      if (mean)
        for (std::int64_t k = j; k < N; ++k) gram[j * N + k] -= mean[j] * mean[k];
    }
  });
  mirror(gram, N, team);
}

// scores[i * k + m] = sum over columns of by_cell[cell of row i][m], in the order of the columns.
template <class Table>
void cell_scores(const Table& table, const double* by_cell, std::int64_t k, double* scores, ThreadTeam& team) {
  const std::int64_t n = table.n_rows, p = table.n_features;
  const auto add_row = [&](double* __restrict score, auto&& cell_of) {
    std::fill(score, score + k, 0.0);
    for (std::int64_t j = 0; j < p; ++j) {
      const double* __restrict const adds = by_cell + cell_of(j) * k;
      for (std::int64_t m = 0; m < k; ++m) score[m] += adds[m];
    }
  };
  team.blocks(n, n * p * k, [&](std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<Table, SparseTable>) {
      Vector<std::uint32_t> cells(p);
      for (std::int64_t i = begin; i < end; ++i) {
        table.expand(i, cells.data());
        add_row(scores + i * k, [&](std::int64_t j) { return std::int64_t{cells[j]}; });
      }
    } else {
      for (std::int64_t i = begin; i < end; ++i)
        add_row(scores + i * k, [&, code = table.row(i)](std::int64_t j) { return table.cell[j] + code[j]; });
    }
  });
}

// values[i] += by_bin[bin of row i in one column].
template <class Table>
void shift(const Table& table, std::int64_t feature, const double* by_bin, double* values, ThreadTeam& team) {
  const std::int64_t n = table.n_rows;
  team.blocks(n, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] += by_bin[table.row(i)[feature]];
  });
}

}  // namespace committee
