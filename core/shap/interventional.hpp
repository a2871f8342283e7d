// Shapley values of trees against background rows: a feature left out of the game has the value of a background row.
//
// Let x be the row and z a background row. A leaf can be reached by a mixture of both only if on every feature of its
// way x, z or both pass all splits. With a features that only x passes and b that only z passes, the leaf's value v is
// in the game for sets that hold all of the a and none of the b, so that Shapley's weights give each of the a features
// v (a - 1)! b! / (a + b)!, and take v a! (b - 1)! / (a + b)! off each of the b. A leaf's line along a feature that
// both pass is worth its slope times (x - z) where that feature is in the set, too: a leaf with one feature more.
//
// The tree is walked by both rows at once. Where they part at a feature for the first time, the sums of the leaves on
// x's side of what one of the a gets, and of those on z's side of what one of the b gets, are the feature's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear/leaf_lines.hpp"
#include "shap/shap_tree.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

// (a - 1)! b! / (a + b)! for a, b up to a limit.
class ShapleyWeights {
 public:
  explicit ShapleyWeights(std::int64_t most) : width_(most + 1), weight_(width_ * width_, 0.0) {
    for (std::int64_t b = 0; b <= most && most >= 1; ++b) {
      double w = 1.0 / static_cast<double>(b + 1);
      for (std::int64_t a = 1; a <= most; ++a) {
        weight_[a * width_ + b] = w;
        w *= static_cast<double>(a) / static_cast<double>(a + b + 1);
      }
    }
  }
  double operator()(std::int64_t a, std::int64_t b) const { return weight_[a * width_ + b]; }

 private:
  std::int64_t width_;
  Vector<double> weight_;
};

struct RowOfGame {  // a row, and at which nodes of the tree it goes left
  const double* x;
  const std::uint8_t* left;
};
struct TreeOfGame {
  std::int64_t begin, size, D;
  const double* value;  // of the nodes of the forest x D
  const Lines* lines;   // of its nodes, or null
};

// One tree, one row and one background row at a time.
class MixedRows {
 public:
  MixedRows(const Trees& trees, const TreeOfGame& tree, const ShapleyWeights& weights)
      : trees_(trees), tree_(tree), weights_(weights), side_(trees.n_features(), kBoth), sums_(2 * tree.D) {}

  // phi[feature * stride + d] += scale times the contribution; expected[d] += scale times the background row's value.
  void add(const RowOfGame& x, const RowOfGame& z, double scale, double* phi, std::int64_t stride, double* expected) {
    const std::int64_t D = tree_.D;
    std::int64_t node = 0, a = 0, b = 0, level = 0;
    while (true) {
      descend(x, z, node, a, b, level);
      of_leaf(x, z, node, a, b, scale, phi, stride, expected);
      bool again = false;
      while (level > 0 && !again) {
        Parting& here = partings_[level - 1];
        double* const saved = saved_.data() + (level - 1) * 2 * D;
        if (!here.at_z) {
          std::copy(sums_.begin(), sums_.end(), saved);
          here.at_z = again = true;
          side_[here.feature] = kOnlyZ;
          node = here.z_child;
          a = here.a;
          b = here.b + 1;
          continue;
        }
        for (std::int64_t d = 0; d < D; ++d) {
          phi[here.feature * stride + d] += scale * (saved[d] + sums_[D + d]);
          sums_[d] += saved[d];
          sums_[D + d] += saved[D + d];
        }
        side_[here.feature] = kBoth;
        --level;
      }
      if (!again) return;
    }
  }

 private:
  enum Side : std::uint8_t { kBoth, kOnlyX, kOnlyZ };  // which rows pass the feature's splits so far
  struct Parting {
    std::int32_t feature, z_child;
    std::int64_t a, b;
    bool at_z;
  };

  void descend(const RowOfGame& x, const RowOfGame& z, std::int64_t& node, std::int64_t& a, std::int64_t b,
               std::int64_t& level) {
    while (!trees_.is_leaf(tree_.begin + node)) {
      const std::int32_t left = trees_.left(tree_.begin + node), feature = trees_.feature(tree_.begin + node);
      const std::int32_t of_x = left + !x.left[node], of_z = left + !z.left[node];
      node = side_[feature] == kOnlyZ ? of_z : of_x;
      if (of_x == of_z || side_[feature] != kBoth) continue;
      if (level == partings_.size()) {
        partings_.resize(level + 1);
        saved_.resize((level + 1) * 2 * tree_.D);
      }
      partings_[level++] = {feature, of_z, a, b, false};
      side_[feature] = kOnlyX;
      ++a;
    }
  }

  // Sets sums_ to what this leaf gives to each of the a features, and to each of the b.
  void of_leaf(const RowOfGame& x, const RowOfGame& z, std::int64_t node, std::int64_t a, std::int64_t b, double scale,
               double* phi, std::int64_t stride, double* expected) {
    const std::int64_t at = tree_.begin + node, D = tree_.D;
    const double to_a = a > 0 ? weights_(a, b) : 0.0, to_b = b > 0 ? -weights_(b, a) : 0.0;
    for (std::int64_t d = 0; d < D; ++d) {
      double value = tree_.value[at * D + d], more_a = 0.0, more_b = 0.0;
      if (tree_.lines != nullptr) {
        each_line(*tree_.lines, at, d, z.x, [&](std::int32_t column, double share) {
          if (side_[column] != kOnlyX) value += share;
          if (side_[column] == kBoth) take_line(column, -share, a, b, more_a, more_b, scale, phi, stride, d);
        });
        each_line(*tree_.lines, at, d, x.x, [&](std::int32_t column, double share) {
          if (side_[column] == kOnlyX) value += share;
          if (side_[column] == kBoth) take_line(column, share, a, b, more_a, more_b, scale, phi, stride, d);
        });
      }
      sums_[d] = value * to_a + more_a;
      sums_[D + d] = value * to_b + more_b;
      if (a == 0) expected[d] += scale * value;  // the leaf that the background row comes to
    }
  }

  // A line along a feature that both pass: `share` is there in the sets that have it.
  void take_line(std::int32_t column, double share, std::int64_t a, std::int64_t b, double& more_a, double& more_b,
                 double scale, double* phi, std::int64_t stride, std::int64_t d) const {
    const double each = share * weights_(a + 1, b);
    phi[column * stride + d] += scale * each;
    more_a += a > 0 ? each : 0.0;
    more_b -= b > 0 ? share * weights_(b, a + 1) : 0.0;
  }

  const Trees& trees_;
  TreeOfGame tree_;
  const ShapleyWeights& weights_;
  Vector<Side> side_;
  Vector<Parting> partings_;
  Vector<double> saved_, sums_;
};

// What each feature adds to the mean of the scores over background rows.
class InterventionalShap {
 public:
  InterventionalShap(const Trees& trees, const TreeScores& scores, const Lines* lines)
      : trees_(trees), scores_(scores), lines_(lines) {}

  // out (n, features + 1, n_outputs), zeros before; the last place becomes the mean score of the m background rows Z.
  void contributions(const double* X, std::int64_t n, const double* Z, std::int64_t m, double* out,
                     ThreadTeam& team) const {
    const std::int64_t O = scores_.n_outputs, p = trees_.n_features(), places = (p + 1) * O;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      const TreeOfGame tree{trees_.offset(t), trees_.offset(t + 1) - trees_.offset(t), scores_.D, scores_.value,
                            lines_};
      const Background background(*this, tree, Z, m);
      const ShapleyWeights weights(most_features(tree) + 1);
      const double scale = scores_.weight(t) / static_cast<double>(m);
      const std::int64_t output = scores_.output(t);
      constexpr std::int64_t kRows = 16;
      team.blocks_of(kRows, n, n * background.count.size() * 32, [&](std::int64_t begin, std::int64_t end) {
        MixedRows mixed(trees_, tree, weights);
        Vector<std::uint8_t> left(tree.size);
        for (std::int64_t i = begin; i < end; ++i) {
          const double* const x = X + i * p;
          directions(tree, x, left.data());
          double* const phi = out + i * places + output;
          for (std::int64_t k = 0; k < background.count.size(); ++k)
            mixed.add({x, left.data()}, {background.row[k], background.left.data() + k * tree.size},
                      scale * static_cast<double>(background.count[k]), phi, O, phi + p * O);
        }
      });
    }
  }

 private:
  // Which way a row goes at each split of a tree, wherever it comes from.
  void directions(const TreeOfGame& tree, const double* x, std::uint8_t* left) const {
    for (std::int64_t i = 0; i < tree.size; ++i)
      left[i] = !trees_.is_leaf(tree.begin + i) && trees_.goes_left(tree.begin + i, x);
  }

  // The background rows of a tree: without lines, those that go the same ways everywhere are one.
  struct Background {
    Background(const InterventionalShap& of, const TreeOfGame& tree, const double* Z, std::int64_t m) {
      const std::int64_t p = of.trees_.n_features(), size = tree.size;
      Vector<std::uint8_t> all(m * size);
      Vector<std::int64_t> order(m);
      for (std::int64_t k = 0; k < m; ++k) {
        of.directions(tree, Z + k * p, all.data() + k * size);
        order[k] = k;
      }
      const auto ways = [&](std::int64_t k) { return all.data() + k * size; };
      if (tree.lines == nullptr)
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t k, std::int64_t l) {
          return std::lexicographical_compare(ways(k), ways(k) + size, ways(l), ways(l) + size);
        });
      for (const std::int64_t k : order) {
        const bool same = tree.lines == nullptr && !count.empty() &&
                          std::equal(ways(k), ways(k) + size, left.data() + (count.size() - 1) * size);
        if (same) {
          ++count[count.size() - 1];
          continue;
        }
        left.insert(left.end(), ways(k), ways(k) + size);
        row.push_back(Z + k * p);
        count.push_back(1);
      }
    }
    Vector<std::uint8_t> left;  // rows x nodes
    Vector<const double*> row;
    Vector<std::int64_t> count;
  };

  // The largest number of different features above a leaf.
  std::int64_t most_features(const TreeOfGame& tree) const {
    Vector<std::int32_t> parent(tree.size, 0);
    Vector<std::int64_t> different(tree.size, 0);
    for (std::int64_t i = 0; i < tree.size; ++i) {
      if (trees_.is_leaf(tree.begin + i)) continue;
      const std::int32_t feature = trees_.feature(tree.begin + i), left = trees_.left(tree.begin + i);
      bool is_new = true;
      for (std::int64_t above = i; above != 0 && is_new;) {
        above = parent[above];
        is_new = trees_.feature(tree.begin + above) != feature;
      }
      for (std::int32_t child = left; child <= left + 1; ++child) {
        parent[child] = static_cast<std::int32_t>(i);
        different[child] = different[i] + is_new;
      }
    }
    return *std::max_element(different.begin(), different.end());
  }

  const Trees& trees_;
  TreeScores scores_;
  const Lines* lines_;
};

}  // namespace committee
