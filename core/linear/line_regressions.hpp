// Weighted regressions of a response z on (1, x_j) for every column of a leaf, and the one of least squared error.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear/column_screen.hpp"
#include "linear/column_sums.hpp"
#include "linear/leaf_columns.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

// A column has a line if its spread is more than this share of its weighted squares.
inline constexpr double kLeastSpread = 1e-10;
// A later column must have a decrease that is larger by more than this share.
inline constexpr double kEqualDecrease = 1e-10;

// Decreases shared^2 / spread of the squared error by p columns (whole lanes), 0 where there is no line; returns the
// first column of the largest, or -1 where all are 0. spread and shared are the weighted sums of squares and products
// about the mean, of a column and of it with the response.
template <class Lanes>
COMMITTEE_INLINE std::int64_t first_of_largest_in(const ColumnSums& sums, double response, double per_weight,
                                                  std::int64_t p, double* decreases) {
  using LaneBits = BitsOf<Lanes>;
  Lanes most{};
  for (std::int64_t j = 0; j < p; j += kLanes) {
    const Lanes x = load<Lanes>(sums.x.data() + j), xx = load<Lanes>(sums.xx.data() + j);
    const Lanes spread = xx - x * x * per_weight, shared = load<Lanes>(sums.xz.data() + j) - x * response * per_weight;
    const Lanes decrease = select(spread > kLeastSpread * xx, shared * shared / spread, Lanes{});
    store(decreases + j, decrease);
    most = larger_of(decrease, most);
  }
  const double largest = most_of(most);
  if (!(largest > 0.0)) return -1;
  const Lanes least = Lanes{} + largest * (1.0 - kEqualDecrease);
  LaneBits number = places<LaneBits>(), first = number + p;  // no branches: the column is unpredictable
  for (std::int64_t j = 0; j < p; j += kLanes, number += kLanes) {
    const LaneBits found = select_bits(load<Lanes>(decreases + j) >= least, number, first);
    first = select_bits(found < first, found, first);
  }
  return least_of(first);
}
COMMITTEE_ON_LANES(std::int64_t, first_of_largest,
                   (const ColumnSums& sums, double response, double per_weight, std::int64_t p, double* decreases),
                   (sums, response, per_weight, p, decreases))

struct Line {
  std::int64_t column = -1;  // of the leaf; -1: the intercept alone
  double intercept = 0.0, slope = 0.0;
};

class Regressions {
 public:
  explicit Regressions(const Leaf& leaf)
      : leaf_(leaf), screen_(leaf), sums_(leaf.n_columns()), decreases_(leaf.width()) {}

  // Another problem of the same leaf begins.
  void start() { screen_.start(); }

  // The line that leaves the least squared error, of weights w and w z of the rows, and the sums of both.
  Line least_squares(const double* w, const double* wz, double weight, double response) {
    weigh(weight, response);
    if (screen_.contenders(w, wz, weight, response, contenders_)) return line_of(best_contender(w, wz));
    sum_all(w, wz);
    return line_of(first_of_largest(sums_, response, inverse_weight_, leaf_.width(), decreases_.data()));
  }

  // The regressions on all columns, for `has_line` and `line_of`.
  void all(const double* w, const double* wz, double weight, double response) {
    weigh(weight, response);
    sum_all(w, wz);
  }
  bool has_line(std::int64_t j) const { return spread(j) > kLeastSpread * sums_.xx[j]; }
  Line line_of(std::int64_t j) const {
    if (j < 0) return {-1, response_ / weight_, 0.0};
    const double slope = shared(j) / spread(j);
    return {j, (response_ - slope * sums_.x[j]) / weight_, slope};
  }

 private:
  void weigh(double weight, double response) {
    weight_ = weight;
    response_ = response;
    inverse_weight_ = 1.0 / weight;
  }
  void sum_all(const double* w, const double* wz) {
    if (leaf_.is_short())
      sums_of_rows(leaf_.by_row(), leaf_.n_rows(), leaf_.width(), w, wz, sums_);
    else
      sums_of_columns(leaf_.columns(), leaf_.stride(), leaf_.n_columns(), w, wz, sums_);
  }
  // As `first_of_largest`, among the columns that are left.
  std::int64_t best_contender(const double* w, const double* wz) {
    double largest = 0.0;
    for (const std::int64_t j : contenders_) {
      sums_of_column(leaf_.column(j), leaf_.stride(), w, wz, j, sums_);
      decreases_[j] = has_line(j) ? shared(j) * shared(j) / spread(j) : 0.0;
      largest = std::max(largest, decreases_[j]);
    }
    for (const std::int64_t j : contenders_)
      if (largest > 0.0 && decreases_[j] >= largest * (1.0 - kEqualDecrease)) return j;
    return -1;
  }
  double spread(std::int64_t j) const { return sums_.xx[j] - sums_.x[j] * sums_.x[j] * inverse_weight_; }
  double shared(std::int64_t j) const { return sums_.xz[j] - sums_.x[j] * response_ * inverse_weight_; }

  const Leaf& leaf_;
  ColumnScreen screen_;
  ColumnSums sums_;  // of the columns that were last looked at
  LaneVector<double> decreases_;
  Vector<std::int64_t> contenders_;
  double weight_ = 0.0, response_ = 0.0, inverse_weight_ = 0.0;
};

}  // namespace committee
