// The rows that a tree is grown on, and the units in which their weights and targets become integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "histogram/histogram.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/split.hpp"

namespace committee {

// All rows of a table, or a list that names none twice.
class RowList {
 public:
  RowList(const std::int32_t* rows, std::int64_t n_in_use, std::int64_t n_rows) : rows_(rows), size_(n_in_use) {
    if (rows == nullptr) return;
    Vector<bool> used(n_rows, false);
    for (std::int64_t i = 0; i < n_in_use; ++i) {
      if (rows[i] < 0 || rows[i] >= n_rows) throw std::invalid_argument("rows holds a number outside the table");
      if (used[rows[i]]) throw std::invalid_argument("rows names a row twice; give it twice the weight instead");
      used[rows[i]] = true;
    }
  }
  bool all() const { return rows_ == nullptr; }
  std::int64_t size() const { return size_; }
  std::int32_t operator[](std::int64_t i) const { return rows_ ? rows_[i] : static_cast<std::int32_t>(i); }

 private:
  const std::int32_t* rows_;
  std::int64_t size_;
};

// The unit of weights (n x n_outputs); they are summed block by block, so that every grower has the same.
inline FixedPoint weight_unit(const RowList& rows, const double* weights, std::int64_t n_outputs, ThreadTeam& team) {
  const double total = block_sum(team, rows.size(), [&](std::int64_t i) {
    const double* const w = weights + rows[i] * n_outputs;
    double sum = 0.0;
    bool fine = true;
    for (std::int64_t l = 0; l < n_outputs; ++l) {
      sum += w[l];
      fine &= w[l] >= 0.0;
    }
    return fine ? sum : std::numeric_limits<double>::quiet_NaN();
  });
  if (!(total > 0.0) || !std::isfinite(total))
    throw std::invalid_argument("weights must be finite, not negative, and sum to more than zero");
  if (total < 1e-150 || total > 1e150)  // criteria multiply weights
    throw std::invalid_argument("the weights sum to less than 1e-150 or more than 1e150; rescale them");
  return FixedPoint::for_total(rows.size(), total);
}

// What is predicted of rows: one number each, or several (n x n_targets).
struct Targets {
  const double* values;
  std::int64_t n_targets;
  double of(std::int32_t row, std::int64_t k) const { return values[row * n_targets + k]; }
};

// The units of moments w (z - mean z), which are centred so that no digit is spent on what no split can change; those
// of the Poisson deviance are w z. Several targets have one unit, that of the largest: a split gains what it gains on
// all of them, in their own units.
inline Units moment_units(const FixedPoint& fixed, const RowList& rows, const Targets& targets, const double* weights,
                          CriterionName criterion) {
  Units units{fixed};
  const bool poisson = criterion == CriterionName::poisson;
  double largest = 0.0;
  for (std::int64_t k = 0; k < targets.n_targets; ++k) {
    double total = 0.0, sum = 0.0, moment = 0.0, squares = 0.0;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int32_t row = rows[i];
      const double z = targets.of(row, k);
      if (!std::isfinite(z)) throw std::invalid_argument("a target is not finite");
      if (poisson && z < 0.0)
        throw std::invalid_argument("a target is negative, which criterion 'poisson' does not take");
      total += weights[row];
      sum += weights[row] * z;
    }
    units.centre.push_back(poisson ? 0.0 : sum / total);
    if (!std::isfinite(units.centre[k])) break;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const double z = targets.of(rows[i], k) - units.centre[k];
      moment += weights[rows[i]] * std::abs(z);
      squares += weights[rows[i]] * z * z;
    }
    if (poisson)
      units.spread += moment > 0.0 ? moment * (1.0 + std::abs(std::log(moment / total))) : 0.0;
    else
      units.spread += criterion == CriterionName::absolute_error ? moment : squares;
    largest = std::max(largest, moment);
  }
  units.moment_unit = largest > 0.0 ? std::ldexp(1.0, 61) / largest : 1.0;
  if (!std::isfinite(units.centre.back()) || !std::isfinite(units.spread) || !std::isfinite(units.moment_unit))
    throw std::invalid_argument("the weighted targets leave the range of numbers; rescale them");
  return units;
}

}  // namespace committee
