// A histogram of words counted column by column, where a table is kept so: four columns at a time, whose cells (8 kB)
// stay in the first-level cache while those of a whole table (57 kB for 28 columns) do not.
//
// The sums are those of add_rows (histogram.hpp) to the bit. Rows that are scattered thinly over a large table are
// better read from the copy by row, where a row's codes share a cache line (gathered_histogram.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "histogram/columns.hpp"
#include "histogram/histogram.hpp"

namespace committee {

inline constexpr std::int64_t kColumnsTogether = 4;
inline constexpr std::int64_t kWordsTogether = 2048;  // 16 kB of them, read for all columns in turn

// A node is counted column by column if it has one row in so many at least, from its first to its last: a table of few
// bytes stays in the second- and third-level caches, where it costs little to read thin rows.
inline constexpr std::int64_t kThin = 4, kThinCached = 16, kCachedTable = std::int64_t{1} << 24;

template <class Code>
bool counts_by_column(const BinnedTable<Code>& table, const CodeColumns<Code>& columns, const std::int32_t* rows,
                      std::int64_t n) {
  if (columns.stride != 1 || n == 0) return false;
  const std::int64_t span = rows ? rows[n - 1] - rows[0] : n, bytes = span * table.n_features * count_of(sizeof(Code));
  return n * (bytes <= kCachedTable ? kThinCached : kThin) >= span;
}
inline bool counts_by_column(const SparseTable&, const SparseColumns&, const std::int32_t*, std::int64_t) {
  return false;
}

// Adds words[i] to the cell of row rows[i], or of row i where rows is null, in each of some columns.
template <std::size_t n_columns, class Code>
void add_columns(const Code* const* codes, const std::int64_t* first_cell, const std::int32_t* rows,
                 const std::uint64_t* words, std::int64_t n, std::int64_t first_row, std::uint64_t* histogram) {
  std::array<const Code*, n_columns> code;  // of their own, or a sum that is stored might be any of them
  std::array<std::uint64_t*, n_columns> cells;
  for (std::size_t c = 0; c < n_columns; ++c) {
    code[c] = codes[c] + (rows ? 0 : first_row);
    cells[c] = histogram + first_cell[c];
  }
  const auto add = [&](std::int64_t row, std::uint64_t word) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < n_columns; ++c) cells[c][code[c][row]] += word;
  };
  if (rows == nullptr)
    for (std::int64_t i = 0; i < n; ++i) add(i, words[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) add(rows[i], words[i]);
}

// The rows begin..end of a list, or of the table where rows is null.
template <class Code>
void add_by_column(const BinnedTable<Code>& table, const CodeColumns<Code>& columns, const std::int32_t* rows,
                   std::int64_t begin, std::int64_t end, const std::uint64_t* words, std::uint64_t* histogram) {
  std::array<std::uint64_t, kWordsTogether> of_rows;
  for (; begin < end; begin += kWordsTogether) {
    const std::int64_t n = std::min(end - begin, kWordsTogether);
    const std::int32_t* const some = rows ? rows + begin : nullptr;
    for (std::int64_t i = 0; some && i < n; ++i) of_rows[size_of(i)] = words[some[i]];
    const std::uint64_t* const in_turn = some ? of_rows.data() : words + begin;
    std::int64_t j = 0;
    const auto count = [&]<int n_columns>() {
      for (; j + n_columns <= table.n_features; j += n_columns)
        add_columns<n_columns>(columns.of_feature.data() + j, table.cell.data() + j, some, in_turn, n, begin,
                               histogram);
    };
    count.template operator()<kColumnsTogether>();
    count.template operator()<1>();
  }
}

}  // namespace committee
