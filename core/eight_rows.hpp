// Rows that are taken eight at a time, each by a pointer of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lanes.hpp"

namespace committee {

// Eight rows from `first` on, of which those after the last repeat it.
COMMITTEE_INLINE void rows_from(const double* X, std::int64_t width, std::int64_t first, std::int64_t end,
                                const double** row) {
  for (std::int64_t r = 0; r < kLanes; ++r) row[r] = X + std::min(first + r, end - 1) * width;
}

// Asks for the eight rows after these, if there are so many: the processor does not follow eight of them by itself.
COMMITTEE_INLINE void fetch_after(const double* X, std::int64_t width, std::int64_t first, std::int64_t end) {
  if (end - first < 2 * kLanes) return;
  const double* const next = X + (first + kLanes) * width;
  for (std::int64_t j = 0; j < kLanes * width; j += kLanes) __builtin_prefetch(next + j);
}

}  // namespace committee
