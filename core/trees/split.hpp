// The best split of one node, read off its histogram.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <utility>

#include "histogram/histogram.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"
#include "trees/lane_gains.hpp"
#include "trees/tree.hpp"
#include "trees/units.hpp"

namespace committee {

// When one gain is larger than another, and not by rounding alone.

// A later candidate must beat the best so far by more than rounding noise: ties go to the lowest feature, the
// lowest bin, missing on the right, whatever the order in which weights were summed.
inline constexpr double kTie = 1e-10;
inline bool is_larger(double gain, double best) { return gain > best * (1.0 + kTie); }
// The bar for `is_larger`; none before the first split where splits need not gain.
inline double to_be_larger(double best) {
  return best < 0.0 ? -std::numeric_limits<double>::infinity() : best * (1.0 + kTie);
}

// A gain below this share of the root's weight (of its sum of squares, for targets) is rounding noise itself.
inline constexpr double kNoise = 1e-12;

struct Split : NodeSplit {
  Vector<std::uint64_t> left;  // the left child's sums, one per plane
};

struct SplitLimits {
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;  // in units of weight
  double min_gain = 0.0;         // in units of the score; at least the noise. Below 0: a split without gain will do
  double noise = 0.0;            // what is not above it counts as no gain

  // What a split must beat that is the first to be looked at.
  double least() const { return min_gain < 0.0 ? -1.0 : 0.0; }
  double seen(double gain) const { return min_gain < 0.0 && gain <= noise ? 0.0 : gain; }
};

struct SplitRules {
  Units units;
  SplitLimits limits;
};

// One number per plane; kPlanes 0: known at run time only.
template <class T, int kPlanes>
class PerPlane {
 public:
  explicit PerPlane(int) { std::fill(begin(), end(), T{}); }
  T& operator[](int k) { return values_[k]; }
  T* data() { return values_; }
  T* begin() { return values_; }
  T* end() { return values_ + kPlanes; }

 private:
  T values_[std::size_t{kPlanes}];
};
template <class T>
class PerPlane<T, 0> : public Vector<T> {
 public:
  explicit PerPlane(int planes) : Vector<T>(planes) {}
};

// What a split leaves on either side of a node: the left sums are added up, the right ones are the rest.
template <class Criterion, int kPlanes>
class Sides {
 public:
  Sides(const SplitRules& rules, int planes)
      : left(planes),
        units_(rules.units),
        limits_(rules.limits),
        planes_(planes),
        counts_matter_(limits_.min_samples_leaf > 1),
        right_(planes),
        left_units_(planes),
        right_units_(planes) {}

  int planes() const { return kPlanes > 0 ? kPlanes : planes_; }

  // `sums`: the node's. Nothing is on the left.
  void start(const std::uint64_t* sums) {
    sums_ = sums;
    units_.read(sums, planes(), left_units_.data());
    score_ = Criterion::node(left_units_.data(), planes());
    gain_error_ = committee::gain_error<Criterion>(left_units_.data(), planes());
    clear_left();
  }
  void clear_left() { std::fill(left.begin(), left.end(), 0); }

  // A cell's planes are `stride` apart.
  void add_left(const std::uint64_t* cell, std::int64_t stride) {
    for (int k = 0; k < planes(); ++k) left[k] += cell[k * stride];
  }
  void take_left(const std::uint64_t* cell, std::int64_t stride) {
    for (int k = 0; k < planes(); ++k) left[k] -= cell[k * stride];
  }

  // The gain of the whole node as one, and its sums.
  double score() const { return score_; }
  // Bound on the error of gains that are found eight at a time.
  double gain_error() const { return gain_error_; }
  const std::uint64_t* sums() const { return sums_; }

  // Is this split the best so far? Then `best_gain` is its gain from here on. GCC would call it, which costs deep trees
  // 4 % of their time.
  COMMITTEE_INLINE bool beats(double& best_gain) {
    for (int k = 0; k < planes(); ++k) right_[k] = sums_[k] - left[k];
    if (counts_matter_ && (units_.count(left.data(), planes()) < limits_.min_samples_leaf ||
                           units_.count(right_.data(), planes()) < limits_.min_samples_leaf))
      return false;
    units_.read(left.data(), planes(), left_units_.data());
    units_.read(right_.data(), planes(), right_units_.data());
    const double left_weight = units_.weight(left_units_.data(), planes());
    const double right_weight = units_.weight(right_units_.data(), planes());
    if (!(left_weight > 0.0 && left_weight >= limits_.min_weight_leaf && right_weight > 0.0 &&
          right_weight >= limits_.min_weight_leaf))
      return false;  // a side without weight is no side
    const double gain = limits_.seen(Criterion::pair(left_units_.data(), right_units_.data(), planes()) - score_);
    if (!(is_larger(gain, best_gain) && gain > limits_.least())) return false;
    best_gain = gain;
    return true;
  }

  // Does a left child of these sums weigh more than the right one?
  bool left_is_larger(const std::uint64_t* of_left) {
    for (int k = 0; k < planes(); ++k) right_[k] = sums_[k] - of_left[k];
    units_.read(of_left, planes(), left_units_.data());
    units_.read(right_.data(), planes(), right_units_.data());
    return is_larger(units_.weight(left_units_.data(), planes()), units_.weight(right_units_.data(), planes()));
  }

  PerPlane<std::uint64_t, kPlanes> left;

 private:
  const Units& units_;
  const SplitLimits& limits_;
  const int planes_;
  const bool counts_matter_;  // a side with weight has a row at least
  const std::uint64_t* sums_ = nullptr;
  double score_ = 0.0, gain_error_ = 0.0;
  PerPlane<std::uint64_t, kPlanes> right_;
  PerPlane<double, kPlanes> left_units_, right_units_;
};

inline bool is_empty(const std::uint64_t* cell, std::int64_t stride, int planes) {
  for (int k = 0; k < planes; ++k)
    if (cell[k * stride] != 0) return false;
  return true;
}

// True if n_cells cells of a node hold more than one value of their feature.
inline bool varies(const std::uint64_t* cells, std::int64_t stride, int planes, std::int64_t n_cells) {
  int seen = 0;
  for (std::int64_t b = 0; b < n_cells && seen < 2; ++b) seen += !is_empty(cells + b, stride, planes);
  return seen == 2;
}

// Scans the cells of one feature of one node.
template <class Criterion, int kPlanes>
class FeatureScan {
 public:
  FeatureScan(const SplitRules& rules, int planes)
      : units_(rules.units), limits_(rules.limits), sides_(rules, planes) {}

  // `sums`: the node's sums per plane; `cells`: its histogram at the feature's first cell, planes `stride`
  // apart.
  Split best(const std::uint64_t* sums, const std::uint64_t* cells, std::int64_t stride, std::int64_t missing_bin,
             std::int32_t feature, bool categorical) {
    sides_.start(sums);
    cells_ = cells;
    stride_ = stride;
    best_ = Split{};
    best_.gain = limits_.least();
    best_.feature = feature;
    if (categorical)
      scan_categories(missing_bin);
    else
      scan_bins(missing_bin);
    if (!(best_.gain > limits_.min_gain)) best_.feature = -1;
    return std::move(best_);
  }

 private:
  int planes() const { return sides_.planes(); }
  // Offers what is on the left as a candidate; true when it is the best so far.
  bool offer() {
    if (!sides_.beats(best_.gain)) return false;
    best_.left.assign(sides_.left.begin(), sides_.left.end());
    return true;
  }

  void scan_bins(std::int64_t missing_bin) {
    const bool has_missing = !is_empty(cells_ + missing_bin, stride_, planes());
    if constexpr (kHasLanes<Criterion>)
      offer_in_lanes(missing_bin, has_missing);
    else
      offer_one_by_one(missing_bin, has_missing);
    if (best_.bin < 0) return;
    best_.bin = middle_of_gap_after(best_.bin, missing_bin,
                                    [&](std::int64_t b) { return is_empty(cells_ + b, stride_, planes()); });
    if (!has_missing) best_.missing_left = sides_.left_is_larger(best_.left.data());
  }

  void offer_one_by_one(std::int64_t missing_bin, bool has_missing) {
    for (std::int64_t b = 0; b < missing_bin; ++b) {
      if (is_empty(cells_ + b, stride_, planes())) continue;
      sides_.add_left(cells_ + b, stride_);
      if (offer()) {
        best_.bin = static_cast<std::int32_t>(b);
        best_.missing_left = false;
      }
      if (!has_missing) continue;
      sides_.add_left(cells_ + missing_bin, stride_);
      if (offer()) {
        best_.bin = static_cast<std::int32_t>(b);
        best_.missing_left = true;
      }
      sides_.take_left(cells_ + missing_bin, stride_);
    }
  }

  // Gains are found first, and only those that are more than the best so far are offered. Missing values are on the
  // right, or on the left.
  struct Way {
    RunningPlanes running;
    std::int64_t next, end;

    const double* gain() const { return running.gain.data(); }
  };
  void offer_in_lanes(std::int64_t missing_bin, bool has_missing) {
    const int n_ways = 1 + has_missing;
    std::int64_t first_bin = 0;  // with rows
    while (first_bin < missing_bin && is_empty(cells_ + first_bin, stride_, planes())) ++first_bin;
    for (int w = 0; w < n_ways; ++w) {
      RunningPlanes& running = ways_[w].running;
      running.make_room(missing_bin, planes());
      add_up_bins(cells_, stride_, planes(), missing_bin, w == 1 ? cells_ + missing_bin : nullptr, running);
      const std::int64_t least = limits_.min_samples_leaf;
      ways_[w].next = bins_before(running, missing_bin, least);
      ways_[w].end = bins_before(running, missing_bin, units_.count(sides_.sums(), planes()) - least + 1);
      ways_[w].next = std::max(ways_[w].next, first_bin);  // missing values alone on the left are for the last bin
      gains_of(Criterion{}, running, ways_[w].next, ways_[w].end, planes(), sides_.sums(), units_, sides_.score());
    }
    const auto look_on = [&](std::int64_t b, double above) {
      for (Way* way = ways_; way < ways_ + n_ways; ++way)
        way->next = first_above(way->gain(), std::max(way->next, b), way->end, above - sides_.gain_error());
    };
    if (!skip_to_peak(n_ways)) look_on(0, to_be_larger(best_.gain));
    for (;;) {
      std::int64_t b = missing_bin;
      for (int w = 0; w < n_ways; ++w)
        if (ways_[w].next < ways_[w].end) b = std::min(b, ways_[w].next);
      if (b == missing_bin) return;
      for (int w = 0; w < n_ways && !is_empty(cells_ + b, stride_, planes()); ++w) {
        if (ways_[w].next != b) continue;
        for (int k = 0; k < planes(); ++k) sides_.left[k] = ways_[w].running.plane(k)[b];
        if (!offer()) continue;
        best_.bin = static_cast<std::int32_t>(b);
        best_.missing_left = w == 1;
      }
      look_on(b + 1, to_be_larger(best_.gain));
    }
  }

  // Gains climb to their peak, so that nearly every split before it is the best so far for a while. The first within
  // 1e-9 of the largest is taken whatever was before, if it is larger than all of that: true if the scan starts there.
  bool skip_to_peak(int n_ways) {
    if (limits_.min_gain < 0.0 || limits_.min_weight_leaf > 0.0) return false;  // limits may refuse a candidate
    double most = 0.0, before = 0.0;
    for (int w = 0; w < n_ways; ++w) most = std::max(most, largest_gain(ways_[w].gain(), ways_[w].next, ways_[w].end));
    if (!(most > 0.0)) return false;
    const double nearly = most * (1.0 - 10.0 * kTie);
    std::int64_t first[2], peak = std::numeric_limits<std::int64_t>::max();
    for (int w = 0; w < n_ways; ++w) {
      first[w] = first_above(ways_[w].gain(), ways_[w].next, ways_[w].end, nearly);
      if (first[w] < ways_[w].end) peak = std::min(peak, first[w]);
    }
    if (peak == std::numeric_limits<std::int64_t>::max()) return false;  // gains are infinite, or as good as 0
    for (int w = 0; w < n_ways; ++w)  // those of the peak's own bin too, unless they are nearly as good themselves
      before = std::max(
          before, largest_gain(ways_[w].gain(), ways_[w].next, std::min(peak + (first[w] != peak), ways_[w].end)));
    if (is_larger(nearly - sides_.gain_error(), before + sides_.gain_error())) {
      for (Way* way = ways_; way < ways_ + n_ways; ++way) {
        if constexpr (kExactLanes<Criterion>)
          way->next = first[way - ways_];
        else
          way->next = first_above(way->gain(), std::max(way->next, peak), way->end, nearly - 3.0 * sides_.gain_error());
      }
      return true;
    }
    return false;
  }

  // How many of the first bins have fewer rows on the left than that.
  std::int64_t bins_before(RunningPlanes& running, std::int64_t n, std::int64_t rows) {
    std::int64_t first = 0;
    while (n > 0) {  // a binary search, as counts rise
      const std::int64_t half = n / 2;
      for (int k = 0; k < planes(); ++k) sides_.left[k] = running.plane(k)[first + half];
      const bool fewer = units_.count(sides_.left.data(), planes()) < rows;
      first = fewer ? first + half + 1 : first;
      n = fewer ? n - half - 1 : half;
    }
    return first;
  }

  // Ordered by the share of one of two classes (Breiman 1984) or by mean target (Fisher 1958) the best subset
  // is a prefix; with more classes each class's ordering is tried. Missing is one more category. Names decide nothing:
  // of equal shares the lighter category comes first, and no prefix parts categories of equal sums.
  void scan_categories(std::int64_t missing_bin) {
    present_.clear();
    for (std::int64_t b = 0; b <= missing_bin; ++b)
      if (!is_empty(cells_ + b, stride_, planes())) present_.push_back(b);
    if (present_.size() < 2) return;
    for (int ordering = 0; ordering < Criterion::orderings(planes()); ++ordering) {
      order_by(ordering);
      sides_.clear_left();
      for (std::int64_t i = 0; i + 1 < present_.size(); ++i) {
        sides_.add_left(cells_ + present_[i], stride_);
        if (compare(present_[i], present_[i + 1]) == 0 || !offer()) continue;
        best_.category_is_left.assign(missing_bin + 1, 0);
        for (std::int64_t k = 0; k <= i; ++k) best_.category_is_left[present_[k]] = 1;
      }
    }
    if (best_.category_is_left.empty()) return;
    if (put_heavier_left())  // and with it the categories that this node never saw
      for (std::int64_t b = 0; b <= missing_bin; ++b)
        best_.category_is_left[b] |= is_empty(cells_ + b, stride_, planes());
    best_.missing_left = best_.category_is_left.back();
    best_.category_is_left.pop_back();
  }

  // Changes the sides of the best split if the right one weighs more, so that the order of classes decides no side;
  // true if the left one weighs more then.
  bool put_heavier_left() {
    if (sides_.left_is_larger(best_.left.data())) return true;
    Vector<std::uint64_t> right(planes());
    for (int k = 0; k < planes(); ++k) right[k] = sides_.sums()[k] - best_.left[k];
    if (!sides_.left_is_larger(right.data())) return false;
    best_.left = std::move(right);
    for (const std::int64_t b : present_) best_.category_is_left[b] ^= 1;
    return true;
  }

  void order_by(int ordering) {
    Vector<std::pair<double, std::int64_t>> keyed;
    PerPlane<std::uint64_t, kPlanes> cell(planes());
    PerPlane<double, kPlanes> shares(planes());
    for (const std::int64_t b : present_) {
      for (int k = 0; k < planes(); ++k) cell[k] = cells_[k * stride_ + b];
      units_.read(cell.data(), planes(), shares.data());
      const double weight = units_.weight(shares.data(), planes());
      // a category of zero weight has no share; it goes first, where it moves nothing
      keyed.emplace_back(
          weight > 0.0 ? Criterion::share(shares.data(), planes(), ordering) : -std::numeric_limits<double>::infinity(),
          b);
    }
    std::sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : compare(a.second, b.second) < 0;
    });
    for (std::int64_t i = 0; i < keyed.size(); ++i) present_[i] = keyed[i].second;
  }

  // Of the sums of two cells, the first that differs.
  std::strong_ordering compare(std::int64_t one, std::int64_t other) const {
    for (int k = 0; k < planes(); ++k)
      if (const auto a = units_.whole(cells_[k * stride_ + one], k), b = units_.whole(cells_[k * stride_ + other], k);
          a != b)
        return a <=> b;
    return std::strong_ordering::equal;
  }

  const Units& units_;
  const SplitLimits& limits_;
  Sides<Criterion, kPlanes> sides_;
  const std::uint64_t* cells_ = nullptr;
  std::int64_t stride_ = 0;
  Split best_;
  Vector<std::int64_t> present_;
  Way ways_[2];
};

}  // namespace committee
