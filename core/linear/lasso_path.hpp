// The LASSO's path over voters known by their products alone, as numbers or as counts of the rows on which two of them
// vote otherwise: a penalised quadratic as that of coordinate_descent.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "linear/coordinate_descent.hpp"
#include "linear/lasso_group.hpp"
#include "threads/interrupt.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

struct Moves {  // voters whose weights changed, and by how much
  const std::int64_t* voter;
  const double* by;
  std::int64_t n;
};

struct DenseProducts {
  const double* gram;  // N x N
  std::int64_t n;
  double at(std::int64_t j, std::int64_t k) const { return gram[j * n + k]; }
  void subtract(double* c, const Moves& moves) const {
    for (std::int64_t m = 0; m < moves.n; ++m) subtract_row(c, gram + moves.voter[m] * n, moves.by[m], n);
  }
};

// c[k] += of_mean mean[k] - all + sum of by[m] apart[m][k] over a few voters, n of them, an even number.
template <class Count>
struct FewCounts {
  static constexpr std::int64_t kMost = 8;
  const Count* apart[kMost];
  double by[kMost];
  std::int64_t n;
  const double* mean;
  double of_mean, all;
};
template <std::size_t kPairs, class Count>
COMMITTEE_INLINE void add_pairs_of_counts(double* __restrict c, const FewCounts<Count>& few, std::int64_t n) {
  const Count* apart[2 * kPairs];
  double by[2 * kPairs];
  std::copy_n(few.apart, 2 * kPairs, apart);
  std::copy_n(few.by, 2 * kPairs, by);
  const double* __restrict const mean = few.mean;
  const double of_mean = few.of_mean, all = few.all;
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = of_mean * mean[k] - all;
#pragma GCC unroll 4
    for (std::size_t m = 0; m < 2 * kPairs; m += 2)
      sum += by[m] * static_cast<double>(apart[m][k]) + by[m + 1] * static_cast<double>(apart[m + 1][k]);
    c[k] += sum;
  }
}
template <class Count>
COMMITTEE_INLINE void add_counts_here(double* c, const FewCounts<Count>& few, std::int64_t n) {
  switch (few.n) {
    case 2:
      return add_pairs_of_counts<1>(c, few, n);
    case 4:
      return add_pairs_of_counts<2>(c, few, n);
    case 6:
      return add_pairs_of_counts<3>(c, few, n);
    default:
      return add_pairs_of_counts<4>(c, few, n);
  }
}
COMMITTEE_CLONES inline void add_counts(double* c, const FewCounts<std::uint16_t>& few, std::int64_t n) {
  add_counts_here(c, few, n);
}
COMMITTEE_CLONES inline void add_counts(double* c, const FewCounts<std::uint32_t>& few, std::int64_t n) {
  add_counts_here(c, few, n);
}

// Products of votes + and - on rows of one weight: total - 2 unit apart_jk - mean_j mean_k, in less memory.
template <class Count>
struct CountedProducts {
  const Count* apart;  // N x N
  const double* mean;  // N; zeros where products are not centred
  double unit, total;  // the weight of a row, and of all of them
  std::int64_t n;
  double at(std::int64_t j, std::int64_t k) const {
    return (total - 2.0 * unit * static_cast<double>(apart[j * n + k])) - mean[j] * mean[k];
  }
  void subtract(double* c, const Moves& moves) const {
    for (std::int64_t first = 0; first < moves.n; first += FewCounts<Count>::kMost) {
      const std::int64_t many = std::min(moves.n - first, FewCounts<Count>::kMost);
      FewCounts<Count> few{{}, {}, many + many % 2, mean, 0.0, 0.0};
      for (std::int64_t m = 0; m < few.n; ++m) {  // to make the number even the last one again, by nothing
        const std::int64_t at = first + std::min(m, many - 1), j = moves.voter[at];
        const double d = m < many ? moves.by[at] : 0.0;
        few.all += d * total;
        few.of_mean += d * mean[j];
        few.apart[m] = apart + j * n;
        few.by[m] = 2.0 * unit * d;
      }
      add_counts(c, few, n);
    }
  }
};

// Voters come in groups of much alike ones - the stumps of one column: group g owns the voters start[g]..start[g + 1].
template <class Products>
struct LassoProblem {
  Products products;
  double* c;  // N, kept up to date; alpha likewise
  double* alpha;
  std::int64_t n;
  const double* b;  // N: their correlations with the target
  double square;    // the target's with itself
  const std::int64_t* start;
  std::int64_t n_groups;
};

// The mean square of the residual and what the weights cost.
template <class Products>
double penalised_risk(const LassoProblem<Products>& on, double lambda) {
  double explained = 0.0, norm = 0.0;
  for (std::int64_t j = 0; j < on.n; ++j) {
    explained += (on.b[j] + on.c[j]) * on.alpha[j];
    norm += std::abs(on.alpha[j]);
  }
  return on.square - explained + 2.0 * lambda * norm;
}

// How much the penalised risk of a LASSO exceeds its least value at most. With r the residual, ry = r'y and rr = r'r
// follow from the correlations; the residual scaled so that no voter's correlation exceeds lambda is feasible for the
// dual.
template <class Products>
double lasso_gap(const LassoProblem<Products>& on, double lambda, double* risk = nullptr) {
  double by = 0.0, ca = 0.0, largest = 0.0, norm = 0.0;
  for (std::int64_t j = 0; j < on.n; ++j) {
    by += on.b[j] * on.alpha[j];
    ca += on.c[j] * on.alpha[j];
    norm += std::abs(on.alpha[j]);
    largest = std::max(largest, std::abs(on.c[j]));
  }
  const double ry = on.square - by, rr = ry - ca;
  if (risk) *risk = rr;
  const double s = largest > lambda ? lambda / largest : 1.0;
  return std::max(0.0, rr + 2.0 * lambda * norm - (2.0 * s * ry - s * s * rr));
}

// The largest distance of 0 to the subdifferential over n coordinates.
template <class V>
COMMITTEE_INLINE double farthest_in(const double* c, const double* alpha, std::int64_t n, double lambda) {
  const L1Penalty penalty{lambda};
  V most_of_lanes{};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const V of = load<V>(c + j), weight = load<V>(alpha + j), none{};
    const V at_zero = absolute(of) - lambda, below = absolute(of + lambda), above = absolute(of - lambda);
    const V distance = select(weight == none, at_zero, select(weight < none, below, above));
    most_of_lanes = larger_of(distance, most_of_lanes);
  }
  double lane[kLanes];
  store(lane, most_of_lanes);
  double most = *std::max_element(lane, lane + kLanes);
  for (; j < n; ++j) most = std::max(most, penalty.distance(c[j], alpha[j]));
  return most;
}
COMMITTEE_ON_LANES(double, farthest, (const double* c, const double* alpha, std::int64_t n, double lambda),
                   (c, alpha, n, lambda))

// The LASSO group by group. A group's weights are settled among themselves first, which looks at its own products only;
// then the other groups' correlations follow, once for each voter that moved: most of the time goes there.
template <class Products>
class GroupedLasso {
 public:
  explicit GroupedLasso(const LassoProblem<Products>& on) : on_(on) {
    std::int64_t largest = 0, cells = 0;
    for (std::int64_t g = 0; g < on.n_groups; ++g) {
      const std::int64_t size = on.start[g + 1] - on.start[g];
      largest = std::max(largest, size);
      square_.push_back(cells);
      cells += size * whole_lanes(size);
    }
    squares_.resize(cells, 0.0);
    for (std::int64_t g = 0; g < on.n_groups; ++g) {
      const std::int64_t first = on.start[g], size = on.start[g + 1] - first, width = whole_lanes(size);
      for (std::int64_t k = 0; k < size; ++k)
        for (std::int64_t m = 0; m < size; ++m)
          squares_[square_[g] + k * width + m] = on.products.at(first + k, first + m);
    }
    for (std::int64_t g = 0; g < on.n_groups; ++g)
      solver_.emplace_back(squares_.data() + square_[g], on.start[g + 1] - on.start[g]);
    own_.resize(whole_lanes(largest));
    room_.resize(2 * whole_lanes(largest));
    before_.resize(largest);
    voter_.resize(largest);
    by_.resize(largest);
  }

  // From where the problem is to a duality gap of at most `tol`; returns the gap reached.
  double solve(double lambda, double tol, std::int64_t max_sweeps) {
    double gap = lasso_gap(on_, lambda);
    for (std::int64_t sweep = 0; sweep < max_sweeps && gap > tol; ++sweep) {
      // groups that are nearly settled wait for those that are not, which will move them
      const double enough = kNearlySettled * farthest(on_.c, on_.alpha, on_.n, lambda);
      for (std::int64_t g = 0; g < on_.n_groups; ++g) settle(g, lambda, enough);
      gap = lasso_gap(on_, lambda);
    }
    return gap;
  }

 private:
  static constexpr double kNearlySettled = 0.1;  // in distances from the subdifferential; 0.02 to 0.2 are much the same

  void settle(std::int64_t g, double lambda, double enough) {
    const std::int64_t first = on_.start[g], size = on_.start[g + 1] - first;
    double* const alpha = on_.alpha + first;
    const double* const c = on_.c + first;
    if (!(farthest(c, alpha, size, lambda) > enough)) return;
    std::copy(c, c + size, own_.begin());
    std::copy(alpha, alpha + size, before_.begin());
    solver_[g].settle(own_.data(), alpha, lambda, room_.data());
    std::int64_t moved = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      if (alpha[k] == before_[k]) continue;
      voter_[moved] = first + k;
      by_[moved++] = alpha[k] - before_[k];
    }
    if (moved) on_.products.subtract(on_.c, {voter_.data(), by_.data(), moved});
    watch_.after(8 * size * size + moved * on_.n);
  }

  LassoProblem<Products> on_;
  InterruptWatch watch_;
  Vector<double> squares_, own_, room_, before_, by_;
  Vector<GroupSolver> solver_;
  Vector<std::int64_t> square_, voter_;
};

struct LassoPath {
  const double* lambdas;  // S
  std::int64_t n_lambdas;
  double tol;  // of the duality gap
  std::int64_t max_sweeps;
  // written for each lambda
  double* weights;  // S x N
  double* gaps;     // S
  double* risks;    // S: the mean square of the residual
};

// Whether a weight is no more than what rounding leaves of it: it moves its voter's correlation by less than 1e-13 of
// the largest at the start. Voters that others determine are left with such weights.
template <class Products>
bool is_rounding(const LassoProblem<Products>& on, std::int64_t j, double largest) {
  return std::abs(on.alpha[j]) * on.products.at(j, j) <= 1e-13 * largest;
}

// Weights at each lambda, and duality gaps, each from the one before. Between two changes of the support the solution
// is linear in lambda, so going on in the direction of the last step is tried first; the start with the smaller
// penalised risk is taken. (Its duality gap may be the larger one, for a few voters that are to join; a sweep settles
// these.)
template <class Products>
void lasso_path(const LassoProblem<Products>& on, const LassoPath& path) {
  const std::int64_t n = on.n;
  Vector<double> old_alpha(n), old_c(n), alpha(n), c(n);
  GroupedLasso<Products> lasso(on);
  const double* const lambdas = path.lambdas;
  double largest = 0.0;
  for (std::int64_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(on.b[j]));
  for (std::int64_t i = 0; i < path.n_lambdas; ++i) {
    std::copy(on.alpha, on.alpha + n, alpha.begin());
    std::copy(on.c, on.c + n, c.begin());
    if (i >= 2 && lambdas[i - 1] != lambdas[i - 2]) {
      const double ahead = (lambdas[i] - lambdas[i - 1]) / (lambdas[i - 1] - lambdas[i - 2]);
      const double risk = penalised_risk(on, lambdas[i]);
      for (std::int64_t j = 0; j < n; ++j) {
        on.alpha[j] += ahead * (alpha[j] - old_alpha[j]);
        on.c[j] += ahead * (c[j] - old_c[j]);
      }
      for (std::int64_t j = 0; j < n; ++j)
        if (on.alpha[j] * alpha[j] < 0.0) {  // it would cross zero, where the direction ends
          const double back = -on.alpha[j];
          on.products.subtract(on.c, {&j, &back, 1});
          on.alpha[j] = 0.0;
        }
      if (!(penalised_risk(on, lambdas[i]) < risk)) {
        std::ranges::copy(alpha, on.alpha);
        std::ranges::copy(c, on.c);
      }
    }
    old_alpha.swap(alpha);
    old_c.swap(c);
    path.gaps[i] = lasso.solve(lambdas[i], path.tol, path.max_sweeps);
    lasso_gap(on, lambdas[i], path.risks + i);
    for (std::int64_t j = 0; j < n; ++j) path.weights[i * n + j] = is_rounding(on, j, largest) ? 0.0 : on.alpha[j];
  }
}

}  // namespace committee
