// A round of gradient boosting in one call, for rows in memory that weigh alike: rows are drawn, gradients computed,
// the trees of all scores grown, and the scores moved along them. The results are those of one call for each of these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "boosting/loss_gradients.hpp"
#include "linear/leaf_lines.hpp"
#include "linear/line_fit.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/gradient/grower.hpp"
#include "votes/path_draws.hpp"

namespace committee {

// The rows of a round: all, some that are listed, or of those that are `among` the ones whose keys are below `bound`.
struct RowDraw {
  const std::int32_t* listed = nullptr;
  std::int64_t n_listed = 0;
  const double* place = nullptr;  // by which rows are drawn; null: they are not
  std::uint64_t bound = 0;
  const std::uint8_t* among = nullptr;
};

struct BoostedRows {
  NativeLoss loss;
  const void* y;
  double* F;  // n_scores x n
  std::int64_t n, n_scores, n_trees;
  RowDraw draw;
  const double* X = nullptr;  // n x n_features, along which leaves have lines; null: leaves are constants
  std::int64_t n_features = 0;
  const std::uint8_t* numeric = nullptr;
  double l2 = 0.0, step = 0.0;
};

struct BoostedTree {
  GradientTree tree;
  LeafLines lines;
};

class BoostingRounds {
 public:
  BoostingRounds(const BoostedRows& rows, GradientGrower& grower, int n_threads)
      : rows_(rows),
        grower_(grower),
        n_threads_(n_threads),
        gradient_(rows.n_scores * rows.n),
        hessian_(rows.n_scores * rows.n) {}

  // The trees of a round, up to the first with a value that is not finite, and the largest absolute value.
  std::pair<Vector<BoostedTree>, double> advance(std::uint64_t row_seed, std::uint64_t tree_seed) {
    const RowDraw& draw = rows_.draw;
    const Vector<std::int32_t> drawn =
        draw.place ? rows_below(draw.place, rows_.n, row_seed, draw.bound, draw.among) : Vector<std::int32_t>{};
    const std::int32_t* const rows = draw.place ? drawn.data() : draw.listed;
    const std::int64_t m = draw.place ? drawn.size() : rows ? draw.n_listed : rows_.n;
    if (m == 0) throw std::invalid_argument("a round has no rows");
    write_gradients();
    std::pair<Vector<BoostedTree>, double> found{{}, 0.0};
    auto& [trees, largest] = found;
    for (std::int64_t k = 0; k < rows_.n_trees && std::isfinite(largest); ++k) {
      const std::int64_t first = k * n_outputs() * rows_.n;
      const GradientRound round{gradient_.data() + first, hessian_.data() + first, nullptr, rows, m, nullptr,
                                grower_.n_features(),     tree_seed + word_of(k),  k};
      BoostedTree& one = trees.emplace_back(BoostedTree{grower_.grow(round), {}});
      for (const double value : one.tree.value) {
        if (!(std::abs(value) <= largest)) largest = std::abs(value);
        if (std::isnan(largest)) break;
      }
      if (std::isfinite(largest)) move(one, round);
    }
    return found;
  }

 private:
  std::int64_t n_outputs() const { return rows_.n_scores / rows_.n_trees; }

  // A team for each part, so that its threads do not wait while those of a tree work.
  void write_gradients() {
    ThreadTeam team(n_threads_);
    committee::write_gradients(rows_.loss, rows_.y, rows_.F, nullptr, gradient_.data(), hessian_.data(), rows_.n,
                               rows_.n_scores, team);
  }

  void move(BoostedTree& one, const GradientRound& round) {
    ThreadTeam team(n_threads_);
    const std::int64_t n = rows_.n, D = n_outputs(), n_nodes = one.tree.feature.size();
    const std::int32_t* const leaf = grower_.leaf_of_row().data();
    double* const F = rows_.F + round.score * D * n;
    Vector<double> steps(n_nodes);
    for (std::int64_t d = 0; d < D; ++d) {
      for (std::int64_t i = 0; i < n_nodes; ++i) steps[i] = rows_.step * one.tree.value[i * D + d];
      team.blocks(n, n, [&, scores = F + d * n](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) scores[i] += steps[leaf[i]];
      });
    }
    if (rows_.X == nullptr) return;
    Vector<std::uint8_t> weighs(n_nodes, 0);  // leaves that weigh exactly 0 abstain, and have no lines
    for (std::int64_t i = 0; i < n_nodes * D; ++i) weighs[i / D] |= one.tree.value[i] != 0.0;
    const TreePaths paths{one.tree.feature.data(), one.tree.left.data(), weighs.data(), rows_.numeric, n_nodes};
    const LineSums sums(
        {rows_.X, rows_.n_features, leaf, round.rows, round.n_in_use, round.gradient, round.hessian, D, n}, paths,
        line_bits(round.n_in_use));
    one.lines = sums.lines(rows_.l2, team);
    const Lines lines{one.lines.columns.start.data(),
                      one.lines.columns.column.data(),
                      one.lines.slope.data(),
                      one.lines.centre.data(),
                      one.lines.low.data(),
                      one.lines.high.data(),
                      D};
    for (std::int64_t d = 0; d < D; ++d)
      add_lines(lines, d, rows_.step, rows_.X, n, rows_.n_features, leaf, F + d * n, team);
  }

  const BoostedRows rows_;
  GradientGrower& grower_;
  const int n_threads_;
  Vector<double> gradient_, hessian_;
};

}  // namespace committee
