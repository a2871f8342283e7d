// On how many rows two stumps vote otherwise, for all pairs of stumps that vote + or - on every row. Votes are packed,
// one bit a row; of two stumps the differing bits are counted, 64 rows a word. Whole numbers: the same on every
// processor, whichever instruction counts.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cells.hpp"
#include "histogram.hpp"
#include "lanes.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

// minus[r] = 1 where a stump's vote is -: in the bins low..low + n - 1, and in `missing`.
template <class Code>
COMMITTEE_INLINE void minus_votes(const Code* __restrict code, std::int64_t n_rows, Code low, Code n, Code missing,
                                  std::uint8_t* __restrict minus) {
  for (std::int64_t r = 0; r < n_rows; ++r)
    minus[r] = static_cast<std::uint8_t>((static_cast<Code>(code[r] - low) < n) | (code[r] == missing));
}
COMMITTEE_CLONES inline void minus_of(const std::uint8_t* code, std::int64_t n_rows, std::uint8_t low, std::uint8_t n,
                                      std::uint8_t missing, std::uint8_t* minus) {
  minus_votes(code, n_rows, low, n, missing, minus);
}
COMMITTEE_CLONES inline void minus_of(const std::uint16_t* code, std::int64_t n_rows, std::uint16_t low,
                                      std::uint16_t n, std::uint16_t missing, std::uint8_t* minus) {
  minus_votes(code, n_rows, low, n, missing, minus);
}

// 64 bytes that are 0 or 1 as the bits of a word, by a product that gathers eight at a time.
inline std::uint64_t packed(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  for (int k = 0; k < 8; ++k) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + 8 * k, sizeof eight);
    word |= (eight * 0x0102040810204080u >> 56) << (8 * k);
  }
  return word;
}

// Votes of all stumps, one after the other; words beyond the rows are 0 for all of them.
class PackedVotes {
 public:
  template <class Code>
  PackedVotes(const BinnedTable<Code>& table, const StumpCells& stumps, ThreadTeam& team)
      : words_((table.n_rows + 511) / 512 * 8), bits_(stumps.n * words_, 0) {
    const std::int64_t n = table.n_rows, p = table.n_features;
    team.each(p, n * stumps.n / 4, [&](std::int64_t f) {
      const auto [begin, end] = std::equal_range(stumps.first, stumps.first + stumps.n, table.cell[f]);
      if (begin == end) return;
      Vector<Code> column(n);
      for (std::int64_t i = 0; i < n; ++i) column[i] = table.row(i)[f];
      Vector<std::uint8_t> minus(64 * words_, 0);
      for (std::int64_t j = begin - stumps.first; j < end - stumps.first; ++j) {
        const auto code_of = [&](std::int64_t cell) { return static_cast<Code>(cell - stumps.first[j]); };
        const std::int64_t left = stumps.high[j] - stumps.low[j];
        // "missing" is the last bin of all: where it votes + none of the left bins stands for it
        const bool none = stumps.vote[j] > 0 && left == 0;
        const Code missing = code_of(stumps.vote[j] < 0 ? stumps.missing[j] : stumps.low[j]);
        if (none) continue;
        minus_of(column.data(), n, code_of(stumps.low[j]), static_cast<Code>(left), missing, minus.data());
        for (std::int64_t w = 0; w < words_; ++w) bits_[j * words_ + w] = packed(minus.data() + 64 * w);
      }
    });
  }
  std::int64_t words() const { return words_; }
  const std::uint64_t* of(std::int64_t stump) const { return bits_.data() + stump * words_; }

 private:
  std::int64_t words_;
  Vector<std::uint64_t> bits_;
};

// apart[k] = bits that differ between `one` and the k-th of `others`, n of them.
COMMITTEE_INLINE void count_apart_here(const std::uint64_t* one, const std::uint64_t* others, std::int64_t words,
                                       std::int64_t n, std::uint32_t* apart) {
  std::int64_t k = 0;
  for (; k + 4 <= n; k += 4, others += 4 * words) {  // four at a time, whose sums are folded side by side
    std::int64_t a = 0, b = 0, c = 0, d = 0;
    for (std::int64_t w = 0; w < words; ++w) {
      a += std::popcount(one[w] ^ others[w]);
      b += std::popcount(one[w] ^ others[words + w]);
      c += std::popcount(one[w] ^ others[2 * words + w]);
      d += std::popcount(one[w] ^ others[3 * words + w]);
    }
    for (const std::int64_t sum : {a, b, c, d}) *apart++ = static_cast<std::uint32_t>(sum);
  }
  for (; k < n; ++k, others += words) {
    std::int64_t sum = 0;
    for (std::int64_t w = 0; w < words; ++w) sum += std::popcount(one[w] ^ others[w]);
    *apart++ = static_cast<std::uint32_t>(sum);
  }
}
using CountApart = void (*)(const std::uint64_t*, const std::uint64_t*, std::int64_t, std::int64_t, std::uint32_t*);
inline void count_apart_anywhere(const std::uint64_t* one, const std::uint64_t* others, std::int64_t words,
                                 std::int64_t n, std::uint32_t* apart) {
  count_apart_here(one, others, words, n, apart);
}
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(COMMITTEE_SANITIZE)
__attribute__((target("popcnt"))) inline void count_apart_by_words(const std::uint64_t* one,
                                                                   const std::uint64_t* others, std::int64_t words,
                                                                   std::int64_t n, std::uint32_t* apart) {
  count_apart_here(one, others, words, n, apart);
}
__attribute__((target("avx512f,avx512vpopcntdq,popcnt,prefer-vector-width=512"))) inline void count_apart_by_lines(
    const std::uint64_t* one, const std::uint64_t* others, std::int64_t words, std::int64_t n, std::uint32_t* apart) {
  count_apart_here(one, others, words, n, apart);
}
inline CountApart count_apart() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq")) return count_apart_by_lines;
  return __builtin_cpu_supports("popcnt") ? count_apart_by_words : count_apart_anywhere;
}
#else
inline CountApart count_apart() { return count_apart_anywhere; }
#endif

// apart (N, N): rows on which two stumps vote otherwise.
template <class Code, class Count>
void votes_apart(const BinnedTable<Code>& table, const StumpCells& stumps, Count* apart, ThreadTeam& team) {
  constexpr std::int64_t kTile = 32;  // stumps whose votes stay in the first-level cache
  const PackedVotes votes(table, stumps, team);
  const std::int64_t N = stumps.n, words = votes.words();
  const CountApart count = count_apart();
  team.each((N + kTile - 1) / kTile, N * N * words / 8, [&](std::int64_t tile) {
    Vector<std::uint32_t> counts(kTile);
    for (std::int64_t k = tile * kTile; k < N; k += kTile)
      for (std::int64_t j = tile * kTile; j < std::min(N, (tile + 1) * kTile); ++j) {
        const std::int64_t many = std::min(kTile, N - k);
        count(votes.of(j), votes.of(k), words, many, counts.data());
        for (std::int64_t m = 0; m < many; ++m) apart[j * N + k + m] = static_cast<Count>(counts[m]);
      }
  });
  mirror(apart, N, team);
}

}  // namespace committee
