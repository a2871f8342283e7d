// Grower of shallow trees, with the buffers that boosting rounds reuse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "threads/vector.hpp"
#include "trees/grow.hpp"
#include "trees/grower.hpp"
#include "trees/row_statistics.hpp"

namespace committee {

template <class Table>
class TableGrower final : public Grower {
 public:
  TableGrower(Table table, CriterionName criterion, int n_classes, GrowthLimits limits, int n_threads)
      : Grower(criterion), table_(std::move(table)), n_classes_(n_classes), limits_(limits), n_threads_(n_threads) {
    ThreadTeam team(n_threads_);
    require_codes_in_range(table_, team);
  }

  std::int64_t n_rows() const override { return table_.n_rows; }

 private:
  FlatTree on_classes(const std::uint16_t* labels, const WeightedRows& weighted, std::uint64_t seed) override {
    const bool paired = weighted.n_outputs > 1;
    if (paired && criterion_ != CriterionName::confidence)
      throw std::invalid_argument("weights per class go with criterion 'confidence' only");
    if (!paired && criterion_ == CriterionName::confidence && n_classes_ != 2)
      throw std::invalid_argument("criterion 'confidence' with more than two classes needs weights per class");
    const std::scoped_lock one_at_a_time(growing_);
    ThreadTeam team(n_threads_);
    const RowList rows = use_rows(weighted, team);
    team.blocks(rows.size(), rows.size(), [&](std::int64_t begin, std::int64_t end) {
      bool fine = true;
      for (std::int64_t i = begin; i < end; ++i) fine &= labels[rows[i]] < n_classes_;
      if (!fine) throw std::invalid_argument("a label is not below the number of classes");
    });
    const int planes = paired ? 2 * n_classes_ : n_classes_;
    const auto fill = [&](const std::int32_t* some, std::int64_t n, std::uint64_t* histogram) {
      if (!paired)
        return build_histogram(table_, some, n, ClassPlanes{buffers_.packed.data(), labels}, histogram, planes,
                               buffers_.private_histograms, team);
      for (std::uint16_t l = 0; l < n_classes_; ++l)
        build_histogram(table_, some, n, OneVersusRest{buffers_.packed.data() + l * table_.n_rows, labels, l},
                        histogram, planes, buffers_.private_histograms, team);
    };
    const Statistics statistics{planes, Units{pack(weighted, rows, team)}, fill};
    return grow(statistics, rows, seed, team);
  }

  FlatTree on_targets(const Targets& targets, const WeightedRows& weighted, std::uint64_t seed) override {
    const std::scoped_lock one_at_a_time(growing_);
    ThreadTeam team(n_threads_);
    const RowList rows = use_rows(weighted, team);
    const Units units = moment_units(pack(weighted, rows, team), rows, targets, weighted.weights, criterion_);
    const std::int64_t q = targets.n_targets;
    const int planes = static_cast<int>(1 + q);
    buffers_.moments.resize(table_.n_rows * q);
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int32_t row = rows[i];
      for (std::int64_t k = 0; k < q; ++k)
        buffers_.moments[row * q + k] = units.pack_moment(weighted.weights[row], targets.of(row, k), k);
    }
    const Moments moments{buffers_.packed.data(), buffers_.moments.data(), q};
    const auto fill = [&](const std::int32_t* some, std::int64_t n, std::uint64_t* histogram) {
      build_histogram(table_, some, n, moments, histogram, planes, buffers_.private_histograms, team);
    };
    return grow({planes, units, fill}, rows, seed, team);
  }

  FlatTree grow(const Statistics& statistics, const RowList& rows, std::uint64_t seed, ThreadTeam& team) {
    Growth<Table> growth(table_, criterion_, limits_, statistics, seed, buffers_, team);
    FlatTree tree = growth.grow(rows.size(), rows.all());
    tree.leaf_of_row.assign(table_.n_rows, -1);
    const Vector<LeafRows>& leaves = growth.leaves();
    team.each(leaves.size(), 2 * rows.size(), [&](std::int64_t l) {
      for (std::int64_t i = leaves[l].begin; i < leaves[l].end; ++i) tree.leaf_of_row[buffers_.rows[i]] = leaves[l].id;
    });
    return tree;
  }

  RowList use_rows(const WeightedRows& weighted, ThreadTeam& team) {
    const RowList rows(weighted.rows, weighted.n_in_use, table_.n_rows);
    buffers_.rows.resize(table_.n_rows);
    buffers_.scratch_rows.resize(table_.n_rows);
    if (rows.all())
      count_up(buffers_.rows.data(), rows.size(), team);
    else
      std::copy_n(weighted.rows, rows.size(), buffers_.rows.begin());
    return rows;
  }

  // Weights as packed integers, one column per output; the count rides with the first output alone.
  FixedPoint pack(const WeightedRows& weighted, const RowList& rows, ThreadTeam& team) {
    const std::int64_t n_outputs = weighted.n_outputs;
    const FixedPoint fixed = weight_unit(rows, weighted.weights, n_outputs, team);
    buffers_.packed.resize(table_.n_rows * n_outputs);
    team.blocks(rows.size(), 2 * rows.size() * n_outputs, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = rows[i];
        for (std::int64_t l = 0; l < n_outputs; ++l)
          buffers_.packed[l * table_.n_rows + row] = fixed.pack(weighted.weights[row * n_outputs + l], l == 0);
      }
    });
    return fixed;
  }

  const Table table_;
  const int n_classes_;
  const GrowthLimits limits_;
  const int n_threads_;
  std::mutex growing_;  // the buffers serve one tree at a time
  GrowthBuffers buffers_;
};

}  // namespace committee
