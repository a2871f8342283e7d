// Rows of a node of a deep tree: each row's index beside its statistic, in node order, so that memory is read
// sequentially at every depth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/row_statistics.hpp"

namespace committee {

struct ClassItem {
  std::uint64_t packed;  // weight << count_bits | 1, as FixedPoint packs it: one addition for both
  std::int32_t row;
  std::uint16_t label;
};

struct TargetItem {
  std::uint64_t packed;
  std::uint64_t moment;  // w (z - centre) in whole units, two's complement: sums wrap to the right number
  std::int32_t row;
};

struct RankedItem : TargetItem {  // for medians
  std::int32_t rank;              // of the target among the distinct ones of the tree's rows
};

struct TargetsItem {  // several targets: the moments of a row stand where it was gathered, one for each
  std::uint64_t packed;
  const std::uint64_t* moments;
  std::int32_t row;
};

inline Units gather(Vector<ClassItem>& items, const RowList& rows, const std::uint16_t* labels, int n_classes,
                    const double* weights) {
  ThreadTeam alone(1);
  const FixedPoint fixed = weight_unit(rows, weights, 1, alone);
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

template <class Item>
Units gather(Vector<Item>& items, const RowList& rows, const double* targets, const double* weights,
             CriterionName criterion) {
  ThreadTeam alone(1);
  const Units units = moment_units(weight_unit(rows, weights, 1, alone), rows, {targets, 1}, weights, criterion);
  items.resize(rows.size());
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows[i];
    static_cast<TargetItem&>(items[i]) = {units.fixed.pack(weights[row]),
                                          units.pack_moment(weights[row], targets[row], 0), row};
  }
  return units;
}

// The same, and writes the distinct targets, less their mean, to `distinct`, ascending.
inline Units gather(Vector<RankedItem>& items, Vector<double>& distinct, const RowList& rows, const double* targets,
                    const double* weights) {
  const Units units = gather(items, rows, targets, weights, CriterionName::absolute_error);
  distinct.resize(rows.size());
  for (std::int64_t i = 0; i < rows.size(); ++i) distinct[i] = targets[rows[i]] - units.centre[0];
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (std::int64_t i = 0; i < rows.size(); ++i)
    items[i].rank = static_cast<std::int32_t>(
        std::lower_bound(distinct.begin(), distinct.end(), targets[rows[i]] - units.centre[0]) - distinct.begin());
  return units;
}

// Writes the moments to `moments`, which must stay where it is while there are items.
inline Units gather(Vector<TargetsItem>& items, Vector<std::uint64_t>& moments, const RowList& rows,
                    const Targets& targets, const double* weights, CriterionName criterion) {
  ThreadTeam alone(1);
  const Units units = moment_units(weight_unit(rows, weights, 1, alone), rows, targets, weights, criterion);
  const std::int64_t q = targets.n_targets;
  items.resize(rows.size());
  moments.resize(rows.size() * q);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::int32_t row = rows[i];
    std::uint64_t* const own = moments.data() + i * q;
    for (std::int64_t k = 0; k < q; ++k) own[k] = units.pack_moment(weights[row], targets.of(row, k), k);
    items[i] = {units.fixed.pack(weights[row]), own, row};
  }
  return units;
}

// Which planes of a node's sums a node needs: a deep node holds few of many classes, and classes that it does not
// hold add exact zeros to every criterion. Planes that are held get slots 0, 1, ..., so that a cell is as short as it
// can be; with two classes both are held always, and slot and plane are the same.
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
  void look(const std::uint64_t*, const TargetsItem*) {
    plane_.resize(all_);
    std::iota(plane_.begin(), plane_.end(), 0);
  }

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
  template <bool>
  void add(std::uint64_t* cell, const TargetsItem& item) const {
    cell[0] += item.packed;
    for (int k = 1; k < all_; ++k) cell[k] += item.moments[k - 1];
  }
  void add_to_all(std::uint64_t* sums, const ClassItem& item) const { sums[item.label] += item.packed; }
  template <class Item>
  void add_to_all(std::uint64_t* sums, const Item& item) const {
    add<true>(sums, item);
  }

 private:
  int all_;
  Vector<int> plane_;           // of each slot
  Vector<std::uint16_t> slot_;  // of each plane
};

}  // namespace committee
