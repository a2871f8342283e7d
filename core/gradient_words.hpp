// Gradients and hessians as integers, so that their sums are exact, do not depend on the order of rows or threads,
// and parent - child is exact too.
//
// Usually one 64-bit word holds all that a row adds to a cell of a histogram, here with 13 bits for the count:
//
//     63            38 37           13 12        0
//     [   gradient   ][    hessian    ][  count  ]      gradient << 38 | hessian << 13 | 1
//
// One addition of words then adds all three fields, and the fields do not meet: hessians and counts are not negative,
// and each has room for the sum over `block` rows, so that nothing is carried upwards. The gradient has a sign, in
// two's complement, and is on top: what it carries falls off the end of the word. For the same reasons a parent's word
// minus its child's is the sibling's word.
//
// After `block` rows the words of a histogram are emptied into two wide planes, whose fields have room for all rows:
//
//     gradients: [ gradient, 64 bits ]      pairs: hessian << wide_count_bits | count
//
// Where the largest gradient (or hessian) is so far above the mean one that the short fields would round the others
// away, rows are added to the wide planes at once, with some 30 bits each.
//
// Where weights are whole numbers it is the gradient of a unit of weight that is rounded, and then multiplied: a row of
// weight k adds what k rows do, to the last bit, so that no near tie between two splits depends on how rows are given.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lanes.hpp"
#include "order_free_sum.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

struct WordLayout {
  bool packed = true;
  std::int64_t block = 0;                          // rows whose sums fit a word
  int count_bits = 0, hessian_bits = 0;            // of a word
  int wide_count_bits = 0;                         // of the second wide plane: hessian << wide_count_bits | count
  double gradient_unit = 1.0, hessian_unit = 1.0;  // integers per unit, powers of two

  // The fields of a word (or of a sum of words), and back. A signed shift to the right fills up with the sign.
  int gradient_shift() const { return hessian_bits + count_bits; }
  std::int64_t gradient(std::uint64_t word) const { return signed_of(word) >> gradient_shift(); }
  std::int64_t hessian(std::uint64_t word) const {
    return signed_of((word >> count_bits) & ((std::uint64_t{1} << hessian_bits) - 1));
  }
  std::int64_t count(std::uint64_t word) const { return signed_of(word & ((std::uint64_t{1} << count_bits) - 1)); }
  std::int64_t wide_hessian(std::uint64_t wide) const { return signed_of(wide >> wide_count_bits); }
  std::int64_t wide_count(std::uint64_t wide) const {
    return signed_of(wide & ((std::uint64_t{1} << wide_count_bits) - 1));
  }
  std::uint64_t word(std::int64_t gradient, std::int64_t hessian, std::int64_t count) const {
    return (word_of(gradient) << gradient_shift()) + (word_of(hessian) << count_bits) + word_of(count);
  }
  std::uint64_t wide_pair(std::int64_t hessian, std::int64_t count) const {
    return (word_of(hessian) << wide_count_bits) + word_of(count);
  }
};

// What the layout is chosen by, of rows that a tree is grown on; gradients and hessians by the unit that is rounded.
struct GradientRange {
  double largest_gradient = 0.0, largest_hessian = 0.0, gradients = 0.0, hessians = 0.0;  // maxima and sums of |.|

  void add(const GradientRange& other) {
    largest_gradient = std::max(largest_gradient, other.largest_gradient);
    largest_hessian = std::max(largest_hessian, other.largest_hessian);
    gradients += other.gradients;
    hessians += other.hessians;
  }
};

// The largest power of two by which numbers up to `largest` stay within `limit`.
inline double power_unit(double largest, double limit) {
  if (!(largest > 0.0)) return 1.0;
  int exponent = 0;
  std::frexp(limit / largest, &exponent);
  return std::ldexp(1.0, std::clamp(exponent - 1, -1000, 1000));
}

inline constexpr std::int64_t kWordBlock = 8191;
// A word must leave the mean gradient (hessian) this many steps at least.
inline constexpr double kSteps = 32.0;
// Sums are read as doubles by a shift into the mantissa, which takes numbers below 2^51.
inline constexpr double kReadable = 0x1p50;

// `n`: rows, or units of weight; `terms`: how many gradients they have. A field of b bits holds the sums of `rows`
// numbers up to 2^b / rows (half of it for gradients, which need a sign); minus one, since each may be rounded up.
inline WordLayout word_layout(const GradientRange& range, std::int64_t n, double terms) {
  WordLayout layout;
  layout.block = std::min(n, kWordBlock);
  layout.count_bits = bits_for(layout.block);
  layout.hessian_bits = (64 - layout.count_bits) / 2;
  layout.wide_count_bits = bits_for(n);
  const int gradient_bits = 64 - layout.count_bits - layout.hessian_bits;
  const double rows = static_cast<double>(layout.block), all = static_cast<double>(n);
  const double wide_room = std::min(kReadable, std::ldexp(1.0, 63 - layout.wide_count_bits)) / all;
  const double gradient_limit = std::min(std::ldexp(1.0, gradient_bits - 1) / rows - 1.0, kReadable / all);
  const double hessian_limit = std::min(std::ldexp(1.0, layout.hessian_bits) / rows - 1.0, wide_room);
  layout.gradient_unit = power_unit(range.largest_gradient, gradient_limit);
  layout.hessian_unit = power_unit(range.largest_hessian, hessian_limit);
  layout.packed = gradient_limit >= 1.0 && hessian_limit >= 1.0 &&
                  range.gradients * layout.gradient_unit >= kSteps * (range.gradients > 0.0 ? terms : 0.0) &&
                  range.hessians * layout.hessian_unit >= kSteps * (range.hessians > 0.0 ? terms : 0.0);
  if (!layout.packed) {
    layout.gradient_unit = power_unit(range.largest_gradient, kReadable / all);
    layout.hessian_unit = power_unit(range.largest_hessian, wide_room);
  }
  return layout;
}

COMMITTEE_CLONES inline GradientRange range_of(const double* gradient, const double* hessian, std::int64_t n) {
  Lanes most_g{}, most_h{}, sum_g{}, sum_h{}, least_h{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes g = absolute(load(gradient + i)), h = load(hessian + i);
    most_g = g > most_g ? g : most_g;
    most_h = h > most_h ? h : most_h;
    least_h = h < least_h ? h : least_h;
    sum_g += g;
    sum_h += h;
  }
  GradientRange range{0.0, 0.0, fold(sum_g), fold(sum_h)};
  double least = 0.0;
  for (int k = 0; k < kLanes; ++k) {
    range.largest_gradient = std::max(range.largest_gradient, most_g[k]);
    range.largest_hessian = std::max(range.largest_hessian, most_h[k]);
    least = std::min(least, least_h[k]);
  }
  for (; i < n; ++i) {
    const double g = std::abs(gradient[i]), h = hessian[i];
    range.add({std::max(g, 0.0), std::max(h, 0.0), g, h});
    least = std::min(least, h);
  }
  if (least < 0.0) range.hessians = std::numeric_limits<double>::quiet_NaN();  // as good as not finite
  return range;
}

// The same of some rows (null: all), and of units of weight (null: of rows). Positions [begin, end) of `rows`.
inline GradientRange range_of_units(const double* gradient, const double* hessian, const double* weights,
                                    const std::int32_t* rows, std::int64_t begin, std::int64_t end) {
  GradientRange range;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = rows ? rows[i] : i;
    const double g = std::abs(gradient[row]), h = hessian[row];
    if (!(h >= 0.0)) return {0.0, 0.0, 0.0, std::numeric_limits<double>::quiet_NaN()};
    const double units = weights ? std::max(weights[row], 1.0) : 1.0;
    range.add({g / units, h / units, g, h});
  }
  return range;
}

// Units of weight that some rows have, and the most that one has; none where a weight is no whole number.
struct WeightUnits {
  std::int64_t all = 0, largest = 0;

  bool usable() const { return all > 0 && all <= kMostUnits; }

  // The layout of rows that are their own units, for rows that have these: a block has as many units. Where that would
  // be too few rows for a block, they are added to the wide planes at once, as the same whole numbers.
  void fit(WordLayout& layout) const {
    if (all <= kWordBlock) return;
    layout.block = kWordBlock / largest;
    layout.packed = layout.packed && layout.block >= kFewRows;
  }

  static constexpr std::int64_t kMostUnits = std::int64_t{1} << 32, kFewRows = 512;
};

inline WeightUnits weight_units(const double* weights, const std::int32_t* rows, std::int64_t n) {
  WeightUnits units;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights[rows ? rows[i] : i];
    if (!(w >= 0.0 && w <= WeightUnits::kMostUnits) || w != std::floor(w)) return {};
    units.all += static_cast<std::int64_t>(w);
    units.largest = std::max(units.largest, static_cast<std::int64_t>(w));
    if (!units.usable() && units.all > 0) return {};
  }
  return units;
}

COMMITTEE_CLONES inline void pack_words(const double* gradient, const double* hessian, std::int64_t n,
                                        const WordLayout& layout, std::uint64_t* words) {
  const double g_unit = layout.gradient_unit, h_unit = layout.hessian_unit;
  const int g_shift = layout.gradient_shift(), h_shift = layout.count_bits;
  for (std::int64_t i = 0; i < n; ++i)
    words[i] =
        (word_of(rounded(gradient[i] * g_unit)) << g_shift) + (word_of(rounded(hessian[i] * h_unit)) << h_shift) + 1;
}

COMMITTEE_CLONES inline void pack_wide(const double* gradient, const double* hessian, std::int64_t n,
                                       const WordLayout& layout, std::uint64_t* gradients, std::uint64_t* pairs) {
  const double g_unit = layout.gradient_unit, h_unit = layout.hessian_unit;
  const int h_shift = layout.wide_count_bits;
  for (std::int64_t i = 0; i < n; ++i) {
    gradients[i] = word_of(rounded(gradient[i] * g_unit));
    pairs[i] = (word_of(rounded(hessian[i] * h_unit)) << h_shift) + 1;
  }
}

// A number of a row as a multiple of the whole number of one unit of weight; 0 of a row without weight.
inline std::uint64_t rounded_units(double x, double units, double unit) {
  return units > 0.0 ? word_of(rounded(x / units * unit)) * static_cast<std::uint64_t>(units) : 0;
}

inline void pack_units(const double* gradient, const double* hessian, const double* weights, std::int64_t n,
                       const WordLayout& layout, std::uint64_t* words) {
  for (std::int64_t i = 0; i < n; ++i)
    words[i] = (rounded_units(gradient[i], weights[i], layout.gradient_unit) << layout.gradient_shift()) +
               (rounded_units(hessian[i], weights[i], layout.hessian_unit) << layout.count_bits) + 1;
}

inline void pack_wide_units(const double* gradient, const double* hessian, const double* weights, std::int64_t n,
                            const WordLayout& layout, std::uint64_t* gradients, std::uint64_t* pairs) {
  for (std::int64_t i = 0; i < n; ++i) {
    gradients[i] = rounded_units(gradient[i], weights[i], layout.gradient_unit);
    pairs[i] = (rounded_units(hessian[i], weights[i], layout.hessian_unit) << layout.wide_count_bits) + 1;
  }
}

}  // namespace committee
