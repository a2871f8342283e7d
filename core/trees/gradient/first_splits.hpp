// The gain of the best split of all rows on each column, for the screening of columns.
//
// A split that leaves `least` rows on both sides gains sum_d G_d^2 / (H_d + l2), left plus right, with the sums G and H
// of gradients and hessians of each side. A number's split is at a threshold, missing values on the right; a category's
// parts it from the others. Sums are of whole numbers, so that they do not depend on threads or on zeros being stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "histogram/histogram.hpp"
#include "histogram/sparse_table.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct Derivatives {  // of all rows of the table, one output
  const double *gradient, *hessian;
  double gradient_unit, hessian_unit;  // whole numbers per unit

  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(0, std::uint64_t{1});
    add(1, static_cast<std::uint64_t>(std::llrint(gradient[row] * gradient_unit)));
    add(2, static_cast<std::uint64_t>(std::llrint(hessian[row] * hessian_unit)));
  }
  void prefetch(std::int64_t row) const {
    __builtin_prefetch(gradient + row);
    __builtin_prefetch(hessian + row);
  }
};

// Gradients and hessians are n_outputs x n_rows; `rows` are n of the rows, null for all. -inf: a column without a
// split.
template <class Table>
Vector<double> first_split_gains(const Table& table, const double* gradient, const double* hessian,
                                 std::int64_t n_outputs, const std::int32_t* rows, std::int64_t n, std::int64_t least,
                                 double l2, ThreadTeam& team) {
  constexpr double kLeastHessian = 1e-150;  // of a side, as a loss may have none
  const std::int64_t p = table.n_features, n_cells = table.n_cells();
  Vector<std::uint64_t> sums(3 * n_cells), scratch;
  Vector<double> gain(n_cells, 0.0), best(p, -std::numeric_limits<double>::infinity());
  for (std::int64_t d = 0; d < n_outputs; ++d) {
    const double *const g = gradient + d * table.n_rows, *const h = hessian + d * table.n_rows;
    double total_g = 0.0, total_h = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = rows ? rows[i] : i;
      total_g += std::abs(g[row]);
      total_h += h[row];
    }
    const Derivatives planes{g, h, exact_unit(total_g), exact_unit(total_h)};
    std::ranges::fill(sums, 0);
    build_histogram(table, rows, n, planes, sums.data(), 3, scratch, team);
    complete(table, sums.data(), 3);
    team.each(p, n_cells, [&](std::int64_t j) {
      const std::int64_t begin = table.cell[j], end = table.cell[j + 1];
      const auto sum = [&](std::int64_t plane, std::int64_t from, std::int64_t to) {
        std::uint64_t of = 0;
        for (std::int64_t c = from; c < to; ++c) of += sums[plane * n_cells + c];
        return of;
      };
      const std::uint64_t all[3] = {sum(0, begin, end), sum(1, begin, end), sum(2, begin, end)};
      std::uint64_t left[3] = {0, 0, 0};
      for (std::int64_t c = begin; c < end; ++c) {
        for (std::int64_t k = 0; k < 3; ++k) left[k] = (table.categorical[j] ? 0 : left[k]) + sums[k * n_cells + c];
        const auto side = [&](std::uint64_t of_g, std::uint64_t of_h) {
          const double G = static_cast<double>(signed_of(of_g)) / planes.gradient_unit;
          return G * G / std::max(static_cast<double>(signed_of(of_h)) / planes.hessian_unit + l2, kLeastHessian);
        };
        gain[c] += side(left[1], left[2]) + side(all[1] - left[1], all[2] - left[2]);
        const std::int64_t fewer = std::min(signed_of(left[0]), signed_of(all[0] - left[0]));
        if (d + 1 == n_outputs && fewer >= least) best[j] = std::max(best[j], gain[c]);
      }
    });
  }
  return best;
}

}  // namespace committee
