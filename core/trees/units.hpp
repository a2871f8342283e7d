// Sums of a histogram in the user's units of weight, and of targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>

#include "histogram/histogram.hpp"
#include "threads/vector.hpp"

namespace committee {

// Reads packed sums as doubles in the user's units. `moment_unit` > 0: the planes after the first are signed moments of
// targets that were centred, one plane for each target; `spread` is the scale of gains, of all together: their weighted
// sum of squares, or what another criterion has in its place.
struct Units {
  FixedPoint fixed;
  double moment_unit = 0.0;
  double spread = 0.0;
  Vector<double> centre{};  // of each target

  void read(const std::uint64_t* sums, int planes, double* out) const {
    const int weights = moment_unit > 0.0 ? 1 : planes;
    for (int k = 0; k < weights; ++k) out[k] = fixed.weight(sums[k]);
    for (int k = weights; k < planes; ++k) out[k] = static_cast<double>(signed_of(sums[k])) / moment_unit;
  }
  std::uint64_t pack_moment(double w, double z, std::int64_t target) const {
    return word_of(std::llround(w * (z - centre[target]) * moment_unit));
  }
  // One of the sums, of the plane k, in integers.
  std::int64_t whole(std::uint64_t sum, int k) const {
    return signed_of(moment_unit > 0.0 && k > 0 ? sum : sum >> fixed.count_bits);
  }
  std::int64_t count(const std::uint64_t* sums, int planes) const {
    std::int64_t n = 0;
    for (int k = 0; k < (moment_unit > 0.0 ? 1 : planes); ++k) n += fixed.count(sums[k]);
    return n;
  }
  double weight(const double* w, int planes) const {
    return moment_unit > 0.0 ? w[0] : std::accumulate(w, w + planes, 0.0);
  }
};

}  // namespace committee
