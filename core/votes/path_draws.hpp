// The random numbers of paths through a graph: a function of a seed, a row's values, the path and the node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "bins/counter_rng.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// The path of a row with this key, and the number in [0, 1) that it meets at a node.
inline std::uint64_t path_key(std::uint64_t key, std::int64_t path) {
  return scramble(key + kStride * (word_of(path) + 1));
}
inline double draw_at(std::uint64_t of_path, std::int64_t node) {
  return static_cast<double>(scramble(of_path + kStride * (word_of(node) + 1)) >> 11) * 0x1p-53;
}

// A row's key: its values one after the other, scrambled together. Equal numbers count as equal: there is one zero, and
// one NaN. Eight rows at a time, since each value waits for the one before it.
COMMITTEE_CLONES inline void key_block(const double* X, std::int64_t p, std::uint64_t seed, std::int64_t begin,
                                       std::int64_t end, std::uint64_t* keys) {
  using Words = std::uint64_t __attribute__((vector_size(64)));
  const Lanes missing = Lanes{} + std::numeric_limits<double>::quiet_NaN();
  const double* row[kLanes];
  for (std::int64_t i = begin; i < end; i += kLanes) {
    rows_from(X, p, i, end, row);
    fetch_after(X, p, i, end);
    Words key = Words{} + scramble(seed + kStride);
    for (std::int64_t j = 0; j < p; ++j) {
      Lanes x;
      for (int r = 0; r < kLanes; ++r) x[r] = row[r][j];
      x = x == x ? x + 0.0 : missing;
      key = scramble((key ^ Words(bits_of(x))) + kStride);
    }
    for (std::int64_t r = 0; r < std::min(kLanes, end - i); ++r) keys[i + r] = key[r];
  }
}

inline void row_keys(const double* X, std::int64_t n, std::int64_t p, std::uint64_t seed, std::uint64_t* keys,
                     ThreadTeam& team) {
  team.blocks(n, 4 * n * p, [&](std::int64_t begin, std::int64_t end) { key_block(X, p, seed, begin, end, keys); });
}

// The rows whose keys are below a bound in their upper 53 bits, or those of the least key if there are none; `among`:
// of the rows that are not 0 there (null: of all).
inline Vector<std::int32_t> rows_below(const double* place, std::int64_t n, std::uint64_t seed, std::uint64_t bound,
                                       const std::uint8_t* among) {
  constexpr std::int64_t kTogether = 1024;
  std::array<std::uint64_t, kTogether> keys;
  Vector<std::int32_t> rows(n);
  std::int64_t found = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::int64_t begin = 0; begin < n; begin += kTogether) {
    const std::int64_t size = std::min(kTogether, n - begin);
    key_block(place + begin, 1, seed, 0, size, keys.data());
    for (std::int64_t i = 0; i < size; ++i) {
      const bool counts = among == nullptr || among[begin + i] != 0;
      const std::uint64_t key = keys[size_of(i)] >> 11;
      rows[found] = static_cast<std::int32_t>(begin + i);
      found += counts & (key < bound);
      least = counts ? std::min(least, key) : least;
    }
  }
  rows.resize(found);
  const bool enough = found > 0 || least == ~std::uint64_t{0};
  return enough ? rows : rows_below(place, n, seed, least + 1, among);
}

}  // namespace committee
