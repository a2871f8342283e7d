// Settings of the growth of a gradient tree, and its result.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bins/counter_rng.hpp"
#include "threads/vector.hpp"
#include "trees/gradient/node_scan.hpp"
#include "trees/growing_tree.hpp"
#include "trees/interactions.hpp"
#include "trees/leaf_value.hpp"
#include "trees/tree.hpp"

namespace committee {

// The sign by feature that weights must follow; empty where all are free.
using Directions = Vector<std::int8_t>;

struct GradientGrowth : TreeLimits {
  double min_hessian_leaf = 0.0, min_gain = 0.0;
  LeafPenalty penalty{};
  bool leaf_wise = true;
  Vector<Directions> monotone{};  // of each score, or one of all; empty: free
  Interactions interactions{};
  double draw_thresholds = 0.0;  // share of the trees whose nodes draw one threshold for each feature
  double max_weight = std::numeric_limits<double>::infinity();  // of a leaf, in size

  // Whether the nodes of a tree draw thresholds, by a number that depends on the tree's seed alone.
  bool draws_thresholds(std::uint64_t seed) const {
    constexpr std::int64_t kParts = std::int64_t{1} << 32;
    return static_cast<double>(SplitMix(seed, kParts).below(kParts)) < draw_thresholds * static_cast<double>(kParts);
  }
  Bounds bounds() const { return {-max_weight, max_weight}; }
  bool bounded(std::int64_t score) const { return std::isfinite(max_weight) || !directions(score).empty(); }
  Directions directions(std::int64_t score) const {
    return monotone.empty() ? Directions{} : monotone[monotone.size() > 1 ? score : 0];
  }

  // The same of q columns, which rise.
  GradientGrowth of_columns(const std::int32_t* features, std::int64_t q) const {
    GradientGrowth some = *this;
    for (Directions& signs : some.monotone) {
      if (signs.empty()) continue;
      for (std::int64_t i = 0; i < q; ++i) signs[i] = signs[features[i]];
      signs.resize(q);
    }
    if (!feature_weights.empty()) {
      for (std::int64_t i = 0; i < q; ++i) some.feature_weights[i] = feature_weights[features[i]];
      some.feature_weights.resize(q);
    }
    some.interactions = interactions.among(features, q);
    return some;
  }
};

// A grown tree: structure, and the limits of every node's weight.
struct GradientTree : FlatTree {
  Vector<Bounds> bounds;
  Vector<double> value;   // nodes x outputs
  Vector<double> weight;  // of the rows of each node; empty where rows have no weights
};

// The weights of all nodes, from their sums.
inline void weigh(GradientTree& tree, const GradientGrowth& growth, std::int64_t score, std::int64_t n_outputs) {
  const bool bounded = growth.bounded(score);
  for (std::int64_t i = 0; i < tree.feature.size(); ++i)
    for (std::int64_t d = 0; d < n_outputs; ++d) {
      const double G = tree.sums[i * 2 * n_outputs + d], H = tree.sums[i * 2 * n_outputs + n_outputs + d];
      tree.value.push_back(bounded ? growth.penalty.weight_within(G, H, tree.bounds[i].lower, tree.bounds[i].upper)
                                   : growth.penalty.weight(G, H));
    }
}

}  // namespace committee
