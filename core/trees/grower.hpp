// Grower: one binned table, one criterion, one set of limits; grows one tree after another on labels or targets.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "trees/criterion.hpp"
#include "trees/row_statistics.hpp"
#include "trees/tree.hpp"

namespace committee {

// The rows of a tree and their weights, n_outputs of them for each row of the table: one, or one for each class
// (AdaBoost.MH).
struct WeightedRows {
  const std::int32_t* rows;  // null: all
  std::int64_t n_in_use;
  const double* weights;
  std::int64_t n_outputs = 1;
};

class Grower {
 public:
  virtual ~Grower() = default;

  FlatTree grow_classes(const std::uint16_t* labels, const WeightedRows& rows, std::uint64_t seed) {
    if (is_of_targets(criterion_)) throw std::invalid_argument("the criterion grows on targets, not on classes");
    return on_classes(labels, rows, seed);
  }
  FlatTree grow_targets(const Targets& targets, const WeightedRows& rows, std::uint64_t seed) {
    if (!is_of_targets(criterion_))
      throw std::invalid_argument("only criteria 'squared_error', 'poisson' and 'absolute_error' grow on targets");
    return on_targets(targets, rows, seed);
  }
  virtual std::int64_t n_rows() const = 0;

 protected:
  explicit Grower(CriterionName criterion) : criterion_(criterion) {}
  virtual FlatTree on_classes(const std::uint16_t* labels, const WeightedRows& rows, std::uint64_t seed) = 0;
  virtual FlatTree on_targets(const Targets& targets, const WeightedRows& rows, std::uint64_t seed) = 0;

  const CriterionName criterion_;
};

}  // namespace committee
