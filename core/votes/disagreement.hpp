// Number of rows on which two stumps disagree, for all pairs of stumps that vote + or - on every row.
//
// All stumps of a column vote alike on the rows of one of its cells. So it is enough to count, cell by cell, on how
// many rows each other stump votes -: with S_ak these rows of cell a for stump k, and j a stump of the cells' column,
//
//     both_jk = sum of S_ak over the cells a where j votes -,    apart_jk = both_jj + both_kk - 2 both_jk.
//
// A column of ten stumps takes one pass over the rows and not ten. Whole numbers: the same on every processor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram/bit_counts.hpp"
#include "histogram/columns.hpp"
#include "histogram/histogram.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "votes/cells.hpp"
#include "votes/row_votes.hpp"

namespace committee {

// The rows begin..end by their cell of a column: where their votes begin, the rows of each cell filled up by rows of
// nothing to whole kRowsAtOnce.
class RowsByCell {
 public:
  template <class Code>
  void sort(const Code* column, std::int64_t n_cells, const RowVotes& votes, std::int64_t begin, std::int64_t end) {
    next_.assign(n_cells, 0);
    for (std::int64_t i = begin; i < end; ++i) ++next_[column[i]];
    start_.assign(n_cells + 1, 0);
    for (std::int64_t a = 0; a < n_cells; ++a) {
      start_[a + 1] = start_[a] + (next_[a] + kRowsAtOnce - 1) / kRowsAtOnce * kRowsAtOnce;
      next_[a] = start_[a];
    }
    place_.assign(start_.back(), RowVotes::kNothing);
    std::int64_t* const place = place_.data();
    std::int64_t* const next = next_.data();
    for (std::int64_t i = begin; i < end; ++i) place[next[column[i]]++] = votes.place(i);
  }
  const std::int64_t* of(std::int64_t cell) const { return place_.data() + start_[cell]; }
  std::int64_t size_of_cell(std::int64_t cell) const { return start_[cell + 1] - start_[cell]; }

 private:
  Vector<std::int64_t> start_, next_, place_;
};

// S of one column: running sums over its cells, of the stumps from `from` on, chunk by chunk in the order of
// count_bits.
class MinusByCell {
 public:
  MinusByCell(std::int64_t n_cells, std::int64_t from, std::int64_t words)
      : n_cells_(n_cells), from_(from), width_(64 * words - from), sums_((n_cells + 1) * width_, 0) {}

  void add(const RowsByCell& rows, const RowVotes& votes) {
    for (std::int64_t a = 0; a < n_cells_; ++a)
      for (std::int64_t k = 0; k < width_; k += RowVotes::kChunk)
        count_bits(votes.bits() + (from_ + k) / 64, rows.of(a), rows.size_of_cell(a), row(a + 1) + k);
  }
  void run() {
    for (std::int64_t a = 0; a < n_cells_; ++a)
      for (std::int64_t k = 0; k < width_; ++k) row(a + 1)[k] += row(a)[k];
  }
  // Rows of the cells low..high - 1, and of the last one where `missing`, on which each stump votes -.
  template <class Count>
  void both(std::int64_t low, std::int64_t high, bool missing, std::int64_t n, Count* apart) {
    const std::uint32_t* const to_low = row(low);
    const std::uint32_t* const to_high = row(high);
    const std::uint32_t* const to_last = row(n_cells_ - 1);
    const std::uint32_t* const to_end = row(n_cells_);
    for (std::int64_t first = 0; from_ + first < n; first += RowVotes::kChunk) {
      Count found[RowVotes::kChunk];
      for (std::int64_t at = 0; at < RowVotes::kChunk; ++at) {
        const std::int64_t k = first + at;
        found[at] = static_cast<Count>(to_high[k] - to_low[k] + (missing ? to_end[k] - to_last[k] : 0));
      }
      Count* const to = apart + from_ + first;
      for (std::int64_t k = 0; k < std::min(RowVotes::kChunk, n - from_ - first); ++k) to[k] = found[place_of_count(k)];
    }
  }

 private:
  std::uint32_t* row(std::int64_t a) { return sums_.data() + a * width_; }
  std::int64_t n_cells_, from_, width_;
  Vector<std::uint32_t> sums_;
};

// apart (N, N): rows on which two stumps vote otherwise.
template <class Code, class Count>
void votes_apart(const BinnedTable<Code>& table, const StumpCells& stumps, Count* apart, ThreadTeam& team) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 18;  // of a block's votes: they stay in the second-level cache
  constexpr std::int64_t kColumns = 4;                    // that look at a block before the next one comes
  if (stumps.n == 0) return;
  const RowVotes votes(table, stumps, team);
  const Vector<Code> columns = by_column(table, team);
  const std::int64_t n = table.n_rows, p = table.n_features, N = stumps.n, words = votes.words();
  const std::int64_t block = std::max(kBytes / (8 * words), std::int64_t{16} * kRowsAtOnce);
  Vector<Count> minus(N);
  team.each((p + kColumns - 1) / kColumns, n * p * words, [&](std::int64_t part) {
    const std::int64_t first = part * kColumns, last = std::min(p, first + kColumns);
    const auto stumps_before = [&](std::int64_t f) {
      return std::lower_bound(stumps.first, stumps.first + N, table.cell[f]) - stumps.first;
    };
    Vector<MinusByCell> counts;
    for (std::int64_t f = first; f < last; ++f)
      counts.emplace_back(table.cell[f + 1] - table.cell[f],
                          std::min(stumps_before(f), N - 1) / RowVotes::kChunk * RowVotes::kChunk, words);
    RowsByCell rows;
    for (std::int64_t begin = 0; begin < n; begin += block)
      for (std::int64_t f = first; f < last; ++f) {
        if (stumps_before(f) == stumps_before(f + 1)) continue;
        rows.sort(columns.data() + f * n, table.cell[f + 1] - table.cell[f], votes, begin, std::min(n, begin + block));
        counts[f - first].add(rows, votes);
      }
    for (std::int64_t f = first; f < last; ++f) {
      counts[f - first].run();
      for (std::int64_t j = stumps_before(f); j < stumps_before(f + 1); ++j) {
        counts[f - first].both(stumps.low[j] - table.cell[f], stumps.high[j] - table.cell[f], stumps.vote[j] < 0, N,
                               apart + j * N);
        minus[j] = apart[j * N + j];
      }
    }
  });
  team.blocks(N, N * N / 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j)
      for (std::int64_t k = j; k < N; ++k)
        apart[j * N + k] = static_cast<Count>(minus[j] + minus[k] - 2 * apart[j * N + k]);
  });
  mirror(apart, N, team);
}

}  // namespace committee
