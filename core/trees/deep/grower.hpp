// Grower of deep trees: several at the same time, each on the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "histogram/columns.hpp"
#include "threads/vector.hpp"
#include "trees/deep/grow.hpp"
#include "trees/grower.hpp"

namespace committee {

// What the nodes of trees over a table read, and what it takes to make such a reader: a large node reads whole columns,
// of which the copy is made once for all trees.
template <class Table>
struct DeepTable;

template <class Code>
struct DeepTable<BinnedTable<Code>> {
  template <class Item>
  using Nodes = CodeNodes<Code, Item>;

  const BinnedTable<Code> table;
  Vector<Code> columns;

  DeepTable(BinnedTable<Code> given, ThreadTeam& team) : table(std::move(given)) {
    require_codes_in_range(table, team);
    columns = by_column(table, team);
  }
  template <class Item>
  auto new_buffers() const {
    return new DeepBuffers<Nodes<Item>, Item>(table, columns.data());
  }
};

template <>
struct DeepTable<SparseTable> {
  template <class Item>
  using Nodes = SparseNodes<Item>;

  const SparseTable table;

  DeepTable(SparseTable given, ThreadTeam&) : table(std::move(given)) {}
  template <class Item>
  auto new_buffers() const {
    return new DeepBuffers<Nodes<Item>, Item>(table);
  }
};

template <class Table>
class DeepTableGrower final : public Grower {
 public:
  DeepTableGrower(Table table, CriterionName criterion, int n_classes, GrowthLimits limits, int n_threads)
      : DeepTableGrower(std::move(table), criterion, n_classes, limits, ThreadTeam(n_threads)) {}

  std::int64_t n_rows() const override { return deep_.table.n_rows; }

 private:
  DeepTableGrower(Table table, CriterionName criterion, int n_classes, GrowthLimits limits, ThreadTeam&& team)
      : Grower(criterion), deep_(std::move(table), team), n_classes_(n_classes), limits_(limits) {}

  FlatTree on_classes(const std::uint16_t* labels, const WeightedRows& weighted, std::uint64_t seed) override {
    const RowList rows(weighted.rows, weighted.n_in_use, n_rows());
    const auto buffers = class_pool_.take(deep_);
    const Units units = gather(buffers->items, rows, labels, n_classes_, weighted.weights);
    return criterion_ == CriterionName::gini ? grow<Gini>(n_classes_, units, seed, *buffers)
                                             : grow<Entropy>(n_classes_, units, seed, *buffers);
  }

  FlatTree on_targets(const Targets& targets, const WeightedRows& weighted, std::uint64_t seed) override {
    const RowList rows(weighted.rows, weighted.n_in_use, n_rows());
    if (criterion_ == CriterionName::absolute_error) {
      if (targets.n_targets > 1) throw std::invalid_argument("criterion 'absolute_error' takes one target");
      const auto buffers = ranked_pool_.take(deep_);
      const Units units = gather(buffers->items, buffers->distinct, rows, targets.values, weighted.weights);
      return grow<AbsoluteError>(2, units, seed, *buffers);
    }
    if (targets.n_targets > 1) {
      const auto buffers = targets_pool_.take(deep_);
      const Units units = gather(buffers->items, buffers->moments, rows, targets, weighted.weights, criterion_);
      return grow_on_means(static_cast<int>(1 + targets.n_targets), units, seed, *buffers);
    }
    const auto buffers = target_pool_.take(deep_);
    const Units units = gather(buffers->items, rows, targets.values, weighted.weights, criterion_);
    return grow_on_means(2, units, seed, *buffers);
  }

  template <class Buffers>
  FlatTree grow_on_means(int planes, const Units& units, std::uint64_t seed, Buffers& buffers) const {
    return criterion_ == CriterionName::poisson ? grow<Poisson>(planes, units, seed, buffers)
                                                : grow<SquaredError>(planes, units, seed, buffers);
  }

  // Buffers that no tree is using; as many come to exist as trees ever grew at the same time.
  template <class Item>
  class Pool {
   public:
    using Buffers = DeepBuffers<typename DeepTable<Table>::template Nodes<Item>, Item>;
    auto take(const DeepTable<Table>& deep) {
      const auto give_back = [this](Buffers* buffers) {
        const std::scoped_lock lock(mutex_);
        idle_.emplace_back(buffers);
      };
      const std::scoped_lock lock(mutex_);
      Buffers* const buffers = idle_.empty() ? deep.template new_buffers<Item>() : idle_.back().release();
      if (!idle_.empty()) idle_.pop_back();
      return std::unique_ptr<Buffers, decltype(give_back)>(buffers, give_back);
    }

   private:
    std::mutex mutex_;
    Vector<std::unique_ptr<Buffers>> idle_;
  };

  template <class Criterion, class Nodes, class Item>
  FlatTree grow(int planes, const Units& units, std::uint64_t seed, DeepBuffers<Nodes, Item>& buffers) const {
    return DeepGrowth<Table, Nodes, Criterion, Item>(deep_.table, limits_, planes, units, seed, buffers).grow();
  }

  const DeepTable<Table> deep_;
  const int n_classes_;
  const GrowthLimits limits_;
  Pool<ClassItem> class_pool_;
  Pool<TargetItem> target_pool_;
  Pool<TargetsItem> targets_pool_;
  Pool<RankedItem> ranked_pool_;
};

}  // namespace committee
