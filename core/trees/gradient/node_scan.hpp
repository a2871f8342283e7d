// The best split of one node of a gradient tree, read off its histogram: maximises
//     gain = worth(left) + worth(right) - worth(node)
// (trees/leaf_value.hpp), summed over the outputs. Scans work in integer units, where the penalties are scaled to
// match. Thresholds are tried on lanes (threshold_scan.hpp); where weights are bounded, and for categories, one by
// one. Where thresholds are drawn, a feature has one that was. Ties go to the lowest feature, the lowest bin, missing
// on the right; of categories, whose numbers follow their names, to the lowest mean gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "bins/counter_rng.hpp"
#include "histogram/gradient_histogram.hpp"
#include "threads/vector.hpp"
#include "trees/gradient/threshold_scan.hpp"
#include "trees/leaf_value.hpp"
#include "trees/tree.hpp"

namespace committee {

// Of a node, in integers: per output gradient and hessian, and the number of rows. A tree makes a few for each of its
// nodes, so that those of one output, which most are, take no memory of their own.
class GradientSums {
 public:
  explicit GradientSums(std::int64_t n_outputs = 0) : n_outputs_(n_outputs), several_(n_outputs > 1 ? n_outputs : 0) {}
  std::int64_t n_outputs() const { return n_outputs_; }
  std::int64_t& gradient(std::int64_t output) { return of(output).gradient; }
  std::int64_t& hessian(std::int64_t output) { return of(output).hessian; }
  double gradient(std::int64_t output) const { return static_cast<double>(of(output).gradient); }
  double hessian(std::int64_t output) const { return static_cast<double>(of(output).hessian); }
  double hessians() const {
    double sum = 0.0;
    for (std::int64_t d = 0; d < n_outputs_; ++d) sum += hessian(d);
    return sum;
  }
  GradientSums& operator+=(const GradientSums& other) {
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      gradient(d) += other.of(d).gradient;
      hessian(d) += other.of(d).hessian;
    }
    count += other.count;
    return *this;
  }
  GradientSums& operator-=(const GradientSums& other) {
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      gradient(d) -= other.of(d).gradient;
      hessian(d) -= other.of(d).hessian;
    }
    count -= other.count;
    return *this;
  }

  std::int64_t count = 0;

 private:
  struct Sums {
    std::int64_t gradient = 0, hessian = 0;
  };
  Sums& of(std::int64_t output) { return n_outputs_ > 1 ? several_[output] : one_; }
  const Sums& of(std::int64_t output) const { return n_outputs_ > 1 ? several_[output] : one_; }

  std::int64_t n_outputs_;
  Sums one_;
  Vector<Sums> several_;
};

struct Bounds {
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// What a split must satisfy, and what a leaf costs, in integer units.
struct GradientLimits {
  LeafPenalty penalty;
  double weight_unit = 1.0;  // user's weight of a leaf per weight in integer units
  double gain_unit = 1.0;    // user's gain per gain in integer units
  double min_hessian = 0.5;  // at least one integer, so that nothing is divided by zero
  double min_gain = 0.0;     // user's gain
  std::int64_t min_samples = 1;

  static GradientLimits of(const LeafPenalty& penalty, double min_hessian, double min_gain, std::int64_t min_samples,
                           const WordLayout& layout) {
    const double g = layout.gradient_unit, h = layout.hessian_unit;
    const double gain_unit = h / (g * g);
    return {{penalty.l0 / gain_unit, penalty.l1 * g, penalty.l2 * h, penalty.l0_per_leaf},
            h / g,
            gain_unit,
            std::max(0.5, min_hessian * h),
            min_gain,
            min_samples};
  }
};

// Scans the features of one node.
class GradientScan {
 public:
  GradientScan(const WordLayout& layout, const GradientLimits& limits, const GradientHistogram& histogram,
               const GradientSums& sums, std::int64_t n_cells, const Bounds& bounds, bool bounded)
      : layout_(layout),
        limits_(limits),
        histogram_(histogram),
        sums_(sums),
        n_cells_(n_cells),
        n_outputs_(sums.n_outputs()),
        bounds_{bounds.lower / limits.weight_unit, bounds.upper / limits.weight_unit},
        bounded_(bounded) {
    for (std::int64_t d = 0; d < n_outputs_; ++d) totals_.push_back({sums.gradient(d), sums.hessian(d)});
    parent_ = worth_of(sums_);
    hessians_ = sums.hessians();
  }

  // `cell`: the feature's first cell; `direction`: the sign that a monotone feature's weights must follow, else 0;
  // `random`: draws the one threshold or category that is tried, null: all are.
  NodeSplit best(std::int64_t cell, std::int64_t missing_bin, std::int32_t feature, bool categorical, int direction,
                 SplitMix* random) const {
    NodeSplit split;
    split.feature = feature;
    const bool has_missing = rows_in(cell + missing_bin) > 0;
    if (random != nullptr)
      scan_drawn(cell, missing_bin, has_missing, categorical, direction, *random, split);
    else if (categorical)
      scan_categories(cell, missing_bin, split);
    else if (bounded_)
      scan_bounded(cell, missing_bin, has_missing, direction, split);
    else
      scan_bins(cell, missing_bin, has_missing, split);
    split.gain = (split.gain - parent_) * limits_.gain_unit;
    // what is lost in the difference of two large numbers is no gain
    const double noise = 1e-12 * std::abs(parent_) * limits_.gain_unit;
    if ((split.bin < 0 && split.category_is_left.empty()) || !(split.gain > std::max(limits_.min_gain, noise)))
      split.feature = -1;
    return split;
  }

  // Completes the split that was chosen, with what the node has not seen on the right, and returns the sums of its left
  // side.
  GradientSums settle(NodeSplit& split, std::int64_t cell, std::int64_t missing_bin) const {
    if (split.bin >= 0 && rows_in(cell + split.bin) > 0)
      split.bin = middle_of_gap_after(split.bin, missing_bin, [&](std::int64_t b) { return rows_in(cell + b) == 0; });
    return left_of(split, cell, missing_bin);
  }

 private:
  GradientSums left_of(const NodeSplit& split, std::int64_t cell, std::int64_t missing_bin) const {
    GradientSums left(n_outputs_);
    if (split.category_is_left.empty()) add(cell, cell + split.bin + 1, left);
    for (std::int64_t b = 0; b < split.category_is_left.size(); ++b)
      if (split.category_is_left[b]) add(cell + b, left);
    if (split.missing_left) add(cell + missing_bin, left);
    return left;
  }
  void add(std::int64_t cell, GradientSums& sums) const { add(cell, cell + 1, sums); }
  void add(std::int64_t begin, std::int64_t end, GradientSums& sums) const {
    const auto total = [&](std::int64_t plane) {
      const std::uint64_t* const cells = histogram_.sums.data() + plane * n_cells_;
      return std::accumulate(cells + begin, cells + end, std::uint64_t{0});
    };
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      if (histogram_.narrow) {
        const std::uint64_t w = total(d);
        sums.gradient(d) += layout_.gradient(w);
        sums.hessian(d) += layout_.hessian(w);
        if (d == 0) sums.count += layout_.count(w);
      } else {
        const std::uint64_t pair = total(2 * d + 1);
        sums.gradient(d) += signed_of(total(2 * d));
        sums.hessian(d) += layout_.wide_hessian(pair);
        if (d == 0) sums.count += layout_.wide_count(pair);
      }
    }
  }
  std::int64_t rows_in(std::int64_t cell) const {
    return histogram_.narrow ? layout_.count(histogram_.sums[cell])
                             : layout_.wide_count(histogram_.sums[n_cells_ + cell]);
  }
  GradientSums at(std::int64_t cell) const {
    GradientSums sums(n_outputs_);
    add(cell, sums);
    return sums;
  }

  void scan_bins(std::int64_t cell, std::int64_t missing_bin, bool has_missing, NodeSplit& split) const {
    double right_gain = 0.0, left_gain = 0.0;
    std::int64_t bin = scan_direction(cell, missing_bin, false, right_gain);
    const std::int64_t left_bin = has_missing ? scan_direction(cell, missing_bin, true, left_gain) : -1;
    split.missing_left = left_bin >= 0 && (bin < 0 || left_gain > right_gain);
    if (split.missing_left) bin = left_bin;
    split.bin = static_cast<std::int32_t>(bin);
    split.gain = split.missing_left ? left_gain : right_gain;
  }

  // The best threshold with missing values on one side; its worth is `gain`.
  std::int64_t scan_direction(std::int64_t cell, std::int64_t n_bins, bool missing_left, double& gain) const {
    return best_threshold(thresholds(cell, n_bins, missing_left), limits_.penalty, layout_, gain);
  }
  Thresholds thresholds(std::int64_t cell, std::int64_t n_bins, bool missing_left) const {
    return {histogram_.sums.data() + cell,
            n_cells_,
            n_bins,
            histogram_.narrow,
            missing_left,
            totals_,
            sums_.count,
            limits_.min_samples,
            hessians_,
            limits_.min_hessian};
  }

  bool allowed(const GradientSums& left) const {
    const double h = left.hessians();
    return left.count >= limits_.min_samples && sums_.count - left.count >= limits_.min_samples &&
           h >= limits_.min_hessian && hessians_ - h >= limits_.min_hessian;
  }
  GradientSums right_of(const GradientSums& left) const {
    GradientSums right = sums_;
    return right -= left;
  }
  double weight(const GradientSums& sums, std::int64_t d) const {  // within the bounds
    return limits_.penalty.weight_within(sums.gradient(d), sums.hessian(d), bounds_.lower, bounds_.upper);
  }
  double worth_of(const GradientSums& sums) const {
    double total = 0.0;
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      const double G = sums.gradient(d), H = sums.hessian(d);
      total += bounded_ ? limits_.penalty.decrease(G, H, weight(sums, d)) : limits_.penalty.worth(G, H);
    }
    return total;
  }

  // With bounded weights: one threshold at a time, weights kept within their bounds and in order.
  void scan_bounded(std::int64_t cell, std::int64_t missing_bin, bool has_missing, int direction,
                    NodeSplit& split) const {
    split.gain = kNever;
    const GradientSums missing = at(cell + missing_bin);
    GradientSums left(n_outputs_);
    for (std::int64_t b = 0; b < missing_bin; ++b) {
      add(cell + b, left);
      offer(left, b, false, direction, split);
      if (!has_missing) continue;
      GradientSums with = left;
      offer(with += missing, b, true, direction, split);
    }
  }

  void offer(const GradientSums& left, std::int64_t bin, bool missing_left, int direction, NodeSplit& split) const {
    if (!allowed(left)) return;
    const GradientSums right = right_of(left);
    if (direction != 0 && direction * (weight(right, 0) - weight(left, 0)) < 0.0) return;
    const double worth = worth_of(left) + worth_of(right);
    if (!(worth > split.gain)) return;
    split.gain = worth;
    split.bin = static_cast<std::int32_t>(bin);
    split.missing_left = missing_left;
  }

  // One of the thresholds or categories that leave rows enough on both sides, each as likely.
  void scan_drawn(std::int64_t cell, std::int64_t missing_bin, bool has_missing, bool categorical, int direction,
                  SplitMix& random, NodeSplit& split) const {
    split.gain = kNever;
    if (categorical) return offer_drawn_category(cell, missing_bin, random, split);
    const std::int64_t bin = drawn_threshold(thresholds(cell, missing_bin, false), has_missing, layout_, random);
    if (bin < 0) return;
    GradientSums left(n_outputs_);
    add(cell, cell + bin + 1, left);
    offer(left, bin, false, direction, split);
    if (has_missing) offer(left += at(cell + missing_bin), bin, true, direction, split);
  }

  bool room(std::int64_t left) const {
    return (left >= limits_.min_samples) & (sums_.count - left >= limits_.min_samples);
  }

  // Each category that the node has against the rest: subsets fit chance (docs/decisions.md). Missing is one more.
  void scan_categories(std::int64_t cell, std::int64_t missing_bin, NodeSplit& split) const {
    split.gain = kNever;
    for (std::int64_t b = 0; b <= missing_bin; ++b)
      if (rows_in(cell + b) > 0) offer_category(cell, missing_bin, b, split);
  }

  // One of the categories that leave rows enough on both sides, drawn by its place among their mean gradients.
  void offer_drawn_category(std::int64_t cell, std::int64_t missing_bin, SplitMix& random, NodeSplit& split) const {
    Vector<std::int64_t> categories;
    for (std::int64_t b = 0; b <= missing_bin; ++b)
      if (const std::int64_t here = rows_in(cell + b); here > 0 && room(here)) categories.push_back(b);
    if (categories.empty()) return;
    std::stable_sort(categories.begin(), categories.end(),
                     [&](std::int64_t a, std::int64_t b) { return has_lower_mean(at(cell + a), at(cell + b)); });
    offer_category(cell, missing_bin, categories[random.below(categories.size())], split);
  }

  // Is the mean gradient lower, that of the first output in which they differ?
  static bool has_lower_mean(const GradientSums& one, const GradientSums& other) {
    const auto mean = [](const GradientSums& sums, std::int64_t d) {
      return sums.hessian(d) > 0.0 ? sums.gradient(d) / sums.hessian(d) : 0.0;
    };
    for (std::int64_t d = 0; d < one.n_outputs(); ++d)
      if (const double a = mean(one, d), b = mean(other, d); a != b) return a < b;
    return false;
  }

  void offer_category(std::int64_t cell, std::int64_t missing_bin, std::int64_t category, NodeSplit& split) const {
    const GradientSums left = at(cell + category);
    if (!allowed(left)) return;
    const double worth = worth_of(left) + worth_of(right_of(left));
    const bool ties = worth == split.gain;  // as each of two categories does with the other
    if (ties ? !has_lower_mean(left, left_of(split, cell, missing_bin)) : !(worth > split.gain)) return;
    split.gain = worth;
    split.category_is_left.assign(missing_bin, 0);
    split.missing_left = category == missing_bin;
    if (!split.missing_left) split.category_is_left[category] = 1;
  }

  const WordLayout& layout_;
  const GradientLimits& limits_;
  const GradientHistogram& histogram_;
  const GradientSums& sums_;
  const std::int64_t n_cells_, n_outputs_;
  const Bounds bounds_;
  const bool bounded_;
  Vector<OutputTotals> totals_;
  double parent_ = 0.0, hessians_ = 0.0;
};

}  // namespace committee
