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

#include "interrupt.hpp"
#include "newton.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

struct NewtonSums {
  double risk, weight, response;  // sums of v Q, w and w z
};

// w and w z of n rows (a multiple of kLanes; padding has v = 0), and their sums.
COMMITTEE_CLONES inline NewtonSums newton_terms(LossName loss, const double* f, const double* y, const double* v,
                                                std::int64_t n, double* w, double* wz) {
  Lanes risk{}, sum_w{}, sum_wz{};
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes sign = load(y + i), weight = load(v + i);
      const NewtonTerms t = decltype(link)::terms(sign * load(f + i));
      const Lanes wi = weight * t.curvature, wzi = weight * sign * t.gradient;
      store(w + i, wi);
      store(wz + i, wzi);
      risk += weight * t.loss;
      sum_w += wi;
      sum_wz += wzi;
    }
  });
  return {fold(risk), fold(sum_w), fold(sum_wz)};
}

// The terms themselves for n values of x (a multiple of kLanes).
COMMITTEE_CLONES inline void newton_values(LossName loss, const double* x, std::int64_t n, double* gradient,
                                           double* curvature, double* value) {
  with_loss(loss, [&](auto link) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const NewtonTerms t = decltype(link)::terms(load(x + i));
      store(gradient + i, t.gradient);
      store(curvature + i, t.curvature);
      store(value + i, t.loss);
    }
  });
}

struct FeatureSums {
  double x, xx, xz;  // sum w x, sum w x^2, sum w z x
};

// Sums of p columns (n rows each, `stride` apart) against w and w z; four columns share each load of w and w z.
COMMITTEE_CLONES inline void feature_sums(const double* X, std::int64_t stride, std::int64_t p, const double* w,
                                          const double* wz, std::int64_t n, FeatureSums* sums) {
  constexpr int kColumns = 4;
  for (std::int64_t first = 0; first < p; first += kColumns) {
    const double* column[kColumns];  // the last block repeats its last column
    for (int c = 0; c < kColumns; ++c) column[c] = X + (first + c < p ? first + c : p - 1) * stride;
    Lanes of_w[2 * kColumns]{}, of_wz[2 * kColumns]{};  // x and x^2 against w; x against w z, and nothing
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes wi = load(w + i), wzi = load(wz + i);
      for (int c = 0; c < kColumns; ++c) {
        const Lanes value = load(column[c] + i), weighted = value * wi;
        of_w[c] += weighted;
        of_w[kColumns + c] += weighted * value;
        of_wz[c] += wzi * value;
      }
    }
    const Lanes with_w = fold_eight(of_w), with_wz = fold_eight(of_wz);
    for (int c = 0; c < kColumns && first + c < p; ++c) sums[first + c] = {with_w[c], with_w[kColumns + c], with_wz[c]};
  }
}

// to = from + intercept + slope * x over n rows (whole lanes); returns the largest |to|.
COMMITTEE_CLONES inline double add_line(const double* from, const double* x, double intercept, double slope,
                                        std::int64_t n, double* to) {
  Lanes largest{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes sum = load(from + i) + (intercept + slope * load(x + i)), size = absolute(sum);
    store(to + i, sum);
    largest = size > largest ? size : largest;
  }
  double most = 0.0;
  for (int r = 0; r < kLanes; ++r) most = std::max(most, largest[r]);
  return most;
}

struct BoostSettings {
  LossName loss = LossName::probit;
  int n_steps = 100;
  double tol = 0.0;  // stop when the risk per unit of weight decreases by less
  double cap;        // no training score may pass it: separable rows would send the line to infinity
  bool by_likelihood = false;
};

// Columns that vary less count as constant: of other rows, up to 1e150 large, their slopes would make no number.
inline constexpr double kLeastDeviation = 1e-150;

// One leaf: its rows' features as standardised columns, padded to whole lanes.
class Leaf {
 public:
  Leaf(const double* D, std::int64_t n_features, const std::int32_t* rows, std::int64_t n)
      : n_rows_(n), stride_(whole_lanes(n)), p_(n_features), columns_(p_ * stride_, 0.0), mean_(p_), scale_(p_, 1.0) {
    for (std::int64_t j = 0; j < p_; ++j) {
      double* const x = columns_.data() + j * stride_;
      // divided before they are summed, and squared as shares of the largest: no column is too large or too small
      const double count = static_cast<double>(n);
      for (std::int64_t i = 0; i < n; ++i) mean_[j] += (x[i] = D[rows[i] * n_features + j]) / count;
      double peak = 0.0, squares = 0.0;
      for (std::int64_t i = 0; i < n; ++i) {
        x[i] -= mean_[j];
        peak = std::max(peak, std::abs(x[i]));
      }
      for (std::int64_t i = 0; i < n && peak > 0.0; ++i) squares += (x[i] / peak) * (x[i] / peak);
      const double deviation = peak * std::sqrt(squares / count);
      // what is constant up to rounding has no line; its column is zero
      const bool varies = deviation > 1e-12 * std::abs(mean_[j]) && deviation > kLeastDeviation;
      scale_[j] = varies ? 1.0 / deviation : 0.0;
      for (std::int64_t i = 0; i < n; ++i) x[i] *= scale_[j];
      std::fill(x + n, x + stride_, x[n - 1]);  // padding repeats the last row, at weight 0
    }
  }

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t stride() const { return stride_; }
  std::int64_t n_features() const { return p_; }
  const double* columns() const { return columns_.data(); }
  const double* column(std::int64_t j) const { return columns_.data() + j * stride_; }
  // Turns a slope per standardised unit into one per unit, moving the intercept along.
  double in_user_units(std::int64_t j, double slope, double& intercept) const {
    intercept -= slope * scale_[j] * mean_[j];
    return slope * scale_[j];
  }

 private:
  std::int64_t n_rows_, stride_, p_;
  Vector<double> columns_, mean_, scale_;
};

// Changes of the risk below this share of it are rounding: boosting has converged.
inline constexpr double kRounding = 1e-14;

struct Line {
  std::int64_t feature = -1;  // -1: the intercept alone
  double intercept = 0.0, slope = 0.0;
};

// Weighted regressions of a response z on (1, x_j) for every feature j of a leaf.
class Regressions {
 public:
  explicit Regressions(const Leaf& leaf) : leaf_(leaf), sums_(leaf.n_features()) {}

  // Weights w and w z of the rows, and the sums of both.
  void sum(const double* w, const double* wz, double weight, double response) {
    feature_sums(leaf_.columns(), leaf_.stride(), leaf_.n_features(), w, wz, leaf_.stride(), sums_.data());
    weight_ = weight;
    response_ = response;
    inverse_weight_ = 1.0 / weight;
  }

  // The line that leaves the least squared error.
  Line least_squares() const {
    double best = 0.0;
    std::int64_t chosen = -1;
    for (std::int64_t j = 0; j < leaf_.n_features(); ++j) {
      if (!has_line(j)) continue;
      const double decrease = shared(j) * shared(j) / spread(j);
      if (decrease > best * (1.0 + 1e-10)) {
        best = decrease;
        chosen = j;
      }
    }
    return line_of(chosen);
  }

  bool has_line(std::int64_t j) const { return spread(j) > 1e-10 * sums_[j].xx; }
  Line line_of(std::int64_t j) const {
    if (j < 0) return {-1, response_ / weight_, 0.0};
    const double slope = shared(j) / spread(j);
    return {j, (response_ - slope * sums_[j].x) / weight_, slope};
  }

 private:
  // Weighted sums of squares and products about the mean, of feature j and of j with the response.
  double spread(std::int64_t j) const { return sums_[j].xx - sums_[j].x * sums_[j].x * inverse_weight_; }
  double shared(std::int64_t j) const { return sums_[j].xz - sums_[j].x * response_ * inverse_weight_; }

  const Leaf& leaf_;
  Vector<FeatureSums> sums_;
  double weight_ = 0.0, response_ = 0.0, inverse_weight_ = 0.0;
};

// Boosts one output of one leaf.
class LeafBoost {
 public:
  explicit LeafBoost(const Leaf& leaf)
      : leaf_(leaf),
        n_(leaf.stride()),
        f_(n_),
        y_(n_),
        v_(n_),
        w_(n_),
        wz_(n_),
        w2_(n_),
        wz2_(n_),
        trial_(n_),
        zero_(n_),
        regressions_(leaf),
        slope_(leaf.n_features()) {}

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
    std::ranges::fill(f_, 0.0);
    std::ranges::fill(slope_, 0.0);
    intercept_ = 0.0;
  }

  // path[b], risk[b + 1]: the feature of step b (-1 intercept only, -2 not taken) and the mean risk after it.
  void run(const BoostSettings& settings, std::int32_t* path, double* risk) {
    int step = 0;
    if (one_sided()) {  // one class alone: the best line is a constant at infinity
      intercept_ = y_[0] * settings.cap;
      std::fill_n(f_.begin(), leaf_.n_rows(), intercept_);
      step = settings.n_steps;
    }
    now_ = newton_terms(settings.loss, f_.data(), y_.data(), v_.data(), n_, w_.data(), wz_.data());
    if (path) std::fill_n(path, settings.n_steps, -2);
    if (risk) std::fill_n(risk, settings.n_steps + 1, now_.risk / total_);
    for (; step < settings.n_steps && now_.weight > 0.0; ++step) {
      watch_.after(n_ * leaf_.n_features());
      Line line = settings.by_likelihood ? most_likely(settings.loss) : least_squares();
      double after = risk_after(settings.loss, line);
      // a full Newton step may overshoot where weights have all but vanished: halve it until the risk decreases
      for (int halving = 0; halving < 30 && !(after <= now_.risk * (1.0 + kRounding)); ++halving) {
        line.intercept *= 0.5;
        line.slope *= 0.5;
        after = risk_after(settings.loss, line);
      }
      if (!(now_.risk - after > kRounding * now_.risk) || largest_ > settings.cap ||
          now_.risk - after < settings.tol * total_)
        break;
      accept(line);
      if (path) path[step] = static_cast<std::int32_t>(line.feature);
      if (risk) std::fill(risk + step + 1, risk + settings.n_steps + 1, now_.risk / total_);
    }
  }

  double intercept() const { return intercept_; }
  const Vector<double>& slopes() const { return slope_; }
  double score(std::int64_t i) const { return f_[i]; }

 private:
  void sum_features() { regressions_.sum(w_.data(), wz_.data(), now_.weight, now_.response); }

  // The feature whose weighted regression of z leaves the least squared error.
  Line least_squares() {
    sum_features();
    return regressions_.least_squares();
  }

  // The feature whose line gives the least risk: one pass over the rows for each.
  Line most_likely(LossName loss) {
    sum_features();
    Line best = regressions_.line_of(-1);
    double least = risk_after(loss, best);
    for (std::int64_t j = 0; j < leaf_.n_features(); ++j) {
      if (!regressions_.has_line(j)) continue;
      watch_.after(8 * n_);
      const double risk = risk_after(loss, regressions_.line_of(j));
      if (risk < least * (1.0 - 1e-10)) {
        least = risk;
        best = regressions_.line_of(j);
      }
    }
    return best;
  }

  // The risk if the line were added; leaves the scores and Newton terms of that state in trial_, w2_, wz2_.
  double risk_after(LossName loss, const Line& line) {
    const double* const x = line.feature < 0 ? zero_.data() : leaf_.column(line.feature);
    largest_ = add_line(f_.data(), x, line.intercept, line.slope, n_, trial_.data());
    then_ = newton_terms(loss, trial_.data(), y_.data(), v_.data(), n_, w2_.data(), wz2_.data());
    return then_.risk;
  }

  bool one_sided() const {
    return std::all_of(y_.begin(), y_.begin() + leaf_.n_rows(), [&](double y) { return y == y_[0]; });
  }

  void accept(const Line& line) {
    f_.swap(trial_);
    w_.swap(w2_);
    wz_.swap(wz2_);
    now_ = then_;
    intercept_ += line.intercept;
    if (line.feature >= 0) slope_[line.feature] += line.slope;
  }

  const Leaf& leaf_;
  const std::int64_t n_;
  Vector<double> f_, y_, v_, w_, wz_, w2_, wz2_, trial_, zero_;
  Regressions regressions_;
  InterruptWatch watch_;
  Vector<double> slope_;
  NewtonSums now_{}, then_{};
  double intercept_ = 0.0, total_ = 0.0, largest_ = 0.0;
};

struct LeafModels {
  Vector<double> intercept;    // leaves x outputs
  Vector<double> coefficient;  // leaves x outputs x features
  Vector<double> score;        // rows (in the order given) x outputs
  Vector<std::int32_t> path;   // leaves x outputs x steps
  Vector<double> risk;         // leaves x outputs x (steps + 1)
};

// The rows that boosting sees, leaf by leaf: those of leaf l are rows[start[l]..start[l + 1]). One output means two
// classes, sign + for label 1; otherwise output k is "class k or not".
struct RowsByLeaf {
  const double* D;  // n x n_features
  std::int64_t n_features;
  const std::int32_t* rows;
  const std::int64_t* start;
  std::int64_t n_leaves;
  const std::uint16_t* labels;  // n
  const double* weights;        // n
  std::int64_t n_outputs;

  std::int64_t n_rows() const { return start[n_leaves]; }
  Leaf leaf(std::int64_t l) const { return Leaf(D, n_features, rows + start[l], start[l + 1] - start[l]); }
  double sign(std::int64_t row, std::int64_t output) const {
    return labels[row] == (n_outputs == 1 ? 1 : output) ? 1.0 : -1.0;
  }
};

// Boosts every leaf; with `record` the path and the risk are kept too.
inline LeafModels linear_boost(const RowsByLeaf& data, const BoostSettings& settings, bool record, ThreadTeam& team) {
  LeafModels out;
  const std::int64_t n_features = data.n_features, n_outputs = data.n_outputs, n_rows = data.n_rows();
  const std::int64_t problems = data.n_leaves * n_outputs;
  out.intercept.resize(problems);
  out.coefficient.resize(problems * n_features);
  out.score.resize(n_rows * n_outputs);
  if (record) {
    out.path.resize(problems * settings.n_steps);
    out.risk.resize(problems * (settings.n_steps + 1));
  }
  team.each(data.n_leaves, n_rows * n_outputs * settings.n_steps * (n_features + 8), [&](std::int64_t l) {
    const std::int64_t first = data.start[l];
    const std::int32_t* const mine = data.rows + first;
    const Leaf leaf = data.leaf(l);
    LeafBoost boost(leaf);
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      const std::int64_t problem = l * n_outputs + k;
      boost.start([&](std::int64_t i) { return data.sign(mine[i], k); },
                  [&](std::int64_t i) { return data.weights[mine[i]]; });
      boost.run(settings, record ? out.path.data() + problem * settings.n_steps : nullptr,
                record ? out.risk.data() + problem * (settings.n_steps + 1) : nullptr);
      out.intercept[problem] = boost.intercept();
      for (std::int64_t j = 0; j < n_features; ++j)
        out.coefficient[problem * n_features + j] = leaf.in_user_units(j, boost.slopes()[j], out.intercept[problem]);
      for (std::int64_t i = 0; i < leaf.n_rows(); ++i) out.score[(first + i) * n_outputs + k] = boost.score(i);
    }
  });
  return out;
}

}  // namespace committee
