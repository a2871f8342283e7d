// Coordinate steps on a penalised quadratic: with G the products of N voters and c their correlations with the
// residual,
//
//     R(alpha) = yy - 2 b'alpha + alpha' G alpha + penalty(alpha),    c = b - G alpha,
//
// is least in one coordinate, the others held, where the penalty's `best` puts it. Everything else about the rows has
// gone into G and b, so a step costs N and not n.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "threads/interrupt.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

// A penalty: the best weight of a voter whose correlation with the residual is `own` once its own share is taken out
// of the vote, what a weight costs, and how far 0 is from the subdifferential (halved, as c is).
struct NoPenalty {
  double best(double own, double eta) const { return own / eta; }
  double cost(double) const { return 0.0; }
  double distance(double c, double) const { return std::abs(c); }
};
struct L1Penalty {  // 2 lambda |alpha|
  double lambda;
  double best(double own, double eta) const {
    const double size = std::abs(own) - lambda;
    return size > 0.0 ? std::copysign(size, own) / eta : 0.0;
  }
  double cost(double alpha) const { return 2.0 * lambda * std::abs(alpha); }
  double distance(double c, double alpha) const {
    return alpha == 0.0 ? std::max(std::abs(c) - lambda, 0.0) : std::abs(c - std::copysign(lambda, alpha));
  }
};
struct L2Penalty {  // lambda alpha^2
  double lambda;
  double best(double own, double eta) const { return own / (eta + lambda); }
  double cost(double alpha) const { return lambda * alpha * alpha; }
  double distance(double c, double alpha) const { return std::abs(c - lambda * alpha); }
};
struct Box {  // |alpha| <= bound
  double bound;
  double best(double own, double eta) const { return std::clamp(own / eta, -bound, bound); }
  double cost(double) const { return 0.0; }
  double distance(double c, double alpha) const {
    return std::abs(alpha) < bound ? std::abs(c) : std::max(std::copysign(1.0, alpha) * -c, 0.0);
  }
};

// A later voter must lower the risk by more than rounding noise over the best so far: ties go to the first.
inline constexpr double kTiedDecrease = 1e-10;

struct Problem {
  const double* gram;  // N x N
  double* c;           // N, kept up to date
  double* alpha;       // N, likewise
  std::int64_t n;
};

// How much the objective decreases when a voter of weight `alpha` goes to its best weight, and how far it goes.
template <class Penalty>
COMMITTEE_INLINE double decrease_of(const Penalty& penalty, double c, double eta, double alpha, double& step) {
  const double best = penalty.best(c + eta * alpha, eta);
  step = best - alpha;
  return step * (2.0 * c - step * eta) - (penalty.cost(best) - penalty.cost(alpha));
}

COMMITTEE_CLONES
inline void subtract_row(double* __restrict c, const double* __restrict row, double d, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) c[k] -= d * row[k];
}

struct GreedyRounds {
  std::int64_t n_rounds;
  bool as_new;            // a voter that is chosen again counts as one more
  double least_decrease;  // of the objective, or boosting ends
  // written for each round
  std::int32_t* voter;
  double* weight;
  double* decrease;  // of the risk, without the penalty
};

// Rounds of boosting: each time the voter that lowers the objective most goes to its best weight. With `as_new` a voter
// that is chosen again counts as one more voter, with a weight and a penalty of its own, which is added to what it has;
// else its weight is set anew. Ends early when none lowers the objective by more than `least_decrease`. Returns the
// number of rounds. `eta`: the voters' products with themselves.
template <class Penalty>
std::int64_t greedy_rounds(const Problem& on, const Penalty& penalty, const double* eta, const GreedyRounds& rounds) {
  const auto [n_rounds, as_new, least_decrease, voter, weight, decrease] = rounds;
  InterruptWatch watch;
  for (std::int64_t t = 0; t < n_rounds; ++t) {
    watch.after(8 * on.n);
    std::int64_t chosen = -1;
    double largest = least_decrease, chosen_step = 0.0;
    for (std::int64_t j = 0; j < on.n; ++j) {
      if (!(eta[j] > 0.0)) continue;
      double step;
      const double gain = decrease_of(penalty, on.c[j], eta[j], as_new ? 0.0 : on.alpha[j], step);
      if (gain > largest) {
        chosen = j;
        chosen_step = step;
        largest = gain * (1.0 + kTiedDecrease);
      }
    }
    if (chosen < 0) return t;
    decrease[t] = chosen_step * (2.0 * on.c[chosen] - chosen_step * eta[chosen]);
    on.alpha[chosen] += chosen_step;
    subtract_row(on.c, on.gram + chosen * on.n, chosen_step, on.n);
    voter[t] = static_cast<std::int32_t>(chosen);
    weight[t] = on.alpha[chosen];
  }
  return n_rounds;
}

// The largest distance of 0 to the subdifferential over the coordinates: 0 at an optimum.
template <class Penalty>
double optimality_distance(const Problem& on, const Penalty& penalty) {
  double most = 0.0;
  for (std::int64_t j = 0; j < on.n; ++j) most = std::max(most, penalty.distance(on.c[j], on.alpha[j]));
  return most;
}

// Cyclic steps over all coordinates until the distance of 0 to the subdifferential is at most `tol`. Returns the
// number of sweeps; `distance` is what was reached.
template <class Penalty>
std::int64_t cyclic_sweeps(const Problem& on, const Penalty& penalty, double tol, std::int64_t max_sweeps,
                           double& distance) {
  distance = optimality_distance(on, penalty);
  InterruptWatch watch;
  std::int64_t sweep = 0;
  for (; sweep < max_sweeps && distance > tol; ++sweep) {
    for (std::int64_t j = 0; j < on.n; ++j) {
      watch.after(on.n);
      const double eta = on.gram[j * on.n + j];
      if (eta <= 0.0) continue;
      const double best = penalty.best(on.c[j] + eta * on.alpha[j], eta);
      const double d = best - on.alpha[j];
      if (d == 0.0) continue;
      subtract_row(on.c, on.gram + j * on.n, d, on.n);
      on.alpha[j] = best;
    }
    distance = optimality_distance(on, penalty);
  }
  return sweep;
}

}  // namespace committee
