// Lines in the leaves of boosted trees: beside its weight a leaf gets a slope for every number that the path to it
// splits on.
//
// With the rows' gradients g and hessians h, and u_j = (x_j - c_j) / s_j in units of the leaf's rows (c_j and s_j are
// mean and deviation in the weights h, a missing value has u_j = 0), the slopes b minimise
//
//   sum_i [g_i b.u_i + h_i (b.u_i)^2 / 2] + l2 |b|^2 / 2 :   (U'HU + l2 I) b = -U'g.
//
// As sum_i h_i u_ij = 0 over values that are there, the leaf's weight is the one that it has without lines.
// Equation: leaf-line (docs/theory.md).
//
// Every sum over rows is one of whole numbers: a value counts as its share t of the way from the leaf's least to its
// largest, g and h as shares of the leaf's largest, and products of shares are rounded to multiples of 2^-bits. So the
// lines of a leaf are the same to the bit in any order of its rows, and wherever they are: rows on several machines
// send their largest numbers, then their sums of h and h t, then those of g u and h u u', and these are put together.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "histogram/reproducible_sum.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

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
// Columns that the others determine, but for this share of their variance, get no slope.
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

// --- sums of shares --------------------------------------------------------------------------------------------------

// Bits after the point, so that n shares add up in 62 bits; `rounded` takes numbers below 2^51.
inline int line_bits(std::int64_t n) { return std::min(48, 61 - static_cast<int>(std::bit_width(std::uint64_t(n)))); }

// 1 / x, or 0 where that is no number: what is not above it by more counts as nothing.
inline double inverse(double x) {
  const double of = 1.0 / x;
  return x > 0.0 && std::isfinite(x) && std::isfinite(of) ? of : 0.0;
}

template <class Bits>
COMMITTEE_INLINE std::int64_t total(const Bits& v) {
  std::int64_t of_lane[kLanes], sum = 0;
  store(of_lane, v);
  for (int k = 0; k < kLanes; ++k) sum += of_lane[k];
  return sum;
}

// sum of a b, or of h, over n numbers (whole lanes), each product rounded to a whole number; all are below 2^51.
template <class Lanes>
COMMITTEE_INLINE std::int64_t product_sum(const double* a, const double* b, std::int64_t n) {
  BitsOf<Lanes> sum{};
  for (std::int64_t i = 0; i < n; i += kLanes)
    sum += bits_of<Lanes>(load<Lanes>(a + i) * load<Lanes>(b + i) + kOnes) - std::bit_cast<std::int64_t>(kOnes);
  return total(sum);
}
template <class Lanes>
COMMITTEE_INLINE std::int64_t whole_sum_in(const double* h, std::int64_t n) {
  BitsOf<Lanes> sum{};
  for (std::int64_t i = 0; i < n; i += kLanes)
    sum += bits_of<Lanes>(load<Lanes>(h + i) + kOnes) - std::bit_cast<std::int64_t>(kOnes);
  return total(sum);
}
COMMITTEE_ON_LANES(std::int64_t, whole_sum, (const double* h, std::int64_t n), (h, n))

// Shares t of the way from low on, 0 for missing values, and the sums of h and h t over the others; without a way all
// are at its beginning. `there` is room for n numbers.
template <class Lanes>
COMMITTEE_INLINE void line_weights_in(const double* x, double low, double per_way, const double* h, std::int64_t n,
                                      double* t, double* there, std::int64_t* sums) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const auto v = load<Lanes>(x + i);
    const BitsOf<Lanes> known = v == v;
    store(t + i, per_way > 0.0 ? select<Lanes>(known, (v - low) * per_way, Lanes{}) : Lanes{});
    store(there + i, select<Lanes>(known, load<Lanes>(h + i), Lanes{}));
  }
  sums[0] = whole_sum_in<Lanes>(there, n);
  sums[1] = product_sum<Lanes>(there, t, n);
}
COMMITTEE_ON_LANES(void, line_weights,
                   (const double* x, double low, double per_way, const double* h, std::int64_t n, double* t,
                    double* there, std::int64_t* sums),
                   (x, low, per_way, h, n, t, there, sums))

// Moves shares to their mean; those of missing values stay 0.
template <class Lanes>
COMMITTEE_INLINE void centre_shares_in(const double* x, double mean, std::int64_t n, double* t) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const auto v = load<Lanes>(x + i);
    store(t + i, select<Lanes>(v == v, load<Lanes>(t + i) - mean, Lanes{}));
  }
}
COMMITTEE_ON_LANES(void, centre_shares, (const double* x, double mean, std::int64_t n, double* t), (x, mean, n, t))

// Sums of g u_j and of h u_j u_k, k <= j, over d columns, `n` (whole lanes) apart; hu is room for one more.
template <class Lanes>
COMMITTEE_INLINE void line_products_in(const double* u, const double* g, const double* h, std::int64_t n,
                                       std::int64_t d, double* hu, std::int64_t* right, std::int64_t* normal) {
  for (std::int64_t j = 0; j < d; ++j) {
    right[j] = product_sum<Lanes>(g, u + j * n, n);
    for (std::int64_t i = 0; i < n; i += kLanes) store(hu + i, load<Lanes>(h + i) * load<Lanes>(u + j * n + i));
    for (std::int64_t k = 0; k <= j; ++k) *normal++ = product_sum<Lanes>(hu, u + k * n, n);
  }
}
COMMITTEE_ON_LANES(void, line_products,
                   (const double* u, const double* g, const double* h, std::int64_t n, std::int64_t d, double* hu,
                    std::int64_t* right, std::int64_t* normal),
                   (u, g, h, n, d, hu, right, normal))

// What the sums of a tree's lines are, in arrays for all of its nodes.
struct LineShape {
  LineColumns columns;
  std::int64_t n_outputs;

  std::int64_t n_nodes() const { return columns.start.size() - 1; }
  std::int64_t n_lines() const { return columns.column.size(); }
  std::int64_t first(std::int64_t v) const { return columns.start[v]; }
  std::int64_t lines(std::int64_t v) const { return columns.start[v + 1] - columns.start[v]; }

  // of `largest`: -low and high of each line, then largest |g| and |h| of each node and output
  std::int64_t n_largest() const { return 2 * (n_lines() + n_nodes() * n_outputs); }
  std::int64_t of_gradient(std::int64_t v, std::int64_t k) const { return 2 * n_lines() + v * n_outputs + k; }
  std::int64_t of_hessian(std::int64_t v, std::int64_t k) const { return of_gradient(v, k) + n_nodes() * n_outputs; }

  // of `weights`: sums of h and h t of each line and output, then the sum of h of each node and output
  std::int64_t n_weights() const { return (2 * n_lines() + n_nodes()) * n_outputs; }
  std::int64_t of_line(std::int64_t m, std::int64_t k) const { return 2 * (m * n_outputs + k); }
  std::int64_t of_node(std::int64_t v, std::int64_t k) const { return (2 * n_lines() + v) * n_outputs + k; }

  // of `products`: for each node and output g u, then h u u' row by row of the lower triangle
  static std::int64_t block(std::int64_t d) { return d + d * (d + 1) / 2; }
  Vector<std::int64_t> product_starts() const {
    Vector<std::int64_t> start(n_nodes() + 1, 0);
    for (std::int64_t v = 0; v < n_nodes(); ++v) start[v + 1] = start[v] + n_outputs * block(lines(v));
    return start;
  }
};

// Lines where the sums over all rows are known.
inline LeafLines lines_of_sums(LineShape shape, const double* largest, const std::int64_t* weights,
                               const std::int64_t* products, int bits, double l2) {
  const std::int64_t M = shape.n_lines(), D = shape.n_outputs;
  const Vector<std::int64_t> start = shape.product_starts();
  LeafLines lines{
      {}, Vector<double>(M * D, 0.0), Vector<double>(M * D, 0.0), Vector<double>(M, 0.0), Vector<double>(M, 0.0)};
  Vector<double> scale, right, normal;
  for (std::int64_t v = 0; v < shape.n_nodes(); ++v) {
    const std::int64_t d = shape.lines(v), m = shape.first(v);
    for (std::int64_t j = m; j < m + d; ++j) {
      if (-largest[j] > largest[M + j]) continue;  // all are missing
      lines.low[j] = -largest[j];
      lines.high[j] = largest[M + j];
    }
    for (std::int64_t k = 0; k < (d ? D : 0); ++k) {
      const double g = std::ldexp(largest[shape.of_gradient(v, k)], -bits);
      const double h = std::ldexp(largest[shape.of_hessian(v, k)], -bits);
      const std::int64_t* product = products + start[v] + k * LineShape::block(d);
      scale.assign(d, 0.0);
      right.assign(d, 0.0);
      normal.assign(d * d, 0.0);
      for (std::int64_t j = 0; j < d; ++j) {  // means and deviations
        const std::int64_t* of = weights + shape.of_line(m + j, k);
        const double way = lines.high[m + j] - lines.low[m + j];
        const double mean = of[0] > 0 ? static_cast<double>(of[1]) / static_cast<double>(of[0]) : 0.0;
        const double centre = lines.low[m + j] + way * mean;
        const double squares = static_cast<double>(product[d + j * (j + 1) / 2 + j]);
        const double share = of[0] > 0 ? std::sqrt(squares / static_cast<double>(of[0])) : 0.0;
        const double deviation = way * share;
        const bool varies = std::isfinite(deviation) && inverse(way) > 0.0 &&
                            deviation > kLeastVariation * std::abs(centre) && deviation > kSmallestDeviation;
        scale[j] = varies ? 1.0 / share : 0.0;
        lines.centre[(m + j) * D + k] = std::isfinite(centre) ? centre : 0.0;
      }
      for (std::int64_t j = 0; j < d; ++j) {
        right[j] = -g * static_cast<double>(product[j]) * scale[j];
        for (std::int64_t i = 0; i <= j; ++i)
          normal[j * d + i] = h * static_cast<double>(product[d + j * (j + 1) / 2 + i]) * scale[i] * scale[j];
        normal[j * d + j] += l2;
      }
      const double weight = h * static_cast<double>(weights[shape.of_node(v, k)]);
      solve_symmetric(normal.data(), right.data(), d, kLeastPivot * (weight + l2));
      for (std::int64_t j = 0; j < d; ++j) {
        const double b = right[j] * scale[j] * inverse(lines.high[m + j] - lines.low[m + j]);
        lines.slope[(m + j) * D + k] = std::isfinite(b) ? b : 0.0;
      }
    }
  }
  lines.columns = std::move(shape.columns);
  return lines;
}

// The rows of one leaf, column by column.
class LeafColumns {
 public:
  LeafColumns(const LineRows& rows, const std::int32_t* members, std::int64_t m, const LineShape& shape,
              std::int64_t node)
      : rows_(rows),
        members_(members),
        m_(m),
        stride_(whole_lanes(m)),
        shape_(shape),
        node_(node),
        d_(shape.lines(node)),
        x_(d_ * stride_, 0.0),
        t_(d_ * stride_),
        g_(stride_, 0.0),
        h_(stride_, 0.0),
        room_(stride_) {
    const std::int32_t* column = shape.columns.column.data() + shape.first(node);
    for (std::int64_t i = 0; i < m; ++i) {
      const double* const x = rows.X + members[i] * rows.n_features;
      for (std::int64_t j = 0; j < d_; ++j) x_[j * stride_ + i] = x[column[j]];
    }
  }

  void largest(double* out) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < d_; ++j) {
      const double* const x = x_.data() + j * stride_;
      double least = kInfinity, most = -kInfinity;
      for (std::int64_t i = 0; i < m_; ++i) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
      }
      out[shape_.first(node_) + j] = -least;
      out[shape_.n_lines() + shape_.first(node_) + j] = most;
    }
    for (std::int64_t k = 0; k < rows_.n_outputs; ++k) {
      double g = 0.0, h = 0.0;
      for (std::int64_t i = 0; i < m_; ++i) {
        g = std::max(g, std::abs(rows_.gradient[k * rows_.n + members_[i]]));
        h = std::max(h, std::abs(rows_.hessian[k * rows_.n + members_[i]]));
      }
      out[shape_.of_gradient(node_, k)] = g;
      out[shape_.of_hessian(node_, k)] = h;
    }
  }

  void weights(const double* largest, int bits, std::int64_t k, std::int64_t* out) {
    take(largest, bits, k);
    out[shape_.of_node(node_, k)] = whole_sum(h_.data(), stride_);
    for (std::int64_t j = 0; j < d_; ++j) {
      const double low = -largest[shape_.first(node_) + j];
      const double way = largest[shape_.n_lines() + shape_.first(node_) + j] - low;
      line_weights(x_.data() + j * stride_, low, inverse(way), h_.data(), stride_, t_.data() + j * stride_,
                   room_.data(), out + shape_.of_line(shape_.first(node_) + j, k));
    }
  }

  // After `weights` of the same output; those are of all rows, here or elsewhere.
  void products(const std::int64_t* weights, std::int64_t k, std::int64_t* out) {
    for (std::int64_t j = 0; j < d_; ++j) {
      const std::int64_t* const of = weights + shape_.of_line(shape_.first(node_) + j, k);
      const double mean = of[0] > 0 ? static_cast<double>(of[1]) / static_cast<double>(of[0]) : 0.0;
      centre_shares(x_.data() + j * stride_, mean, stride_, t_.data() + j * stride_);
    }
    line_products(t_.data(), g_.data(), h_.data(), stride_, d_, room_.data(), out, out + d_);
  }

 private:
  // Gradients and hessians of an output, as multiples of 2^-bits of the leaf's largest.
  void take(const double* largest, int bits, std::int64_t k) {
    const double g = inverse(largest[shape_.of_gradient(node_, k)]);
    const double h = inverse(largest[shape_.of_hessian(node_, k)]);
    const double unit = std::ldexp(1.0, bits);
    for (std::int64_t i = 0; i < m_; ++i) {
      g_[i] = rows_.gradient[k * rows_.n + members_[i]] * g * unit;
      h_[i] = rows_.hessian[k * rows_.n + members_[i]] * h * unit;
    }
  }

  const LineRows& rows_;
  const std::int32_t* members_;
  std::int64_t m_, stride_;
  const LineShape& shape_;
  std::int64_t node_, d_;
  Vector<double> x_, t_;         // columns, stride_ apart: as they are, and as shares
  Vector<double> g_, h_, room_;  // of one output
};

// Sums for the lines of one tree over rows that may be some of all.
class LineSums {
 public:
  LineSums(const LineRows& rows, const TreePaths& tree, int bits)
      : rows_(rows), shape_{path_columns(tree), rows.n_outputs}, bits_(bits), end_(tree.n_nodes + 1, 0) {
    const auto row = [&](std::int64_t i) { return rows.rows ? rows.rows[i] : static_cast<std::int32_t>(i); };
    for (std::int64_t i = 0; i < rows.n_rows; ++i) ++end_[rows.leaf[row(i)] + 1];
    for (std::int64_t v = 0; v < tree.n_nodes; ++v) end_[v + 1] += end_[v];
    members_.resize(rows.n_rows);
    Vector<std::int64_t> next(tree.n_nodes);
    std::copy_n(end_.begin(), tree.n_nodes, next.begin());
    for (std::int64_t i = 0; i < rows.n_rows; ++i) members_[next[rows.leaf[row(i)]]++] = row(i);
  }

  const LineShape& shape() const { return shape_; }

  Vector<double> largest(ThreadTeam& team) const {
    Vector<double> out = nothing_seen();
    each_leaf(team, [&](LeafColumns& leaf, std::int64_t) { leaf.largest(out.data()); });
    return out;
  }

  Vector<std::int64_t> weights(const double* largest, ThreadTeam& team) const {
    Vector<std::int64_t> out(shape_.n_weights(), 0);
    each_leaf(team, [&](LeafColumns& leaf, std::int64_t) {
      for (std::int64_t k = 0; k < rows_.n_outputs; ++k) leaf.weights(largest, bits_, k, out.data());
    });
    return out;
  }

  Vector<std::int64_t> products(const double* largest, const std::int64_t* weights, ThreadTeam& team) const {
    const Vector<std::int64_t> start = shape_.product_starts();
    Vector<std::int64_t> out(start.back(), 0), own(shape_.n_weights(), 0);
    each_leaf(team, [&](LeafColumns& leaf, std::int64_t v) {
      for (std::int64_t k = 0; k < rows_.n_outputs; ++k) {
        leaf.weights(largest, bits_, k, own.data());
        leaf.products(weights, k, out.data() + start[v] + k * LineShape::block(shape_.lines(v)));
      }
    });
    return out;
  }

  // Where these rows are all: a leaf's columns are gathered once.
  LeafLines lines(double l2, ThreadTeam& team) const {
    const Vector<std::int64_t> start = shape_.product_starts();
    Vector<double> most = nothing_seen();
    Vector<std::int64_t> weights(shape_.n_weights(), 0), products(start.back(), 0);
    each_leaf(team, [&](LeafColumns& leaf, std::int64_t v) {
      leaf.largest(most.data());
      for (std::int64_t k = 0; k < rows_.n_outputs; ++k) {
        leaf.weights(most.data(), bits_, k, weights.data());
        leaf.products(weights.data(), k, products.data() + start[v] + k * LineShape::block(shape_.lines(v)));
      }
    });
    return lines_of_sums(shape_, most.data(), weights.data(), products.data(), bits_, l2);
  }

 private:
  Vector<double> nothing_seen() const {
    Vector<double> out(shape_.n_largest(), 0.0);
    std::fill_n(out.begin(), 2 * shape_.n_lines(), -std::numeric_limits<double>::infinity());
    return out;
  }

  template <class Work>
  void each_leaf(ThreadTeam& team, const Work& work) const {
    team.each(shape_.n_nodes(), 8 * rows_.n_rows * rows_.n_outputs, [&](std::int64_t v) {
      if (shape_.lines(v) == 0 || end_[v] == end_[v + 1]) return;
      LeafColumns leaf(rows_, members_.data() + end_[v], end_[v + 1] - end_[v], shape_, v);
      work(leaf, v);
    });
  }

  LineRows rows_;
  LineShape shape_;
  int bits_;
  Vector<std::int64_t> end_;
  Vector<std::int32_t> members_;
};

}  // namespace committee
