// Digests of rows: numbers that depend on what a row holds and on nothing else, by which rows are drawn. Cells of 0 add
// nothing, so that a sparse row has the digest of the dense one. Cells count in single precision: a last bit that was
// rounded another way changes no draw.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "scramble.hpp"
#include "threads.hpp"

namespace committee {

// There is one NaN, as there is one zero, and one infinity for what single precision cannot hold.
inline std::uint64_t cell_digest(double x, std::int64_t column) {
  const float single =
      std::abs(x) > std::numeric_limits<float>::max() ? std::numeric_limits<float>::infinity() : static_cast<float>(x);
  if (single == 0.0F) return 0;
  const float known = std::isnan(single) ? std::numeric_limits<float>::quiet_NaN() : single;
  return scramble(std::bit_cast<std::uint32_t>(known) + scramble(kStride * word_of(column + 1)));
}

// X is n x p, by rows.
inline void row_digests(const double* X, std::int64_t n, std::int64_t p, std::uint64_t* digest, ThreadTeam& team) {
  team.blocks(n, 4 * n * p, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint64_t sum = 0;
      for (std::int64_t j = 0; j < p; ++j) sum += cell_digest(X[i * p + j], j);
      digest[i] = sum;
    }
  });
}

// Row i has the stored cells start[i] .. start[i + 1].
struct StoredCells {
  const std::int64_t* start;
  const std::int32_t* column;
  const double* value;
};

inline void row_digests(const StoredCells& cells, std::int64_t n, std::uint64_t* digest, ThreadTeam& team) {
  team.blocks(n, 4 * cells.start[n], [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint64_t sum = 0;
      for (std::int64_t c = cells.start[i]; c < cells.start[i + 1]; ++c)
        sum += cell_digest(cells.value[c], cells.column[c]);
      digest[i] = sum;
    }
  });
}

}  // namespace committee
