// Contributions of the lines in the leaves of boosted trees to scores; line_fit.hpp fits the lines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

struct Lines {  // of many nodes: those of node i are start[i] .. start[i + 1] - 1
  const std::int64_t* start;
  const std::int32_t* column;
  const double* slope;  // lines x n_outputs
  const double* centre;
  const double* low;
  const double* high;
  std::int64_t n_outputs;
};

// take(column, share) for each line of a node: what it adds to output k at the row x. No value counts beyond those of
// the leaf's rows, and a missing one adds nothing.
template <class Take>
void each_line(const Lines& lines, std::int64_t node, std::int64_t k, const double* x, const Take& take) {
  for (std::int64_t m = lines.start[node]; m < lines.start[node + 1]; ++m) {
    const double value = x[lines.column[m]];
    if (std::isnan(value)) continue;
    const double within = std::min(std::max(value, lines.low[m]), lines.high[m]);
    const std::int64_t at = m * lines.n_outputs + k;
    take(lines.column[m], lines.slope[at] * (within - lines.centre[at]));
  }
}

inline double sum_of_lines(const Lines& lines, std::int64_t node, std::int64_t k, const double* x) {
  double sum = 0.0;
  each_line(lines, node, k, x, [&](std::int32_t, double share) { sum += share; });
  return sum;
}

// scores[i] += step * the lines of row i's leaf, of one output.
inline void add_lines(const Lines& lines, std::int64_t output, double step, const double* X, std::int64_t n,
                      std::int64_t n_features, const std::int32_t* leaf, double* scores, ThreadTeam& team) {
  team.blocks(n, 16 * n, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      scores[i] += step * sum_of_lines(lines, leaf[i], output, X + i * n_features);
  });
}

// Boosted trees with such leaves; voters are n_scores trees in a row, or single trees that serve all outputs.
class LineTrees {
 public:
  LineTrees(const ForestArrays& arrays, const Lines& lines, const double* value, std::int64_t trees_per_voter)
      : trees_(arrays), per_voter_(trees_per_voter), n_outputs_(lines.n_outputs) {
    const std::int64_t N = trees_.n_nodes(), M = lines.start[N];
    start_.assign(lines.start, lines.start + N + 1);
    column_.assign(lines.column, lines.column + M);
    slope_.assign(lines.slope, lines.slope + M * n_outputs_);
    centre_.assign(lines.centre, lines.centre + M * n_outputs_);
    low_.assign(lines.low, lines.low + M);
    high_.assign(lines.high, lines.high + M);
    value_.assign(value, value + N * n_outputs_);
  }

  std::int64_t n_features() const { return trees_.n_features(); }
  std::int64_t n_trees() const { return trees_.n_trees(); }
  std::int64_t trees_per_voter() const { return per_voter_; }
  std::int64_t n_scores() const { return std::max(per_voter_, n_outputs_); }

  // F (n x n_scores) += weight of the voter times leaf weight and lines, tree by tree.
  void tally(const double* X, std::int64_t n, const double* weights, double* F, ThreadTeam& team) const {
    const std::int64_t p = n_features(), K = n_scores();
    trees_.walk(X, n, team, [&, lines = lines()](std::int64_t t) {
      return [=, this, w = weights[t / per_voter_], first = trees_.offset(t), score = t % per_voter_](std::int64_t i,
                                                                                                      std::int32_t at) {
        for (std::int64_t d = 0; d < n_outputs_; ++d)
          F[i * K + score + d] +=
              w * (value_[(first + at) * n_outputs_ + d] + sum_of_lines(lines, first + at, d, X + i * p));
      };
    });
  }

  // shares (n x n_features x n_scores) += what the lines of each column add.
  void shares(const double* X, std::int64_t n, const double* weights, double* out, ThreadTeam& team) const {
    const std::int64_t p = n_features(), K = n_scores();
    trees_.walk(X, n, team, [&, lines = lines()](std::int64_t t) {
      return [=, this, w = weights[t / per_voter_], first = trees_.offset(t), score = t % per_voter_](std::int64_t i,
                                                                                                      std::int32_t at) {
        for (std::int64_t d = 0; d < n_outputs_; ++d)
          each_line(lines, first + at, d, X + i * p,
                    [&](std::int32_t column, double share) { out[(i * p + column) * K + score + d] += w * share; });
      };
    });
  }

 private:
  Lines lines() const {
    return {start_.data(), column_.data(), slope_.data(), centre_.data(), low_.data(), high_.data(), n_outputs_};
  }

  Trees trees_;
  std::int64_t per_voter_, n_outputs_;
  Vector<std::int64_t> start_;
  Vector<std::int32_t> column_;
  Vector<double> slope_, centre_, low_, high_, value_;
};

}  // namespace committee
