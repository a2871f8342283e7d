// Sums of doubles that do not depend on the order of their terms, nor on who adds which: every term is rounded once, to
// a multiple of 2^-90 of a power of two above them all, and multiples add up in 128 bits, exactly. The sum of n terms
// is off by n/2 multiples at most, and there may be 2^37 of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "lanes.hpp"

namespace committee {

__extension__ using Multiples = __int128;

// round(x) for |x| < 2^51, to even. Between 2^52 and 2^53 a double counts in ones: adding 1.5 2^52 rounds to a whole
// number, which is how far the bits are from those of 1.5 2^52 itself.
inline constexpr double kOnes = 0x1.8p52;
COMMITTEE_INLINE std::int64_t rounded(double x) {
  return std::bit_cast<std::int64_t>(x + kOnes) - std::bit_cast<std::int64_t>(kOnes);
}

class SumUnit {
 public:
  // Terms are at most `largest`.
  explicit SumUnit(double largest)
      : exponent_(largest > 0.0 ? std::max(std::ilogb(largest) + 1, -900) : 0),
        scale_(std::ldexp(1.0, kHalf - exponent_)) {}

  // sum of term(i) over [begin, end), of which there are at most 2^17: each as 2^45 coarse + fine multiples.
  template <class Term>
  Multiples sum(std::int64_t begin, std::int64_t end, const Term& term) const {
    std::int64_t coarse = 0, fine = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const double x = term(i) * scale_;
      coarse += rounded(x);
      fine += rounded((x - ((x + kOnes) - kOnes)) * kFine);
    }
    return Multiples{coarse} * (std::int64_t{1} << kHalf) + fine;
  }

  double value(Multiples sum) const { return std::ldexp(static_cast<double>(sum), exponent_ - 2 * kHalf); }

 private:
  static constexpr int kHalf = 45;
  static constexpr double kFine = 0x1p45;

  int exponent_;
  double scale_;
};

}  // namespace committee
