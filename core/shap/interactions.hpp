// Shapley interaction values of trees, path-dependent as the values of tree_shap.hpp: what two features add together.
//
// Of a leaf of value v, with o and z as there, features i and j share
//
//   phi_ij = v / 2 (o_i - z_i) (o_j - z_j) int_0^1 prod_(k != i, j) [z_k (1 - t) + o_k t] dt,
//
// half of it for phi_ij and half for phi_ji: at each point of the rule it is the leaf's product times h_i h_j. So a
// leaf with d features on its way costs d (d - 1) / 2 products a point. Eight rows go abreast.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shap/shap_tree.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

// For each leaf the nodes at which the last edge of each feature on its way ends.
struct LeafWays {
  explicit LeafWays(const ShapTree& tree) {
    Vector<std::int32_t> above;
    for (std::int64_t c = 0; c < tree.size; ++c) {
      if (!tree.edges[c].is_leaf) continue;
      above.clear();
      for (std::int32_t at = static_cast<std::int32_t>(c); at != 0; at = tree.edges[at].parent) {
        const std::int32_t feature = tree.edges[at].feature;
        const bool known = std::any_of(above.begin(), above.end(),
                                       [&](std::int32_t node) { return tree.edges[node].feature == feature; });
        if (!known) above.push_back(at);
      }
      leaf.push_back(static_cast<std::int32_t>(c));
      first.push_back(node.size());
      node.insert(node.end(), above.begin(), above.end());
      most = std::max(most, above.size());
    }
    first.push_back(node.size());
  }
  Vector<std::int32_t> leaf, node;
  Vector<std::int64_t> first;
  std::int64_t most = 0;
};

struct InteractionLanes {
  explicit InteractionLanes(std::int64_t most) : h(most), pair(most * (most - 1) / 2 + 1) {}
  Vector<LaneOfRows> h, pair;
};

// Adds weight times the tree's interactions of eight rows to phi[(i p + j) * stride], for i < j.
COMMITTEE_CLONES inline void add_interactions(const ShapTree& tree, const LeafWays& ways, const ShapValues& values,
                                              const LaneOfRows* passes, InteractionLanes& lanes, LaneOfRows* phi,
                                              std::int64_t p, std::int64_t stride) {
  const auto [value, D, weight] = values;
  for (std::int64_t l = 0; l < ways.leaf.size(); ++l) {
    const std::int32_t* const node = ways.node.data() + ways.first[l];
    const std::int64_t d = ways.first[l + 1] - ways.first[l], n_pairs = d * (d - 1) / 2;
    for (std::int64_t k = 0; k < n_pairs; ++k) store(lanes.pair[k].lane, Lanes{});
    for (std::int64_t q = 0; q < tree.n_points; ++q) {
      const ShapTerm* const terms = tree.terms.data() + q * tree.size;
      Lanes product = Lanes{} + tree.point_weight[q] * weight / 2.0;
      for (std::int64_t k = 0; k < d; ++k) {
        const LaneBits passing = bits_of(load(passes[node[k]].lane));
        const ShapTerm& term = terms[node[k]];
        product *= on_or_off(passing, term.on, term.off);
        store(lanes.h[k].lane, on_or_off(passing, term.h_on, tree.h_off[q]));
      }
      for (std::int64_t i = 1, k = 0; i < d; ++i) {
        const Lanes mine = product * load(lanes.h[i].lane);
        for (std::int64_t j = 0; j < i; ++j, ++k)
          store(lanes.pair[k].lane, load(lanes.pair[k].lane) + mine * load(lanes.h[j].lane));
      }
    }
    for (std::int64_t i = 1, k = 0; i < d; ++i)
      for (std::int64_t j = 0; j < i; ++j, ++k) {
        const std::int64_t one = tree.edges[node[i]].feature, other = tree.edges[node[j]].feature;
        LaneOfRows* const out = phi + (std::min(one, other) * p + std::max(one, other)) * stride;
        for (std::int64_t e = 0; e < D; ++e)
          store(out[e].lane, load(out[e].lane) + load(lanes.pair[k].lane) * value[ways.leaf[l] * D + e]);
      }
  }
}

class ShapInteractions {
 public:
  ShapInteractions(const Trees& trees, const double* cover, const TreeScores& scores)
      : trees_(trees), cover_(cover), scores_(scores) {}

  // out (n, features, features, n_outputs), zeros before; nothing is written below the diagonal or on it.
  void interactions(const double* X, std::int64_t n, double* out, ThreadTeam& team) const {
    const std::int64_t p = trees_.n_features(), places = p * p * scores_.n_outputs;
    Vector<ShapTree> all;
    Vector<LeafWays> ways;
    std::int64_t largest = 0, most = 1, work = 0;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      ShapTree& tree = all.emplace_back(trees_, t, cover_);
      tree.prepare(Quadrature(static_cast<int>(tree.n_points)));
      const LeafWays& of_leaves = ways.emplace_back(tree);
      largest = std::max(largest, tree.size);
      most = std::max(most, of_leaves.most);
      work += tree.n_points * of_leaves.node.size() * of_leaves.most;
    }
    team.blocks_of(kLanes, n, n * work, [&](std::int64_t begin, std::int64_t end) {
      Vector<LaneOfRows> passes(largest), phi(places, LaneOfRows{});
      InteractionLanes lanes(most);
      for (std::int64_t t = 0; t < all.size(); ++t) {
        follow(trees_, all[t], X, begin, end, passes.data());
        add_interactions(all[t], ways[t], {scores_.value + all[t].begin * scores_.D, scores_.D, scores_.weight(t)},
                         passes.data(), lanes, phi.data() + scores_.output(t), p, scores_.n_outputs);
      }
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < places; ++j) out[i * places + j] = phi[j].lane[i - begin];
    });
  }

 private:
  const Trees& trees_;
  const double* cover_;
  TreeScores scores_;
};

}  // namespace committee
