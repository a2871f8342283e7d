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

// Sums by class of a growing tree's nodes: of each node the classes that it holds, ascending, in one list for all.
struct ClassSums {
  Vector<std::int64_t> offset{0};
  Vector<std::uint16_t> label;
  Vector<std::uint64_t> sum;

  // The root, of all rows of the tree.
  void begin_tree(const Vector<ClassItem>& items, int n_classes) {
    offset.assign({0});
    label.clear();
    sum.clear();
    of_class_.assign(n_classes, 0);
    for (const ClassItem& item : items) of_class_[item.label] += item.packed;
    for (int k = 0; k < n_classes; ++k) add(static_cast<std::uint16_t>(k), of_class_[k]);
    offset.push_back(label.size());
    std::fill(of_class_.begin(), of_class_.end(), 0);
  }
  // The next two nodes, the children of one, whose rows are side by side. Those of the smaller one are counted.
  void add_children(std::int64_t parent, const ClassItem* rows, std::int64_t n_left, std::int64_t n_right) {
    const bool left_is_smaller = n_left <= n_right;
    const ClassItem* const smaller = left_is_smaller ? rows : rows + n_left;
    for (std::int64_t i = 0; i < std::min(n_left, n_right); ++i) of_class_[smaller[i].label] += smaller[i].packed;
    for (const bool of_left : {true, false}) {
      for (std::int64_t at = offset[parent]; at < offset[parent + 1]; ++at) {
        const std::uint64_t of_smaller = of_class_[label[at]];
        add(label[at], of_left == left_is_smaller ? of_smaller : sum[at] - of_smaller);
      }
      offset.push_back(label.size());
    }
    for (std::int64_t at = offset[parent]; at < offset[parent + 1]; ++at) of_class_[label[at]] = 0;
  }
  int held(std::int64_t node) const { return static_cast<int>(offset[node + 1] - offset[node]); }
  const std::uint16_t* labels(std::int64_t node) const { return label.data() + offset[node]; }
  const std::uint64_t* sums(std::int64_t node) const { return sum.data() + offset[node]; }

 private:
  void add(std::uint16_t k, std::uint64_t of_class) {
    if (of_class == 0) return;
    label.push_back(k);
    sum.push_back(of_class);
  }

  Vector<std::uint64_t> of_class_;  // zeros between nodes
};

// Which planes of a node's sums a node needs: a deep node holds few of many classes, and classes that it does not
// hold add exact zeros to every criterion. Planes that are held get slots 0, 1, ..., so that a cell is as short as it
// can be; of two classes, and of targets, all are held always, and slot and plane are the same.
class NodePlanes {
 public:
  explicit NodePlanes(int planes) : all_(planes), plane_(planes), slot_(planes) {
    std::iota(plane_.begin(), plane_.end(), 0);
  }

  void hold(const std::uint16_t* labels, int n) {
    plane_.assign(labels, labels + n);
    for (int slot = 0; slot < n; ++slot) slot_[labels[slot]] = static_cast<std::uint16_t>(slot);
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

 private:
  int all_;
  Vector<int> plane_;           // of each slot
  Vector<std::uint16_t> slot_;  // of each plane
};

}  // namespace committee
