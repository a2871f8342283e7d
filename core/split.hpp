// The best split of one node, read off its histogram.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "histogram.hpp"
#include "vector.hpp"

namespace committee {

// A later candidate must beat the best so far by more than rounding noise: ties go to the lowest feature, the
// lowest bin, missing on the right, whatever the order in which weights were summed.
inline constexpr double kTie = 1e-10;
// A gain below this share of the root's weight (of its sum of squares, for targets) is rounding noise itself.
inline constexpr double kNoise = 1e-12;

struct Split {
  double gain = 0.0;
  std::int32_t feature = -1;
  std::int32_t bin = -1;  // bins <= bin go left; -1 for a categorical split
  bool missing_left = false;
  Vector<std::uint64_t> left;             // the left child's sums, one per plane
  Vector<std::uint8_t> category_is_left;  // per category, empty for a numeric split
};

struct SplitLimits {
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;  // in units of weight
  double min_gain = 0.0;         // in units of the score; at least the noise
};

// Reads packed sums as doubles in the user's units. `moment_unit` > 0: plane 1 is a signed moment of targets
// that were centred, whose weighted sum of squares is `spread`.
struct Units {
  FixedPoint fixed;
  double moment_unit = 0.0;
  double centre = 0.0;
  double spread = 0.0;

  void read(const std::uint64_t* sums, int planes, double* out) const {
    for (int k = 0; k < planes; ++k) out[k] = fixed.weight(sums[k]);
    if (moment_unit > 0.0) out[1] = static_cast<double>(signed_of(sums[1])) / moment_unit;
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

// Scans the cells of one feature of one node.
template <class Criterion, int kPlanes>
class FeatureScan {
 public:
  FeatureScan(const Units& units, const SplitLimits& limits, int planes)
      : units_(units),
        limits_(limits),
        planes_(planes),
        left_(planes),
        right_(planes),
        left_units_(planes),
        right_units_(planes) {}

  // `sums`: the node's sums per plane; `cells`: its histogram at the feature's first cell, planes `stride`
  // apart.
  Split best(const std::uint64_t* sums, const std::uint64_t* cells, std::int64_t stride, std::int64_t missing_bin,
             std::int32_t feature, bool categorical) {
    sums_ = sums;
    cells_ = cells;
    stride_ = stride;
    best_ = Split{};
    best_.feature = feature;
    units_.read(sums, planes(), left_units_.data());
    parent_score_ = Criterion::node(left_units_.data(), planes());
    if (categorical)
      scan_categories(missing_bin);
    else
      scan_bins(missing_bin);
    if (!(best_.gain > limits_.min_gain)) best_.feature = -1;
    return std::move(best_);
  }

  // Does the node hold more than one value of the feature?
  static bool varies(const std::uint64_t* cells, std::int64_t stride, int planes, std::int64_t n_cells) {
    int seen = 0;
    for (std::int64_t b = 0; b < n_cells && seen < 2; ++b) seen += !is_empty(cells + b, stride, planes);
    return seen == 2;
  }

 private:
  int planes() const { return kPlanes > 0 ? kPlanes : planes_; }
  static bool is_empty(const std::uint64_t* cell, std::int64_t stride, int planes) {
    for (int k = 0; k < planes; ++k)
      if (cell[k * stride] != 0) return false;
    return true;
  }
  void add_left(std::int64_t bin) {
    for (int k = 0; k < planes(); ++k) left_[k] += cells_[k * stride_ + bin];
  }

  // Offers the present left_ as a candidate; true when it is the best so far.
  bool offer() {
    for (int k = 0; k < planes(); ++k) right_[k] = sums_[k] - left_[k];
    if (units_.count(left_.data(), planes()) < limits_.min_samples_leaf ||
        units_.count(right_.data(), planes()) < limits_.min_samples_leaf)
      return false;
    units_.read(left_.data(), planes(), left_units_.data());
    units_.read(right_.data(), planes(), right_units_.data());
    const double left_weight = units_.weight(left_units_.data(), planes());
    const double right_weight = units_.weight(right_units_.data(), planes());
    if (!(left_weight > 0.0 && left_weight >= limits_.min_weight_leaf && right_weight > 0.0 &&
          right_weight >= limits_.min_weight_leaf))
      return false;  // a side without weight is no side
    const double gain = Criterion::pair(left_units_.data(), right_units_.data(), planes()) - parent_score_;
    if (!(gain > best_.gain * (1.0 + kTie) && gain > 0.0)) return false;
    best_.gain = gain;
    best_.left.assign(left_.begin(), left_.end());
    return true;
  }

  bool left_is_larger() const {
    Vector<std::uint64_t> right(planes());
    for (int k = 0; k < planes(); ++k) right[k] = sums_[k] - best_.left[k];
    return units_.count(best_.left.data(), planes()) > units_.count(right.data(), planes());
  }

  void scan_bins(std::int64_t missing_bin) {
    const bool has_missing = !is_empty(cells_ + missing_bin, stride_, planes());
    std::fill(left_.begin(), left_.end(), 0);
    for (std::int64_t b = 0; b < missing_bin; ++b) {
      if (is_empty(cells_ + b, stride_, planes())) continue;
      add_left(b);
      if (offer()) {
        best_.bin = static_cast<std::int32_t>(b);
        best_.missing_left = false;
      }
      if (!has_missing) continue;
      add_left(missing_bin);
      if (offer()) {
        best_.bin = static_cast<std::int32_t>(b);
        best_.missing_left = true;
      }
      for (int k = 0; k < planes(); ++k) left_[k] -= cells_[k * stride_ + missing_bin];
    }
    if (!has_missing && best_.bin >= 0) best_.missing_left = left_is_larger();
  }

  // Ordered by the share of one of two classes (Breiman 1984) or by mean target (Fisher 1958) the best subset
  // is a prefix; with more classes each class's ordering is tried. Missing is one more category.
  void scan_categories(std::int64_t missing_bin) {
    present_.clear();
    for (std::int64_t b = 0; b <= missing_bin; ++b)
      if (!is_empty(cells_ + b, stride_, planes())) present_.push_back(b);
    if (present_.size() < 2) return;
    for (int ordering = 0; ordering < Criterion::orderings(planes()); ++ordering) {
      order_by(ordering);
      std::fill(left_.begin(), left_.end(), 0);
      for (std::int64_t i = 0; i + 1 < present_.size(); ++i) {
        add_left(present_[i]);
        if (!offer()) continue;
        best_.category_is_left.assign(missing_bin + 1, 0);
        for (std::int64_t k = 0; k <= i; ++k) best_.category_is_left[present_[k]] = 1;
      }
    }
    if (best_.category_is_left.empty()) return;
    // categories this node never saw follow the larger child
    if (left_is_larger()) {
      Vector<std::uint8_t> seen(best_.category_is_left.size(), 0);
      for (const std::int64_t b : present_) seen[b] = 1;
      for (std::int64_t b = 0; b < seen.size(); ++b) best_.category_is_left[b] |= !seen[b];
    }
    best_.missing_left = best_.category_is_left.back();
    best_.category_is_left.pop_back();
  }

  void order_by(int ordering) {
    Vector<std::pair<double, std::int64_t>> keyed;
    PerPlane<std::uint64_t, kPlanes> cell(planes_);
    PerPlane<double, kPlanes> shares(planes_);
    for (const std::int64_t b : present_) {
      for (int k = 0; k < planes(); ++k) cell[k] = cells_[k * stride_ + b];
      units_.read(cell.data(), planes(), shares.data());
      const double weight = units_.weight(shares.data(), planes());
      // a category of zero weight has no share; it goes first, where it moves nothing
      keyed.emplace_back(
          weight > 0.0 ? Criterion::share(shares.data(), planes(), ordering) : -std::numeric_limits<double>::infinity(),
          b);
    }
    std::sort(keyed.begin(), keyed.end());
    for (std::int64_t i = 0; i < keyed.size(); ++i) present_[i] = keyed[i].second;
  }

  const Units& units_;
  const SplitLimits& limits_;
  const int planes_;
  const std::uint64_t* sums_ = nullptr;
  const std::uint64_t* cells_ = nullptr;
  std::int64_t stride_ = 0;
  double parent_score_ = 0.0;
  Split best_;
  PerPlane<std::uint64_t, kPlanes> left_, right_;
  PerPlane<double, kPlanes> left_units_, right_units_;
  Vector<std::int64_t> present_;
};

}  // namespace committee
