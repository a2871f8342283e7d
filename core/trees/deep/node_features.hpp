// The bins that a node's rows fall into, feature by feature, and the sums per touched bin: one class for dense tables,
// one for sparse ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram/histogram.hpp"
#include "histogram/sparse_table.hpp"
#include "threads/vector.hpp"
#include "trees/deep/rows.hpp"
#include "trees/deep/scan.hpp"
#include "trees/growing_tree.hpp"

namespace committee {

struct DeepNode : NodeRange {  // of the items
  bool in_block;               // rows count within the block of a CodeNodes
};

template <class Table>
std::int64_t most_bins(const Table& table) {
  std::int64_t most = 0;
  for (std::int64_t j = 0; j < table.n_features; ++j) most = std::max(most, table.missing_bin(j) + 1);
  return most;
}

// Of all codes: a feature that is looked at costs the rows of the node.
template <class Code, class Item>
class CodeNodes {
 public:
  static constexpr bool kByRow = true;  // the code of a row is read at once

  CodeNodes(const BinnedTable<Code>& table, const Code* columns)
      : table_(table), columns_{columns, 1, table.n_rows}, view_(columns_) {}

  // Makes ready for a node's features, of which `wanted` are looked at; `sums`: one for each of its planes.
  void begin_node(DeepNode& node, Item* items, std::int64_t wanted, const std::uint64_t*, const NodePlanes&) {
    if (!node.in_block && pays_as_block(node, wanted)) move_to_block(node, items);
    view_ = node.in_block ? View{block_.data(), table_.n_features, 1} : columns_;
    items_ = items + node.begin;
    n_ = node.size();
  }
  void end_node() {}

  bool varies(std::int64_t j) const {
    const Code* const column = view_.column(j);
    const Code first = column[items_[0].row * view_.row_step];
    for (std::int64_t i = 1; i < n_; ++i)
      if (column[items_[i].row * view_.row_step] != first) return true;
    return false;
  }

  template <int kPlanes, bool kIdentity>
  void count(std::int64_t j, const NodePlanes& planes, BinList& list) {
    histogram_.make_room(table_.missing_bin(j) + 1, planes.held());
    histogram_.template count<kPlanes, kIdentity>(items_, n_, view_.column(j), view_.row_step,
                                                  table_.missing_bin(j) + 1, planes, list);
  }

  // The codes of one feature, by an item's row.
  auto codes(const DeepNode&, std::int64_t j) const {
    return [column = view_.column(j), step = view_.row_step](std::int32_t row) { return column[row * step]; };
  }
  std::int32_t row_of_table(const DeepNode& node, std::int32_t row) const {
    return node.in_block ? block_rows_[row] : row;
  }

 private:
  // Codes to read: those of row r and feature j are at base[r * row_step + j * feature_step].
  struct View {
    const Code* base;
    std::int64_t row_step, feature_step;
    const Code* column(std::int64_t j) const { return base + j * feature_step; }
  };

  // As many codes as stay in the second cache: at 100,000 rows nothing is gained, at 1,000,000 two fifths of the time.
  static constexpr std::int64_t kBlockBytes = 1 << 18;

  // A copy takes all features; with few of many looked at it would cost more than it saves.
  bool pays_as_block(const DeepNode& node, std::int64_t wanted) const {
    const auto bytes = count_of(sizeof(Code)) * table_.n_features;
    return node.size() * bytes <= kBlockBytes && node.size() >= 8 && table_.n_features <= 16 * wanted;
  }

  // A small node's codes side by side, for all of its descendants.
  void move_to_block(DeepNode& node, Item* items) {
    const std::int64_t p = table_.n_features;
    block_.resize(node.size() * p);
    block_rows_.resize(node.size());
    for (std::int64_t i = 0; i < node.size(); ++i) {
      Item& item = items[node.begin + i];
      std::copy_n(table_.codes + item.row * p, p, block_.data() + i * p);
      block_rows_[i] = item.row;
      item.row = static_cast<std::int32_t>(i);
    }
    node.in_block = true;
  }

  const BinnedTable<Code>& table_;
  const View columns_;
  View view_;  // of the node
  const Item* items_ = nullptr;
  std::int64_t n_ = 0;
  TouchedHistogram histogram_;
  Vector<Code> block_;  // codes of the rows of a small node, row by row
  Vector<std::int32_t> block_rows_;
};

// Of a sparse table: all entries of the node's rows are counted at once, into sums that are all zeros between nodes.
template <class Item>
class SparseNodes {
 public:
  static constexpr bool kByRow = false;

  explicit SparseNodes(const SparseTable& table) : table_(table), stored_(table.n_features, 0) {
    for (std::int64_t j = 0; j < table.n_features; ++j)
      feature_of_.resize(table.cell[j + 1], static_cast<std::int32_t>(j));
  }

  void begin_node(DeepNode& node, Item* items, std::int64_t, const std::uint64_t* sums, const NodePlanes& planes) {
    items_ = items + node.begin;
    n_ = node.size();
    sums_ = sums;
    width_ = planes.held();
    if (cells_.size() < table_.cell.back() * width_) cells_.resize(table_.cell.back() * width_, 0);
    if (planes.is_identity())
      each_entry([&](const Item& item, std::int32_t cell) { planes.add<true>(count_cell(cell), item); });
    else
      each_entry([&](const Item& item, std::int32_t cell) { planes.add<false>(count_cell(cell), item); });
  }
  void end_node() {
    each_entry([&](const Item&, std::int32_t cell) {
      stored_[feature_of_[cell]] = 0;
      std::fill_n(cells_.data() + cell * width_, width_, 0);
    });
  }

  bool varies(std::int64_t j) const {
    if (stored_[j] < n_) return stored_[j] > 0;
    int touched = 0;  // no row of the node is zero here
    for (std::int64_t c = table_.cell[j]; c < table_.cell[j + 1] && touched < 2; ++c) touched += is_touched(c);
    return touched == 2;
  }

  // What the entries leave of the node's sums is that of the zeros.
  template <int kPlanes, bool kIdentity>
  void count(std::int64_t j, const NodePlanes&, BinList& list) {
    list.start(width_);
    std::uint64_t* zeros = nullptr;
    for (std::int64_t c = table_.cell[j]; c < table_.cell[j + 1]; ++c) {
      const std::int64_t bin = c - table_.cell[j];
      if (bin == table_.zero[j] && stored_[j] < n_) {
        zeros = list.put(bin);
        std::copy_n(sums_, width_, zeros);
      } else if (is_touched(c)) {
        std::copy_n(cells_.data() + c * width_, width_, list.put(bin));
      }
    }
    if (zeros == nullptr) return;
    for (std::int64_t i = 0; i < list.size(); ++i)
      if (const std::uint64_t* const cell = list.cell(i); cell != zeros)
        for (int slot = 0; slot < width_; ++slot) zeros[slot] -= cell[slot];
  }

  auto codes(const DeepNode&, std::int64_t j) const {
    return [&table = table_, j](std::int32_t row) { return table.row(row)[j]; };
  }
  std::int32_t row_of_table(const DeepNode&, std::int32_t row) const { return row; }

 private:
  template <class Visit>
  void each_entry(Visit&& visit) const {
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int32_t row = items_[i].row;
      const std::int32_t* const total = table_.entries + table_.start[row + 1] - 1;
      for (const std::int32_t* e = table_.entries + table_.start[row]; e < total; ++e) visit(items_[i], *e);
    }
  }
  std::uint64_t* count_cell(std::int32_t cell) {
    ++stored_[feature_of_[cell]];
    return cells_.data() + cell * width_;
  }
  bool is_touched(std::int64_t cell) const {
    std::uint64_t any = 0;
    for (int slot = 0; slot < width_; ++slot) any |= cells_[cell * width_ + slot];
    return any != 0;
  }

  const SparseTable& table_;
  const Item* items_ = nullptr;
  std::int64_t n_ = 0;
  const std::uint64_t* sums_ = nullptr;
  int width_ = 0;
  Vector<std::int32_t> feature_of_;  // each cell
  Vector<std::int32_t> stored_;      // rows of the node whose cell is stored, by feature
  Vector<std::uint64_t> cells_;
};

}  // namespace committee
