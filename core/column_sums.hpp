// Sums of the columns of a leaf against weights w and responses w z: in doubles, lanes of rows or lanes of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lanes.hpp"
#include "vector.hpp"

namespace committee {

struct ColumnSums {  // sum w x, sum w x^2, sum w z x of columns, padded to whole lanes by zeros
  explicit ColumnSums(std::int64_t p) : x(whole_lanes(p), 0.0), xx(whole_lanes(p), 0.0), xz(whole_lanes(p), 0.0) {}
  COMMITTEE_INLINE void set(std::int64_t first, const Lanes& of_x, const Lanes& of_xx, const Lanes& of_xz) {
    store(x.data() + first, of_x);
    store(xx.data() + first, of_xx);
    store(xz.data() + first, of_xz);
  }
  LaneVector<double> x, xx, xz;
};

// Of p columns (n rows each, whole lanes); four columns share each load of w and w z.
COMMITTEE_CLONES inline void sums_of_columns(const double* X, std::int64_t n, std::int64_t p, const double* w,
                                             const double* wz, ColumnSums& sums) {
  constexpr int kColumns = 4;
  for (std::int64_t first = 0; first < p; first += kColumns) {
    const double* column[kColumns];  // the last block repeats its last column
    for (int c = 0; c < kColumns; ++c) column[c] = X + (first + c < p ? first + c : p - 1) * n;
    Lanes of_w[2 * kColumns]{}, of_wz[2 * kColumns]{};  // x and x^2 against w; x against w z, and nothing
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes wi = load(w + i), wzi = load(wz + i);
      for (int c = 0; c < kColumns; ++c) {
        const Lanes value = load(column[c] + i), weighted = value * wi;
        of_w[c] += weighted;
        of_w[kColumns + c] += weighted * value;
        of_wz[c] += wzi * value;
      }
    }
    const Lanes with_w = fold_eight(of_w), with_wz = fold_eight(of_wz);
    for (int c = 0; c < kColumns && first + c < p; ++c) {
      sums.x[first + c] = with_w[c];
      sums.xx[first + c] = with_w[kColumns + c];
      sums.xz[first + c] = with_wz[c];
    }
  }
}

// Of one column, to the same bits.
COMMITTEE_CLONES inline void sums_of_column(const double* x, std::int64_t n, const double* w, const double* wz,
                                            std::int64_t j, ColumnSums& sums) {
  Lanes of[kLanes]{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes value = load(x + i), weighted = value * load(w + i);
    of[0] += weighted;
    of[1] += weighted * value;
    of[2] += load(wz + i) * value;
  }
  const Lanes folded = fold_eight(of);
  sums.x[j] = folded[0];
  sums.xx[j] = folded[1];
  sums.xz[j] = folded[2];
}

// Of n rows of p numbers (whole lanes), each lane one column, so that there is nothing to fold.
COMMITTEE_CLONES inline void sums_of_rows(const double* X, std::int64_t n, std::int64_t p, const double* w,
                                          const double* wz, ColumnSums& sums) {
  const auto pass = [&](std::int64_t first, auto count) __attribute__((always_inline)) {
    constexpr std::size_t kVectors = decltype(count)::value;
    constexpr std::int64_t n_vectors = static_cast<std::int64_t>(kVectors);
    Lanes of_x[kVectors]{}, of_xx[kVectors]{}, of_xz[kVectors]{};
    const double* row = X + first;
    for (std::int64_t i = 0; i < n; ++i, row += p) {
      const Lanes wi = Lanes{} + w[i], wzi = Lanes{} + wz[i];
      for (std::int64_t c = 0; c < n_vectors; ++c) {
        const Lanes value = load(row + c * kLanes), weighted = value * wi;
        of_x[c] += weighted;
        of_xx[c] += weighted * value;
        of_xz[c] += wzi * value;
      }
    }
    for (std::int64_t c = 0; c < n_vectors; ++c) sums.set(first + c * kLanes, of_x[c], of_xx[c], of_xz[c]);
  };
  std::int64_t first = 0;
  for (; first + 4 * kLanes <= p; first += 4 * kLanes) pass(first, std::integral_constant<std::size_t, 4>{});
  switch ((p - first) / kLanes) {
    case 3:
      pass(first, std::integral_constant<std::size_t, 3>{});
      break;
    case 2:
      pass(first, std::integral_constant<std::size_t, 2>{});
      break;
    case 1:
      pass(first, std::integral_constant<std::size_t, 1>{});
      break;
    default:
      break;
  }
}

}  // namespace committee
