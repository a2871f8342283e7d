// The rows of one leaf as standardised columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

// Columns that vary less count as constant: of other rows, up to 1e150 large, their slopes would make no number.
inline constexpr double kLeastDeviation = 1e-150;

// Copies p columns of n listed rows, `stride` apart and padded to whole lanes by the last row, and sums them times
// `share`: divided before they are summed, so that no column is too large. The sums have eight lanes each, zeros
// before.
template <class Lanes>
COMMITTEE_INLINE void columns_of_rows_in(const double* D, std::int64_t p, const std::int32_t* rows, std::int64_t n,
                                         std::int64_t stride, double share, double* columns, double* sums) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const double* row[kLanes];
    for (std::int64_t r = 0; r < kLanes; ++r) {
      row[r] = D + rows[std::min(i + r, n - 1)] * p;
      fetch_row(D + rows[std::min(i + kRowsAhead + r, n - 1)] * p, p);
    }
    const Lanes shares = select(first_lanes<BitsOf<Lanes>>(n - i), Lanes{} + share, Lanes{});
    for (std::int64_t j = 0; j < p; ++j) {
      const Lanes x = gathered_from<Lanes>(row, j);
      store(columns + j * stride + i, x);
      store(sums + j * kLanes, load<Lanes>(sums + j * kLanes) + x * shares);
    }
  }
}
COMMITTEE_ON_LANES(void, columns_of_rows,
                   (const double* D, std::int64_t p, const std::int32_t* rows, std::int64_t n, std::int64_t stride,
                    double share, double* columns, double* sums),
                   (D, p, rows, n, stride, share, columns, sums))

// Takes the mean from n numbers (whole lanes), and returns the largest that is left.
template <class Lanes>
COMMITTEE_INLINE double centre_in(double* x, double mean, std::int64_t n) {
  Lanes largest{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes left = load<Lanes>(x + i) - mean;
    store(x + i, left);
    largest = larger_of(absolute(left), largest);
  }
  return most_of(largest);
}
COMMITTEE_ON_LANES(double, centre, (double* x, double mean, std::int64_t n), (x, mean, n))

// Sum of the squares of n numbers as shares of the largest, which none is too large or too small for; the `padding`
// last ones do not count.
template <class Lanes>
COMMITTEE_INLINE double squares_of_shares_in(const double* x, double per_largest, std::int64_t n,
                                             std::int64_t padding) {
  Lanes sum{}, last{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes share = load<Lanes>(x + i) * per_largest;
    last = share * share;
    sum += last;
  }
  return fold(select(first_lanes<BitsOf<Lanes>>(kLanes - padding), sum, sum - last));
}
COMMITTEE_ON_LANES(double, squares_of_shares,
                   (const double* x, double per_largest, std::int64_t n, std::int64_t padding),
                   (x, per_largest, n, padding))

COMMITTEE_CLONES inline void scale(const double* x, double factor, std::int64_t n, double* to) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(to + i, load(x + i) * factor);
}

// Rows of p numbers, `width` apart, of columns.
COMMITTEE_CLONES inline void rows_of_columns(const double* columns, std::int64_t stride, std::int64_t p,
                                             std::int64_t width, double* rows) {
  for (std::int64_t i = 0; i < stride; ++i)
    for (std::int64_t j = 0; j < p; ++j) rows[i * width + j] = columns[j * stride + i];
}

// One leaf: the features that vary in its rows, as standardised columns, padded to whole lanes by its last row. What is
// constant up to rounding has no line. Of few rows they are there as rows too, padded by zeros.
class Leaf {
 public:
  // Leaves up to so many rows are short: folding the sums of a column's eight lanes would be a good part of the work.
  static constexpr std::int64_t kShort = 64;

  Leaf(const double* D, std::int64_t n_features, const std::int32_t* rows, std::int64_t n)
      : n_rows_(n), stride_(whole_lanes(n)), columns_(n_features * stride_) {
    const double count = static_cast<double>(n);
    LaneVector<double> sums(n_features * kLanes, 0.0);
    columns_of_rows(D, n_features, rows, n, stride_, 1.0 / count, columns_.data(), sums.data());
    for (std::int64_t j = 0; j < n_features; ++j) {
      double* const x = columns_.data() + j * stride_;
      const double mean = fold(load(sums.data() + j * kLanes)), peak = centre(x, mean, stride_);
      if (!(peak > kLeastDeviation)) continue;
      const double deviation = peak * std::sqrt(squares_of_shares(x, 1.0 / peak, stride_, stride_ - n) / count);
      if (!(deviation > 1e-12 * std::abs(mean)) || !(deviation > kLeastDeviation)) continue;
      scale(x, 1.0 / deviation, stride_, columns_.data() + n_columns() * stride_);
      feature_.push_back(j);
      mean_.push_back(mean);
      scale_.push_back(1.0 / deviation);
    }
    if (!is_short()) return;
    by_row_.resize(stride_ * width(), 0.0);
    rows_of_columns(columns_.data(), stride_, n_columns(), width(), by_row_.data());
  }

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t stride() const { return stride_; }
  std::int64_t n_columns() const { return feature_.size(); }
  std::int64_t feature(std::int64_t c) const { return feature_[c]; }
  bool is_short() const { return stride_ <= kShort; }
  std::int64_t width() const { return whole_lanes(n_columns()); }
  const double* by_row() const { return by_row_.data(); }
  const double* columns() const { return columns_.data(); }
  const double* column(std::int64_t c) const { return columns_.data() + c * stride_; }
  // Turns a slope per standardised unit into one per unit, moving the intercept along.
  double in_user_units(std::int64_t c, double slope, double& intercept) const {
    intercept -= slope * scale_[c] * mean_[c];
    return slope * scale_[c];
  }

 private:
  std::int64_t n_rows_, stride_;
  LaneVector<double> columns_, by_row_;
  Vector<double> mean_, scale_;
  Vector<std::int64_t> feature_;
};

}  // namespace committee
