// One shard of a distributed table: partitions and counts its rows on request (sharded_rows.hpp). Sums over shards
// equal those of the whole table to the bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trees/gradient/rows.hpp"
#include "trees/gradient/sharded_rows.hpp"

namespace committee {

class GradientShard {
 public:
  virtual ~GradientShard() = default;
  virtual std::int64_t n_rows() const = 0;
  virtual std::int64_t n_features() const = 0;
  virtual const Vector<std::int32_t>& leaf_of_row() const = 0;

  // A tree begins, on rows that may be none of this shard's.
  virtual void begin(const GradientRound& round) = 0;
  virtual GradientRange range(const GradientRound& round, bool by_units) const = 0;
  virtual WordTotals pack(const GradientRound& round, const WordLayout& layout, bool by_units) = 0;
  virtual Vector<std::uint64_t> root(const GradientRound& round, bool narrow) = 0;
  virtual Vector<std::uint64_t> part(const Vector<PartOrder>& orders) = 0;
  virtual Vector<Multiples> leaf_sums(const Vector<std::int32_t>& places, const Vector<std::int32_t>& ids,
                                      std::int64_t n_nodes, const GradientRound& round, const LeafUnits& units) = 0;
};

template <class Table>
class TableGradientShard final : public GradientShard {
 public:
  TableGradientShard(Table table, std::int64_t n_outputs, int n_threads)
      : TableGradientShard(std::move(table), n_outputs, n_threads, ThreadTeam(n_threads)) {}

  std::int64_t n_rows() const override { return rows_.table().n_rows; }
  std::int64_t n_features() const override { return rows_.table().n_features; }
  const Vector<std::int32_t>& leaf_of_row() const override { return rows_.leaf_of_row(); }

  void begin(const GradientRound& round) override {
    ThreadTeam team(n_threads_);
    rows_.use(round, team);
    features_.assign(round.features, round.features + (round.features ? round.n_features : 0));
    some_.reset();
    if (round.features)
      some_ = chosen_columns(rows_.table(), features_.data(), features_.size(), rows_.columns(), team);
    place_.assign({{0, round.n_in_use}});
  }

  GradientRange range(const GradientRound& round, bool by_units) const override {
    ThreadTeam team(n_threads_);
    return rows_.range(round, by_units, team);
  }

  WordTotals pack(const GradientRound& round, const WordLayout& layout, bool by_units) override {
    ThreadTeam team(n_threads_);
    layout_ = layout;
    return rows_.pack(round, layout, by_units, team);
  }

  Vector<std::uint64_t> root(const GradientRound& round, bool narrow) override {
    Vector<std::uint64_t> sums;
    with_histograms([&](GradientHistograms<Table>& histograms) {
      const bool all = round.rows == nullptr;
      append(histograms, histograms.build(all ? nullptr : rows_.in_order(), round.n_in_use, narrow), sums);
    });
    return sums;
  }

  Vector<std::uint64_t> part(const Vector<PartOrder>& orders) override {
    Vector<std::uint64_t> sums;
    with_histograms([&](GradientHistograms<Table>& histograms) {
      for (const PartOrder& order : orders) {
        const Range node = at(order.place);
        require_order(order, histograms.table());
        const std::int64_t middle = node.begin + part(order, node, histograms.team());
        if (place_.size() < order.left + 2) place_.resize(order.left + 2, {0, 0});
        place_[order.left] = {node.begin, middle};
        place_[order.left + 1] = {middle, node.end};
        if (!order.counted) continue;
        const Range child = place_[order.left + !order.left_side];
        append(histograms, histograms.build(rows_.in_order() + child.begin, child.end - child.begin, order.narrow),
               sums);
      }
    });
    return sums;
  }

  Vector<Multiples> leaf_sums(const Vector<std::int32_t>& places, const Vector<std::int32_t>& ids, std::int64_t n_nodes,
                              const GradientRound& round, const LeafUnits& units) override {
    Vector<LeafRows> leaves;
    for (std::int64_t i = 0; i < places.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= n_nodes) throw std::invalid_argument("a leaf's number is none of the tree's");
      leaves.push_back({at(places[i]).begin, at(places[i]).end, ids[i]});
    }
    require_all_rows(leaves, round.n_in_use);
    ThreadTeam team(n_threads_);
    return rows_.leaf_sums(leaves, n_nodes, round, units, team);
  }

 private:
  struct Range {
    std::int64_t begin, end;
  };

  TableGradientShard(Table table, std::int64_t n_outputs, int n_threads, ThreadTeam&& team)
      : n_threads_(n_threads), rows_(std::move(table), n_outputs, team) {}

  const Range& at(std::int32_t place) const {
    if (place < 0 || place >= place_.size()) throw std::invalid_argument("a place was not parted from any node");
    return place_[place];
  }

  // Every row of the tree is in one of the leaves.
  static void require_all_rows(Vector<LeafRows> leaves, std::int64_t n_in_use) {
    std::sort(leaves.begin(), leaves.end(), [](const LeafRows& a, const LeafRows& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::int64_t end = 0;
    bool all = true;
    for (const LeafRows& leaf : leaves) {
      all &= leaf.begin == end;
      end = leaf.end;
    }
    if (!all || end != n_in_use) throw std::invalid_argument("the leaves are not those of a whole tree");
  }

  static void require_order(const PartOrder& order, const Table& table) {
    if (order.feature < 0 || order.feature >= table.n_features || order.left < 1 ||
        order.is_left.size() != table.missing_bin(order.feature) + 1)
      throw std::invalid_argument("a node cannot be parted by a column, or bins, that the table does not have");
  }

  std::int64_t part(const PartOrder& order, const Range& node, ThreadTeam& team) {
    std::int32_t *const rows = rows_.in_order() + node.begin, *const room = rows_.room() + node.begin;
    const std::int64_t n = node.end - node.begin;
    if (some_)
      return rows_.columns().some(*some_, features_.data()).part(order.feature, order.is_left, rows, room, n, team);
    return rows_.columns().all().part(order.feature, order.is_left, rows, room, n, team);
  }

  template <class Use>
  void with_histograms(Use&& use) {
    ThreadTeam team(n_threads_);
    const auto columns = some_ ? rows_.columns().some(*some_, features_.data()) : rows_.columns().all();
    GradientHistograms<Table> histograms(some_ ? *some_ : rows_.table(), &columns, rows_.n_outputs(), team,
                                         rows_.idle(), rows_.counting_room());
    histograms.use(layout_, rows_.words());
    use(histograms);
  }

  static void append(GradientHistograms<Table>& histograms, GradientHistogram h, Vector<std::uint64_t>& sums) {
    sums.insert(sums.end(), h.sums.begin(), h.sums.begin() + histograms.size_of(h.narrow));
    histograms.give_back(std::move(h));
  }

  const int n_threads_;
  GradientRows<Table> rows_;
  std::optional<Table> some_;      // the columns of this tree
  Vector<std::int32_t> features_;  // of the table; none: all
  Vector<Range> place_;            // rows of the nodes so far
  WordLayout layout_;
};

}  // namespace committee
