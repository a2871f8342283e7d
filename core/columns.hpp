// A binned table again, column by column: who reads one column of many rows reads them side by side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

template <class Code>
Vector<Code> by_column(const BinnedTable<Code>& table, ThreadTeam& team) {
  constexpr std::int64_t kTile = 64;  // rows of which one column fills a cache line
  const std::int64_t p = table.n_features, n = table.n_rows;
  Vector<Code> columns(n * p);
  // captured by value: a byte that is written might be any other in memory
  team.blocks(n, n * p / 4, [=, from = table.codes, to = columns.data()](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kTile)
      for (std::int64_t j = 0; j < p; ++j)
        for (std::int64_t i = first; i < std::min(end, first + kTile); ++i) to[j * n + i] = from[i * p + j];
  });
  return columns;
}

}  // namespace committee
