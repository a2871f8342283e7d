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
  team.each(n_blocks(n), n * p / 4, [&](std::int64_t b) {
    const std::int64_t end = std::min(n, (b + 1) * kRowBlock);
    for (std::int64_t first = b * kRowBlock; first < end; first += kTile)
      for (std::int64_t j = 0; j < p; ++j)
        for (std::int64_t i = first; i < std::min(end, first + kTile); ++i) columns[j * n + i] = table.codes[i * p + j];
  });
  return columns;
}

}  // namespace committee
