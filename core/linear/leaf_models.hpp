// Votes of model trees: a row reaches a leaf of each tree, whose linear scores elect a class.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear/newton.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

struct LinearModels {
  const double* intercept;    // models x outputs
  const double* coefficient;  // models x outputs x stride, a multiple of kLanes
  std::int64_t n_outputs, stride;
};

// scores[i][k] = intercept[k] + coefficient[k] . x_i with the model of each row; rows of x are `stride` apart too.
template <class Lanes>
COMMITTEE_INLINE void linear_scores_in(const LinearModels& models, const double* x, std::int64_t n_rows,
                                       const std::int32_t* model, double* scores) {
  const auto [intercept, coefficient, n_outputs, stride] = models;
  for (std::int64_t i = 0; i < n_rows; ++i)
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      const std::int64_t row = model[i] * n_outputs + k;
      Lanes sum{};
      for (std::int64_t j = 0; j < stride; j += kLanes)
        sum += load<Lanes>(x + i * stride + j) * load<Lanes>(coefficient + row * stride + j);
      scores[i * n_outputs + k] = intercept[row] + fold(sum);
    }
}
COMMITTEE_ON_LANES(void, linear_scores,
                   (const LinearModels& models, const double* x, std::int64_t n_rows, const std::int32_t* model,
                    double* scores),
                   (models, x, n_rows, model, scores))

// ln Phi(x) (or the logistic ln s(x)) of n scores, a multiple of kLanes.
template <class Lanes>
COMMITTEE_INLINE void log_probabilities_in(LossName loss, const double* x, std::int64_t n, double* logs) {
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) store(logs + i, -decltype(link)::terms(load<Lanes>(x + i)).loss);
  });
}
COMMITTEE_ON_LANES(void, log_probabilities, (LossName loss, const double* x, std::int64_t n, double* logs),
                   (loss, x, n, logs))

// P(-|x|) of n scores, a multiple of kLanes.
template <class Lanes>
COMMITTEE_INLINE void smaller_probabilities_in(LossName loss, const double* x, std::int64_t n, double* p) {
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) store(p + i, decltype(link)::smaller(load<Lanes>(x + i)));
  });
}
COMMITTEE_ON_LANES(void, smaller_probabilities, (LossName loss, const double* x, std::int64_t n, double* p),
                   (loss, x, n, p))

// Of n numbers <= 0, a multiple of kLanes.
template <class Lanes>
COMMITTEE_INLINE void exponentials_in(double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(x + i, exp_negative(load<Lanes>(x + i)));
}
COMMITTEE_ON_LANES(void, exponentials, (double* x, std::int64_t n), (x, n))

// Class probabilities of some rows' scores: P(-F) and P(F) of one output, or the P(F_k) of several over their sum.
// Where this sum is tiny they are taken through logarithms, so that scores far below zero still differ.
class ClassProbabilities {
 public:
  ClassProbabilities(LossName loss, std::int64_t n_outputs, std::int64_t most_rows)
      : loss_(loss),
        n_outputs_(n_outputs),
        n_classes_(n_outputs == 1 ? 2 : n_outputs),
        padded_((most_rows * n_classes_ + 2 * kLanes - 1) / (2 * kLanes) * (2 * kLanes)),
        scores_(padded_),
        smaller_(padded_),
        p_(padded_) {}

  std::int64_t n_classes() const { return n_classes_; }

  // n_rows x n_classes, valid until the next call.
  const double* operator()(const double* scores, std::int64_t n_rows) {
    n_outputs_ == 1 ? of_two(scores, n_rows) : of_several(scores, n_rows * n_classes_);
    return p_.data();
  }

 private:
  void of_two(const double* scores, std::int64_t n_rows) {
    std::copy_n(scores, n_rows, scores_.begin());
    smaller_probabilities(loss_, scores_.data(), padded_ / 2, smaller_.data());
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const bool second = scores_[i] > 0.0;
      p_[2 * i + second] = 1.0 - smaller_[i];
      p_[2 * i + !second] = smaller_[i];
    }
  }

  void of_several(const double* scores, std::int64_t size) {
    std::copy_n(scores, size, scores_.begin());
    smaller_probabilities(loss_, scores_.data(), padded_, smaller_.data());
    for (std::int64_t begin = 0; begin < size; begin += n_classes_) {
      double* const row = p_.data() + begin;
      double total = 0.0;
      for (std::int64_t k = 0; k < n_classes_; ++k) {
        const double smaller = smaller_[begin + k];
        total += row[k] = scores_[begin + k] > 0.0 ? 1.0 - smaller : smaller;
      }
      if (!(total > kLeastTotal)) total = by_logarithms(scores_.data() + begin, row);
      for (std::int64_t k = 0; k < n_classes_; ++k) row[k] /= total;
    }
  }

  // P(F_k) over the largest of them, for one row; returns their sum.
  double by_logarithms(const double* scores, double* row) {
    LaneVector<double> padded(whole_lanes(n_classes_), 0.0), logs(padded.size());
    std::copy_n(scores, n_classes_, padded.begin());
    log_probabilities(loss_, padded.data(), padded.size(), logs.data());
    const double largest = *std::max_element(logs.begin(), logs.begin() + n_classes_);
    for (double& each : logs) each = std::min(0.0, each - largest);
    exponentials(logs.data(), logs.size());
    double total = 0.0;
    for (std::int64_t k = 0; k < n_classes_; ++k) total += row[k] = logs[k];
    return total;
  }

  static constexpr double kLeastTotal = 1e-100;

  const LossName loss_;
  const std::int64_t n_outputs_, n_classes_, padded_;
  Vector<double> scores_, smaller_, p_;
};

struct ModelRows {
  const double* X;  // what trees split on
  const double* D;  // what leaf models see
  std::int64_t n;
};

class LeafModelTrees {
 public:
  // model[node]: the leaf model of a leaf (any number at inner nodes); intercept and coefficient per model and output.
  LeafModelTrees(const ForestArrays& arrays, const std::int32_t* model, std::int64_t n_models, std::int64_t n_outputs,
                 std::int64_t n_features, const double* intercept, const double* coefficient)
      : trees_(arrays),
        model_(model, model + arrays.n_nodes),
        n_outputs_(n_outputs),
        n_features_(n_features),
        stride_(whole_lanes(n_features)),
        intercept_(intercept, intercept + n_models * n_outputs),
        coefficient_(n_models * n_outputs * stride_, 0.0) {
    for (std::int64_t i = 0; i < arrays.n_nodes; ++i)
      if (arrays.feature[i] < 0 && (model[i] < 0 || model[i] >= n_models))
        throw std::invalid_argument("a leaf has no model: node " + std::to_string(i));
    for (std::int64_t m = 0; m < n_models * n_outputs; ++m)
      std::copy_n(coefficient + m * n_features, n_features, coefficient_.begin() + m * stride_);
  }

  const Trees& trees() const { return trees_; }
  std::int64_t n_features() const { return n_features_; }
  std::int64_t n_outputs() const { return n_outputs_; }

  static constexpr std::int64_t kBlock = 64;  // rows whose features stay in cache while every tree is walked

  // taker() gives, for a block of rows, what is called with (first row, rows, tree, scores: rows x outputs) for every
  // tree in order.
  template <class Taker>
  void walk(const ModelRows& rows, ThreadTeam& team, const Taker& taker) const {
    const std::int64_t n = rows.n, n_trees = trees_.n_trees();
    team.blocks_of(kBlock, n, n * n_trees * (8 + n_outputs_ * stride_ / 4), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = end - begin;
      Vector<double> padded(size * stride_, 0.0);
      for (std::int64_t i = 0; i < size; ++i)
        std::copy_n(rows.D + (begin + i) * n_features_, n_features_, padded.begin() + i * stride_);
      Vector<std::int32_t> reached(n_trees * size);
      ThreadTeam alone(1);
      trees_.walk(rows.X + begin * trees_.n_features(), size, alone, [&](std::int64_t t) {
        return [mine = reached.data() + t * size, model = model_.data() + trees_.offset(t)](
                   std::int64_t i, std::int32_t at) { mine[i] = model[at]; };
      });
      Vector<double> scores(size * n_outputs_);
      auto take = taker();
      for (std::int64_t t = 0; t < n_trees; ++t) {
        linear_scores({intercept_.data(), coefficient_.data(), n_outputs_, stride_}, padded.data(), size,
                      reached.data() + t * size, scores.data());
        take(begin, size, t, scores.data());
      }
    });
  }

 private:
  Trees trees_;
  Vector<std::int32_t> model_;
  std::int64_t n_outputs_, n_features_, stride_;
  Vector<double> intercept_, coefficient_;
};

// The class that scores elect: one output by its sign (0 is the first class), more by the (first) largest.
inline std::int16_t elected(const double* scores, std::int64_t n_outputs) {
  if (n_outputs == 1) return scores[0] > 0.0;
  return static_cast<std::int16_t>(std::max_element(scores, scores + n_outputs) - scores);
}

// tally[i] += weight * probabilities of row i, for every tree: soft votes.
inline void tally_probabilities(const LeafModelTrees& trees, const ModelRows& rows, const double* weights,
                                LossName loss, double* tally, ThreadTeam& team) {
  trees.walk(rows, team, [&] {
    return [&, probabilities = ClassProbabilities(loss, trees.n_outputs(), LeafModelTrees::kBlock)](
               std::int64_t begin, std::int64_t size, std::int64_t t, const double* scores) mutable {
      const std::int64_t n_classes = probabilities.n_classes();
      const double* const p = probabilities(scores, size);
      double* const out = tally + begin * n_classes;
      for (std::int64_t i = 0; i < size * n_classes; ++i) out[i] += weights[t] * p[i];
    };
  });
}

struct CommitteesOfTrees {  // committee c has the trees start[c]..start[c + 1]
  const double* weights;    // of trees
  const std::int64_t* start;
  std::int64_t n_trees, n_committees, n_classes;
  bool hard;  // one vote for the committee's own winner, not the shares of its tally
};

// Tally of committees of n rows by the votes (n x trees) of their trees: tree t adds weights[t] to the class it votes
// for.
inline void tally_committees(const std::int16_t* votes, std::int64_t n, const CommitteesOfTrees& of, double* tally,
                             ThreadTeam& team) {
  const std::int64_t n_trees = of.n_trees, n_classes = of.n_classes;
  const double* const weights = of.weights;
  const std::int64_t* const start = of.start;
  team.blocks(n, n * n_trees, [&](std::int64_t begin, std::int64_t end) {
    Vector<double> inner(n_classes);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int16_t* const vote = votes + i * n_trees;
      double* const out = tally + i * n_classes;
      for (std::int64_t c = 0; c < of.n_committees; ++c) {
        if (start[c + 1] - start[c] == 1) {  // alone, a tree decides
          out[vote[start[c]]] += 1.0;
          continue;
        }
        std::ranges::fill(inner, 0.0);
        double total = 0.0;
        for (std::int64_t t = start[c]; t < start[c + 1]; ++t) {
          inner[vote[t]] += weights[t];
          total += weights[t];
        }
        if (of.hard)
          out[std::ranges::max_element(inner) - inner.begin()] += 1.0;
        else
          for (std::int64_t k = 0; k < n_classes; ++k) out[k] += inner[k] / total;
      }
    }
  });
}

}  // namespace committee
