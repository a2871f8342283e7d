// Thresholds of one feature of a gradient tree's node, eight at a time: left sums by running sums over the cells, what
// both sides are worth (leaf_weight.hpp) on lanes, limits as sign bits. Everything is in the integers' units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gradient_words.hpp"
#include "lanes.hpp"
#include "leaf_weight.hpp"
#include "vector.hpp"

namespace committee {

struct OutputTotals {  // of a node
  double gradient, hessian;
};

// What is scanned: a feature's cells in a node's histogram, its sums per output, and what both sides must have.
struct Thresholds {
  const std::uint64_t* feature;  // its first cell, in the first plane
  std::int64_t n_cells, n_bins;
  bool narrow, missing_left;
  const Vector<OutputTotals>& totals;
  std::int64_t count, min_samples;
  double hessian, min_hessian;
};

// Integers of |v| < 2^51 as doubles, where the processor has no instruction for it: between 2^52 and 2^53 a double
// counts in ones, so that v added to the bits of 1.5 2^52 (0x4338...) is the double 1.5 2^52 + v, from which that is
// taken.
COMMITTEE_INLINE Lanes as_doubles(const LaneBits& v) { return lanes_of(v + 0x4338000000000000) - 0x1.8p52; }

COMMITTEE_INLINE Lanes worth(const Lanes& G, const Lanes& H, const LeafPenalty& penalty) {
  const Lanes excess = absolute(G) - penalty.l1;
  const Lanes a = excess > 0.0 ? excess : Lanes{};
  const Lanes s = a * a / (2.0 * (H + penalty.l2)) - penalty.l0;
  return penalty.l0_per_leaf ? s : (s > 0.0 ? s : Lanes{});
}

// v[0], v[0] + v[1], ...: added to itself moved by one lane, two and four; a shuffle takes lanes 0 to 7 from its first
// argument, 8 to 15 from its second.
COMMITTEE_INLINE LaneBits running_sums(LaneBits v) {
  const LaneBits zero{};
  v += __builtin_shuffle(zero, v, LaneBits{0, 8, 9, 10, 11, 12, 13, 14});
  v += __builtin_shuffle(zero, v, LaneBits{0, 0, 8, 9, 10, 11, 12, 13});
  v += __builtin_shuffle(zero, v, LaneBits{0, 0, 0, 0, 8, 9, 10, 11});
  return v;
}
// All bits in the first n lanes, none in the others.
COMMITTEE_INLINE LaneBits first_lanes(std::int64_t n) {
  static constexpr std::int64_t kBits[2 * kLanes] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  LaneBits v;
  std::memcpy(&v, kBits + kLanes - std::min(n, kLanes), sizeof v);
  return v;
}
// The cells of one plane of a feature, each as the sum of all up to it; missing values on the left come first. Words
// are summed as they are, all three fields in one addition (gradient_words.hpp).
struct RunningCells {
  const std::uint64_t* cells;
  std::int64_t sum = 0;  // of all cells passed

  COMMITTEE_INLINE RunningCells(const Thresholds& t, std::int64_t plane) : cells(t.feature + plane * t.n_cells) {
    if (t.missing_left) sum = signed_of(cells[t.n_bins]);
  }
  COMMITTEE_INLINE void pass(std::int64_t n) {  // the first n cells
    std::uint64_t passed = word_of(sum);
    for (std::int64_t i = 0; i < n; ++i) passed += cells[i];
    sum = signed_of(passed);
  }
  COMMITTEE_INLINE LaneBits next(std::int64_t i, const LaneBits& there) {  // cells i .. i + 7
    LaneBits v;
    std::memcpy(&v, cells + i, sizeof v);  // histograms end with eight cells to spare
    v = running_sums(v & there) + sum;
    sum = v[kLanes - 1];
    return v;
  }
};

// Left sums at eight thresholds after the other, taken out of words or of wide planes. Lanes are signed: the shift that
// brings down the gradient, the top field, keeps its sign, and the fields below are cleared of it by a mask.
struct NarrowSums {
  RunningCells words;
  int gradient_shift, hessian_shift;
  std::uint64_t hessian_mask, count_mask;

  COMMITTEE_INLINE NarrowSums(const Thresholds& t, std::int64_t output, const WordLayout& layout)
      : words(t, output),
        gradient_shift(layout.gradient_shift()),
        hessian_shift(layout.count_bits),
        hessian_mask((std::uint64_t{1} << layout.hessian_bits) - 1),
        count_mask((std::uint64_t{1} << layout.count_bits) - 1) {}
  COMMITTEE_INLINE void pass(std::int64_t n) { words.pass(n); }
  COMMITTEE_INLINE void next(std::int64_t i, const LaneBits& there, Lanes& g, Lanes& h) {
    const LaneBits w = words.next(i, there);
    g = as_doubles(w >> gradient_shift);
    h = as_doubles((w >> hessian_shift) & signed_of(hessian_mask));
  }
  COMMITTEE_INLINE const std::uint64_t* counted() const { return words.cells; }
  COMMITTEE_INLINE std::int64_t count(std::uint64_t sum) const { return signed_of(sum & count_mask); }
  COMMITTEE_INLINE std::int64_t hessian(std::uint64_t sum) const {
    return signed_of((sum >> hessian_shift) & hessian_mask);
  }
};
struct WideSums {
  RunningCells gradients, pairs;
  int hessian_shift;
  std::uint64_t count_mask;

  COMMITTEE_INLINE WideSums(const Thresholds& t, std::int64_t output, const WordLayout& layout)
      : gradients(t, 2 * output),
        pairs(t, 2 * output + 1),
        hessian_shift(layout.wide_count_bits),
        count_mask((std::uint64_t{1} << layout.wide_count_bits) - 1) {}
  COMMITTEE_INLINE void pass(std::int64_t n) {
    gradients.pass(n);
    pairs.pass(n);
  }
  COMMITTEE_INLINE void next(std::int64_t i, const LaneBits& there, Lanes& g, Lanes& h) {
    g = as_doubles(gradients.next(i, there));
    h = as_doubles(pairs.next(i, there) >> hessian_shift);
  }
  COMMITTEE_INLINE const std::uint64_t* counted() const { return pairs.cells; }
  COMMITTEE_INLINE std::int64_t count(std::uint64_t sum) const { return signed_of(sum & count_mask); }
  COMMITTEE_INLINE std::int64_t hessian(std::uint64_t sum) const { return signed_of(sum >> hessian_shift); }
};

// Counts and hessians rise from threshold to threshold, so that those with enough on both sides are [first, end). They
// are found from both ends, eight cells at a time: in nodes of few rows most thresholds are outside. The hessians are
// those of one output.
struct Within {
  std::int64_t first, end;
};
template <class Sums>
COMMITTEE_INLINE Within with_enough(const Thresholds& t, const Sums& sums, double min_hessian) {
  const std::uint64_t* const cells = sums.counted();
  const std::int64_t least = t.min_samples,
                     least_h = static_cast<std::int64_t>(std::min(std::ceil(min_hessian), 0x1p62));
  const auto enough = [&](std::uint64_t side) __attribute__((always_inline)) {
    return sums.count(side) >= least && sums.hessian(side) >= least_h;
  };
  const auto eight = [&](std::int64_t i) __attribute__((always_inline)) {
    std::uint64_t sum = 0;
    for (std::int64_t k = 0; k < kLanes; ++k) sum += cells[i + k];
    return sum;
  };
  std::uint64_t left = t.missing_left ? cells[t.n_bins] : 0, right = t.missing_left ? 0 : cells[t.n_bins];
  std::int64_t first = 0, end = t.n_bins;  // left: of the cells before `first`; right: of those from `end` on
  for (std::uint64_t more; first + kLanes <= t.n_bins && !enough(more = left + eight(first)); first += kLanes)
    left = more;
  while (first < t.n_bins && !enough(left += cells[first])) ++first;
  for (std::uint64_t more; end - kLanes > first && !enough(more = right + eight(end - kLanes)); end -= kLanes)
    right = more;
  while (end > first && !enough(right)) right += cells[--end];
  return {first, end};
}

inline constexpr double kNever = -std::numeric_limits<double>::infinity();  // the gain of what is not allowed

// Negative where one side has less than the least: a difference below zero sets the sign bit.
COMMITTEE_INLINE LaneBits room(const Lanes& left, double total, double least) {
  return bits_of(left - least) | bits_of((total - least) - left);
}

struct FirstLargest {  // per lane the first largest gain, and its place
  Lanes gain;
  LaneBits place = LaneBits{} - 1;
  COMMITTEE_INLINE void offer(std::int64_t i, const Lanes& g) {  // thresholds i .. i + 7
    place = g > gain ? LaneBits{0, 1, 2, 3, 4, 5, 6, 7} + i : place;
    gain = g > gain ? g : gain;
  }
  COMMITTEE_INLINE std::int64_t found(double& largest) const {
    const Lanes most =
        across(gain, [](const Lanes& a, const Lanes& b) __attribute__((always_inline)) { return a < b ? b : a; });
    if (!(most[0] > largest)) return -1;
    largest = most[0];
    const LaneBits beyond = LaneBits{} + std::numeric_limits<std::int64_t>::max();
    const LaneBits tied = gain < most ? beyond : place;
    return across(tied,
                  [](const LaneBits& a, const LaneBits& b) __attribute__((always_inline)) { return a < b ? a : b; })[0];
  }

 private:
  // Eight lanes joined into one, which all of the result hold.
  template <class Wide, class Join>
  COMMITTEE_INLINE static Wide across(Wide v, const Join& join) {
    v = join(v, __builtin_shuffle(v, LaneBits{4, 5, 6, 7, 0, 1, 2, 3}));
    v = join(v, __builtin_shuffle(v, LaneBits{2, 3, 0, 1, 6, 7, 4, 5}));
    return join(v, __builtin_shuffle(v, LaneBits{1, 0, 3, 2, 5, 4, 7, 6}));
  }
};

template <bool kPlain>  // plain: no l0, no l1
COMMITTEE_INLINE Lanes worth_of_both(const Lanes& g, const Lanes& h, const OutputTotals& total,
                                     const LeafPenalty& penalty) {
  const Lanes right = total.gradient - g, right_h = total.hessian - h;
  if constexpr (!kPlain) return worth(g, h, penalty) + worth(right, right_h, penalty);
  // over one denominator: a division costs more than all the rest
  const Lanes a = h + penalty.l2, b = right_h + penalty.l2;
  return 0.5 * (g * g * b + right * right * a) / (a * b);
}

// The first threshold that gains more than `gain`, which becomes its gain; -1 if there is none.
template <bool kPlain, class Sums>
COMMITTEE_INLINE std::int64_t best_of_one(const Thresholds& t, const LeafPenalty& penalty, const WordLayout& layout,
                                          double& gain) {
  Sums sums(t, 0, layout);
  const Within within = with_enough(t, sums, t.min_hessian);
  sums.pass(within.first);
  const OutputTotals total = t.totals[0];
  FirstLargest best{Lanes{} + gain};
  const auto offer = [&](std::int64_t i, const LaneBits& there) __attribute__((always_inline)) {
    Lanes g, h;
    sums.next(i, there, g, h);
    best.offer(i, worth_of_both<kPlain>(g, h, total, penalty));
  };
  std::int64_t i = within.first;
  for (; i + kLanes <= within.end; i += kLanes) offer(i, LaneBits{} - 1);
  if (i < within.end) offer(i, first_lanes(within.end - i));  // what is beyond the last repeats it, and loses the tie
  return best.found(gain);
}

// The same with several outputs, whose worths and hessians are added up.
template <bool kPlain, class Sums>
COMMITTEE_INLINE std::int64_t best_of_several(const Thresholds& t, const LeafPenalty& penalty, const WordLayout& layout,
                                              double& gain) {
  const std::int64_t n_outputs = t.totals.size();
  Vector<Sums> sums;  // of each output up to where the scan is
  sums.reserve(n_outputs);
  for (std::int64_t d = 0; d < n_outputs; ++d) sums.emplace_back(t, d, layout);
  const Within within = with_enough(t, sums[0], 0.0);
  for (Sums& one : sums) one.pass(within.first);
  FirstLargest best{Lanes{} + gain};
  for (std::int64_t i = within.first; i < within.end; i += kLanes) {
    const LaneBits there = first_lanes(within.end - i);
    Lanes both{}, hessian{};
    for (std::int64_t d = 0; d < n_outputs; ++d) {
      Lanes g, h;
      sums[d].next(i, there, g, h);
      both += worth_of_both<kPlain>(g, h, t.totals[d], penalty);
      hessian += h;
    }
    best.offer(i, room(hessian, t.hessian, t.min_hessian) < 0 ? Lanes{} + kNever : both);
  }
  return best.found(gain);
}

COMMITTEE_CLONES inline std::int64_t best_threshold(const Thresholds& t, const LeafPenalty& penalty,
                                                    const WordLayout& layout, double& gain) {
  const bool plain = penalty.l0 == 0.0 && penalty.l1 == 0.0;
  if (t.totals.size() > 1) {
    if (t.narrow) return best_of_several<false, NarrowSums>(t, penalty, layout, gain);
    return best_of_several<false, WideSums>(t, penalty, layout, gain);
  }
  if (t.narrow && plain) return best_of_one<true, NarrowSums>(t, penalty, layout, gain);
  if (t.narrow) return best_of_one<false, NarrowSums>(t, penalty, layout, gain);
  if (plain) return best_of_one<true, WideSums>(t, penalty, layout, gain);
  return best_of_one<false, WideSums>(t, penalty, layout, gain);
}

}  // namespace committee
