// Sums over the rows of each leaf: values of a row times its design columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear/rows_by_leaf.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

// Adds value x (row - origin) of p columns to each of the sums, value by value.
COMMITTEE_CLONES inline void add_products(const double* row, const double* origin, std::int64_t p, const double* values,
                                          std::int64_t n_values, double* sums) {
  for (std::int64_t o = 0; o < n_values; ++o)
    for (std::int64_t j = 0; j < p; ++j) sums[o * p + j] += values[o] * (row[j] - origin[j]);
}

// leaves x n_values x n_features: sums of values (rows in the order given x n_values) times the row's columns, about
// the leaf's first row, so that a column far from 0 loses no digits.
inline Vector<double> leaf_products(const RowsByLeaf& data, const double* values, std::int64_t n_values) {
  const std::int64_t p = data.n_features;
  Vector<double> sums(data.n_leaves * n_values * p, 0.0);
  for (std::int64_t l = 0; l < data.n_leaves; ++l) {
    const double* const origin = data.D + data.rows[data.start[l]] * p;
    for (std::int64_t i = data.start[l]; i < data.start[l + 1]; ++i) {
      fetch_row(data.D + data.rows[std::min(i + kRowsAhead, data.n_rows() - 1)] * p, p);
      add_products(data.D + data.rows[i] * p, origin, p, values + i * n_values, n_values,
                   sums.data() + l * n_values * p);
    }
  }
  return sums;
}

}  // namespace committee
