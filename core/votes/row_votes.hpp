// Votes of all stumps of a dictionary as bits of each row: 1 where a stump votes -. No stump abstains.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram/bit_counts.hpp"
#include "histogram/histogram.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "votes/cells.hpp"

namespace committee {

inline bool votes_minus(const StumpCells& stumps, std::int64_t j, std::int64_t cell) {
  if (cell == stumps.missing[j]) return stumps.vote[j] < 0;
  return stumps.low[j] <= cell && cell < stumps.high[j];
}

class RowVotes {
 public:
  static constexpr std::int64_t kChunk = kBitsCounted;  // rows are whole chunks

  template <class Code>
  RowVotes(const BinnedTable<Code>& table, const StumpCells& stumps, ThreadTeam& team)
      : words_((stumps.n + kChunk - 1) / kChunk * (kChunk / 64)), bits_((table.n_rows + 1) * words_, 0) {
    // votes of the cells of one column in one word
    struct Piece {
      std::int64_t column, word, first;
    };
    Vector<Piece> pieces;
    Vector<std::uint64_t> masks;
    for (std::int64_t f = 0; f < table.n_features; ++f) {
      const std::int64_t first = table.cell[f], end = table.cell[f + 1];
      const auto [begin, last] = std::equal_range(stumps.first, stumps.first + stumps.n, first);
      std::int64_t j = begin - stumps.first;
      while (j < last - stumps.first) {
        const std::int64_t word = j / 64, from = masks.size();
        pieces.push_back({f, word, from});
        masks.resize(from + end - first, 0);
        for (; j < last - stumps.first && j / 64 == word; ++j)
          for (std::int64_t cell = first; cell < end; ++cell)
            masks[from + cell - first] |= static_cast<std::uint64_t>(votes_minus(stumps, j, cell)) << j % 64;
      }
    }
    constexpr std::int64_t kRows = 128;  // whose codes and bits stay in the first-level cache
    // pointers of their own: a word that is written might be any other in memory
    team.blocks_of(kRows, table.n_rows, table.n_rows * pieces.size(),
                   [&, words = words_, p = table.n_features](std::int64_t begin, std::int64_t end) {
                     for (const auto [column, word, first] : pieces) {
                       const std::uint64_t* __restrict const mask = masks.data() + first;
                       const Code* __restrict const code = table.codes + column;
                       std::uint64_t* __restrict const to = bits_.data() + words + word;
                       for (std::int64_t i = begin; i < end; ++i) to[i * words] |= mask[code[i * p]];
                     }
                   });
  }

  std::int64_t words() const { return words_; }  // of a row
  const std::uint64_t* bits() const { return bits_.data(); }
  std::int64_t place(std::int64_t i) const { return (i + 1) * words_; }  // where row i begins
  static constexpr std::int64_t kNothing = 0;                            // where a row without any bit does

 private:
  std::int64_t words_;
  LaneVector<std::uint64_t> bits_;
};

}  // namespace committee
