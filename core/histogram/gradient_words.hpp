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
#include <stdexcept>

#include "histogram/reproducible_sum.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct WordLayout {
  bool packed = true;                              // rows have words
  bool of_words = true;                            // whole numbers are those that words have room for
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

// The largest gradient and hessian of rows that a tree is grown on, by the unit that is rounded: of any parts of the
// rows, in any order, the largest is the same.
struct GradientRange {
  double largest_gradient = 0.0, largest_hessian = 0.0;
  bool sound = true;  // all are numbers, and no hessian is below 0

  void add(const GradientRange& other) {
    largest_gradient = std::max(largest_gradient, other.largest_gradient);
    largest_hessian = std::max(largest_hessian, other.largest_hessian);
    sound &= other.sound;
  }
};

// Sums of |gradient| and hessian over rows, as the whole numbers that words hold.
struct WordTotals {
  std::int64_t gradients = 0, hessians = 0;

  void add(const WordTotals& other) {
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

// Words for `n` rows, or units of weight. A field of b bits holds the sums of `rows` numbers up to 2^b / rows (half of
// it for gradients, which need a sign); minus one, since each may be rounded up.
inline WordLayout word_layout(const GradientRange& range, std::int64_t n) {
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
  layout.packed = layout.of_words = gradient_limit >= 1.0 && hessian_limit >= 1.0;
  return layout;
}

// The same without words: rows are added to the wide planes at once.
inline WordLayout wide_layout(const GradientRange& range, std::int64_t n) {
  WordLayout layout = word_layout(range, n);
  const double all = static_cast<double>(n);
  layout.packed = layout.of_words = false;
  layout.gradient_unit = power_unit(range.largest_gradient, kReadable / all);
  layout.hessian_unit =
      power_unit(range.largest_hessian, std::min(kReadable, std::ldexp(1.0, 63 - layout.wide_count_bits)) / all);
  return layout;
}

// Do the words of rows with these totals leave the mean of `terms` gradients, and hessians, steps enough?
inline bool fine_enough(const WordTotals& totals, const GradientRange& range, double terms) {
  const auto fine = [&](std::int64_t total, double largest) {
    return !(largest > 0.0) || static_cast<double>(total) >= kSteps * terms;
  };
  return fine(totals.gradients, range.largest_gradient) && fine(totals.hessians, range.largest_hessian);
}

template <class Lanes>
COMMITTEE_INLINE GradientRange range_of_in(const double* gradient, const double* hessian, std::int64_t n) {
  Lanes most_g{}, most_h{}, least_h{}, unsound{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto g = absolute(load<Lanes>(gradient + i)), h = load<Lanes>(hessian + i);
    most_g = larger_of(g, most_g);
    most_h = larger_of(h, most_h);
    least_h = select(h < least_h, h, least_h);
    unsound += g * 0.0 + h * 0.0;  // no number, where one is not finite
  }
  GradientRange range;
  double least = 0.0;
  double of_lane[4][kLanes];
  store(of_lane[0], most_g);
  store(of_lane[1], most_h);
  store(of_lane[2], unsound);
  store(of_lane[3], least_h);
  for (int k = 0; k < kLanes; ++k) {
    range.add({of_lane[0][k], of_lane[1][k], of_lane[2][k] == 0.0});
    least = std::min(least, of_lane[3][k]);
  }
  for (; i < n; ++i) {
    const double g = std::abs(gradient[i]), h = hessian[i];
    range.add({g, h, std::isfinite(g) && h >= 0.0 && std::isfinite(h)});
  }
  range.sound &= least >= 0.0;
  return range;
}
COMMITTEE_ON_LANES(GradientRange, range_of, (const double* gradient, const double* hessian, std::int64_t n),
                   (gradient, hessian, n))

// The same of some rows (null: all), and of units of weight (null: of rows). Positions [begin, end) of `rows`.
inline GradientRange range_of_units(const double* gradient, const double* hessian, const double* weights,
                                    const std::int32_t* rows, std::int64_t begin, std::int64_t end) {
  GradientRange range;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = rows ? rows[i] : i;
    const double g = std::abs(gradient[row]), h = hessian[row];
    const double units = weights ? std::max(weights[row], 1.0) : 1.0;
    range.add({g / units, h / units, std::isfinite(g) && h >= 0.0 && std::isfinite(h)});
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

// What decides the words of a tree, of all its rows together, wherever they are.
struct RoundScale {
  GradientRange range;
  WeightUnits units;  // none where rows have no weights
  std::int64_t n_rows, n_outputs;

  bool by_units() const { return units.usable(); }
  std::int64_t n_units() const { return by_units() ? units.all : n_rows; }
  // The largest gradient and hessian of a row.
  double largest_gradient() const { return most() * range.largest_gradient; }
  double largest_hessian() const { return most() * range.largest_hessian; }

  WordLayout layout() const {
    const WordLayout layout = word_layout(range, n_units());
    return layout.packed ? fitted(layout) : wide();
  }
  WordLayout wide() const { return fitted(wide_layout(range, n_units())); }
  bool fine_enough(const WordTotals& totals) const {
    return committee::fine_enough(totals, range, static_cast<double>(n_units() * n_outputs));
  }

 private:
  double most() const { return by_units() ? static_cast<double>(units.largest) : 1.0; }  // a unit's are known
  WordLayout fitted(WordLayout layout) const {
    if (by_units()) units.fit(layout);
    return layout;
  }
};

inline void require_sound(const GradientRange& range) {
  if (!range.sound)
    throw std::invalid_argument(
        "gradients must be finite, and hessians finite and not negative; rescale the target or the weights, lower "
        "learning_rate, or correct a loss of your own");
  if (range.largest_gradient > 1e150 || range.largest_hessian > 1e150)
    throw std::invalid_argument("a gradient or hessian is larger than 1e150; rescale the target or the weights");
}

COMMITTEE_CLONES inline void pack_words(const double* gradient, const double* hessian, std::int64_t n,
                                        const WordLayout& layout, std::uint64_t* words) {
  const double g_unit = layout.gradient_unit, h_unit = layout.hessian_unit;
  const int g_shift = layout.gradient_shift(), h_shift = layout.count_bits;
  for (std::int64_t i = 0; i < n; ++i)
    words[i] =
        (word_of(rounded(gradient[i] * g_unit)) << g_shift) + (word_of(rounded(hessian[i] * h_unit)) << h_shift) + 1;
}

// Totals of n rows, one after the other or (not null) some rows, from their words, or from their two wide planes.
COMMITTEE_CLONES inline WordTotals totals_of(const std::uint64_t* planes, std::int64_t stride, const std::int32_t* rows,
                                             std::int64_t n, const WordLayout& layout) {
  WordTotals totals;
  const int g_shift = layout.packed ? layout.gradient_shift() : 0;
  const int h_shift = layout.packed ? layout.count_bits : layout.wide_count_bits;
  const std::uint64_t h_mask =
      layout.packed ? (std::uint64_t{1} << layout.hessian_bits) - 1 : ~std::uint64_t{0} >> layout.wide_count_bits;
  const std::uint64_t* const pairs = layout.packed ? planes : planes + stride;
  const auto add = [&](std::int64_t row) __attribute__((always_inline)) {
    const std::int64_t g = signed_of(planes[row]) >> g_shift;
    totals.gradients += g < 0 ? -g : g;
    totals.hessians += signed_of((pairs[row] >> h_shift) & h_mask);
  };
  if (rows == nullptr)
    for (std::int64_t i = 0; i < n; ++i) add(i);
  else
    for (std::int64_t i = 0; i < n; ++i) add(rows[i]);
  return totals;
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
