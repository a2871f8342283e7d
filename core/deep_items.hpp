// What a node of a deep tree knows of its rows: the statistic of each beside its number, in the node's order, so
// that they are read one after the other however deep the node is.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "split.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

struct ClassItem {
  std::uint64_t packed;  // weight and count, as in FixedPoint
  std::int32_t row;
  std::uint16_t label;
};

struct TargetItem {
  std::uint64_t packed;
  std::uint64_t moment;  // signed w (z - centre)
  std::int32_t row;
};

// The rows of one tree: all of them, or a list that names none twice.
class RowList {
 public:
  RowList(const std::int32_t* rows, std::int64_t n_in_use, std::int64_t n_rows) : rows_(rows), size_(n_in_use) {
    if (rows == nullptr) return;
    Vector<bool> used(n_rows, false);
    for (std::int64_t i = 0; i < n_in_use; ++i) {
      if (rows[i] < 0 || rows[i] >= n_rows) throw std::invalid_argument("rows holds a number outside the table");
      if (used[rows[i]]) throw std::invalid_argument("rows names a row twice; give it twice the weight instead");
      used[rows[i]] = true;
    }
  }
  std::int64_t size() const { return size_; }
  std::int32_t operator[](std::int64_t i) const { return rows_ ? rows_[i] : static_cast<std::int32_t>(i); }

 private:
  const std::int32_t* rows_;
  std::int64_t size_;
};

// The unit of the weights; blocks are summed as the other grower sums them, so that both have the same unit.
inline FixedPoint unit_of(const RowList& rows, const double* weights) {
  ThreadTeam alone(1);
  const double total = block_sum(alone, rows.size(), [&](std::int64_t i) {
    const double w = weights[rows[i]];
    return w >= 0.0 ? w : std::numeric_limits<double>::quiet_NaN();
  });
  if (!(total > 0.0) || !std::isfinite(total))
    throw std::invalid_argument("weights must be finite, not negative, and sum to more than zero");
  if (total < 1e-150 || total > 1e150)  // criteria multiply weights
    throw std::invalid_argument("the weights sum to less than 1e-150 or more than 1e150; rescale them");
  return FixedPoint::for_total(rows.size(), total);
}

inline Units gather(Vector<ClassItem>& items, const RowList& rows, const std::uint16_t* labels, int n_classes,
                    const double* weights) {
  const FixedPoint fixed = unit_of(rows, weights);
  items.resize(rows.size());
  bool fine = true;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows[i];
    fine &= labels[row] < n_classes;
    items[i] = {fixed.pack(weights[row]), row, labels[row]};
  }
  if (!fine) throw std::invalid_argument("a label is not below the number of classes");
  return Units{fixed};
}

// Moments are centred, so that no digit is spent on what no split can change.
inline Units gather(Vector<TargetItem>& items, const RowList& rows, const double* targets, const double* weights) {
  Units units{unit_of(rows, weights)};
  double total = 0.0, sum = 0.0, moment = 0.0;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows[i];
    if (!std::isfinite(targets[row])) throw std::invalid_argument("a target is not finite");
    total += weights[row];
    sum += weights[row] * targets[row];
  }
  units.centre = sum / total;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const double z = targets[rows[i]] - units.centre;
    moment += weights[rows[i]] * std::abs(z);
    units.spread += weights[rows[i]] * z * z;
  }
  units.moment_unit = moment > 0.0 ? std::ldexp(1.0, 61) / moment : 1.0;
  if (!std::isfinite(units.centre) || !std::isfinite(units.spread) || !std::isfinite(units.moment_unit))
    throw std::invalid_argument("the weighted targets leave the range of numbers; rescale them");
  items.resize(rows.size());
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows[i];
    const double scaled = weights[row] * (targets[row] - units.centre) * units.moment_unit;
    items[i] = {units.fixed.pack(weights[row]), word_of(std::llround(scaled)), row};
  }
  return units;
}

// Which planes of a node's sums a node needs: a deep node holds few of many classes, and classes that it does not
// hold add exact zeros to every criterion.
class NodePlanes {
 public:
  explicit NodePlanes(int planes) : all_(planes), slot_(planes) {}

  void look(const std::uint64_t* sums, const ClassItem*) {
    plane_.clear();
    for (int k = 0; k < all_; ++k) {
      slot_[k] = static_cast<std::uint16_t>(plane_.size());
      if (sums[k] != 0 || all_ == 2) plane_.push_back(k);
    }
  }
  void look(const std::uint64_t*, const TargetItem*) { plane_.assign({0, 1}); }

  int all() const { return all_; }
  int held() const { return static_cast<int>(plane_.size()); }
  int plane(int slot) const { return plane_[slot]; }
  bool is_identity() const { return all_ == 2; }

  // Adds a row to its cell, which has held() slots.
  template <bool kIdentity>
  void add(std::uint64_t* cell, const ClassItem& item) const {
    cell[kIdentity ? item.label : slot_[item.label]] += item.packed;
  }
  template <bool>
  void add(std::uint64_t* cell, const TargetItem& item) const {
    cell[0] += item.packed;
    cell[1] += item.moment;
  }
  void add_to_all(std::uint64_t* sums, const ClassItem& item) const { sums[item.label] += item.packed; }
  void add_to_all(std::uint64_t* sums, const TargetItem& item) const { add<true>(sums, item); }

 private:
  int all_;
  Vector<int> plane_;           // of each slot
  Vector<std::uint16_t> slot_;  // of each plane
};

}  // namespace committee
