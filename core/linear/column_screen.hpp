// Screen the columns of a leaf for the regression line of least squared error: sums in single precision with error
// bounds leave one or two columns for sums in double precision. Half the time of double precision for all columns.
//
// Weights count as shares of their sum, responses w z as shares of the root of their sum of squares, and columns are
// standardised. In m roundings one after the other a sum of products in singles is wrong by at most
// gamma = m 2^-24 / (1 - m 2^-24) times the sum of the products' sizes. That is sum w x^2 itself;
// sum w |x| <= (1 + sum w x^2) / 2; and sum |w z x| <= (sum x^2)^1/2 = n^1/2, by Cauchy and Schwarz. Before, all are
// rounded to multiples of a small number, so that no product is a subnormal one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "linear/column_sums.hpp"
#include "linear/leaf_columns.hpp"
#include "threads/lanes.hpp"
#include "threads/singles.hpp"
#include "threads/vector.hpp"

namespace committee {

// n numbers (whole lanes) times a factor, rounded to multiples of `grain` 2^-52 and to singles.
template <class Lanes>
COMMITTEE_INLINE void to_singles_in(const double* x, double factor, double grain, std::int64_t n, float* to) {
  const Lanes magic = Lanes{} + 1.5 * grain;
  for (std::int64_t i = 0; i < n; i += kLanes) store_rounded(to + i, (load<Lanes>(x + i) * factor + magic) - magic);
}
COMMITTEE_ON_LANES(void, to_singles, (const double* x, double factor, double grain, std::int64_t n, float* to),
                   (x, factor, grain, n, to))

template <class Lanes>
COMMITTEE_INLINE double sum_of_squares_in(const double* x, std::int64_t n) {
  Lanes sum{};
  for (std::int64_t i = 0; i < n; i += kLanes) sum += load<Lanes>(x + i) * load<Lanes>(x + i);
  return fold(sum);
}
COMMITTEE_ON_LANES(double, sum_of_squares, (const double* x, std::int64_t n), (x, n))

// Rows whose sums are added up in singles before they go on in doubles.
inline constexpr std::int64_t kScreenedRows = 512;
// Multiples that all numbers are rounded to: 2^-50 of shares (at most 1 in size), 2^-34 of columns (at most n^1/2).
inline constexpr double kGrainOfShares = 4.0, kGrainOfColumns = 0x1p18;
// More than these multiples and the rounding of doubles make of any of the sums, as a share of n^1/2.
inline constexpr double kGrainError = 0x1p-30;
// Roundings one after the other: of w, of x twice, of two products, and of the sums of 512 / 16 rows and sixteen lanes.
inline constexpr double kRoundings = 5 + kScreenedRows / 16 + 4;
inline constexpr double kGamma = kRoundings * 0x1p-24 / (1.0 - kRoundings * 0x1p-24);

// Sums of p columns (n rows each, whole single lanes) against w and w z.
template <class Lanes>
COMMITTEE_INLINE void screening_sums_in(const float* X, std::int64_t n, std::int64_t p, const float* w, const float* wz,
                                        ColumnSums& sums) {
  using Singles = SinglesOf<Lanes>;
  constexpr std::size_t kAtOnce = kColumnsAtOnce<Lanes>;
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kAtOnce);
  for (std::int64_t first = 0; first < p; first += kLanes) {
    Lanes x{}, xx{}, xz{};
    for (std::int64_t start = 0; start < n; start += kScreenedRows) {
      const std::int64_t end = std::min(n, start + kScreenedRows);
      Singles of_x[kLanes], of_xx[kLanes], of_xz[kLanes];
      for (std::int64_t part = 0; part < kLanes; part += kColumns) {  // some columns share each load of w and w z
        const float* column[kAtOnce];                                 // the last block repeats its last column
        for (std::int64_t c = 0; c < kColumns; ++c) column[c] = X + std::min(first + part + c, p - 1) * n;
        Singles a[kAtOnce]{}, b[kAtOnce]{}, g[kAtOnce]{};
        for (std::int64_t i = start; i < end; i += kSingleLanes) {
          const Singles wi = load_singles<Singles>(w + i), wzi = load_singles<Singles>(wz + i);
          for (std::int64_t c = 0; c < kColumns; ++c) {
            const Singles value = load_singles<Singles>(column[c] + i), weighted = value * wi;
            a[c] += weighted;
            b[c] += weighted * value;
            g[c] += wzi * value;
          }
        }
        for (std::int64_t c = 0; c < kColumns; ++c) {
          of_x[part + c] = a[c];
          of_xx[part + c] = b[c];
          of_xz[part + c] = g[c];
        }
      }
      x += fold_singles<Lanes>(of_x);
      xx += fold_singles<Lanes>(of_xx);
      xz += fold_singles<Lanes>(of_xz);
    }
    sums.set(first, x, xx, xz);
  }
}
COMMITTEE_ON_LANES(void, screening_sums,
                   (const float* X, std::int64_t n, std::int64_t p, const float* w, const float* wz, ColumnSums& sums),
                   (X, n, p, w, wz, sums))

// Upper bounds of the decreases shared^2 / spread of the squared error for p columns (whole lanes), into `upper`;
// returns the largest lower bound. `response` is the sum of the responses' shares, `root` that of the number of rows.
template <class Lanes>
COMMITTEE_INLINE double decrease_bounds_in(const ColumnSums& sums, double response, double root, std::int64_t p,
                                           double* upper) {
  const double grains = kGrainError * root, of_xz = kGamma * root + grains, size = std::abs(response);
  Lanes most{};
  for (std::int64_t j = 0; j < p; j += kLanes) {
    const auto x = load<Lanes>(sums.x.data() + j), xx = load<Lanes>(sums.xx.data() + j);
    const auto xz = load<Lanes>(sums.xz.data() + j);
    const Lanes of_xx = (kGamma * xx + grains) * (1.0 + 2.0 * kGamma);
    const Lanes of_x = (0.5 * kGamma) * (1.0 + (xx + of_xx)) + grains;
    const Lanes spread = xx - x * x, of_spread = of_xx + (2.0 * absolute(x) + of_x) * of_x;
    const Lanes shared = absolute(xz - x * response), of_shared = of_xz + size * of_x;
    const Lanes wide = spread - of_spread, high = shared + of_shared, low = shared - of_shared;
    store(upper + j, select(wide > 0.0, high * high / wide, Lanes{} + HUGE_VAL));
    // its spread is surely enough for a line, and its part in the response surely something
    const Lanes surely = low * low / (spread + of_spread), nothing{};
    const Lanes least = select(wide > 1e-9 * xx, select(low > 0.0, surely, nothing), nothing);
    most = larger_of(least, most);
  }
  return most_of(most);
}
COMMITTEE_ON_LANES(double, decrease_bounds,
                   (const ColumnSums& sums, double response, double root, std::int64_t p, double* upper),
                   (sums, response, root, p, upper))

// The columns of one leaf in single precision.
class ColumnScreen {
 public:
  // Of fewer columns, and of short leaves, all sums are as soon done in doubles.
  static constexpr std::int64_t kLeastColumns = 6;
  // Decreases below the largest by less than this share of it may be the largest but for rounding.
  static constexpr double kTie = 1e-8;

  explicit ColumnScreen(const Leaf& leaf)
      : stride_(leaf.stride()),
        n_((stride_ + kSingleLanes - 1) / kSingleLanes * kSingleLanes),
        p_(leaf.n_columns()),
        root_(std::sqrt(static_cast<double>(leaf.n_rows()))),
        helps_(!leaf.is_short() && p_ >= kLeastColumns),
        sums_(helps_ ? p_ : 0),
        upper_(helps_ ? whole_lanes(p_) : 0) {
    if (!helps_) return;
    columns_.resize(p_ * n_, 0.0f);
    for (std::int64_t j = 0; j < p_; ++j)
      to_singles(leaf.column(j), 1.0, kGrainOfColumns, stride_, columns_.data() + j * n_);
    w_.resize(n_, 0.0f);
    wz_.resize(n_, 0.0f);
  }

  // Another problem, of which nothing is known.
  void start() { pays_ = helps_; }

  // Lists in rising order the columns that may have the largest decrease, of w and w z of the rows and their sums;
  // returns whether there is such a list, of fewer than half of them.
  bool contenders(const double* w, const double* wz, double weight, double response, Vector<std::int64_t>& found) {
    if (!pays_) return false;
    const double least = screened(w, wz, weight, response) * (1.0 - kTie);
    found.clear();
    for (std::int64_t j = 0; j < p_; ++j)
      if (!(upper_[j] < least)) found.push_back(j);
    return pays_ = least > 0.0 && 2 * found.size() <= p_;
  }

 private:
  // Upper bounds for all columns; returns the largest lower bound, or 0 if there are none.
  double screened(const double* w, const double* wz, double weight, double response) {
    const double per_weight = 1.0 / weight, per_norm = 1.0 / std::sqrt(sum_of_squares(wz, stride_));
    if (!std::isnormal(per_weight) || !std::isnormal(per_norm)) return 0.0;
    to_singles(w, per_weight, kGrainOfShares, stride_, w_.data());
    to_singles(wz, per_norm, kGrainOfShares, stride_, wz_.data());
    screening_sums(columns_.data(), n_, p_, w_.data(), wz_.data(), sums_);
    return decrease_bounds(sums_, response * per_norm, root_, whole_lanes(p_), upper_.data());
  }

  std::int64_t stride_, n_, p_;  // n_: rows in whole single lanes
  double root_;
  bool helps_, pays_ = false;  // pays: more than half of the columns were ruled out the last time
  LaneVector<float> columns_, w_, wz_;
  ColumnSums sums_;
  LaneVector<double> upper_;
};

}  // namespace committee
