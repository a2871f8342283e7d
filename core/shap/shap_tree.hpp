// Trees as Shapley values see them: what each feature adds to the mean over the training rows, where a feature left out
// of the game sends a row down both sides, in the shares of the training rows (S. Lundberg et al. 2020,
// path-dependent).
//
// For one leaf let z_j be the share that feature j's splits on the way to it let through, and o_j 1 if the row passes
// all of them. Shapley's weights are integrals, s! (d - s - 1)! / d! = int_0^1 t^s (1 - t)^(d - s - 1) dt, so
//
//   phi_i = value (o_i - z_i) int_0^1 prod_(j != i) [z_j (1 - t) + o_j t] dt,
//
// a polynomial of degree d - 1, which Gauss and Legendre's rule integrates exactly with d / 2 points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

// Points and weights of Gauss and Legendre's rule on [0, 1], exact up to degree 2 n - 1.
struct Quadrature {
  Vector<double> point, weight;
  explicit Quadrature(int n) {
    for (int q = 0; q < n; ++q) {
      double x = std::cos(std::numbers::pi * (q + 0.75) / (n + 0.5)), slope = 1.0;
      for (int step = 0; step < 20; ++step) {  // Newton's; it is there after five
        double before = 1.0, here = x;         // Legendre's polynomials of degree k - 1 and k
        for (int k = 1; k < n; ++k) {
          const double next = ((2 * k + 1) * x * here - k * before) / (k + 1);
          before = here;
          here = next;
        }
        slope = n * (x * here - before) / (x * x - 1.0);
        x -= here / slope;
      }
      point.push_back((1.0 + x) / 2.0);
      weight.push_back(1.0 / ((1.0 - x * x) * slope * slope));
    }
  }
};

struct alignas(64) LaneOfRows {  // a number for each of eight rows
  double lane[kLanes];
};

struct ShapEdge {         // from a node's parent to the node
  std::int32_t parent;    // all three counted within the tree
  std::int32_t previous;  // where the nearest edge above of the same feature ends, 0 if there is none
  std::int32_t feature;   // that the parent splits on
  bool is_leaf;
};
struct ShapTerm {  // an edge at a point t, for rows that pass (on) and that do not (off)
  double on, off;  // z (1 - t) + o t
  double h_on;     // (1 - z) / on
};

class ShapTree {
 public:
  // cover: the weight of the training rows of every node of the forest.
  ShapTree(const Trees& trees, std::int64_t t, const double* cover)
      : begin(trees.offset(t)), size(trees.offset(t + 1) - begin), edges(size), share(size, 1.0), reach(size, 1.0) {
    Vector<std::int64_t> features(size, 0);  // different ones above each node
    for (std::int64_t i = 0; i < size; ++i) {
      if (trees.is_leaf(begin + i)) {
        edges[i].is_leaf = true;
        continue;
      }
      const std::int32_t left = trees.left(begin + i), feature = trees.feature(begin + i);
      std::int32_t previous = static_cast<std::int32_t>(i);
      while (previous != 0 && edges[previous].feature != feature) previous = edges[previous].parent;
      const double both = cover[begin + left] + cover[begin + left + 1];
      for (std::int32_t child = left; child <= left + 1; ++child) {
        const double part = both > 0.0 ? cover[begin + child] / both : 0.5;
        edges[child] = {static_cast<std::int32_t>(i), previous, feature, false};
        share[child] = share[previous] * part;
        reach[child] = reach[i] * part;
        features[child] = features[i] + (previous == 0);
      }
    }
    n_points = (*std::max_element(features.begin(), features.end()) + 1) / 2;
  }

  void prepare(const Quadrature& rule) {
    point_weight = rule.weight;
    for (const double t : rule.point) {
      h_off.push_back(-1.0 / (1.0 - t));
      for (const double z : share) {
        const double off = z * (1.0 - t), on = off + t;
        terms.push_back({on, off, (1.0 - z) / on});
      }
    }
  }

  std::int64_t begin, size, n_points;
  Vector<ShapEdge> edges;
  Vector<double> share, reach;  // of the feature's splits down to the node; of all training rows
  Vector<double> point_weight, h_off;
  Vector<ShapTerm> terms;  // (points, nodes)
};

COMMITTEE_INLINE Lanes on_or_off(const LaneBits& passes, double on, double off) {
  return lanes_of((bits_of(Lanes{} + on) & passes) | (bits_of(Lanes{} + off) & ~passes));
}

struct ShapValues {
  const double* value;  // nodes of the tree x D
  std::int64_t D;
  double weight;
};

// What the trees are worth: value (nodes, D), and which sums they add to. n_outputs is D, or with D = 1 any number:
// tree t then is for output t % n_outputs. weights: one for every round of n_outputs / D trees.
struct TreeScores {
  const double* value;
  std::int64_t D, n_outputs;
  const double* weights;
  std::int64_t output(std::int64_t t) const { return D == 1 ? t % n_outputs : 0; }
  double weight(std::int64_t t) const { return weights[D == 1 ? t / n_outputs : t]; }
};

// Which of eight rows pass all splits of its feature down to each node, as masks; rows beyond the end repeat the last.
inline void follow(const Trees& trees, const ShapTree& tree, const double* X, std::int64_t first, std::int64_t end,
                   LaneOfRows* passes) {
  const std::int64_t p = trees.n_features();
  store(passes[0].lane, lanes_of(LaneBits{} - 1));
  for (std::int64_t i = 0; i < tree.size; ++i) {
    if (tree.edges[i].is_leaf) continue;
    const std::int32_t left = trees.left(tree.begin + i);
    LaneBits to_left{};
    for (std::int64_t r = 0; r < kLanes; ++r)
      to_left[r] = -std::int64_t{trees.goes_left(tree.begin + i, X + std::min(first + r, end - 1) * p)};
    const LaneBits before = bits_of(load(passes[tree.edges[left].previous].lane));
    store(passes[left].lane, lanes_of(before & to_left));
    store(passes[left + 1].lane, lanes_of(before & ~to_left));
  }
}

}  // namespace committee
