// When one gain is larger than another, and not by rounding alone.
#pragma once

#include <limits>

namespace committee {

// A later candidate must beat the best so far by more than rounding noise: ties go to the lowest feature, the
// lowest bin, missing on the right, whatever the order in which weights were summed.
inline constexpr double kTie = 1e-10;
inline bool is_larger(double gain, double best) { return gain > best * (1.0 + kTie); }
// The bar for `is_larger`; none before the first split where splits need not gain.
inline double to_be_larger(double best) {
  return best < 0.0 ? -std::numeric_limits<double>::infinity() : best * (1.0 + kTie);
}

}  // namespace committee
