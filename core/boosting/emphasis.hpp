// Emphasis: how a round changes the rows' weights. The factor depends on a row's leaf and label alone.
#pragma once

#include <cstdint>

#include "threads/threads.hpp"

namespace committee {

struct RowsInLeaves {
  const std::int32_t* leaf_of_row;
  const std::uint16_t* labels;
  std::int64_t n;
};

// weights[i] *= factor[leaf, label]; with K weights a row (AdaBoost.MH) weights[i, l] *= factor[leaf, 2 l +
// (label == l)]. Returns the new sum.
inline double scale_rows(double* weights, std::int64_t n_outputs, const RowsInLeaves& rows, const double* factor,
                         std::int64_t n_factors, ThreadTeam& team) {
  const auto [leaf_of_row, labels, n] = rows;
  if (n_outputs == 1)
    return block_sum(team, n, [=](std::int64_t i) {
      if (leaf_of_row[i] >= 0) weights[i] *= factor[leaf_of_row[i] * n_factors + labels[i]];
      return weights[i];
    });
  return block_sum(team, n, [=](std::int64_t i) {
    double* const w = weights + i * n_outputs;
    double sum = 0.0;
    const double* const f = factor + leaf_of_row[i] * n_factors;
    for (std::int64_t l = 0; l < n_outputs; ++l) {
      if (leaf_of_row[i] >= 0) w[l] *= f[2 * l + (labels[i] == l)];
      sum += w[l];
    }
    return sum;
  });
}

}  // namespace committee
