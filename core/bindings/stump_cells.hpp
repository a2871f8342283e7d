// The cells of listed stumps as they come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "votes/cells.hpp"

namespace committee {

inline StumpCells stump_cells(const In1<std::int64_t>& first, const In1<std::int64_t>& missing,
                              const In1<std::int64_t>& low, const In1<std::int64_t>& high,
                              const In1<std::int8_t>& vote) {
  const std::int64_t n = length(first);
  require(length(missing) == n && length(low) == n && length(high) == n && length(vote) == n,
          "each stump needs its four cells and a vote");
  for (std::int64_t j = 0; j < n; ++j)
    require(0 <= first(j) && first(j) <= low(j) && low(j) <= high(j) && high(j) <= missing(j),
            "a stump's cells are out of order");
  for (std::int64_t j = 1; j < n; ++j) require(first(j - 1) <= first(j), "stumps must come column by column");
  return {first.data(), missing.data(), low.data(), high.data(), vote.data(), n};
}

}  // namespace committee
