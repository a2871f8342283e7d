// Sums of doubles that do not depend on the order of their terms, nor on who adds which: every term is rounded once, to
// a multiple of 2^-90 of a power of two above them all, and multiples add up in 128 bits, exactly. The sum of n terms
// is off by n/2 multiples at most, and there may be 2^37 of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

__extension__ using Multiples = __int128;

// round(x) for |x| < 2^51, to even. Between 2^52 and 2^53 a double counts in ones: adding 1.5 2^52 rounds to a whole
// number, which is how far the bits are from those of 1.5 2^52 itself.
inline constexpr double kOnes = 0x1.8p52;
COMMITTEE_INLINE std::int64_t rounded(double x) {
  return signed_of(std::bit_cast<std::uint64_t>(x + kOnes) - std::bit_cast<std::uint64_t>(kOnes));
}

class SumUnit {
 public:
  static constexpr std::int64_t kMostTerms = std::int64_t{1} << 17;

  // A sum of at most kMostTerms terms: 2^45 coarse + fine multiples.
  struct Halves {
    std::int64_t coarse = 0, fine = 0;
    Multiples multiples() const { return Multiples{coarse} * (std::int64_t{1} << kHalf) + fine; }
  };

  // Terms are at most `largest`.
  explicit SumUnit(double largest)
      : exponent_(largest > 0.0 ? std::max(std::ilogb(largest) + 1, -900) : 0),
        scale_(std::ldexp(1.0, kHalf - exponent_)) {}

  COMMITTEE_INLINE Halves halves(double term) const {
    const double x = term * scale_;
    return {rounded(x), rounded((x - ((x + kOnes) - kOnes)) * kFine)};
  }

  double value(Multiples sum) const { return std::ldexp(static_cast<double>(sum), exponent_ - 2 * kHalf); }

 private:
  static constexpr int kHalf = 45;
  static constexpr double kFine = 0x1p45;

  int exponent_;
  double scale_;
};

// Adds terms[i] to the halves of its group, of which there is one every `stride`, for all i of [begin, end). The halves
// of a group with terms beyond the largest mean nothing, and harm no others.
COMMITTEE_CLONES inline void add_by_group(const SumUnit& unit, const double* terms, const std::int32_t* group,
                                          std::int64_t begin, std::int64_t end, SumUnit::Halves* sums,
                                          std::int64_t stride) {
  constexpr std::int64_t kSome = 64;  // rounded together, eight at a time
  std::array<SumUnit::Halves, kSome> of_terms;
  for (std::int64_t first = begin; first < end; first += kSome) {
    const std::int64_t n = std::min(kSome, end - first);
    for (std::size_t k = 0; k < size_of(n); ++k) of_terms[k] = unit.halves(terms[first + count_of(k)]);
    for (std::size_t k = 0; k < size_of(n); ++k) {  // both halves by one addition
      SumUnit::Halves& sum = sums[group[first + count_of(k)] * stride];
      store(&sum.coarse, load_as<Words16>(&sum.coarse) + load_as<Words16>(&of_terms[k].coarse));
    }
  }
}

}  // namespace committee
