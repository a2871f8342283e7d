// Digests of rows: numbers that depend on what a row holds and on nothing else, by which rows are drawn and dealt out.
// Cells of 0 add nothing, so that a sparse row has the digest of the dense one. Cells count in single precision: a last
// bit that was rounded another way changes no draw. A sum of scrambled cells needs no order: it is the same for columns
// in another order if what tells them apart goes with them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bins/counter_rng.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// n x p, by rows.
struct DenseCells {
  const double* value;
  std::int64_t n, p;
  std::int64_t count() const { return n * p; }
  template <class Visit>
  void visit(std::int64_t i, Visit visit) const {
    for (std::int64_t j = 0; j < p; ++j) visit(value[i * p + j], j);
  }
};

// Row i has the stored cells start[i] .. start[i + 1].
struct StoredCells {
  const std::int64_t* start;
  const std::int32_t* column;
  const double* value;
  std::int64_t n;
  std::int64_t count() const { return start[n]; }
  template <class Visit>
  void visit(std::int64_t i, Visit visit) const {
    for (std::int64_t c = start[i]; c < start[i + 1]; ++c) visit(value[c], column[c]);
  }
};

inline std::uint64_t salt_of(std::uint64_t number) { return scramble(kStride * number); }

// There is one NaN, as there is one zero, and one infinity for what single precision cannot hold.
inline std::uint64_t cell_digest(double x, std::uint64_t salt) {
  const float single =
      std::abs(x) > std::numeric_limits<float>::max() ? std::numeric_limits<float>::infinity() : static_cast<float>(x);
  if (single == 0.0F) return 0;
  const float known = std::isnan(single) ? std::numeric_limits<float>::quiet_NaN() : single;
  return scramble(std::bit_cast<std::uint32_t>(known) + salt);
}

// Sums over the cells of each row, each mixed with the number of its column (p of them).
template <class Cells>
void row_digests(const Cells& cells, const std::uint64_t* column_number, std::int64_t p, std::uint64_t* digest,
                 ThreadTeam& team) {
  Vector<std::uint64_t> salt(p);
  std::transform(column_number, column_number + p, salt.data(), salt_of);
  const std::uint64_t* const of_column = salt.data();
  team.blocks(cells.n, 4 * cells.count(), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint64_t sum = 0;
      cells.visit(i, [&](double x, std::int64_t j) { sum += cell_digest(x, of_column[j]); });
      digest[i] = sum;
    }
  });
}

// Adds to the digest of each column its cells, each mixed with the number of its row. One thread: columns meet in rows.
template <class Cells>
void column_digests(const Cells& cells, const std::uint64_t* row_number, std::uint64_t* digest, ThreadTeam& team) {
  constexpr std::int64_t kNoWorkForOthers = 0;
  team.blocks(cells.n, kNoWorkForOthers, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t salt = salt_of(row_number[i]);
      cells.visit(i, [=](double x, std::int64_t j) { digest[j] += cell_digest(x, salt); });
    }
  });
}

}  // namespace committee
