// Sums of the columns of a leaf against weights w and responses w z: in doubles, lanes of rows or lanes of columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

struct ColumnSums {  // sum w x, sum w x^2, sum w z x of columns, padded to whole lanes by zeros
  explicit ColumnSums(std::int64_t p) : x(whole_lanes(p), 0.0), xx(whole_lanes(p), 0.0), xz(whole_lanes(p), 0.0) {}
  template <class Lanes>
  COMMITTEE_INLINE void set(std::int64_t first, const Lanes& of_x, const Lanes& of_xx, const Lanes& of_xz) {
    store(x.data() + first, of_x);
    store(xx.data() + first, of_xx);
    store(xz.data() + first, of_xz);
  }
  LaneVector<double> x, xx, xz;
};

// So many columns have their three sums in registers at once: there are 32 of 64 bytes, or 16 shorter ones.
template <class Lanes>
inline constexpr std::size_t kColumnsAtOnce = 4;
template <class Half>
inline constexpr std::size_t kColumnsAtOnce<Twice<Half>> = kColumnsAtOnce<Half> / 2;

// Of p columns (n rows each, whole lanes); some columns share each load of w and w z.
template <class Lanes>
COMMITTEE_INLINE void sums_of_columns_in(const double* X, std::int64_t n, std::int64_t p, const double* w,
                                         const double* wz, ColumnSums& sums) {
  constexpr std::size_t kAtOnce = kColumnsAtOnce<Lanes>;
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kAtOnce);
  for (std::int64_t first = 0; first < p; first += kColumns) {
    const double* column[kAtOnce];  // the last block repeats its last column
    for (std::int64_t c = 0; c < kColumns; ++c) column[c] = X + std::min(first + c, p - 1) * n;
    Lanes of_w[kLanes]{}, of_wz[kLanes]{};  // x and x^2 against w; x against w z, and nothing
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes wi = load<Lanes>(w + i), wzi = load<Lanes>(wz + i);
      for (std::int64_t c = 0; c < kColumns; ++c) {
        const Lanes value = load<Lanes>(column[c] + i), weighted = value * wi;
        of_w[c] += weighted;
        of_w[kColumns + c] += weighted * value;
        of_wz[c] += wzi * value;
      }
    }
    double with_w[kLanes], with_wz[kLanes];
    store(with_w, fold_each(of_w));
    store(with_wz, fold_each(of_wz));
    for (std::int64_t c = 0; c < kColumns && first + c < p; ++c) {
      sums.x[first + c] = with_w[c];
      sums.xx[first + c] = with_w[kColumns + c];
      sums.xz[first + c] = with_wz[c];
    }
  }
}
COMMITTEE_ON_LANES(void, sums_of_columns,
                   (const double* X, std::int64_t n, std::int64_t p, const double* w, const double* wz,
                    ColumnSums& sums),
                   (X, n, p, w, wz, sums))

// Of one column, to the same bits.
template <class Lanes>
COMMITTEE_INLINE void sums_of_column_in(const double* x, std::int64_t n, const double* w, const double* wz,
                                        std::int64_t j, ColumnSums& sums) {
  Lanes of[kLanes]{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes value = load<Lanes>(x + i), weighted = value * load<Lanes>(w + i);
    of[0] += weighted;
    of[1] += weighted * value;
    of[2] += load<Lanes>(wz + i) * value;
  }
  double folded[kLanes];
  store(folded, fold_each(of));
  sums.x[j] = folded[0];
  sums.xx[j] = folded[1];
  sums.xz[j] = folded[2];
}
COMMITTEE_ON_LANES(void, sums_of_column,
                   (const double* x, std::int64_t n, const double* w, const double* wz, std::int64_t j,
                    ColumnSums& sums),
                   (x, n, w, wz, j, sums))

// Of n rows of numbers `p` apart, kVectors times eight columns.
template <class Lanes, std::size_t kVectors>
COMMITTEE_INLINE void sums_of_some_rows(const double* row, std::int64_t n, std::int64_t p, const double* w,
                                        const double* wz, std::int64_t first, ColumnSums& sums) {
  constexpr std::int64_t n_vectors = static_cast<std::int64_t>(kVectors);
  Lanes of_x[kVectors]{}, of_xx[kVectors]{}, of_xz[kVectors]{};
  for (std::int64_t i = 0; i < n; ++i, row += p) {
    const Lanes wi = Lanes{} + w[i], wzi = Lanes{} + wz[i];
    for (std::int64_t c = 0; c < n_vectors; ++c) {
      const Lanes value = load<Lanes>(row + c * kLanes), weighted = value * wi;
      of_x[c] += weighted;
      of_xx[c] += weighted * value;
      of_xz[c] += wzi * value;
    }
  }
  for (std::int64_t c = 0; c < n_vectors; ++c) sums.set(first + c * kLanes, of_x[c], of_xx[c], of_xz[c]);
}

// Of n rows of p numbers (whole lanes), each lane one column, so that there is nothing to fold.
template <class Lanes>
COMMITTEE_INLINE void sums_of_rows_in(const double* X, std::int64_t n, std::int64_t p, const double* w,
                                      const double* wz, ColumnSums& sums) {
  constexpr std::size_t kVectors = kColumnsAtOnce<Lanes>;
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kVectors) * kLanes;
  std::int64_t first = 0;
  for (; first + kColumns <= p; first += kColumns)
    sums_of_some_rows<Lanes, kVectors>(X + first, n, p, w, wz, first, sums);
  switch ((p - first) / kLanes) {
    case 3:
      if constexpr (kVectors > 3) sums_of_some_rows<Lanes, 3>(X + first, n, p, w, wz, first, sums);
      break;
    case 2:
      if constexpr (kVectors > 2) sums_of_some_rows<Lanes, 2>(X + first, n, p, w, wz, first, sums);
      break;
    case 1:
      sums_of_some_rows<Lanes, 1>(X + first, n, p, w, wz, first, sums);
      break;
    default:
      break;
  }
}
COMMITTEE_ON_LANES(void, sums_of_rows,
                   (const double* X, std::int64_t n, std::int64_t p, const double* w, const double* wz,
                    ColumnSums& sums),
                   (X, n, p, w, wz, sums))

}  // namespace committee
