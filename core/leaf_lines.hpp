// Lines in the leaves of boosted trees: beside its weight a leaf has a slope for every number that the path to it
// splits on.
//
// With the rows' gradients g and hessians h, and u_j = (x_j - c_j) / s_j in units of the leaf's rows (c_j and s_j are
// mean and deviation in the weights h, a missing value has u_j = 0), the slopes b minimise
//
//   sum_i [g_i b.u_i + h_i (b.u_i)^2 / 2] + l2 |b|^2 / 2 :   (U'HU + l2 I) b = -U'g.
//
// As sum_i h_i u_ij = 0 over values that are there, the leaf's weight is the one that it has without lines.
// Equation: leaf-line (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "lanes.hpp"
#include "threads.hpp"
#include "traverse.hpp"
#include "vector.hpp"

namespace committee {

struct LineColumns {  // of the nodes of one tree: those of node i are column[start[i]] .. column[start[i + 1] - 1]
  Vector<std::int64_t> start;
  Vector<std::int32_t> column;
};

struct TreePaths {
  const std::int32_t* feature;  // split on at each node
  const std::int32_t* left;     // child, -1 at a leaf; children stand after their parent
  const std::uint8_t* lines;    // leaves that get lines
  const std::uint8_t* numeric;  // columns that lines may be along
  std::int64_t n_nodes;
};

// The numeric columns that the path to each leaf splits on, in rising order.
inline LineColumns path_columns(const TreePaths& tree) {
  LineColumns columns;
  Vector<Vector<std::int32_t>> path(tree.n_nodes);
  columns.start.push_back(0);
  for (std::int64_t i = 0; i < tree.n_nodes; ++i) {
    const std::int32_t child = tree.left[i], split = tree.feature[i];
    if (child >= 0) {
      Vector<std::int32_t> longer = path[i];
      const auto at = std::lower_bound(longer.begin(), longer.end(), split);
      if (tree.numeric[split] && (at == longer.end() || *at != split)) longer.insert(at, split);
      path[child] = longer;
      path[child + 1] = std::move(longer);
    } else if (tree.lines[i]) {
      columns.column.insert(columns.column.end(), path[i].begin(), path[i].end());
    }
    columns.start.push_back(columns.column.size());
    path[i] = {};
  }
  return columns;
}

struct LineRows {
  const double* X;  // n x n_features
  std::int64_t n_features;
  const std::int32_t* leaf;  // of all rows of X
  const std::int32_t* rows;  // those that count; null for all
  std::int64_t n_rows;       // that count
  const double* gradient;    // n_outputs x n, rows of the table apart
  const double* hessian;
  std::int64_t n_outputs, n;
};

struct LeafLines {  // as many as columns, times n_outputs where there is one of each output
  LineColumns columns;
  Vector<double> slope, centre, low, high;
};

// Columns that vary less, beside their size or at all, count as constant.
inline constexpr double kLeastVariation = 1e-9, kSmallestDeviation = 1e-150;
// Columns that the others tell, but for this share of their variance, get no slope.
inline constexpr double kLeastPivot = 1e-9;

// Solves A b = r for a symmetric A of d columns (lower triangle) with pivots above `least`; other b are 0.
inline void solve_symmetric(double* A, double* r, std::int64_t d, double least) {
  for (std::int64_t j = 0; j < d; ++j) {  // A = L L', by columns
    double pivot = A[j * d + j];
    for (std::int64_t k = 0; k < j; ++k) pivot -= A[j * d + k] * A[j * d + k];
    const bool dropped = !(pivot > least);
    const double root = dropped ? 0.0 : std::sqrt(pivot);
    A[j * d + j] = root;
    for (std::int64_t i = j + 1; i < d; ++i) {
      double rest = A[i * d + j];
      for (std::int64_t k = 0; k < j; ++k) rest -= A[i * d + k] * A[j * d + k];
      A[i * d + j] = dropped ? 0.0 : rest / root;
    }
  }
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t k = 0; k < i; ++k) r[i] -= A[i * d + k] * r[k];
    r[i] = A[i * d + i] > 0.0 ? r[i] / A[i * d + i] : 0.0;
  }
  for (std::int64_t i = d - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < d; ++k) r[i] -= A[k * d + i] * r[k];
    r[i] = A[i * d + i] > 0.0 ? r[i] / A[i * d + i] : 0.0;
  }
}

// Moves a column (padded to whole lanes, like h) to its mean in the weights h, and returns mean and squares; values
// that are missing become 0.
struct ColumnMoments {
  double weight, mean, squares;
};
COMMITTEE_CLONES inline ColumnMoments centred(const double* x, const double* h, std::int64_t n, double* u) {
  Lanes weight{}, sum{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes v = load(x + i), w = load(h + i);
    const auto there = v == v;
    weight += there ? w : Lanes{};
    sum += there ? w * v : Lanes{};
  }
  const double total = fold(weight), mean = total > 0.0 ? fold(sum) / total : 0.0;
  Lanes squares{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes v = load(x + i), apart = v == v ? v - mean : Lanes{};
    store(u + i, apart);
    squares += load(h + i) * apart * apart;
  }
  return {total, mean, fold(squares)};
}

// Sums of g u_j and of h u_j u_k, k <= j, over n rows (whole lanes) of d columns, `n` apart; hu is room for one more.
COMMITTEE_CLONES inline void line_products(const double* u, const double* g, const double* h, std::int64_t n,
                                           std::int64_t d, double* hu, double* right, double* normal) {
  for (std::int64_t j = 0; j < d; ++j) {
    Lanes with_g{};
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Lanes v = load(u + j * n + i);
      store(hu + i, load(h + i) * v);
      with_g += load(g + i) * v;
    }
    right[j] = fold(with_g);
    for (std::int64_t k = 0; k <= j; ++k) {
      Lanes sum{};
      for (std::int64_t i = 0; i < n; i += kLanes) sum += load(hu + i) * load(u + k * n + i);
      normal[j * d + k] = fold(sum);
    }
  }
}

// The lines of one leaf, whose rows are members[0..m).
class LeafLine {
 public:
  LeafLine(const LineRows& rows, const std::int32_t* members, std::int64_t m, const std::int32_t* column,
           std::int64_t d)
      : rows_(rows),
        members_(members),
        m_(m),
        stride_(whole_lanes(m)),
        d_(d),
        x_(d * stride_, 0.0),
        u_(d * stride_),
        g_(stride_, 0.0),
        h_(stride_, 0.0),
        hu_(stride_) {
    for (std::int64_t i = 0; i < m; ++i) {
      const double* const x = rows.X + members[i] * rows.n_features;
      for (std::int64_t j = 0; j < d; ++j) x_[j * stride_ + i] = x[column[j]];
    }
  }

  void limits(double* low, double* high) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < d_; ++j) {
      const double* const x = x_.data() + j * stride_;
      double least = kInfinity, most = -kInfinity;
      for (std::int64_t i = 0; i < m_; ++i) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
      }
      if (least > most) continue;  // all are missing
      low[j] = least;
      high[j] = most;
    }
  }

  // slope and centre are n_outputs apart.
  void fit(std::int64_t output, double l2, double* slope, double* centre) {
    double weight = 0.0;
    for (std::int64_t i = 0; i < m_; ++i) {
      g_[i] = rows_.gradient[output * rows_.n + members_[i]];
      weight += h_[i] = rows_.hessian[output * rows_.n + members_[i]];
    }
    Vector<double> scale(d_), right(d_), normal(d_ * d_);
    for (std::int64_t j = 0; j < d_; ++j) {
      const ColumnMoments of = centred(x_.data() + j * stride_, h_.data(), stride_, u_.data() + j * stride_);
      const double deviation = of.weight > 0.0 ? std::sqrt(of.squares / of.weight) : 0.0;
      const bool varies =
          std::isfinite(deviation) && deviation > kLeastVariation * std::abs(of.mean) && deviation > kSmallestDeviation;
      scale[j] = varies ? 1.0 / deviation : 0.0;
      centre[j * rows_.n_outputs] = std::isfinite(of.mean) ? of.mean : 0.0;
    }
    line_products(u_.data(), g_.data(), h_.data(), stride_, d_, hu_.data(), right.data(), normal.data());
    for (std::int64_t j = 0; j < d_; ++j) {
      right[j] = scale[j] > 0.0 ? -right[j] * scale[j] : 0.0;
      for (std::int64_t k = 0; k <= j; ++k)
        normal[j * d_ + k] = scale[j] > 0.0 && scale[k] > 0.0 ? normal[j * d_ + k] * scale[j] * scale[k] : 0.0;
      normal[j * d_ + j] += l2;
    }
    solve_symmetric(normal.data(), right.data(), d_, kLeastPivot * (weight + l2));
    for (std::int64_t j = 0; j < d_; ++j) {
      const double b = right[j] * scale[j];
      slope[j * rows_.n_outputs] = std::isfinite(b) ? b : 0.0;
    }
  }

 private:
  const LineRows& rows_;
  const std::int32_t* members_;
  std::int64_t m_, stride_, d_;
  Vector<double> x_, u_;       // columns, stride_ apart: as they are, and centred
  Vector<double> g_, h_, hu_;  // of one output
};

// Leaves are fitted one by one, each by its rows in order: sums have the same bits for any number of threads.
inline LeafLines leaf_lines(const LineRows& rows, const TreePaths& tree, double l2, ThreadTeam& team) {
  Vector<std::int64_t> end(tree.n_nodes + 1, 0);
  const auto row = [&](std::int64_t i) { return rows.rows ? rows.rows[i] : static_cast<std::int32_t>(i); };
  for (std::int64_t i = 0; i < rows.n_rows; ++i) ++end[rows.leaf[row(i)] + 1];
  for (std::int64_t v = 0; v < tree.n_nodes; ++v) end[v + 1] += end[v];
  Vector<std::int32_t> members(rows.n_rows);
  Vector<std::int64_t> next(tree.n_nodes);
  std::copy_n(end.begin(), tree.n_nodes, next.begin());
  for (std::int64_t i = 0; i < rows.n_rows; ++i) members[next[rows.leaf[row(i)]]++] = row(i);

  LeafLines lines{path_columns(tree), {}, {}, {}, {}};
  const LineColumns& columns = lines.columns;
  const std::int64_t M = columns.column.size(), D = rows.n_outputs;
  lines.slope.assign(M * D, 0.0);
  lines.centre.assign(M * D, 0.0);
  lines.low.assign(M, 0.0);
  lines.high.assign(M, 0.0);
  team.each(tree.n_nodes, 8 * rows.n_rows * D, [&](std::int64_t v) {
    const std::int64_t first = columns.start[v], d = columns.start[v + 1] - first;
    if (d == 0 || end[v] == end[v + 1]) return;
    LeafLine line(rows, members.data() + end[v], end[v + 1] - end[v], columns.column.data() + first, d);
    line.limits(lines.low.data() + first, lines.high.data() + first);
    for (std::int64_t k = 0; k < D; ++k)
      line.fit(k, l2, lines.slope.data() + first * D + k, lines.centre.data() + first * D + k);
  });
  return lines;
}

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
