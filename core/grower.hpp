// A Grower: one binned table, one criterion, one set of limits, and the buffers that a boosting run reuses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "grow.hpp"
#include "vector.hpp"

namespace committee {

enum class CriterionName { gini, entropy, confidence, abstaining, squared_error };

inline CriterionName criterion_named(const std::string& name) {
  if (name == "gini") return CriterionName::gini;
  if (name == "entropy") return CriterionName::entropy;
  if (name == "confidence") return CriterionName::confidence;
  if (name == "abstaining") return CriterionName::abstaining;
  if (name == "squared_error") return CriterionName::squared_error;
  throw std::invalid_argument("criterion is '" + name +
                              "'; it must be 'gini', 'entropy', 'confidence', 'abstaining' or 'squared_error'");
}

class Grower {
 public:
  virtual ~Grower() = default;
  // weights: n x n_outputs, row-major; n_outputs is 1, or the number of classes (AdaBoost.MH)
  virtual FlatTree grow_classes(const std::uint16_t* labels, const double* weights, std::int64_t n_outputs,
                                const std::int32_t* rows, std::int64_t n_in_use, std::uint64_t seed) = 0;
  virtual FlatTree grow_targets(const double* targets, const double* weights, const std::int32_t* rows,
                                std::int64_t n_in_use, std::uint64_t seed) = 0;
  virtual std::int64_t n_rows() const = 0;
};

template <class Code>
class TableGrower final : public Grower {
 public:
  TableGrower(BinnedTable<Code> table, CriterionName criterion, int n_classes, GrowthLimits limits, int n_threads)
      : table_(std::move(table)), criterion_(criterion), n_classes_(n_classes), limits_(limits), n_threads_(n_threads) {
    ThreadTeam team(n_threads_);
    require_codes_in_range(table_, team);
  }

  std::int64_t n_rows() const override { return table_.n_rows; }

  FlatTree grow_classes(const std::uint16_t* labels, const double* weights, std::int64_t n_outputs,
                        const std::int32_t* rows, std::int64_t n_in_use, std::uint64_t seed) override {
    if (criterion_ == CriterionName::squared_error)
      throw std::invalid_argument("criterion 'squared_error' grows on targets, not on classes");
    const bool paired = n_outputs > 1;
    if (paired && criterion_ != CriterionName::confidence)
      throw std::invalid_argument("weights per class go with criterion 'confidence' only");
    if (!paired && criterion_ == CriterionName::confidence && n_classes_ != 2)
      throw std::invalid_argument("criterion 'confidence' with more than two classes needs weights per class");
    ThreadTeam team(n_threads_);
    use_rows(rows, n_in_use, team);
    team.each(n_blocks(n_in_use), n_in_use, [&](std::int64_t b) {
      bool fine = true;
      for (std::int64_t i = b * kRowBlock; i < std::min(n_in_use, (b + 1) * kRowBlock); ++i)
        fine &= labels[rows ? rows[i] : i] < n_classes_;
      if (!fine) throw std::invalid_argument("a label is not below the number of classes");
    });
    const Units units{quantise(weights, n_outputs, rows, n_in_use, team)};
    const int planes = paired ? 2 * n_classes_ : n_classes_;
    const auto fill = [&](const std::int32_t* some, std::int64_t n, std::uint64_t* histogram) {
      if (!paired)
        return build_histogram(table_, some, n, ClassPlanes{buffers_.packed.data(), labels}, histogram, planes,
                               buffers_.private_histograms, team);
      for (std::uint16_t l = 0; l < n_classes_; ++l)
        build_histogram(table_, some, n, OneVersusRest{buffers_.packed.data() + l * table_.n_rows, labels, l},
                        histogram, planes, buffers_.private_histograms, team);
    };
    const bool all = rows == nullptr;
    switch (criterion_) {
      case CriterionName::gini:
        return grow<Gini>(planes, units, fill, n_in_use, all, seed, team);
      case CriterionName::entropy:
        return grow<Entropy>(planes, units, fill, n_in_use, all, seed, team);
      case CriterionName::abstaining:
        return grow<Abstaining>(planes, units, fill, n_in_use, all, seed, team);
      default:
        return grow<Confidence>(planes, units, fill, n_in_use, all, seed, team);
    }
  }

  FlatTree grow_targets(const double* targets, const double* weights, const std::int32_t* rows, std::int64_t n_in_use,
                        std::uint64_t seed) override {
    if (criterion_ != CriterionName::squared_error)
      throw std::invalid_argument("only criterion 'squared_error' grows on targets");
    ThreadTeam team(n_threads_);
    use_rows(rows, n_in_use, team);
    Units units{quantise(weights, 1, rows, n_in_use, team)};
    centre_targets(targets, weights, rows, n_in_use, units);
    const auto fill = [&](const std::int32_t* some, std::int64_t n, std::uint64_t* histogram) {
      build_histogram(table_, some, n, Moments{buffers_.packed.data(), buffers_.moments.data()}, histogram, 2,
                      buffers_.private_histograms, team);
    };
    return grow<SquaredError>(2, units, fill, n_in_use, rows == nullptr, seed, team);
  }

 private:
  template <class Criterion, class Fill>
  FlatTree grow(int planes, Units units, Fill fill, std::int64_t n_in_use, bool all_rows, std::uint64_t seed,
                ThreadTeam& team) {
    Growth<Code, Criterion> growth(table_, limits_, planes, units, fill, seed, buffers_, team);
    FlatTree tree = growth.grow(n_in_use, all_rows);
    tree.leaf_of_row.assign(table_.n_rows, -1);
    const auto& leaves = growth.leaves();
    team.each(leaves.size(), 2 * n_in_use, [&](std::int64_t l) {
      for (std::int64_t i = leaves[l].begin; i < leaves[l].end; ++i) tree.leaf_of_row[buffers_.rows[i]] = leaves[l].id;
    });
    return tree;
  }

  template <class Visit>
  void for_rows(const std::int32_t* rows, std::int64_t n_in_use, Visit&& visit) const {
    for (std::int64_t i = 0; i < n_in_use; ++i) visit(rows ? rows[i] : i);
  }

  // Moments w (z - mean z) as signed integers: centred, so that no digit is spent on what no split can
  // change.
  void centre_targets(const double* targets, const double* weights, const std::int32_t* rows, std::int64_t n_in_use,
                      Units& units) {
    double total = 0.0, sum = 0.0, moment = 0.0;
    for_rows(rows, n_in_use, [&](std::int64_t row) {
      if (!std::isfinite(targets[row])) throw std::invalid_argument("a target is not finite");
      total += weights[row];
      sum += weights[row] * targets[row];
    });
    units.centre = sum / total;
    for_rows(rows, n_in_use, [&](std::int64_t row) {
      const double z = targets[row] - units.centre;
      moment += weights[row] * std::abs(z);
      units.spread += weights[row] * z * z;
    });
    units.moment_unit = moment > 0.0 ? std::ldexp(1.0, 61) / moment : 1.0;
    if (!std::isfinite(units.centre) || !std::isfinite(units.spread) || !std::isfinite(units.moment_unit))
      throw std::invalid_argument("the weighted targets leave the range of numbers; rescale them");
    buffers_.moments.resize(table_.n_rows);
    for_rows(rows, n_in_use, [&](std::int64_t row) {
      const double z = targets[row] - units.centre;
      buffers_.moments[row] = word_of(std::llround(weights[row] * z * units.moment_unit));
    });
  }

  // The rows of this tree, each at most once.
  void use_rows(const std::int32_t* rows, std::int64_t n_in_use, ThreadTeam& team) {
    const auto n = table_.n_rows;
    buffers_.rows.resize(n);
    buffers_.scratch_rows.resize(n);
    if (rows == nullptr)
      return team.each(n_blocks(n_in_use), n_in_use, [&](std::int64_t b) {
        const std::int64_t begin = b * kRowBlock, end = std::min(n_in_use, begin + kRowBlock);
        std::iota(buffers_.rows.begin() + begin, buffers_.rows.begin() + end, static_cast<std::int32_t>(begin));
      });
    Vector<bool> used(n, false);
    for (std::int64_t i = 0; i < n_in_use; ++i) {
      const std::int32_t row = rows[i];
      if (row < 0 || row >= table_.n_rows) throw std::invalid_argument("rows holds a number outside the table");
      if (used[row]) throw std::invalid_argument("rows names a row twice; give it twice the weight instead");
      used[row] = true;
      buffers_.rows[i] = row;
    }
  }

  // Weights as packed integers, one column per output; the count rides with the first output alone.
  FixedPoint quantise(const double* weights, std::int64_t n_outputs, const std::int32_t* rows, std::int64_t n_in_use,
                      ThreadTeam& team) {
    const double total = block_sum(team, n_in_use, [&](std::int64_t i) {
      const double* const w = weights + (rows ? rows[i] : i) * n_outputs;
      double sum = 0.0;
      bool fine = true;
      for (std::int64_t l = 0; l < n_outputs; ++l) {
        sum += w[l];
        fine &= w[l] >= 0.0;
      }
      return fine ? sum : std::numeric_limits<double>::quiet_NaN();
    });
    const FixedPoint fixed = FixedPoint::for_total(n_in_use, total);
    if (!(total > 0.0) || !std::isfinite(total))
      throw std::invalid_argument("weights must be finite, not negative, and sum to more than zero");
    if (total < 1e-150 || total > 1e150)  // criteria multiply weights
      throw std::invalid_argument("the weights sum to less than 1e-150 or more than 1e150; rescale them");
    buffers_.packed.resize(table_.n_rows * n_outputs);
    team.each(n_blocks(n_in_use), 2 * n_in_use * n_outputs, [&](std::int64_t b) {
      const std::int64_t end = std::min(n_in_use, (b + 1) * kRowBlock);
      for (std::int64_t i = b * kRowBlock; i < end; ++i) {
        const std::int64_t row = rows ? rows[i] : i;
        for (std::int64_t l = 0; l < n_outputs; ++l)
          buffers_.packed[l * table_.n_rows + row] = fixed.pack(weights[row * n_outputs + l], l == 0);
      }
    });
    return fixed;
  }

  const BinnedTable<Code> table_;
  const CriterionName criterion_;
  const int n_classes_;
  const GrowthLimits limits_;
  const int n_threads_;
  GrowthBuffers buffers_;
};

}  // namespace committee
