// The list of a tree's rows: all in order at the root, then shared out to the children of each node, in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "histogram/sparse_table.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

inline constexpr std::int64_t kFetch = 32;  // rows fetched ahead of use

// to[i] = i, for all rows of a table.
inline void count_up(std::int32_t* to, std::int64_t n, ThreadTeam& team) {
  team.blocks(n, n / 4, [&](std::int64_t begin, std::int64_t end) {
    std::iota(to + begin, to + end, static_cast<std::int32_t>(begin));
  });
}

// Which rows go left: by codes that are `stride` apart, by the entries of a sparse table, by a flag for each row.
template <class Code>
struct CodeSides {
  const Code* codes;
  std::int64_t stride;
  const std::uint8_t* is_left;  // of each bin
  void prefetch(std::int64_t row) const { __builtin_prefetch(codes + row * stride); }
  std::int64_t operator()(std::int64_t row) const { return is_left[codes[row * stride]]; }
};
struct EntrySides {
  const SparseTable* table;
  std::int64_t feature;
  const std::uint8_t* is_left;
  void prefetch(std::int64_t row) const { __builtin_prefetch(table->entries + table->start[row]); }
  std::int64_t operator()(std::int64_t row) const { return is_left[table->row(row)[feature]]; }
};
struct FlagSides {
  const std::uint8_t* is_left;  // of each row
  void prefetch(std::int64_t row) const { __builtin_prefetch(is_left + row); }
  std::int64_t operator()(std::int64_t row) const { return is_left[row]; }
};

// Moves the rows that go left to the front, all in their order; returns how many they are.
template <class Sides>
std::int64_t partition_rows(std::int32_t* rows, std::int32_t* scratch, std::int64_t n, const Sides& sides,
                            ThreadTeam& team) {
  // Left rows to `to_left`, the others to `to_right`, which moves by `step`; both are written each time, so that
  // nothing branches.
  const auto share = [&](std::int64_t begin, std::int64_t end, std::int32_t* to_left, std::int32_t* to_right,
                         auto step) {
    const Sides goes_left_of = sides;  // of its own, or every store might seem to change it
    const std::int32_t* const first = to_left;
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kFetch < end) goes_left_of.prefetch(rows[i + kFetch]);
      const std::int32_t row = rows[i];
      const std::int64_t goes_left = goes_left_of(row);
      *to_left = row;
      *to_right = row;
      to_left += goes_left;
      to_right += step.value * (1 - goes_left);
    }
    return to_left - first;
  };
  using Forwards = std::integral_constant<std::int64_t, 1>;
  using Backwards = std::integral_constant<std::int64_t, -1>;
  if (team.wanted(2 * n) == 1) {
    const std::int64_t n_left = share(0, n, rows, scratch, Forwards{});  // in place: what is overwritten has been read
    std::copy_n(scratch, n - n_left, rows + n_left);
    return n_left;
  }
  // a block's own place in `scratch` has its left rows from the front and the others from the back
  Vector<std::int64_t> lefts(n_blocks(n) + 1, 0);
  team.blocks(n, 2 * n, [&](std::int64_t begin, std::int64_t end) {
    lefts[begin / kRowBlock + 1] = share(begin, end, scratch + begin, scratch + end - 1, Backwards{});
  });
  std::partial_sum(lefts.begin(), lefts.end(), lefts.begin());
  const std::int64_t n_left = lefts.back();
  team.blocks(n, 2 * n, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t before = lefts[begin / kRowBlock], here = lefts[begin / kRowBlock + 1] - before;
    std::copy_n(scratch + begin, here, rows + before);
    std::reverse_copy(scratch + begin + here, scratch + end, rows + n_left + begin - before);
  });
  return n_left;
}

// The same by the bins of one feature, of which `is_left` says which go left.
template <class Code>
std::int64_t part_rows(const BinnedTable<Code>& table, std::int64_t feature, const Vector<std::uint8_t>& is_left,
                       std::int32_t* rows, std::int32_t* scratch, std::int64_t n, ThreadTeam& team) {
  return partition_rows(rows, scratch, n, CodeSides<Code>{table.codes + feature, table.n_features, is_left.data()},
                        team);
}

// Of a sparse table: a node of few rows looks each up; for a large one the column's entries are written out as flags.
inline std::int64_t part_rows(const SparseTable& table, std::int64_t feature, const Vector<std::uint8_t>& is_left,
                              std::int32_t* rows, std::int32_t* scratch, std::int64_t n, ThreadTeam& team) {
  const std::int64_t begin = table.column_start[feature], end = table.column_start[feature + 1];
  if (16 * n < end - begin + table.n_rows / 16)
    return partition_rows(rows, scratch, n, EntrySides{&table, feature, is_left.data()}, team);
  Vector<std::uint8_t> flags(table.n_rows, is_left[table.zero[feature]]);
  for (std::int64_t e = begin; e < end; ++e) flags[table.column_rows[e]] = is_left[table.column_codes[e]];
  return partition_rows(rows, scratch, n, FlagSides{flags.data()}, team);
}

}  // namespace committee
