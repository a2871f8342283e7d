// Component-wise gradient boosting of the linear scores of all classes together, in many leaves.
//
// Psi is Phi or the logistic function, lambda = Psi' / Psi, and the model P(k | x) = Psi(F_k) / sum_j Psi(F_j). The
// gradient of a row's log-likelihood in its scores is r_k = lambda(F_k) ([y = k] - P(k)). A step regresses each r_k on
// (1, x_j) for every feature j by weighted least squares, takes for each class the line d_k of the feature with the
// least squared error, and moves all scores by eta d: eta is the step of Fisher scoring along d, sum v r . d / sum v
// Var_P(lambda d), halved until the risk decreases. The line of a class whose scores would pass the cap is halved, at
// most nine times, then left out of the step. One output means two classes, P = Psi(F) and Psi(-F): r = y lambda(y F),
// and the information is lambda(F) lambda(-F) d^2.
//
// Equation: joint-gradient (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "linear/linear_boost.hpp"

namespace committee {

// Scores, gradients and what the information needs, of n rows (a multiple of kLanes) in K planes.
struct JointTerms {
  JointTerms(std::int64_t n, std::int64_t n_outputs)
      : F(n * n_outputs), r(n * n_outputs), a(n * n_outputs), P(n * n_outputs) {}
  LaneVector<double> F, r;  // scores; v times the gradient
  LaneVector<double> a, P;  // several outputs: lambda(F_k), P(k); one: lambda(F) lambda(-F), and nothing
  double risk = 0.0;        // sum of v times the negative log-likelihood
};

// The terms of one score with signs y: padding has v = 0.
template <class Lanes>
COMMITTEE_INLINE void one_score_terms_in(LossName loss, const double* y, const double* v, std::int64_t n,
                                         JointTerms& t) {
  Lanes risk{};
  double *const F = t.F.data(), *const r = t.r.data(), *const a = t.a.data();
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes sign = load<Lanes>(y + i), weight = load<Lanes>(v + i), score = sign * load<Lanes>(F + i);
      const NewtonTerms<Lanes> right = decltype(link)::terms(score), wrong = decltype(link)::terms(-score);
      risk += weight * right.loss;
      store(r + i, weight * sign * right.gradient);
      store(a + i, right.gradient * wrong.gradient);
    }
  });
  t.risk = fold(risk);
}
COMMITTEE_ON_LANES(void, one_score_terms,
                   (LossName loss, const double* y, const double* v, std::int64_t n, JointTerms& t), (loss, y, v, n, t))

// The terms of K scores; own has K planes, 1 where a row is of the class.
template <class Lanes>
COMMITTEE_INLINE void joint_terms_in(LossName loss, const double* own, const double* v, std::int64_t n,
                                     std::int64_t n_outputs, JointTerms& t) {
  Lanes risk{};
  double *const F = t.F.data(), *const r = t.r.data(), *const a = t.a.data(), *const P = t.P.data();
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Lanes largest{}, of_own{}, total{};
      for (std::int64_t k = 0; k < n_outputs; ++k) {
        const NewtonTerms<Lanes> terms = decltype(link)::terms(load<Lanes>(F + k * n + i));
        const Lanes logarithm = -terms.loss;
        store(a + k * n + i, terms.gradient);
        store(P + k * n + i, logarithm);
        of_own += load<Lanes>(own + k * n + i) * logarithm;
        largest = k == 0 ? logarithm : larger_of(logarithm, largest);
      }
      for (std::int64_t k = 0; k < n_outputs; ++k) {
        const Lanes share = exp_negative(load<Lanes>(P + k * n + i) - largest);
        store(P + k * n + i, share);
        total += share;
      }
      const Lanes weight = load<Lanes>(v + i), inverse = 1.0 / total;
      for (std::int64_t k = 0; k < n_outputs; ++k) {
        const Lanes p = load<Lanes>(P + k * n + i) * inverse;
        store(P + k * n + i, p);
        store(r + k * n + i, weight * load<Lanes>(a + k * n + i) * (load<Lanes>(own + k * n + i) - p));
      }
      risk += weight * ((largest - of_own) + log_positive(total));
    }
  });
  t.risk = fold(risk);
}
COMMITTEE_ON_LANES(void, joint_terms,
                   (LossName loss, const double* own, const double* v, std::int64_t n, std::int64_t n_outputs,
                    JointTerms& t),
                   (loss, own, v, n, n_outputs, t))

// sum v d' I d: the expected information along the directions d, K planes.
template <class Lanes>
COMMITTEE_INLINE double information_in(const JointTerms& t, const double* d, const double* v, std::int64_t n,
                                       std::int64_t n_outputs) {
  Lanes sum{};
  const double *const a = t.a.data(), *const P = t.P.data();
  for (std::int64_t i = 0; i < n; i += kLanes) {
    if (n_outputs == 1) {
      const Lanes step = load<Lanes>(d + i);
      sum += load<Lanes>(v + i) * load<Lanes>(a + i) * step * step;
      continue;
    }
    Lanes mean{}, variance{};
    for (std::int64_t k = 0; k < n_outputs; ++k)
      mean += load<Lanes>(P + k * n + i) * load<Lanes>(a + k * n + i) * load<Lanes>(d + k * n + i);
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      const Lanes apart = load<Lanes>(a + k * n + i) * load<Lanes>(d + k * n + i) - mean;
      variance += load<Lanes>(P + k * n + i) * apart * apart;
    }
    sum += load<Lanes>(v + i) * variance;
  }
  return fold(sum);
}
COMMITTEE_ON_LANES(double, information,
                   (const JointTerms& t, const double* d, const double* v, std::int64_t n, std::int64_t n_outputs),
                   (t, d, v, n, n_outputs))

// to = from + intercept + slope * x over n rows (whole lanes); returns the largest |to|.
template <class Lanes>
COMMITTEE_INLINE double add_line_in(const double* from, const double* x, double intercept, double slope, std::int64_t n,
                                    double* to) {
  Lanes largest{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes sum = load<Lanes>(from + i) + (intercept + slope * load<Lanes>(x + i));
    store(to + i, sum);
    largest = larger_of(absolute(sum), largest);
  }
  return most_of(largest);
}
COMMITTEE_ON_LANES(double, add_line,
                   (const double* from, const double* x, double intercept, double slope, std::int64_t n, double* to),
                   (from, x, intercept, slope, n, to))

// Cuts of the lines of classes that would pass the cap; the last leaves them out.
inline constexpr int kMostCuts = 10;

// Boosts all outputs of one leaf together.
class JointBoost {
 public:
  JointBoost(const Leaf& leaf, std::int64_t n_outputs)
      : leaf_(leaf),
        n_(leaf.stride()),
        K_(n_outputs),
        now_(n_, K_),
        then_(n_, K_),
        own_(n_ * K_, 0.0),
        v_(n_, 0.0),
        direction_(n_ * K_, 0.0),
        zero_(n_, 0.0),
        regressions_(leaf),
        lines_(K_),
        largest_(K_),
        gain_(K_),
        intercept_(K_, 0.0),
        slope_(K_ * leaf.n_columns(), 0.0) {}

  // Labels and weights of the leaf's rows; scores start at zero, those of absent classes at minus the cap.
  template <class Label, class Weight>
  void start(const BoostSettings& settings, Label&& label, Weight&& weight) {
    const std::int64_t n = leaf_.n_rows();
    Vector<std::int64_t> count(std::max<std::int64_t>(2, K_), 0);
    total_ = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      v_[i] = weight(i);
      total_ += v_[i];
      ++count[label(i)];
      if (K_ > 1) own_[label(i) * n_ + i] = 1.0;
    }
    if (K_ == 1) {
      std::fill_n(own_.begin(), n_, 1.0);
      for (std::int64_t i = 0; i < n; ++i) own_[i] = label(i) == 1 ? 1.0 : -1.0;
    }
    pure_ = std::ranges::count(count, 0) + 1 == count.size();
    if (K_ == 1) {
      intercept_[0] = pure_ ? own_[0] * settings.cap : 0.0;
    } else {
      for (std::int64_t k = 0; k < K_; ++k) intercept_[k] = count[k] == 0 ? -settings.cap : pure_ ? settings.cap : 0.0;
    }
    moves_.resize(K_);
    for (std::int64_t k = 0; k < K_; ++k) {
      moves_[k] = intercept_[k] == 0.0;
      std::fill_n(now_.F.begin() + k * n_, n_, intercept_[k]);
    }
  }

  // path[k * n_steps + b], lines[2 (k * n_steps + b)]: the feature of step b of output k, and its intercept and slope
  // in the user's units. risk[k * (n_steps + 1) + b + 1]: each output's part of the mean risk after it, of which all
  // have the same at first, and lose by their part in the first-order decrease.
  void run(const BoostSettings& settings, std::int32_t* path, double* risk, double* lines) {
    const std::int64_t B = settings.n_steps;
    terms(settings.loss, now_);
    std::fill_n(path, K_ * B, -2);
    std::fill_n(lines, 2 * K_ * B, 0.0);
    std::fill_n(risk, K_ * (B + 1), now_.risk / total_ / static_cast<double>(K_));
    for (std::int64_t step = 0; step < B && !pure_; ++step) {
      watch_.after(n_ * leaf_.n_columns() * K_);
      for (std::int64_t k = 0; k < K_; ++k) gain_[k] = moves_[k] ? direct(k) : 0.0;
      const double eta = step_below(settings);
      if (!(eta > 0.0)) break;
      const double gain = std::accumulate(gain_.begin(), gain_.end(), 0.0);
      const double decrease = now_.risk - then_.risk;
      if (!(decrease > kRounding * now_.risk) || decrease < settings.tol * total_) break;
      std::swap(now_, then_);
      for (std::int64_t k = 0; k < K_; ++k) {
        if (!moves_[k]) continue;
        const Line& line = lines_[k];
        path[k * B + step] = static_cast<std::int32_t>(line.column < 0 ? -1 : leaf_.feature(line.column));
        intercept_[k] += eta * line.intercept;
        if (line.column >= 0) slope_[k * leaf_.n_columns() + line.column] += eta * line.slope;
        double* const mine = lines + 2 * (k * B + step);
        mine[0] = eta * line.intercept;
        if (line.column >= 0) mine[1] = leaf_.in_user_units(line.column, eta * line.slope, mine[0]);
        double* const after = risk + k * (B + 1) + step;
        std::fill(after + 1, risk + (k + 1) * (B + 1), *after - gain_[k] / gain * decrease / total_);
      }
    }
  }

  double intercept(std::int64_t k) const { return intercept_[k]; }
  double slope(std::int64_t k, std::int64_t c) const { return slope_[k * leaf_.n_columns() + c]; }
  double score(std::int64_t i, std::int64_t k) const { return now_.F[k * n_ + i]; }

 private:
  void terms(LossName loss, JointTerms& t) {
    K_ == 1 ? one_score_terms(loss, own_.data(), v_.data(), n_, t)
            : joint_terms(loss, own_.data(), v_.data(), n_, K_, t);
  }

  // The line of class k, and its values at the rows; returns sum v r d.
  double direct(std::int64_t k) {
    const double* const r = now_.r.data() + k * n_;
    double response = 0.0, gain = 0.0;
    for (std::int64_t i = 0; i < n_; ++i) response += r[i];
    lines_[k] = regressions_.least_squares(v_.data(), r, total_, response);
    double* const d = direction_.data() + k * n_;
    add_line(zero_.data(), column(k), lines_[k].intercept, lines_[k].slope, n_, d);
    for (std::int64_t i = 0; i < n_; ++i) gain += r[i] * d[i];
    return gain;
  }

  // The scores after a step of length eta, and their terms, in then_.
  void move(LossName loss, double eta) {
    for (std::int64_t k = 0; k < K_; ++k) {
      const double step = moves_[k] ? eta : 0.0;
      largest_[k] = add_line(now_.F.data() + k * n_, column(k), step * lines_[k].intercept, step * lines_[k].slope, n_,
                             then_.F.data() + k * n_);
    }
    terms(loss, then_);
  }

  // Takes a step that lowers the risk and leaves all scores below the cap, into then_; returns its length, or 0.
  double step_below(const BoostSettings& settings) {
    double eta = 0.0;
    for (int trial = 0; trial <= kMostCuts; ++trial) {
      const double gain = std::accumulate(gain_.begin(), gain_.end(), 0.0);
      eta = gain / information(now_, direction_.data(), v_.data(), n_, K_);
      if (!(gain > 0.0) || !std::isfinite(eta)) return 0.0;
      move(settings.loss, eta);
      for (int halving = 0; halving < 30 && !(then_.risk <= now_.risk * (1.0 + kRounding)); ++halving)
        move(settings.loss, eta *= 0.5);
      if (!cut(settings.cap, trial + 1 < kMostCuts ? 0.5 : 0.0)) return eta;
    }
    return 0.0;
  }

  // Shortens the lines of the classes whose scores pass the cap; returns whether there were any.
  bool cut(double cap, double share) {
    bool any = false;
    for (std::int64_t k = 0; k < K_; ++k) {
      if (!moves_[k] || !(largest_[k] > cap)) continue;
      lines_[k].intercept *= share;
      lines_[k].slope *= share;
      gain_[k] *= share;
      for (std::int64_t i = 0; i < n_; ++i) direction_[k * n_ + i] *= share;
      any = true;
    }
    return any;
  }

  const double* column(std::int64_t k) const {
    return lines_[k].column < 0 ? zero_.data() : leaf_.column(lines_[k].column);
  }

  const Leaf& leaf_;
  const std::int64_t n_, K_;
  JointTerms now_, then_;
  LaneVector<double> own_, v_, direction_, zero_;  // one output: signs in own_
  Regressions regressions_;
  Vector<Line> lines_;
  Vector<double> largest_, gain_, intercept_, slope_;
  Vector<std::uint8_t> moves_;
  InterruptWatch watch_;
  bool pure_ = false;
  double total_ = 0.0;
};

struct JointModels {
  LeafModels models;     // as linear_boost has them
  Vector<double> lines;  // leaves x outputs x steps x (intercept, slope)
};

// Boosts every leaf.
inline JointModels joint_boost(const RowsByLeaf& data, const BoostSettings& settings, ThreadTeam& team) {
  JointModels out;
  const std::int64_t p = data.n_features, K = data.n_outputs, B = settings.n_steps, n_rows = data.n_rows();
  LeafModels& models = out.models;
  models.intercept.resize(data.n_leaves * K);
  models.coefficient.resize(data.n_leaves * K * p);
  models.score.resize(n_rows * K);
  models.path.resize(data.n_leaves * K * B);
  models.risk.resize(data.n_leaves * K * (B + 1));
  out.lines.resize(data.n_leaves * K * B * 2);
  team.each(data.n_leaves, n_rows * K * B * (p + 8), [&](std::int64_t l) {
    const std::int64_t first = data.start[l];
    const std::int32_t* const mine = data.rows + first;
    const Leaf leaf = data.leaf(l);
    JointBoost boost(leaf, K);
    boost.start(
        settings, [&](std::int64_t i) { return static_cast<std::int64_t>(data.labels[mine[i]]); },
        [&](std::int64_t i) { return data.weights[mine[i]]; });
    boost.run(settings, models.path.data() + l * K * B, models.risk.data() + l * K * (B + 1),
              out.lines.data() + l * K * B * 2);
    for (std::int64_t k = 0; k < K; ++k) {
      double& intercept = models.intercept[l * K + k] = boost.intercept(k);
      for (std::int64_t c = 0; c < leaf.n_columns(); ++c)
        models.coefficient[(l * K + k) * p + leaf.feature(c)] = leaf.in_user_units(c, boost.slope(k, c), intercept);
      for (std::int64_t i = 0; i < leaf.n_rows(); ++i) models.score[(first + i) * K + k] = boost.score(i, k);
    }
  });
  return out;
}

}  // namespace committee
