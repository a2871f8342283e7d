// A histogram of words of rows that lie scattered over a table: their codes and words are put side by side, and then
// counted four columns at a time, whose cells (8 kB) stay in the first-level cache. While some rows are counted, the
// next ones are fetched: a row from memory takes as long as it takes to count.
//
// The sums are those of add_rows (histogram.hpp) to the bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "histogram/histogram.hpp"
#include "threads/lane_types.hpp"

namespace committee {

inline constexpr std::int64_t kGatheredRows = 1024;       // so many rows are put side by side at most,
inline constexpr std::int64_t kGatheredBytes = 28 << 10;  // or so many bytes of codes,
inline constexpr std::int64_t kGatheredWidth = 64;        // of so many bytes a row

// A row is fetched for every so many that are counted in four columns: evenly, as only so many are on their way at
// once; and to the second-level cache, as the first would lose the cells that are counted.
inline constexpr std::int64_t kPace = 6;
inline constexpr int kSecondLevel = 2;

// A row's codes: pieces that may overlap, written one by one, as a loop over them becomes a string instruction that
// takes longer than the counting.
COMMITTEE_INLINE void copy_codes(const void* from, void* to, std::int64_t bytes) {
  const auto* const in = static_cast<const char*>(from);
  auto* const out = static_cast<char*>(to);
  if (bytes >= 16) {
    std::memcpy(out, in, 16);
    if (bytes > 32) std::memcpy(out + 16, in + 16, 16);
    if (bytes > 48) std::memcpy(out + 32, in + 32, 16);
    std::memcpy(out + bytes - 16, in + bytes - 16, 16);
  } else if (bytes >= 8) {
    std::memcpy(out, in, 8);
    std::memcpy(out + bytes - 8, in + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(out, in, 4);
    std::memcpy(out + bytes - 4, in + bytes - 4, 4);
  } else {
    out[0] = in[0];
    out[bytes / 2] = in[bytes / 2];
    out[bytes - 1] = in[bytes - 1];
  }
}

// Adds words[i] to the cell of the i-th of n gathered rows in each of some columns. Meanwhile, once in kPace rows,
// calls fetch(f) for `next` <= f < `last`; returns where it ended.
template <std::size_t n_columns, class Code, class Fetch>
std::int64_t add_gathered_columns(const Code* codes, std::int64_t stride, const std::uint64_t* words, std::int64_t n,
                                  const std::int64_t* cell, std::uint64_t* histogram, std::int64_t next,
                                  std::int64_t last, const Fetch& fetch) {
  std::array<std::uint64_t*, n_columns> cells;
  for (std::size_t c = 0; c < n_columns; ++c) cells[c] = histogram + cell[c];
  const auto add = [&](std::uint64_t word) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < n_columns; ++c) cells[c][codes[c]] += word;
    codes += stride;
  };
  std::int64_t i = 0;
  for (; i + kPace <= n && next < last; ++next, i += kPace) {
    fetch(next);
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < kPace; ++k) add(words[i + k]);
  }
  for (; i < n; ++i) add(words[i]);
  return next;
}

// The rows begin..end of a list, or of the table where rows is null.
template <class Code>
void add_gathered(const BinnedTable<Code>& table, const std::int32_t* rows, std::int64_t begin, std::int64_t end,
                  const std::uint64_t* words, std::uint64_t* histogram) {
  const std::int64_t p = table.n_features, size = count_of(sizeof(Code));
  alignas(64) std::array<Code, kGatheredBytes / sizeof(Code)> gathered;
  std::array<std::uint64_t, kGatheredRows> of_rows;
  for (std::int64_t from = 0; from < p; from += kGatheredWidth / size) {
    const std::int64_t width = std::min(p - from, kGatheredWidth / size);
    const std::int64_t together = std::min(kGatheredRows, kGatheredBytes / (width * size));
    // captured by value: a byte that is written might be any other in memory
    const auto codes_of = [=, codes = table.codes + from](std::int64_t row) { return codes + row * p; };
    // inlined by force: GCC takes a function of prefetches alone for one that does nothing
    const auto fetch = [=](std::int64_t i) __attribute__((always_inline)) {
      const std::int64_t row = rows[i];
      __builtin_prefetch(words + row, 0, kSecondLevel);
      __builtin_prefetch(codes_of(row), 0, kSecondLevel);
      __builtin_prefetch(codes_of(row) + width - 1, 0, kSecondLevel);  // a row seldom begins where a line does
    };
    std::int64_t fetched = rows ? begin : end;  // where the rows begin that are not on their way yet
    for (std::int64_t at = begin; at < end; at += together) {
      const std::int64_t n = std::min(together, end - at), after = at + n, last = std::min(end, after + together);
      const auto gather = [=](Code* to, std::uint64_t* to_words) {
        for (std::int64_t i = at; i < after; ++i, to += width) {
          if (i + kAhead >= fetched && i + kAhead < after) fetch(i + kAhead);
          const std::int64_t row = rows ? rows[i] : i;
          copy_codes(codes_of(row), to, width * size);
          *to_words++ = words[row];
        }
      };
      gather(gathered.data(), of_rows.data());
      fetched = std::max(fetched, after);
      std::int64_t j = 0;
      const auto count = [&]<int n_columns>() {
        for (; j + n_columns <= width; j += n_columns)
          fetched = add_gathered_columns<n_columns>(gathered.data() + j, width, of_rows.data(), n,
                                                    table.cell.data() + from + j, histogram, fetched, last, fetch);
      };
      count.template operator()<4>();
      count.template operator()<1>();
    }
  }
}

}  // namespace committee
