// The grower of deep trees: any number of them at the same time, each on the thread that asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "columns.hpp"
#include "deep_grow.hpp"
#include "grower.hpp"
#include "vector.hpp"

namespace committee {

template <class Code>
class DeepTableGrower final : public Grower {
 public:
  DeepTableGrower(BinnedTable<Code> table, CriterionName criterion, int n_classes, GrowthLimits limits, int n_threads)
      : Grower(criterion), table_(std::move(table)), n_classes_(n_classes), limits_(limits) {
    ThreadTeam team(n_threads);
    require_codes_in_range(table_, team);
    columns_ = by_column(table_, team);
  }

  std::int64_t n_rows() const override { return table_.n_rows; }

 private:
  FlatTree on_classes(const std::uint16_t* labels, const WeightedRows& weighted, std::uint64_t seed) override {
    const RowList rows(weighted.rows, weighted.n_in_use, table_.n_rows);
    const auto buffers = class_pool_.take();
    const Units units = gather(buffers->items, rows, labels, n_classes_, weighted.weights);
    return criterion_ == CriterionName::gini ? grow<Gini>(n_classes_, units, seed, *buffers)
                                             : grow<Entropy>(n_classes_, units, seed, *buffers);
  }

  FlatTree on_targets(const double* targets, const WeightedRows& weighted, std::uint64_t seed) override {
    const RowList rows(weighted.rows, weighted.n_in_use, table_.n_rows);
    const auto buffers = target_pool_.take();
    const Units units = gather(buffers->items, rows, targets, weighted.weights);
    return grow<SquaredError>(2, units, seed, *buffers);
  }

  // Buffers that no tree is using; as many come to exist as trees ever grew at the same time.
  template <class Item>
  class Pool {
   public:
    using Buffers = DeepBuffers<Code, Item>;
    auto take() {
      const auto give_back = [this](Buffers* buffers) {
        const std::scoped_lock lock(mutex_);
        idle_.emplace_back(buffers);
      };
      const std::scoped_lock lock(mutex_);
      Buffers* const buffers = idle_.empty() ? new Buffers : idle_.back().release();
      if (!idle_.empty()) idle_.pop_back();
      return std::unique_ptr<Buffers, decltype(give_back)>(buffers, give_back);
    }

   private:
    std::mutex mutex_;
    Vector<std::unique_ptr<Buffers>> idle_;
  };

  template <class Criterion, class Item>
  FlatTree grow(int planes, const Units& units, std::uint64_t seed, DeepBuffers<Code, Item>& buffers) const {
    return DeepGrowth<Code, Criterion, Item>(table_, columns_.data(), limits_, planes, units, seed, buffers).grow();
  }

  const BinnedTable<Code> table_;
  const int n_classes_;
  const GrowthLimits limits_;
  Vector<Code> columns_;  // a large node reads whole columns; the copy is made once for all trees
  Pool<ClassItem> class_pool_;
  Pool<TargetItem> target_pool_;
};

}  // namespace committee
