// Grower of gradient trees over a sharded table (shard.hpp), whose shards may be on other machines.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "trees/gradient/grow.hpp"
#include "trees/gradient/rows.hpp"
#include "trees/gradient/sharded_rows.hpp"

namespace committee {

// The leaves by their places and numbers; what is returned are their sums (nodes x width), added up over the shards.
using LeafSums = std::function<Vector<Multiples>(const Vector<std::int32_t>& places, const Vector<std::int32_t>& ids,
                                                 std::int64_t n_nodes)>;

// What a tree is grown by, where its rows are not: the words that the shards have, and the histogram of all rows.
struct ShardsRound {
  RoundScale scale;
  WordLayout layout;
  const Vector<std::uint64_t>& root;
  double largest_weight;
  bool weighted;
  const std::int32_t* features;  // null: all
  std::int64_t n_features;
  std::uint64_t seed;
  std::int64_t score;
};

// `whole`: the table of all columns, of no rows.
inline GradientTree grow_on_shards(const BinnedTable<std::uint8_t>& whole, const GradientGrowth& all_columns,
                                   const ShardsRound& round, ShardedRows::Ask ask, const LeafSums& leaf_sums,
                                   int n_threads) {
  using Table = BinnedTable<std::uint8_t>;
  ThreadTeam team(n_threads);
  Table table = whole;
  GradientGrowth growth = all_columns;
  if (round.features != nullptr) {
    TableColumns<Table> no_columns(whole, team);
    table = chosen_columns(whole, round.features, round.n_features, no_columns, team);
    growth = all_columns.of_columns(round.features, round.n_features);
    growth.max_features = growth.max_features > 0 ? std::min(growth.max_features, round.n_features) : round.n_features;
  }
  IdleHistograms idle;
  CountingRoom room;
  GradientHistograms<Table> histograms(table, nullptr, round.scale.n_outputs, team, idle, room);
  histograms.use(round.layout, nullptr);
  ShardedRows nodes(histograms, round.root, round.scale.n_rows, std::move(ask));
  GradientChildren<ShardedRows> children(nodes, growth, round.weighted, round.score, round.seed);
  GradientGrowing<ShardedRows> growing(children, {}, growth, team);
  GradientTree tree = growing.grow(round.scale.n_rows);
  Vector<std::int32_t> places, ids;
  for (const NodeRows& leaf : growing.leaves()) {
    places.push_back(leaf.place);
    ids.push_back(leaf.id);
  }
  const LeafUnits units(round.scale, round.largest_weight, round.weighted);
  add_up(tree, leaf_sums(places, ids, tree.feature.size()), units, tree.weight);
  growing.settle_unseen(tree, tree.weight);
  weigh(tree, growth, round.score, round.scale.n_outputs);
  for (std::int32_t& feature : tree.feature)
    if (feature >= 0 && round.features != nullptr) feature = round.features[feature];
  return tree;
}

}  // namespace committee
