// The best split of one feature of a node of several classes, by the Gini impurity. Rows go from the right side to the
// left one, bin after bin, and change the sums of squares of their class alone: a feature costs the rows of the node,
// whatever the number of classes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "threads/vector.hpp"
#include "trees/criterion.hpp"
#include "trees/deep/rows.hpp"
#include "trees/split.hpp"

namespace committee {

class ClassSweep {
 public:
  // Looks at the rows of a tree. Squares of their weights must add up without rounding, so that the gains are those of
  // any other order of summation.
  void begin_tree(const Vector<ClassItem>& items, const Units& units, int n_classes, std::int64_t most_bins) {
    std::uint64_t any = 0, total = 0;
    for (const ClassItem& item : items) {
      any |= item.packed >> units.fixed.count_bits;
      total += item.packed >> units.fixed.count_bits;
    }
    fixed_ = units.fixed;
    const int zeros = any == 0 ? 0 : std::countr_zero(any);
    const double unit = fixed_.weight(std::uint64_t{1} << (fixed_.count_bits + zeros));
    is_exact_ = (total >> zeros) <= (std::uint64_t{1} << 26) && unit > 1e-150;  // smaller squares lose digits
    classes_.assign(n_classes, {});
    cells_.assign(most_bins, {});
    marks_.assign((most_bins + 63) / 64, 0);
  }
  bool is_exact() const { return is_exact_; }

  // Looks at a node's rows, which stay where they are until the next one. `sums`: of the classes that it holds.
  void start(const ClassItem* items, std::int64_t n, const NodePlanes& planes, const std::uint64_t* sums) {
    items_ = items;
    planes_ = &planes;
    entries_.resize(n);
    whole_ = {};
    for (int slot = 0; slot < planes.held(); ++slot) {
      const double w = fixed_.weight(sums[slot]);
      classes_[planes.plane(slot)].total = w;
      whole_.weight += w;
      whole_.squares += w * w;
    }
    score_ = whole_.weight > 0.0 ? whole_.squares / whole_.weight : 0.0;
  }

  // `code_of`: the bin of an item's row.
  template <class CodeOf>
  Split best(const CodeOf& code_of, const SplitLimits& limits, std::int32_t missing_bin, std::int32_t feature) {
    sort(code_of);
    const bool has_missing = bins_.back() == missing_bin;
    const std::int64_t n_values = bins_.size() - has_missing;
    for (int way = 0; way <= has_missing; ++way) find_gains(limits, n_values, way == 1, has_missing, gains_[way]);
    Split best;
    best.gain = limits.least();
    std::int64_t at = -1;
    for (std::int64_t i = 0; i < n_values; ++i)
      for (int way = 0; way <= has_missing; ++way) {
        if (!is_larger(gains_[way][i], best.gain)) continue;
        best.gain = gains_[way][i];
        best.missing_left = way == 1;
        at = i;
      }
    if (at < 0 || !(best.gain > limits.min_gain)) return best;
    best.feature = feature;
    best.bin = at + 1 < n_values ? middle_of_gap(bins_[at], bins_[at + 1]) : bins_[at];
    if (!has_missing) best.missing_left = is_larger(left_weight_[at], whole_.weight - left_weight_[at]);
    return best;
  }

 private:
  struct OfClass {  // weights in the node
    double left = 0.0, total = 0.0;
  };
  struct Side {
    double weight = 0.0, squares = 0.0;
  };
  struct Cell {  // of the rows of a bin
    std::int32_t size = 0, next = 0, place = 0;
  };
  struct Entry {
    double weight;
    std::int32_t bin;  // its place among the node's
    std::uint16_t label;
  };

  // Sorts the rows by their bins, which are listed.
  template <class CodeOf>
  void sort(const CodeOf& code_of) {
    for (std::int64_t i = 0; i < entries_.size(); ++i) {
      const std::int64_t code = code_of(items_[i].row);
      ++cells_[code].size;
      marks_[code >> 6] |= std::uint64_t{1} << (code & 63);
    }
    bins_.clear();
    ends_.clear();
    std::int32_t end = 0;
    for (std::int64_t word = 0; word < marks_.size(); ++word) {
      for (std::uint64_t left = marks_[word]; left != 0; left &= left - 1) {
        const std::int64_t bin = 64 * word + std::countr_zero(left);
        Cell& cell = cells_[bin];
        cell.next = end;
        cell.place = static_cast<std::int32_t>(bins_.size());
        end += cell.size;
        cell.size = 0;
        bins_.push_back(static_cast<std::int32_t>(bin));
        ends_.push_back(end);
      }
      marks_[word] = 0;
    }
    for (std::int64_t i = 0; i < entries_.size(); ++i) {
      const ClassItem& item = items_[i];
      Cell& cell = cells_[code_of(item.row)];
      entries_[cell.next++] = {fixed_.weight(item.packed), cell.place, item.label};
    }
  }

  // Of the splits after each bin of values, missing values on either side.
  void find_gains(const SplitLimits& limits, std::int64_t n_values, bool missing_left, bool has_missing,
                  Vector<double>& gains) {
    Side left, right = whole_;
    const auto move = [&](const Entry& entry) {
      const double w = entry.weight;
      OfClass& own = classes_[entry.label];
      left.squares += w * (2.0 * own.left + w);
      right.squares -= w * (2.0 * (own.total - own.left) - w);
      own.left += w;
      left.weight += w;
    };
    const std::int64_t n = entries_.size(), with_value = has_missing ? ends_[n_values - 1] : n;
    if (missing_left)
      for (std::int64_t i = with_value; i < n; ++i) move(entries_[i]);
    gains.resize(n_values);
    left_weight_.resize(n_values);
    left_squares_.resize(n_values);
    right_squares_.resize(n_values);
    for (std::int64_t i = 0; i < with_value; ++i) {
      move(entries_[i]);
      const std::int64_t bin = entries_[i].bin;  // its last row is written last
      left_weight_[bin] = left.weight;
      left_squares_[bin] = left.squares;
      right_squares_[bin] = right.squares;
    }
    for (int slot = 0; slot < planes_->held(); ++slot) classes_[planes_->plane(slot)].left = 0.0;
    for (std::int64_t i = 0; i < n_values; ++i)  // NaN, which is never more, where a side weighs nothing
      gains[i] = left_squares_[i] / left_weight_[i] + right_squares_[i] / (whole_.weight - left_weight_[i]) - score_;
    if (limits.min_gain < 0.0)
      for (std::int64_t i = 0; i < n_values; ++i) gains[i] = limits.seen(gains[i]);
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (limits.min_samples_leaf > 1 || limits.min_weight_leaf > 0.0)
      for (std::int64_t i = 0; i < n_values; ++i) {
        const std::int64_t n_left = ends_[i] + (missing_left ? n - with_value : 0);
        if (std::min(n_left, n - n_left) < limits.min_samples_leaf ||
            std::min(left_weight_[i], whole_.weight - left_weight_[i]) < limits.min_weight_leaf)
          gains[i] = kNone;
      }
    if (!has_missing) gains[n_values - 1] = kNone;  // all rows left is no split
  }

  bool is_exact_ = false;
  FixedPoint fixed_;
  const ClassItem* items_ = nullptr;
  const NodePlanes* planes_ = nullptr;
  Side whole_;
  double score_ = 0.0;  // of the node as one
  Vector<OfClass> classes_;
  Vector<Cell> cells_;
  Vector<std::uint64_t> marks_;  // one bit for each bin of the node
  Vector<std::int32_t> bins_, ends_;
  Vector<Entry> entries_;
  Vector<double> left_weight_, left_squares_, right_squares_;  // after each bin
  Vector<double> gains_[2];
};

}  // namespace committee
