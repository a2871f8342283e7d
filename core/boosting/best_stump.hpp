// The listed stump that lowers a penalised risk most, straight from the sums of the residual over cells: its
// correlation is a difference of running sums, and what it lowers the risk by follows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear/coordinate_descent.hpp"
#include "threads/interrupt.hpp"
#include "threads/vector.hpp"
#include "votes/cells.hpp"

namespace committee {

struct StumpNumbers {   // of N stumps
  const double* mean;   // taken off their votes, times the sum of the residual; null where votes are not centred
  const double* eta;    // products with themselves
  const double* alpha;  // weights so far; null where all are 0
};
struct BestStump {
  std::int64_t stump = -1;  // there are none
  double correlation = 0.0;
};

// The first of the stumps that lower the risk most, up to a share `tie` of that. `sums`: of the residual in each of
// n_cells cells; `total`: of all rows.
template <class Penalty>
BestStump best_stump(const double* sums, std::int64_t n_cells, double total, const StumpCells& stumps,
                     const StumpNumbers& numbers, const Penalty& penalty, double tie) {
  if (stumps.n == 0) return {};
  Vector<double> running(n_cells + 1, 0.0), gain(stumps.n, 0.0);
  for (std::int64_t c = 0; c < n_cells; ++c) running[c + 1] = running[c] + sums[c];
  InterruptWatch watch;
  watch.after(n_cells);
  const auto correlation = [&](std::int64_t j) {
    const std::int64_t missing = stumps.missing[j];
    const double left = running[stumps.high[j]] - running[stumps.low[j]];
    const double present = running[missing] - running[stumps.first[j]];
    const double c = (present - 2.0 * left) + static_cast<double>(stumps.vote[j]) * sums[missing];
    return numbers.mean ? c - numbers.mean[j] * total : c;
  };
  for (std::int64_t j = 0; j < stumps.n; ++j) {
    const double eta = numbers.eta[j];
    double step;
    if (eta > 0.0) gain[j] = decrease_of(penalty, correlation(j), eta, numbers.alpha ? numbers.alpha[j] : 0.0, step);
  }
  const double enough = *std::max_element(gain.begin(), gain.end()) * (1.0 - tie);
  const std::int64_t first =
      std::find_if(gain.begin(), gain.end(), [&](double each) { return each >= enough; }) - gain.begin();
  if (first == stumps.n) return {};
  return {first, correlation(first)};
}

}  // namespace committee
