// Leaf index of each row and tree, and the two products of a linear model on leaf indicators: sums over a row's leaves,
// and over a leaf's rows. Every sum has a fixed order, hence the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// Rows of one block stay in the nearest cache while tree after tree adds to their scores.
inline constexpr std::int64_t kScoredRows = 2048;

// Trees that are gone through at a time: a row's scores are loaded once for all of them, and a sum of a leaf does not
// wait for the one before, which is often of the same leaf. Each sum keeps its order.
inline constexpr std::int64_t kTreesAtOnce = 4;

// Numbers of a leaf that are gone through at a time: all that most leaves have.
inline constexpr std::int64_t kNumbersAtOnce = 4;

template <class Code>
struct LeafPlaces {
  const Code* codes;          // n_trees x n: leaf of each row, counted within its tree
  const std::int64_t* start;  // n_trees + 1: leaves of tree t are start[t] .. start[t + 1] - 1
  std::int64_t n_trees, n;

  // out (n x D) = sum over the trees of value (leaves x D).
  void scores(const double* value, std::int64_t D, double* out, ThreadTeam& team) const {
    team.blocks_of(kScoredRows, n, n * n_trees * D, [&](std::int64_t begin, std::int64_t end) {
      std::fill(out + begin * D, out + end * D, 0.0);
      std::int64_t t = 0;
      for (; t + kTreesAtOnce <= n_trees; t += kTreesAtOnce) add_scores<kTreesAtOnce>(value, D, t, begin, end, out);
      for (; t < n_trees; ++t) add_scores<1>(value, D, t, begin, end, out);
    });
  }

  // out (leaves x D) = sum of value (n x D) over the rows in each leaf, in the order of the rows.
  void sums(const double* value, std::int64_t D, double* out, ThreadTeam& team) const {
    const std::int64_t n_groups = (n_trees + kTreesAtOnce - 1) / kTreesAtOnce;
    team.each(n_groups, n * n_trees * D, [&](std::int64_t g) {
      const std::int64_t first = g * kTreesAtOnce, end = std::min(n_trees, first + kTreesAtOnce);
      std::fill(out + start[first] * D, out + start[end] * D, 0.0);
      if (end - first == kTreesAtOnce && D <= kNumbersAtOnce) {
        add_sums<kTreesAtOnce>(value, D, first, out);
      } else {  // sums of many numbers do not wait for each other
        for (std::int64_t t = first; t < end; ++t) add_long_sums(value, D, t, out);
      }
    });
  }

 private:
  template <std::size_t Length>
  using Few = std::array<double, Length>;

  // Some trees: where the values or sums of their leaves begin, and the leaves of the rows.
  template <class Number, std::size_t Trees>
  struct Group {
    std::array<Number*, Trees> of_tree;
    std::array<const Code*, Trees> code;
  };

  template <std::size_t Trees, class Number>
  Group<Number, Trees> group(Number* of_leaves, std::int64_t D, std::int64_t t) const {
    Group<Number, Trees> found;
    for (std::size_t k = 0; k < Trees; ++k, ++t) {
      found.of_tree[k] = of_leaves + start[t] * D;
      found.code[k] = codes + t * n;
    }
    return found;
  }

  // run(first column, Few<columns>{}, stride) for all columns of D, as many at a time as there are; a stride that the
  // compiler knows where D is 1.
  template <class Run>
  static void by_columns(std::int64_t D, Run&& run) {
    if (D == 1) return run(0, Few<1>{}, std::integral_constant<std::int64_t, 1>{});
    std::int64_t d = 0;
    for (; d + kNumbersAtOnce <= D; d += kNumbersAtOnce) run(d, Few<kNumbersAtOnce>{}, D);
    if (D - d == 3) run(d, Few<3>{}, D);
    if (D - d == 2) run(d, Few<2>{}, D);
    if (D - d == 1) run(d, Few<1>{}, D);
  }

  // The values of the leaves of rows begin .. end - 1 in trees t .. t + Trees - 1 are added to their scores, tree by
  // tree.
  template <std::size_t Trees>
  void add_scores(const double* value, std::int64_t D, std::int64_t t, std::int64_t begin, std::int64_t end,
                  double* out) const {
    const auto trees = group<Trees>(value, D, t);
    by_columns(D, [&](std::int64_t first, auto lanes, auto stride) {
      for (std::int64_t i = begin; i < end; ++i) {
        double* const of_row = out + i * stride + first;
        std::copy_n(of_row, lanes.size(), lanes.begin());
        for (std::size_t k = 0; k < Trees; ++k) {
          const double* const of_leaf = trees.of_tree[k] + std::int64_t{trees.code[k][i]} * stride + first;
          for (std::size_t d = 0; d < lanes.size(); ++d) lanes[d] += of_leaf[d];
        }
        std::copy_n(lanes.begin(), lanes.size(), of_row);
      }
    });
  }

  // The values of all rows are added to their leaves in one tree, row by row.
  void add_long_sums(const double* value, std::int64_t D, std::int64_t t, double* out) const {
    double* const of_tree = out + start[t] * D;
    const Code* const code = codes + t * n;
    for (std::int64_t i = 0; i < n; ++i) {
      double* const of_leaf = of_tree + std::int64_t{code[i]} * D;
      for (std::int64_t d = 0; d < D; ++d) of_leaf[d] += value[i * D + d];
    }
  }

  // The same in trees t .. t + Trees - 1.
  template <std::size_t Trees>
  void add_sums(const double* value, std::int64_t D, std::int64_t t, double* out) const {
    const auto trees = group<Trees>(out, D, t);
    by_columns(D, [&](std::int64_t first, auto lanes, auto stride) {
      for (std::int64_t i = 0; i < n; ++i) {
        std::copy_n(value + i * stride + first, lanes.size(), lanes.begin());
        for (std::size_t k = 0; k < Trees; ++k) {
          double* const of_leaf = trees.of_tree[k] + std::int64_t{trees.code[k][i]} * stride + first;
          for (std::size_t d = 0; d < lanes.size(); ++d) of_leaf[d] += lanes[d];
        }
      }
    });
  }
};

}  // namespace committee
