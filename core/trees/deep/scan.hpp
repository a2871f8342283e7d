// Best split of one feature of a small node: a histogram of which only the touched bins are read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"
#include "trees/criterion.hpp"
#include "trees/deep/rows.hpp"
#include "trees/feature_scan.hpp"
#include "trees/lane_gains.hpp"
#include "trees/split.hpp"

namespace committee {

// The touched bins of a feature in order, each with its cell of `width` numbers.
class BinList {
 public:
  void make_room(std::int64_t n_bins, int planes) {
    if (bin_.size() < n_bins) bin_.resize(n_bins);
    if (cell_.size() < n_bins * planes) cell_.resize(n_bins * planes);
  }
  void start(int width) {
    width_ = width;
    size_ = 0;
  }
  // Room for the cell of the next bin.
  std::uint64_t* put(std::int64_t bin) {
    bin_[size_++] = static_cast<std::int32_t>(bin);
    return cell_.data() + (size_ - 1) * width_;
  }
  // Takes a cell out of a histogram.
  template <int kWidth>
  void take(std::int64_t bin, std::uint64_t* cell) {
    const std::int64_t width = kWidth > 0 ? kWidth : width_;
    std::uint64_t* const to = cell_.data() + size_ * width;
    bin_[size_++] = static_cast<std::int32_t>(bin);
    for (std::int64_t k = 0; k < width; ++k) {
      to[k] = cell[k];
      cell[k] = 0;
    }
  }

  std::int64_t size() const { return size_; }
  int width() const { return width_; }
  std::int32_t bin(std::int64_t i) const { return bin_[i]; }
  std::int32_t last_bin() const { return bin_[size_ - 1]; }
  const std::uint64_t* cell(std::int64_t i) const { return cell_.data() + i * width_; }

  // The bin that ends the left side of a split after bin i, of which `n` hold values.
  std::int32_t split_after(std::int64_t i, std::int64_t n) const {
    return i + 1 < n ? middle_of_gap(bin_[i], bin_[i + 1]) : bin_[i];
  }

 private:
  Vector<std::int32_t> bin_;
  Vector<std::uint64_t> cell_;
  std::int64_t size_ = 0;
  int width_ = 0;
};

// A histogram of one feature that is all zeros between uses: to clear what was touched is part of reading it, so
// that a node of five rows costs five rows, whatever the number of bins.
class TouchedHistogram {
 public:
  void make_room(std::int64_t n_bins, int planes) {
    if (cells_.size() < n_bins * planes) cells_.resize(n_bins * planes, 0);
    if (marks_.size() < (n_bins + 63) / 64) marks_.resize((n_bins + 63) / 64, 0);
  }

  // Counts a feature's codes; `list` gets the bins that any of them touched. kWidth: planes.held(), or 0.
  template <int kWidth, bool kIdentity, class Code, class Item>
  void count(const Item* items, std::int64_t n, const Code* column, std::int64_t step, std::int64_t n_bins,
             const NodePlanes& planes, BinList& list) {
    list.start(planes.held());
    if (n >= n_bins) {  // hardly a bin stays empty: nothing is gained by marks
      add<kWidth, kIdentity, false>(items, n, column, step, planes);
      take_all<kWidth>(n_bins, list);
    } else {
      add<kWidth, kIdentity, true>(items, n, column, step, planes);
      take_marked<kWidth>(n_bins, list);
    }
  }

 private:
  template <int kWidth, bool kIdentity, bool kMark, class Code, class Item>
  void add(const Item* items, std::int64_t n, const Code* column, std::int64_t step, const NodePlanes& planes) {
    std::uint64_t* const cells = cells_.data();
    std::uint64_t* const marks = marks_.data();
    const std::int64_t width = kWidth > 0 ? kWidth : planes.held();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t code = column[items[i].row * step];
      planes.add<kIdentity>(cells + code * width, items[i]);
      if (kMark) marks[code >> 6] |= std::uint64_t{1} << (code & 63);
    }
  }

  template <int kWidth>
  void take_all(std::int64_t n_bins, BinList& list) {
    const std::int64_t width = kWidth > 0 ? kWidth : list.width();
    for (std::int64_t b = 0; b < n_bins; ++b) {
      std::uint64_t* const cell = cells_.data() + b * width;
      std::uint64_t any = 0;
      for (std::int64_t k = 0; k < width; ++k) any |= cell[k];
      if (any != 0) list.template take<kWidth>(b, cell);
    }
  }

  template <int kWidth>
  void take_marked(std::int64_t n_bins, BinList& list) {
    const std::int64_t width = kWidth > 0 ? kWidth : list.width();
    for (std::int64_t word = 0; word < (n_bins + 63) / 64; ++word) {
      for (std::uint64_t left = marks_[word]; left != 0; left &= left - 1) {
        const std::int64_t b = 64 * word + std::countr_zero(left);
        list.template take<kWidth>(b, cells_.data() + b * width);
      }
      marks_[word] = 0;
    }
  }

  Vector<std::uint64_t> cells_;
  Vector<std::uint64_t> marks_;  // one bit for each touched bin
};

// Scans the touched bins of one numeric feature; the same candidates in the same order as FeatureScan.
template <class Criterion, int kPlanes>
class ListScan {
 public:
  ListScan(const SplitRules& rules, int planes, RunningPlanes& running)
      : units_(rules.units), limits_(rules.limits), sides_(rules, planes), running_(running) {}

  // `sums`: the node's, one for each slot of the list's cells. Writes the left child's sums to `best_left`.
  Split best(const std::uint64_t* sums, const BinList& list, std::int32_t missing_bin, std::int32_t feature,
             std::uint64_t* best_left) {
    sums_ = sums;
    best_left_ = best_left;
    sides_.start(sums);
    const bool has_missing = list.last_bin() == missing_bin;
    const std::int64_t n_values = list.size() - has_missing;
    Split best;
    best.gain = limits_.least();
    std::int64_t at = 0;
    if constexpr (kHasLanes<Criterion>)
      if (!has_missing && limits_.min_samples_leaf <= 1 && limits_.min_weight_leaf == 0.0)
        return best_in_lanes(list, feature);
    // without missing values all rows left is no split
    for (std::int64_t i = 0; i + !has_missing < n_values; ++i) {
      sides_.add_left(list.cell(i), 1);
      if (offer(best.gain)) {
        at = i;
        best.missing_left = false;
      }
      if (!has_missing) continue;
      sides_.add_left(list.cell(n_values), 1);
      if (offer(best.gain)) {
        at = i;
        best.missing_left = true;
      }
      sides_.take_left(list.cell(n_values), 1);
    }
    if (!(best.gain > limits_.min_gain)) return best;
    best.feature = feature;
    best.bin = list.split_after(at, n_values);
    if (!has_missing) best.missing_left = sides_.left_is_larger(best_left_);
    return best;
  }

 private:
  // Without limits on the sides all gains are found first, and then the largest.
  Split best_in_lanes(const BinList& list, std::int32_t feature) {
    const std::int64_t n = list.size() - 1;  // all rows left is no split
    const int planes = sides_.planes();
    running_.make_room(n, planes);
    for (int k = 0; k < planes; ++k) {
      std::uint64_t* const of_plane = running_.plane(k);
      std::uint64_t sum = 0;
      for (std::int64_t i = 0; i < n; ++i) of_plane[i] = sum += list.cell(i)[k];
    }
    gains_of(Criterion{}, running_, 0, n, planes, sums_, units_, sides_.score());
    Split best;
    best.gain = limits_.least();
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (kExactLanes<Criterion>) {
        const double gain = limits_.seen(running_.gain[i]);
        if (!is_larger(gain, best.gain)) continue;
        best.gain = gain;
      } else {
        if (!(running_.gain[i] > to_be_larger(best.gain) - sides_.gain_error())) continue;
        for (int k = 0; k < planes; ++k) sides_.left[k] = running_.plane(k)[i];
        if (!sides_.beats(best.gain)) continue;
      }
      at = i;
    }
    if (!(best.gain > limits_.min_gain)) return best;
    best.bin = list.split_after(at, list.size());
    best.feature = feature;
    for (int k = 0; k < planes; ++k) best_left_[k] = running_.plane(k)[at];
    best.missing_left = sides_.left_is_larger(best_left_);
    return best;
  }

  COMMITTEE_INLINE bool offer(double& best_gain) {
    if (!sides_.beats(best_gain)) return false;
    std::copy(sides_.left.begin(), sides_.left.end(), best_left_);
    return true;
  }

  const Units& units_;
  const SplitLimits& limits_;
  Sides<Criterion, kPlanes> sides_;
  const std::uint64_t* sums_ = nullptr;
  std::uint64_t* best_left_ = nullptr;
  RunningPlanes& running_;
};

// The best split of one categorical feature: FeatureScan sees the categories of the node alone, one that no row has,
// which goes where unseen categories go, and the missing values. It sees the planes that the node holds, and the first
// one that it does not hold, as all of these order categories alike; three at least, as two classes have one order.
inline Split best_categories(ScanFeatures scan, const SplitRules& rules, const std::uint64_t* sums, const BinList& list,
                             const NodePlanes& planes, std::int32_t missing_bin, std::int32_t feature,
                             std::uint64_t* best_left) {
  const bool has_missing = list.last_bin() == missing_bin;
  const std::int64_t n_present = list.size() - has_missing, n_cells = n_present + 2;
  const int n_planes = std::min(planes.all(), std::max(planes.held() + 1, 3));
  Vector<int> place(planes.held());  // of each slot among these planes
  for (int slot = 0, at = 0, next = 0; slot < planes.held(); ++slot, ++at) {
    at += std::min(planes.plane(slot) - next, n_planes - planes.held() - (at - slot));
    place[slot] = at;
    next = planes.plane(slot) + 1;
  }
  Vector<std::uint64_t> cells(n_cells * n_planes, 0), all_sums(n_planes, 0);
  for (int slot = 0; slot < planes.held(); ++slot) all_sums[place[slot]] = sums[slot];
  for (std::int64_t i = 0; i < list.size(); ++i)
    for (int slot = 0; slot < planes.held(); ++slot)
      cells[place[slot] * n_cells + i + (i == n_present)] = list.cell(i)[slot];
  const std::int64_t cell[2]{0, n_cells};
  const std::uint8_t categorical = 1;
  const std::int32_t only = 0;
  Split best;
  scan({rules, n_planes, all_sums.data(), cells.data(), n_cells, cell, &categorical}, &only, 1, &best);
  if (best.feature < 0) return best;
  best.feature = feature;
  Vector<std::uint8_t> is_left(missing_bin, best.category_is_left.back());
  for (std::int64_t i = 0; i < n_present; ++i) is_left[list.bin(i)] = best.category_is_left[i];
  best.category_is_left = std::move(is_left);
  for (int slot = 0; slot < planes.held(); ++slot) best_left[slot] = best.left[place[slot]];
  best.left.clear();
  return best;
}

}  // namespace committee
