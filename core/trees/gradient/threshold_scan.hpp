// Thresholds of one feature of a gradient tree's node, eight at a time: left sums by running sums over the cells, what
// both sides are worth (trees/leaf_value.hpp) on lanes, limits as sign bits. Everything is in the integers' units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "bins/counter_rng.hpp"
#include "histogram/gradient_words.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"
#include "trees/leaf_value.hpp"

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

template <class Lanes>
COMMITTEE_INLINE Lanes worth(const Lanes& G, const Lanes& H, const LeafPenalty& penalty) {
  const Lanes excess = absolute(G) - penalty.l1;
  const Lanes a = larger_of(excess, Lanes{});
  const Lanes s = a * a / (2.0 * (H + penalty.l2)) - penalty.l0;
  return penalty.l0_per_leaf ? s : larger_of(s, Lanes{});
}

// Counts and hessians rise from threshold to threshold, so that those with enough on both sides are [first, end).
struct Within {
  std::int64_t first, end;
  std::uint64_t passed;  // sum of the counted cells before `first`, if there is any threshold
};

// The cells of one plane of a feature, each as the sum of all up to it; missing values on the left come first. Words
// are summed as they are, all three fields in one addition (histogram/gradient_words.hpp).
template <class Lanes>
struct RunningCells {
  using LaneBits = BitsOf<Lanes>;
  const std::uint64_t* cells;
  LaneBits before{};  // sum of all cells passed, in every lane

  COMMITTEE_INLINE RunningCells(const Thresholds& t, std::int64_t plane) : cells(t.feature + plane * t.n_cells) {
    if (t.missing_left) add(cells[t.n_bins]);
  }
  COMMITTEE_INLINE void add(std::uint64_t word) { before = sum_of_words(before, LaneBits{} + signed_of(word)); }
  COMMITTEE_INLINE void pass(std::int64_t n) {  // the first n cells
    std::uint64_t passed = 0;
    for (std::int64_t i = 0; i < n; ++i) passed += cells[i];
    add(passed);
  }
  COMMITTEE_INLINE LaneBits next(std::int64_t i, const LaneBits& there) {  // cells i .. i + 7
    const auto here = load_as<LaneBits>(cells + i);                        // histograms end with eight cells to spare
    const LaneBits v = running_sums(here & there);
    const LaneBits all = sum_of_words(v, before);
    before = sum_of_words(before, last_of(v));  // the next eight wait for one addition, not for these sums
    return all;
  }
};

// Left sums at eight thresholds after the other, taken out of words or of wide planes. The running sum of words has
// half the range of its top field, the gradient, added to it: the field then is never negative, zeros may be shifted in
// above it, and it goes into the bits of 2^52, a double that counts in ones, as it is. What was added is taken off with
// the 2^52.
template <class Lanes>
struct NarrowSums {
  using LaneBits = BitsOf<Lanes>;
  RunningCells<Lanes> words;
  int gradient_shift, hessian_shift;
  std::uint64_t hessian_mask, count_mask;
  double zero_gradient;

  COMMITTEE_INLINE NarrowSums(const Thresholds& t, std::int64_t output, const WordLayout& layout)
      : words(t, output),
        gradient_shift(layout.gradient_shift()),
        hessian_shift(layout.count_bits),
        hessian_mask((std::uint64_t{1} << layout.hessian_bits) - 1),
        count_mask((std::uint64_t{1} << layout.count_bits) - 1),
        zero_gradient(0x1p52 + static_cast<double>(std::int64_t{1} << (63 - gradient_shift))) {
    words.add(std::uint64_t{1} << 63);
  }
  COMMITTEE_INLINE void pass(std::int64_t n) { words.pass(n); }
  COMMITTEE_INLINE void pass(const Within& within) { words.add(within.passed); }
  COMMITTEE_INLINE void next(std::int64_t i, const LaneBits& there, Lanes& g, Lanes& h) {
    const LaneBits w = words.next(i, there);
    g = lanes_of<Lanes>(shifted_down(w, gradient_shift) | kCountsInOnes) - zero_gradient;
    h = lanes_of<Lanes>((shifted_down(w, hessian_shift) & signed_of(hessian_mask)) | kCountsInOnes) - 0x1p52;
  }
  static constexpr std::int64_t kCountsInOnes = 0x4330000000000000;  // the bits of 2^52
  COMMITTEE_INLINE const std::uint64_t* counted() const { return words.cells; }
  COMMITTEE_INLINE LaneBits counts(const LaneBits& sum) const { return sum & signed_of(count_mask); }
  COMMITTEE_INLINE LaneBits hessians(const LaneBits& sum) const {
    return shifted_down(sum, hessian_shift) & signed_of(hessian_mask);
  }
};
template <class Lanes>
struct WideSums {
  using LaneBits = BitsOf<Lanes>;
  RunningCells<Lanes> gradients, pairs;
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
  COMMITTEE_INLINE void pass(const Within& within) {
    gradients.pass(within.first);
    pairs.add(within.passed);
  }
  COMMITTEE_INLINE void next(std::int64_t i, const LaneBits& there, Lanes& g, Lanes& h) {
    g = as_doubles<Lanes>(gradients.next(i, there));
    h = as_doubles<Lanes>(shifted_down(pairs.next(i, there), hessian_shift));
  }
  COMMITTEE_INLINE const std::uint64_t* counted() const { return pairs.cells; }
  COMMITTEE_INLINE LaneBits counts(const LaneBits& sum) const { return sum & signed_of(count_mask); }
  COMMITTEE_INLINE LaneBits hessians(const LaneBits& sum) const { return shifted_down(sum, hessian_shift); }
};

// Which sums have too little on their left, or on their right, as sign bits: a difference below zero has one.
template <class LaneBits>
struct Shortage {
  std::int64_t least_count, least_hessian, most_count, most_hessian;

  template <class Sums>
  COMMITTEE_INLINE void operator()(const Sums& sums, const LaneBits& sum, LaneBits& left, LaneBits& right) const {
    const LaneBits count = sums.counts(sum), hessian = sums.hessians(sum);
    left = (count - least_count) | (hessian - least_hessian);
    right = (most_count - count) | (most_hessian - hessian);
  }
};

// The interval of thresholds that leave enough on both sides, by the counts and hessians of one output. It is found
// without a branch that depends on the cells, as nodes of few rows have some 100 of 255 thresholds inside, and where
// these begin is anyone's guess: of 256 cells at a time the sums up to the end of each eight cells, among these the
// eight that have the first threshold and the end, and in those eight the lane.
template <class Lanes, class Sums>
COMMITTEE_INLINE Within with_enough(const Thresholds& t, const Sums& sums, double min_hessian) {
  using LaneBits = BitsOf<Lanes>;
  constexpr std::int64_t kEights = 32;  // of cells at a time
  const std::uint64_t* const cells = sums.counted();
  const auto least_hessian = static_cast<std::int64_t>(std::min(std::ceil(min_hessian), 0x1p61));
  const Shortage<LaneBits> shortage{t.min_samples, least_hessian, t.count - t.min_samples,
                                    static_cast<std::int64_t>(t.hessian) - least_hessian};
  const std::uint64_t missing = t.missing_left ? cells[t.n_bins] : 0;
  const auto eight = [&](std::int64_t i) __attribute__((always_inline)) {  // cells i .. i + 7, zeros after the last
    return load_as<LaneBits>(cells + std::min(i, t.n_bins)) &
           first_lanes<LaneBits>(std::max(t.n_bins - i, std::int64_t{0}));
  };
  Within within{t.n_bins, t.n_bins, 0};
  LaneBits by_lane = first_lanes<LaneBits>(1) & signed_of(missing), left, right;
  std::uint64_t up_to[1 + kEights];  // of the eights before
  up_to[kEights] = missing;
  bool begun = false;
  for (std::int64_t begin = 0; begin < t.n_bins; begin += kEights * kLanes) {
    up_to[0] = up_to[kEights];
    const std::int64_t n = std::min(kEights, (t.n_bins - begin + kLanes - 1) / kLanes), n_whole = whole_lanes(n);
    LaneBits lefts{}, rights{};
    for (std::int64_t e = 0; e < n_whole; e += kLanes) {
      LaneBits sum[kLanes];
      const std::int64_t i = begin + e * kLanes;
      if (i + kLanes * kLanes <= t.n_bins)
        for (std::int64_t k = 0; k < kLanes; ++k)
          sum[k] = by_lane = sum_of_words(by_lane, load_as<LaneBits>(cells + i + k * kLanes));
      else
        for (std::int64_t k = 0; k < kLanes; ++k) sum[k] = by_lane = sum_of_words(by_lane, eight(i + k * kLanes));
      const LaneBits ends = fold_each(sum);
      store(up_to + 1 + e, ends);
      shortage(sums, ends, left, right);
      lefts += shifted_down(left, 63);
      rights += shifted_down(right, 63);
    }
    const auto within_eight = [&](std::int64_t e) __attribute__((always_inline)) {
      const LaneBits all = sum_of_words(running_sums(eight(begin + e * kLanes)), LaneBits{} + signed_of(up_to[e]));
      shortage(sums, all, left, right);
      return all;
    };
    const std::int64_t first = fold(lefts), end = n_whole - fold(rights);
    if (!begun && first < n) {
      std::uint64_t before[1 + kLanes];
      before[0] = up_to[first];
      store(before + 1, within_eight(first));
      const std::int64_t lane = fold(shifted_down(left, 63));
      within.first = begin + first * kLanes + lane;
      within.passed = before[lane] - missing;
      begun = true;
    }
    if (end < n) {
      within_eight(end);
      within.end = begin + end * kLanes + kLanes - fold(shifted_down(right, 63));
      break;
    }
  }
  return within;
}

// The first `most` bins of [begin, end) that have rows: how many they are, and the last of them.
struct BinsWithRows {
  std::int64_t n, last;
};

template <class Lanes>
COMMITTEE_INLINE BinsWithRows bins_with_rows(const std::uint64_t* counted, std::int64_t begin, std::int64_t end,
                                             std::int64_t most) {
  using LaneBits = BitsOf<Lanes>;
  BinsWithRows found{0, -1};
  for (; begin < end && found.n < most; begin += kLanes * kLanes) {
    LaneBits with_rows[kLanes];
    for (std::int64_t e = 0; e < kLanes; ++e) {
      const std::int64_t i = std::min(begin + e * kLanes, end);
      with_rows[e] = (load_as<LaneBits>(counted + i) != 0) & first_lanes<LaneBits>(end - i) & 1;
    }
    std::int64_t of_eight[kLanes];
    store(of_eight, fold_each(with_rows));
    for (std::int64_t e = 0; e < kLanes; ++e) {
      if (found.n + of_eight[e] < most) {
        found.n += of_eight[e];
        continue;
      }
      for (std::int64_t i = begin + e * kLanes; found.n < most; ++i)
        if (counted[i] != 0) found = {found.n + 1, i};
      break;
    }
  }
  return found;
}

// One of the thresholds after a bin with rows that leave rows enough on both sides, with missing values on either, each
// as likely; -1 if there is none. Without missing values on the left those are of `t`, with them in the cell after its
// last bin.
template <class Lanes, class Sums>
COMMITTEE_INLINE std::int64_t drawn_of(Thresholds t, bool has_missing, const WordLayout& layout, SplitMix& random) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  t.hessian = 0x1p62;  // more than any: rows alone decide
  const auto enough = [&](bool missing_left) __attribute__((always_inline)) {
    t.missing_left = missing_left;
    const Within within = with_enough<Lanes>(t, Sums(t, 0, layout), 0.0);
    return within.first < within.end ? within : Within{t.n_bins, t.n_bins, 0};
  };
  const Within right = enough(false);
  const std::uint64_t* const counted = Sums(t, 0, layout).counted();
  const std::int64_t n_right = bins_with_rows<Lanes>(counted, right.first, right.end, kAll).n;
  Within left{0, 0, 0};  // missing values on the left leave rows enough there earlier
  if (has_missing) left = enough(true);
  left.end = std::min(left.end, right.first);
  const std::int64_t n_left = bins_with_rows<Lanes>(counted, left.first, left.end, kAll).n;
  if (n_left + n_right == 0) return -1;
  const std::int64_t nth = 1 + random.below(n_left + n_right);
  return nth <= n_left ? bins_with_rows<Lanes>(counted, left.first, left.end, nth).last
                       : bins_with_rows<Lanes>(counted, right.first, right.end, nth - n_left).last;
}

template <class Lanes>
COMMITTEE_INLINE std::int64_t drawn_threshold_in(const Thresholds& t, bool has_missing, const WordLayout& layout,
                                                 SplitMix& random) {
  return t.narrow ? drawn_of<Lanes, NarrowSums<Lanes>>(t, has_missing, layout, random)
                  : drawn_of<Lanes, WideSums<Lanes>>(t, has_missing, layout, random);
}
COMMITTEE_ON_LANES(std::int64_t, drawn_threshold,
                   (const Thresholds& t, bool has_missing, const WordLayout& layout, SplitMix& random),
                   (t, has_missing, layout, random))

inline constexpr double kNever = -std::numeric_limits<double>::infinity();  // the gain of what is not allowed

// Negative where one side has less than the least: a difference below zero sets the sign bit.
template <class Lanes>
COMMITTEE_INLINE BitsOf<Lanes> room(const Lanes& left, double total, double least) {
  return bits_of(left - least) | bits_of((total - least) - left);
}

template <class Lanes>
struct FirstLargest {  // per lane the first largest gain, and which eight thresholds it is of
  using LaneBits = BitsOf<Lanes>;
  Lanes gain;
  LaneBits eight = LaneBits{};
  COMMITTEE_INLINE void offer(std::int64_t i, const Lanes& g) {  // thresholds i .. i + 7
    const LaneBits more = g > gain;
    eight = select_bits(more, LaneBits{} + i, eight);
    gain = select(more, g, gain);
  }
  COMMITTEE_INLINE std::int64_t found(double& largest) const {
    largest = most_of(gain);
    const LaneBits all = eight + places<LaneBits>(), beyond = LaneBits{} + INT64_MAX;
    return largest == kNever ? -1 : least_of(select_bits(gain == (Lanes{} + largest), all, beyond));
  }
};

template <class Lanes>
COMMITTEE_INLINE Lanes worth_of_both(const Lanes& g, const Lanes& h, const OutputTotals& total,
                                     const LeafPenalty& penalty) {
  return worth(g, h, penalty) + worth<Lanes>(total.gradient - g, total.hessian - h, penalty);
}

// Twice the same without L0 and L1, over one denominator: a division costs much.
template <class Lanes>
COMMITTEE_INLINE Lanes twice_plain_worth_of_both(const Lanes& g, const Lanes& h, const OutputTotals& total,
                                                 const LeafPenalty& penalty) {
  const Lanes right = total.gradient - g, right_h = total.hessian - h;
  const Lanes a = h + penalty.l2, b = right_h + penalty.l2;
  return (g * g * b + right * right * a) / (a * b);
}

// The first threshold that gains most, and its gain; -1 and kNever if none has enough on both sides.
template <bool kPlain, class Lanes, class Sums>  // plain: no l0, no l1
COMMITTEE_INLINE std::int64_t best_of_one(const Thresholds& t, const LeafPenalty& penalty, const WordLayout& layout,
                                          double& gain) {
  using LaneBits = BitsOf<Lanes>;
  Sums sums(t, 0, layout);
  const Within within = with_enough<Lanes>(t, sums, t.min_hessian);
  sums.pass(within);
  const OutputTotals total = t.totals[0];
  gain = kNever;
  FirstLargest<Lanes> best{Lanes{} + gain};
  const auto offer = [&](std::int64_t i, const LaneBits& there) __attribute__((always_inline)) {
    Lanes g, h;
    sums.next(i, there, g, h);
    best.offer(i, kPlain ? twice_plain_worth_of_both(g, h, total, penalty) : worth_of_both(g, h, total, penalty));
  };
  std::int64_t i = within.first;
  for (; i + kLanes <= within.end; i += kLanes) offer(i, LaneBits{} - 1);
  if (i < within.end)  // what is beyond the last repeats it, and loses the tie
    offer(i, first_lanes<LaneBits>(within.end - i));
  const std::int64_t found = best.found(gain);
  if (kPlain) gain *= 0.5;
  return found;
}

// The same with several outputs, whose worths and hessians are added up.
template <class Lanes, class Sums>
COMMITTEE_INLINE std::int64_t best_of_several(const Thresholds& t, const LeafPenalty& penalty, const WordLayout& layout,
                                              double& gain) {
  using LaneBits = BitsOf<Lanes>;
  const std::int64_t n_outputs = t.totals.size();
  LaneVector<Sums> sums;  // of each output up to where the scan is; their lanes are read whole
  sums.reserve(n_outputs);
  for (std::int64_t d = 0; d < n_outputs; ++d) sums.emplace_back(t, d, layout);
  const Within within = with_enough<Lanes>(t, sums[0], 0.0);
  for (Sums& one : sums) one.pass(within.first);
  gain = kNever;
  FirstLargest<Lanes> best{Lanes{} + gain};
  for (std::int64_t i = within.first; i < within.end; i += kLanes) {
    const LaneBits there = first_lanes<LaneBits>(within.end - i);
    Lanes both{}, hessian{};
    for (std::int64_t d = 0; d < n_outputs; ++d) {
      Lanes g, h;
      sums[d].next(i, there, g, h);
      both += worth_of_both(g, h, t.totals[d], penalty);
      hessian += h;
    }
    best.offer(i, select(room(hessian, t.hessian, t.min_hessian) < 0, Lanes{} + kNever, both));
  }
  return best.found(gain);
}

template <class Lanes>
COMMITTEE_INLINE std::int64_t best_threshold_in(const Thresholds& t, const LeafPenalty& penalty,
                                                const WordLayout& layout, double& gain) {
  const bool plain = penalty.l0 == 0.0 && penalty.l1 == 0.0;
  const auto best = [&]<class Sums>() __attribute__((always_inline)) {
    if (t.totals.size() > 1) return best_of_several<Lanes, Sums>(t, penalty, layout, gain);
    return plain ? best_of_one<true, Lanes, Sums>(t, penalty, layout, gain)
                 : best_of_one<false, Lanes, Sums>(t, penalty, layout, gain);
  };
  return t.narrow ? best.template operator()<NarrowSums<Lanes>>() : best.template operator()<WideSums<Lanes>>();
}
COMMITTEE_ON_LANES(std::int64_t, best_threshold,
                   (const Thresholds& t, const LeafPenalty& penalty, const WordLayout& layout, double& gain),
                   (t, penalty, layout, gain))

}  // namespace committee
