// Votes of model trees: a row reaches a leaf of each tree, whose linear scores elect a class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "traverse.hpp"

namespace committee {

// a . b over n doubles, a multiple of kLanes.
COMMITTEE_INLINE double dot(const double* a, const double* b, std::int64_t n) {
  Lanes sum{};
  for (std::int64_t i = 0; i < n; i += kLanes) sum += load(a + i) * load(b + i);
  return fold(sum);
}

// scores[k] = intercept[k] + coefficient[k] . x for every output; coefficient rows are `stride` apart.
COMMITTEE_CLONES inline void linear_scores(const double* x, const double* intercept, const double* coefficient,
                                           std::int64_t n_outputs, std::int64_t stride, double* scores) {
  for (std::int64_t k = 0; k < n_outputs; ++k) scores[k] = intercept[k] + dot(coefficient + k * stride, x, stride);
}

class LeafModelTrees {
 public:
  // model[node]: the leaf model of a leaf (any number at inner nodes); intercept and coefficient per model and output.
  LeafModelTrees(const ForestArrays& arrays, const std::int32_t* model, std::int64_t n_models, std::int64_t n_outputs,
                 std::int64_t n_features, const double* intercept, const double* coefficient)
      : trees_(arrays),
        model_(model, model + arrays.n_nodes),
        n_outputs_(n_outputs),
        n_features_(n_features),
        stride_((n_features + kLanes - 1) / kLanes * kLanes),
        intercept_(intercept, intercept + n_models * n_outputs),
        coefficient_(static_cast<std::size_t>(n_models * n_outputs * stride_), 0.0) {
    for (std::int64_t i = 0; i < arrays.n_nodes; ++i)
      if (arrays.feature[i] < 0 && (model[i] < 0 || model[i] >= n_models))
        throw std::invalid_argument("a leaf has no model: node " + std::to_string(i));
    for (std::int64_t m = 0; m < n_models * n_outputs; ++m)
      std::copy_n(coefficient + m * n_features, n_features, coefficient_.begin() + m * stride_);
  }

  const Trees& trees() const { return trees_; }
  std::int64_t n_features() const { return n_features_; }
  std::int64_t n_outputs() const { return n_outputs_; }

  // take(row, tree, scores) for every row and tree; X is what trees split on, D what leaf models see.
  template <class Take>
  void walk(const double* X, const double* D, std::int64_t n, Crew& crew, const Take& take) const {
    constexpr std::int64_t kBlock = 512;
    crew.each(n_blocks(n, kBlock), n * trees_.n_trees() * (8 + n_outputs_ * stride_ / 4), [&](std::int64_t b) {
      const std::int64_t begin = b * kBlock, end = std::min(n, begin + kBlock);
      std::vector<double> padded(static_cast<std::size_t>((end - begin) * stride_), 0.0);
      for (std::int64_t i = begin; i < end; ++i)
        std::copy_n(D + i * n_features_, n_features_, padded.begin() + (i - begin) * stride_);
      std::vector<double> scores(static_cast<std::size_t>(n_outputs_));
      Crew alone(1);
      trees_.walk(X + begin * trees_.n_features(), end - begin, alone, [&](std::int64_t t) {
        return [&, t, model = model_.data() + trees_.offset(t)](std::int64_t i, std::int32_t at) {
          const std::int64_t first = model[at] * n_outputs_;
          linear_scores(padded.data() + i * stride_, intercept_.data() + first, coefficient_.data() + first * stride_,
                        n_outputs_, stride_, scores.data());
          take(begin + i, t, scores.data());
        };
      });
    });
  }

 private:
  Trees trees_;
  std::vector<std::int32_t> model_;
  std::int64_t n_outputs_, n_features_, stride_;
  std::vector<double> intercept_, coefficient_;
};

// The class that scores elect: one output by its sign (0 is the first class), more by the (first) largest.
inline std::int16_t elected(const double* scores, std::int64_t n_outputs) {
  if (n_outputs == 1) return scores[0] > 0.0;
  return static_cast<std::int16_t>(std::max_element(scores, scores + n_outputs) - scores);
}

// Tally of committees of trees: tree t of committee c adds weights[t] to the class it votes for; with `hard` the
// committee then casts one vote for its own winner, otherwise it adds the shares of its tally.
inline void tally_committees(const std::int16_t* votes, std::int64_t n, std::int64_t n_trees, const double* weights,
                             const std::int64_t* start, std::int64_t n_committees, std::int64_t n_classes, bool hard,
                             double* tally, Crew& crew) {
  crew.each(n_blocks(n), n * n_trees, [&](std::int64_t b) {
    std::vector<double> inner(static_cast<std::size_t>(n_classes));
    for (std::int64_t i = b * kRowBlock; i < std::min(n, (b + 1) * kRowBlock); ++i)
      for (std::int64_t c = 0; c < n_committees; ++c) {
        std::ranges::fill(inner, 0.0);
        double total = 0.0;
        for (std::int64_t t = start[c]; t < start[c + 1]; ++t) {
          inner[static_cast<std::size_t>(votes[i * n_trees + t])] += weights[t];
          total += weights[t];
        }
        double* const out = tally + i * n_classes;
        if (hard)
          out[std::ranges::max_element(inner) - inner.begin()] += 1.0;
        else
          for (std::int64_t k = 0; k < n_classes; ++k) out[k] += inner[static_cast<std::size_t>(k)] / total;
      }
  });
}

}  // namespace committee
