// Where rows are in the leaves of many trees, and the two sums that a linear model on leaves is made of: over the
// trees, of the values of a row's leaves; and over the rows, of values of the rows in a leaf. Every sum has one order,
// so that it is the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads.hpp"
#include "vector.hpp"

namespace committee {

// Rows of one block stay in the nearest cache while tree after tree adds to their scores.
inline constexpr std::int64_t kScoredRows = 2048;

template <class Code>
struct LeafPlaces {
  const Code* codes;          // n_trees x n: leaf of each row, counted within its tree
  const std::int64_t* start;  // n_trees + 1: leaves of tree t are start[t] .. start[t + 1] - 1
  std::int64_t n_trees, n;

  // out (n x D) = sum over the trees of value (leaves x D).
  void scores(const double* value, std::int64_t D, double* out, ThreadTeam& team) const {
    team.blocks_of(kScoredRows, n, n * n_trees * D, [&](std::int64_t begin, std::int64_t end) {
      std::fill(out + begin * D, out + end * D, 0.0);
      for (std::int64_t t = 0; t < n_trees; ++t) {
        const double* const of_tree = value + start[t] * D;
        const Code* const code = codes + t * n;
        if (D == 1) {
          for (std::int64_t i = begin; i < end; ++i) out[i] += of_tree[code[i]];
        } else {
          for (std::int64_t i = begin; i < end; ++i) {
            const double* const of_leaf = of_tree + std::int64_t{code[i]} * D;
            for (std::int64_t d = 0; d < D; ++d) out[i * D + d] += of_leaf[d];
          }
        }
      }
    });
  }

  // out (leaves x D) = sum of value (n x D) over the rows in each leaf, in the order of the rows.
  void sums(const double* value, std::int64_t D, double* out, ThreadTeam& team) const {
    team.each(n_trees, n * n_trees * D, [&](std::int64_t t) {
      double* const of_tree = out + start[t] * D;
      const Code* const code = codes + t * n;
      std::fill(of_tree, out + start[t + 1] * D, 0.0);
      if (D == 1) {
        for (std::int64_t i = 0; i < n; ++i) of_tree[code[i]] += value[i];
      } else {
        for (std::int64_t i = 0; i < n; ++i) {
          double* const of_leaf = of_tree + std::int64_t{code[i]} * D;
          for (std::int64_t d = 0; d < D; ++d) of_leaf[d] += value[i * D + d];
        }
      }
    });
  }
};

}  // namespace committee
