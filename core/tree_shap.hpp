// Shapley values of trees: what each feature adds to the mean over the training rows, where a feature left out of the
// game sends a row down both sides, in the shares of the training rows (S. Lundberg et al. 2020, path-dependent).
//
// For one leaf let z_j be the share that feature j's splits on the way to it let through, and o_j 1 if the row passes
// all of them. Shapley's weights are integrals, s! (d - s - 1)! / d! = int_0^1 t^s (1 - t)^(d - s - 1) dt, so
//
//   phi_i = value (o_i - z_i) int_0^1 prod_(j != i) [z_j (1 - t) + o_j t] dt,
//
// a polynomial of degree d - 1, which Gauss and Legendre's rule integrates exactly with d / 2 points. At each point the
// products go down the tree, their sums G over the leaves come up, and an edge adds G times the change of
// h = (o - z) / (z (1 - t) + o t) to its feature: along the edges of one feature these changes add up to the last h.
// Factors are never negative, so nothing cancels. Eight rows go abreast.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "lanes.hpp"
#include "threads.hpp"
#include "traverse.hpp"
#include "vector.hpp"

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
struct ShapTerm {          // an edge at a point t, for rows that pass (on) and that do not (off)
  double on, off;          // z (1 - t) + o t
  double per_on, per_off;  // their reciprocals
  double h_on;             // (1 - z) / on
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
        terms.push_back({on, off, 1.0 / on, off > 0.0 ? 1.0 / off : 0.0, (1.0 - z) / on});
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
struct ShapLanes {  // of eight rows, a number for each node
  Vector<LaneOfRows> passes, product, sum;
};

// Adds weight times the tree's contributions to phi[feature * stride], one place for each of the D columns of value.
COMMITTEE_CLONES inline void add_contributions(const ShapTree& tree, const ShapValues& values, ShapLanes& lanes,
                                               LaneOfRows* phi, std::int64_t stride) {
  const auto [value, D, weight] = values;
  const LaneOfRows* const passes = lanes.passes.data();
  LaneOfRows* const product = lanes.product.data();
  LaneOfRows* const sum = lanes.sum.data();
  const auto passing = [&](std::int64_t at) __attribute__((always_inline)) { return bits_of(load(passes[at].lane)); };
  for (std::int64_t q = 0; q < tree.n_points; ++q) {
    const ShapTerm* const terms = tree.terms.data() + q * tree.size;
    const double h_off = tree.h_off[q], scale = weight * tree.point_weight[q];
    store(product[0].lane, Lanes{} + 1.0);
    for (std::int64_t c = 1; c < tree.size; ++c) {
      const ShapEdge& edge = tree.edges[c];
      Lanes p = load(product[edge.parent].lane) * on_or_off(passing(c), terms[c].on, terms[c].off);
      if (const std::int32_t up = edge.previous) p *= on_or_off(passing(up), terms[up].per_on, terms[up].per_off);
      store(product[c].lane, p);
    }
    for (std::int64_t d = 0; d < D; ++d) {
      for (std::int64_t c = 0; c < tree.size; ++c) store(sum[c].lane, Lanes{});
      for (std::int64_t c = tree.size - 1; c > 0; --c) {
        const ShapEdge& edge = tree.edges[c];
        const Lanes G = edge.is_leaf ? load(product[c].lane) * (scale * value[c * D + d]) : load(sum[c].lane);
        Lanes h = on_or_off(passing(c), terms[c].h_on, h_off);
        if (const std::int32_t up = edge.previous) h -= on_or_off(passing(up), terms[up].h_on, h_off);
        double* const out = phi[edge.feature * stride + d].lane;
        store(out, load(out) + G * h);
        store(sum[edge.parent].lane, load(sum[edge.parent].lane) + G);
      }
    }
  }
}

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

class TreeShap {
 public:
  TreeShap(const Trees& trees, const double* cover, const TreeScores& scores)
      : trees_(trees), cover_(cover), scores_(scores) {}

  // out (n, features + 1, n_outputs), zeros before; the last place becomes the expected score.
  void contributions(const double* X, std::int64_t n, double* out, ThreadTeam& team) const {
    constexpr std::int64_t kTerms = std::int64_t{1} << 20;  // held at once
    const std::int64_t O = scores_.n_outputs, places = (trees_.n_features() + 1) * O;
    Vector<Quadrature> rules;
    Vector<double> expected(O, 0.0);
    Vector<ShapTree> batch;
    std::int64_t terms = 0;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      ShapTree& tree = batch.emplace_back(trees_, t, cover_);
      while (rules.size() <= tree.n_points) rules.emplace_back(static_cast<int>(rules.size()));
      tree.prepare(rules[tree.n_points]);
      for (std::int64_t c = 0; c < tree.size; ++c)
        if (tree.edges[c].is_leaf)
          for (std::int64_t d = 0; d < scores_.D; ++d)
            expected[scores_.output(t) + d] +=
                scores_.weight(t) * tree.reach[c] * scores_.value[(tree.begin + c) * scores_.D + d];
      terms += tree.terms.size();
      if (terms < kTerms && t + 1 < trees_.n_trees()) continue;
      add(batch, t + 1 - batch.size(), X, n, out, team);
      batch.clear();
      terms = 0;
    }
    for (std::int64_t i = 0; i < n; ++i) std::copy(expected.begin(), expected.end(), out + (i + 1) * places - O);
  }

 private:
  // The contributions of some trees, of which the first is number `first`.
  void add(const Vector<ShapTree>& batch, std::int64_t first, const double* X, std::int64_t n, double* out,
           ThreadTeam& team) const {
    constexpr std::int64_t kBlock = 64;
    const std::int64_t places = trees_.n_features() * scores_.n_outputs;
    std::int64_t largest = 0, terms = 0;
    for (const ShapTree& tree : batch) {
      largest = std::max(largest, tree.size);
      terms += tree.size * tree.n_points * scores_.D;
    }
    team.blocks_of(kBlock, n, n * terms, [&](std::int64_t begin, std::int64_t end) {
      ShapLanes lanes{Vector<LaneOfRows>(largest), Vector<LaneOfRows>(largest), Vector<LaneOfRows>(largest)};
      Vector<LaneOfRows> phi(places * n_blocks(end - begin, kLanes), LaneOfRows{});
      for (std::int64_t k = 0; k < batch.size(); ++k) {
        const std::int64_t t = first + k;
        for (std::int64_t i = begin; i < end; i += kLanes) {
          follow(trees_, batch[k], X, i, end, lanes.passes.data());
          add_contributions(batch[k], {scores_.value + batch[k].begin * scores_.D, scores_.D, scores_.weight(t)}, lanes,
                            phi.data() + (i - begin) / kLanes * places + scores_.output(t), scores_.n_outputs);
        }
      }
      for (std::int64_t i = begin; i < end; ++i) {
        const LaneOfRows* const mine = phi.data() + (i - begin) / kLanes * places;
        double* const row = out + i * (places + scores_.n_outputs);
        for (std::int64_t j = 0; j < places; ++j) row[j] += mine[j].lane[(i - begin) % kLanes];
      }
    });
  }

  const Trees& trees_;
  const double* cover_;
  TreeScores scores_;
};

}  // namespace committee
