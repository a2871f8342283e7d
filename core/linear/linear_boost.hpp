// linear/: linear models in leaves, and penalised least squares over voters.
//   linear_boost      Newton boosting of one score per leaf (probit and logit model trees); newton: the loss terms
//   joint_boost       the scores of all classes boosted together; held_out_errors: reduced-error pruning;
//                     leaf_products: moments of a leaf's rows
//   line_regressions  the best one-column regression of a leaf; column_screen: candidates by bounds; column_sums;
//                     leaf_columns, rows_by_leaf: a leaf's rows
//   line_fit          lines in the leaves of gradient-boosted trees; leaf_lines, leaf_models: their predictions
//   lasso_path        the LASSO over voters; lasso_group: blocks of correlated voters; coordinate_descent
//
// Component-wise Newton boosting of linear scores in many leaves at once.
//
// One problem is a (leaf, output) pair: rows with signs y = +-1 and weights v. A step computes the Newton terms of the
// loss at x = y f, w = v Q''(x) and w z = -v y Q'(x), fits the working response z on (1, x_j) for every feature j by
// weighted least squares, and adds the line of the feature with the least weighted squared error (or the greatest
// likelihood after the step). B steps make one linear score a + b . x.
//
// Equation: probit-step (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "linear/leaf_columns.hpp"
#include "linear/line_regressions.hpp"
#include "linear/newton.hpp"
#include "linear/rows_by_leaf.hpp"
#include "threads/interrupt.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct MarginRows {  // padding has v = 0
  const double *y, *v;
  std::int64_t n;  // a multiple of kLanes
};

struct RowScores {  // scores, and w and w z at them
  double *f, *w, *wz;
};

// What a step computes: the terms alone, roughly where they have a rough form, or the risk too.
enum class Asked { rough_terms, terms, risk };

struct NewtonSums {
  double risk, weight, response;  // sums of v Q, w and w z; the risk only where it was asked for
  double fall;                    // the risk has fallen by this or more
  double largest;                 // |f|
};

// Adds intercept + slope x to the scores, and computes w and w z there, and sums of them.
//
// The fall: Q is convex, and along a row's way from one score to the other Q'' is nowhere less than at one of the two
// ends, as it falls (probit) or rises and falls (logistic). So a row whose score moves by d loses at least
// d (w z + min(w, w') d / 2), with w z and w' of where it comes to. For a Newton step that is about half of what the
// parabola promises, and it takes no logarithm.
template <class Lanes>
COMMITTEE_INLINE NewtonSums newton_step_in(LossName loss, Asked asked, const MarginRows& rows, const RowScores& from,
                                           const double* x, double intercept, double slope, const RowScores& to) {
  Lanes risk{}, weight{}, response{}, fall{}, largest{};
  const auto pass = [&](auto link, auto with_risk) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < rows.n; i += kLanes) {
      const Lanes step = intercept + slope * load<Lanes>(x + i), f = load<Lanes>(from.f + i) + step;
      const Lanes sign = load<Lanes>(rows.y + i), v = load<Lanes>(rows.v + i), before = load<Lanes>(from.w + i);
      const NewtonTerms<Lanes> t = decltype(link)::terms(sign * f);
      const Lanes w = v * t.curvature, wz = v * sign * t.gradient;
      store(to.f + i, f);
      store(to.w + i, w);
      store(to.wz + i, wz);
      if constexpr (with_risk) risk += v * t.loss;
      weight += w;
      response += wz;
      fall += step * (wz + select(before < w, before, w) * (0.5 * step));
      largest = larger_of(absolute(f), largest);
    }
  };
  if (asked == Asked::rough_terms && loss == LossName::probit)
    pass(RoughProbit{}, std::false_type{});
  else
    with_loss(loss, [&](auto link) __attribute__((always_inline)) {
      asked == Asked::risk ? pass(link, std::true_type{}) : pass(link, std::false_type{});
    });
  const Lanes each[kLanes]{risk, weight, response, fall};
  double sums[kLanes];
  store(sums, fold_each(each));
  return {sums[0], sums[1], sums[2], sums[3], most_of(largest)};
}
COMMITTEE_ON_LANES(NewtonSums, newton_step,
                   (LossName loss, Asked asked, const MarginRows& rows, const RowScores& from, const double* x,
                    double intercept, double slope, const RowScores& to),
                   (loss, asked, rows, from, x, intercept, slope, to))

// w and w z at scores of 0, where the terms are the same for all rows, and their sums.
template <class Lanes>
COMMITTEE_INLINE NewtonSums newton_start_in(LossName loss, const MarginRows& rows, const RowScores& to) {
  Lanes weight{}, response{};
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    const NewtonTerms<Lanes> t = decltype(link)::terms(Lanes{});
    for (std::int64_t i = 0; i < rows.n; i += kLanes) {
      const Lanes sign = load<Lanes>(rows.y + i), v = load<Lanes>(rows.v + i);
      const Lanes w = v * t.curvature, wz = v * sign * t.gradient;
      store(to.w + i, w);
      store(to.wz + i, wz);
      weight += w;
      response += wz;
    }
  });
  const Lanes each[kLanes]{Lanes{}, weight, response};
  double sums[kLanes];
  store(sums, fold_each(each));
  return {0.0, sums[1], sums[2], 0.0, 0.0};
}
COMMITTEE_ON_LANES(NewtonSums, newton_start, (LossName loss, const MarginRows& rows, const RowScores& to),
                   (loss, rows, to))

// The terms themselves for n values of x (a multiple of kLanes); rough ones come without the loss.
template <class Lanes>
COMMITTEE_INLINE void newton_values_in(LossName loss, Asked asked, const double* x, std::int64_t n, double* gradient,
                                       double* curvature, double* value) {
  const auto pass = [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const NewtonTerms<Lanes> t = decltype(link)::terms(load<Lanes>(x + i));
      store(gradient + i, t.gradient);
      store(curvature + i, t.curvature);
      store(value + i, t.loss);
    }
  };
  if (asked == Asked::rough_terms && loss == LossName::probit)
    pass(RoughProbit{});
  else
    with_loss(loss, pass);
}
COMMITTEE_ON_LANES(void, newton_values,
                   (LossName loss, Asked asked, const double* x, std::int64_t n, double* gradient, double* curvature,
                    double* value),
                   (loss, asked, x, n, gradient, curvature, value))

// The loss at one x.
inline double loss_of(LossName loss, double x) {
  double in[kLanes]{x}, gradient[kLanes], curvature[kLanes], value[kLanes];
  newton_values(loss, Asked::risk, in, kLanes, gradient, curvature, value);
  return value[0];
}

struct BoostSettings {
  LossName loss = LossName::probit;
  int n_steps = 100;
  double tol = 0.0;  // stop when the risk per unit of weight decreases by less
  double cap;        // no training score may pass it: separable rows would send the line to infinity
  bool by_likelihood = false;
  bool rough = false;  // whether terms without a risk may be rough
};

// Changes of the risk below this share of it are rounding: boosting has converged.
inline constexpr double kRounding = 1e-14;
// A fall of more than this for each unit of weight is one of the computed risk too, and more than its rounding.
inline constexpr double kSureFall = 1e-12;

// Boosts one output of one leaf.
class LeafBoost {
 public:
  explicit LeafBoost(const Leaf& leaf)
      : leaf_(leaf),
        n_(leaf.stride()),
        y_(n_),
        v_(n_),
        now_rows_(n_),
        then_rows_(n_),
        zero_(n_),
        regressions_(leaf),
        slope_(leaf.n_columns()) {}

  // Signs and weights of the leaf's rows; scores start at zero.
  template <class Sign, class Weight>
  void start(Sign&& sign, Weight&& weight) {
    total_ = 0.0;
    std::ranges::fill(y_, 1.0);
    for (std::int64_t i = 0; i < leaf_.n_rows(); ++i) {
      y_[i] = sign(i);
      v_[i] = weight(i);
      total_ += v_[i];
    }
    std::ranges::fill(now_rows_.f, 0.0);
    std::ranges::fill(slope_, 0.0);
    intercept_ = 0.0;
    regressions_.start();
  }

  // path[b], risk[b + 1]: the feature of step b (-1 intercept only, -2 not taken) and the mean risk after it, where
  // they are asked for.
  void run(const BoostSettings& settings, std::int32_t* path, double* risk) {
    int step = 0;
    if (path) std::fill_n(path, settings.n_steps, -2);
    if (one_sided()) {  // one class alone: the best line is a constant at infinity
      intercept_ = y_[0] * settings.cap;
      std::fill_n(now_rows_.f.begin(), leaf_.n_rows(), intercept_);
      step = settings.n_steps;
      if (!risk) return;
    }
    exact_ = asked_ = settings.by_likelihood || risk;
    if (exact_) {
      risk_after(settings.loss, Line{});
      accept(Line{});
    } else {
      now_ = newton_start(settings.loss, {y_.data(), v_.data(), n_}, now_rows_.rows());
    }
    if (risk) std::fill_n(risk, settings.n_steps + 1, now_.risk / total_);
    for (; step < settings.n_steps && now_.weight > 0.0; ++step) {
      watch_.after(n_ * leaf_.n_columns());
      Line line = settings.by_likelihood ? most_likely(settings.loss) : least_squares();
      if (!lowers_risk(settings, line)) break;
      accept(line);
      if (path) path[step] = static_cast<std::int32_t>(line.column < 0 ? -1 : leaf_.feature(line.column));
      if (risk) std::fill(risk + step + 1, risk + settings.n_steps + 1, now_.risk / total_);
    }
  }

  // Mean risk of the scores.
  double mean_risk(LossName loss) { return risk_after(loss, Line{}) / total_; }

  double intercept() const { return intercept_; }
  double slope(std::int64_t c) const { return slope_[c]; }
  double score(std::int64_t i) const { return now_rows_.f[i]; }

 private:
  struct State {
    explicit State(std::int64_t n) : f(n), w(n), wz(n) {}
    LaneVector<double> f, w, wz;
    RowScores rows() { return {f.data(), w.data(), wz.data()}; }
  };

  // The feature whose weighted regression of z leaves the least squared error.
  Line least_squares() {
    return regressions_.least_squares(now_rows_.w.data(), now_rows_.wz.data(), now_.weight, now_.response);
  }

  // The feature whose line gives the least risk: one pass over the rows for each.
  Line most_likely(LossName loss) {
    regressions_.all(now_rows_.w.data(), now_rows_.wz.data(), now_.weight, now_.response);
    Line best = regressions_.line_of(-1);
    double least = risk_after(loss, best);
    for (std::int64_t c = 0; c < leaf_.n_columns(); ++c) {
      if (!regressions_.has_line(c)) continue;
      watch_.after(8 * n_);
      const double risk = risk_after(loss, regressions_.line_of(c));
      if (risk < least * (1.0 - 1e-10)) {
        least = risk;
        best = regressions_.line_of(c);
      }
    }
    return best;
  }

  // Tries a line, halved until the risk falls; returns whether it does, by enough, and no score passes the cap.
  bool lowers_risk(const BoostSettings& settings, Line& line) {
    const double sure = (kSureFall + settings.tol) * total_;
    double after = 0.0;
    if (exact_) {
      after = risk_after(settings.loss, line);
    } else {
      move(settings.loss, settings.rough ? Asked::rough_terms : Asked::terms, line);
      if (then_.fall > sure) return !(then_.largest > settings.cap);
      now_.risk = risk_after(settings.loss, Line{});
      after = risk_after(settings.loss, line);
    }
    // a full Newton step may overshoot where weights have all but vanished: halve it until the risk decreases
    for (int halving = 0; halving < 30 && !(after <= now_.risk * (1.0 + kRounding)); ++halving) {
      line.intercept *= 0.5;
      line.slope *= 0.5;
      after = risk_after(settings.loss, line);
    }
    exact_ = asked_ || !(then_.fall > sure);
    return now_.risk - after > kRounding * now_.risk && !(then_.largest > settings.cap) &&
           !(now_.risk - after < settings.tol * total_);
  }

  // Scores and Newton terms if the line were added, in then_rows_.
  void move(LossName loss, Asked asked, const Line& line) {
    const double* const x = line.column < 0 ? zero_.data() : leaf_.column(line.column);
    then_ = newton_step(loss, asked, {y_.data(), v_.data(), n_}, now_rows_.rows(), x, line.intercept, line.slope,
                        then_rows_.rows());
  }
  double risk_after(LossName loss, const Line& line) {
    move(loss, Asked::risk, line);
    return then_.risk;
  }

  bool one_sided() const {
    return std::all_of(y_.begin(), y_.begin() + leaf_.n_rows(), [&](double y) { return y == y_[0]; });
  }

  void accept(const Line& line) {
    std::swap(now_rows_, then_rows_);
    now_ = then_;
    intercept_ += line.intercept;
    if (line.column >= 0) slope_[line.column] += line.slope;
  }

  const Leaf& leaf_;
  const std::int64_t n_;
  LaneVector<double> y_, v_;
  State now_rows_, then_rows_;
  LaneVector<double> zero_;
  Regressions regressions_;
  InterruptWatch watch_;
  Vector<double> slope_;
  NewtonSums now_{}, then_{};
  bool asked_ = true, exact_ = true;  // the risk of each step is asked for; that of now_ is known
  double intercept_ = 0.0, total_ = 0.0;
};

struct LeafModels {
  Vector<double> intercept;    // leaves x outputs
  Vector<double> coefficient;  // leaves x outputs x features
  Vector<double> score;        // rows (in the order given) x outputs
  Vector<std::int32_t> path;   // leaves x outputs x steps
  Vector<double> risk;         // leaves x outputs x (steps + 1); without a record x 1, after the last one
};

// Starts the boosting of each distinct output of n rows, of all of them or of a sample, for `use(output, leaf, boost)`.
template <class Use>
void each_output(const RowsByLeaf& data, const DistinctOutputs& distinct, const std::int32_t* rows, std::int64_t n,
                 Use&& use) {
  if (!distinct.sampled) {
    const Leaf leaf(data.D, data.n_features, rows, n);
    LeafBoost boost(leaf);
    for (const std::int64_t k : distinct.outputs) {
      boost.start([&](std::int64_t i) { return data.sign(rows[i], k); },
                  [&](std::int64_t i) { return data.weights[rows[i]]; });
      use(k, leaf, boost);
    }
    return;
  }
  ClassSamples sample(data, rows, n);
  for (const std::int64_t k : distinct.outputs) {
    sample.draw(k);
    const Leaf leaf(data.D, data.n_features, sample.rows.data(), sample.rows.size());
    LeafBoost boost(leaf);
    boost.start([&](std::int64_t i) { return i < sample.n_own ? 1.0 : -1.0; },
                [&](std::int64_t i) { return sample.weights[i]; });
    use(k, leaf, boost);
  }
}

// Mean risk of the signs of an output at given scores.
inline double mean_risk(const RowsByLeaf& data, LossName loss, const std::int32_t* rows, std::int64_t n, std::int64_t k,
                        const LaneVector<double>& scores) {
  const std::int64_t padded = scores.size();
  LaneVector<double> x(padded, 0.0), gradient(padded), curvature(padded), value(padded);
  for (std::int64_t i = 0; i < n; ++i) x[i] = data.sign(rows[i], k) * scores[i];
  newton_values(loss, Asked::risk, x.data(), padded, gradient.data(), curvature.data(), value.data());
  double risk = 0.0, total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    risk += data.weights[rows[i]] * value[i];
    total += data.weights[rows[i]];
  }
  return risk / total;
}

// Boosts one leaf of several classes.
inline void boost_leaf(const RowsByLeaf& data, const BoostSettings& settings, std::int64_t l, bool record,
                       LeafModels& out) {
  const std::int64_t K = data.n_outputs, p = data.n_features, first = data.start[l], n = data.start[l + 1] - first;
  const std::int64_t n_recorded = record ? settings.n_steps : 0;
  const std::int32_t* const rows = data.rows + first;
  const DistinctOutputs distinct(data, rows, n);
  std::optional<ScoredRows> all;  // the rows of a leaf whose outputs are boosted on samples
  if (distinct.sampled) all.emplace(data.D, p, rows, n);
  each_output(data, distinct, rows, n, [&](std::int64_t k, const Leaf& leaf, LeafBoost& boost) {
    const std::int64_t problem = l * K + k;
    double* const risk = out.risk.data() + problem * (n_recorded + 1);
    double* const slope = out.coefficient.data() + problem * p;
    boost.run(settings, record ? out.path.data() + problem * n_recorded : nullptr, record ? risk : nullptr);
    double intercept = boost.intercept();
    for (std::int64_t c = 0; c < leaf.n_columns(); ++c)
      slope[leaf.feature(c)] = leaf.in_user_units(c, boost.slope(c), intercept);
    out.intercept[problem] = intercept;
    if (all) {
      const LaneVector<double>& scores = (*all)(intercept, slope);
      for (std::int64_t i = 0; i < n; ++i) out.score[(first + i) * K + k] = scores[i];
      *risk = mean_risk(data, settings.loss, rows, n, k, scores);
      return;
    }
    if (!record) *risk = boost.mean_risk(settings.loss);
    for (std::int64_t i = 0; i < n; ++i) out.score[(first + i) * K + k] = boost.score(i);
  });
  if (distinct.first_absent < 0) return;
  const std::int64_t model = l * K + distinct.first_absent;  // that of all absent classes, without slopes
  Vector<std::int64_t> others;
  for (std::int64_t k = distinct.first_absent + 1, next = 0; k < K; ++k) {
    while (next < distinct.outputs.size() && distinct.outputs[next] < k) ++next;
    if (next < distinct.outputs.size() && distinct.outputs[next] == k) continue;
    others.push_back(k);
    out.intercept[l * K + k] = out.intercept[model];
    std::copy_n(out.path.begin() + model * n_recorded, n_recorded, out.path.begin() + (l * K + k) * n_recorded);
    std::copy_n(out.risk.begin() + model * (n_recorded + 1), n_recorded + 1,
                out.risk.begin() + (l * K + k) * (n_recorded + 1));
  }
  for (std::int64_t i = first; i < first + n; ++i)
    for (const std::int64_t k : others) out.score[i * K + k] = out.intercept[model];
}

// Boosts every leaf; with `record` the path and the risk of all steps are kept too.
inline LeafModels linear_boost(const RowsByLeaf& data, const BoostSettings& settings, bool record, ThreadTeam& team) {
  LeafModels out;
  const std::int64_t n_features = data.n_features, n_outputs = data.n_outputs, n_rows = data.n_rows();
  const std::int64_t problems = data.n_leaves * n_outputs;
  out.intercept.resize(problems);
  out.coefficient.resize(problems * n_features);
  out.score.resize(n_rows * n_outputs);
  const std::int64_t n_recorded = record ? settings.n_steps : 0;
  out.path.resize(problems * n_recorded);
  out.risk.resize(problems * (n_recorded + 1));
  const double loss_at_cap = loss_of(settings.loss, settings.cap);
  team.each(data.n_leaves, n_rows * n_outputs * settings.n_steps * (n_features + 8), [&](std::int64_t l) {
    const std::int64_t first = data.start[l], end = data.start[l + 1];
    const std::int32_t* const mine = data.rows + first;
    if (data.of_one_class(first, end)) {  // no steps: each score is a constant, plus or minus the cap
      for (std::int64_t k = 0; k < n_outputs; ++k) {
        const std::int64_t problem = l * n_outputs + k;
        const double score = out.intercept[problem] = settings.cap * data.sign(mine[0], k);
        for (std::int64_t i = first; i < end; ++i) out.score[i * n_outputs + k] = score;
        std::fill_n(out.path.begin() + problem * n_recorded, n_recorded, -2);
        std::fill_n(out.risk.begin() + problem * (n_recorded + 1), n_recorded + 1, loss_at_cap);
      }
      return;
    }
    boost_leaf(data, settings, l, record, out);
  });
  return out;
}

}  // namespace committee
