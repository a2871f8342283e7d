// Rows of a long table from which quantiles are estimated: those whose hashed index ends in at least so many zero
// bits. Whether a row is among them depends on its number and on how many rows there are, so that a table that comes in
// pieces, from any number of machines, has the rows of the same table in memory.
#pragma once

#include <bit>
#include <cstdint>

#include "bins/counter_rng.hpp"
#include "threads/vector.hpp"

namespace committee {

// Zero bits at the end of a row's scrambled number: half of all rows have one at least, a quarter two.
inline int sample_level(std::int64_t row) { return std::countr_zero(scramble(word_of(row))); }

// The rows of the least level of which there are at most `most` among n, in rising order; all of them where they are
// no more.
inline Vector<std::int64_t> sampled_rows(std::int64_t n, std::int64_t most) {
  Vector<std::int64_t> rows;
  int least = 0;
  if (n > most) {
    constexpr int kLevels = 65;
    std::int64_t count[kLevels]{};
    for (std::int64_t i = 0; i < n; ++i) ++count[sample_level(i)];
    std::int64_t above = n;
    while (above > most && least < kLevels) above -= count[least++];
  }
  for (std::int64_t i = 0; i < n; ++i)
    if (least == 0 || sample_level(i) >= least) rows.push_back(i);
  return rows;
}

}  // namespace committee
