// The binned table by column, for kernels that read one column of many rows, and tables of a subset of the columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram/histogram.hpp"
#include "histogram/partition.hpp"
#include "histogram/sparse_table.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

template <class Code>
Vector<Code> by_column(const BinnedTable<Code>& table, ThreadTeam& team) {
  constexpr std::int64_t kTile = 64;  // rows of which one column fills a cache line
  const std::int64_t p = table.n_features, n = table.n_rows;
  Vector<Code> columns(n * p);
  // captured by value: a byte that is written might be any other in memory
  team.blocks(n, n * p / 4, [=, from = table.codes, to = columns.data()](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kTile)
      for (std::int64_t j = 0; j < p; ++j)
        for (std::int64_t i = first; i < std::min(end, first + kTile); ++i) to[j * n + i] = from[i * p + j];
  });
  return columns;
}

// Columns by which rows are parted.
template <class Code>
struct CodeColumns {
  Vector<const Code*> of_feature;
  std::int64_t stride;  // from one row to the next
  std::int32_t code(std::int64_t row, std::int64_t j) const { return of_feature[j][row * stride]; }
  std::int64_t part(std::int64_t j, const Vector<std::uint8_t>& is_left, std::int32_t* rows, std::int32_t* scratch,
                    std::int64_t n, ThreadTeam& team) const {
    return partition_rows(rows, scratch, n, CodeSides<Code>{of_feature[j], stride, is_left.data()}, team);
  }
};
struct SparseColumns {
  const SparseTable* table;
  const std::int32_t* features;  // of the table; null: all
  std::int64_t feature(std::int64_t j) const { return features ? features[j] : j; }
  std::int32_t code(std::int64_t row, std::int64_t j) const { return table->row(row)[feature(j)]; }
  std::int64_t part(std::int64_t j, const Vector<std::uint8_t>& is_left, std::int32_t* rows, std::int32_t* scratch,
                    std::int64_t n, ThreadTeam& team) const {
    return part_rows(*table, feature(j), is_left, rows, scratch, n, team);
  }
};

// Cells of which a table has a copy by column. Without it parting rows costs a cache line for each row instead of one
// for 64, a quarter of a tree's time, but a large table is held once.
inline constexpr std::int64_t kMostCopied = std::int64_t{1} << 29;

// A table's columns, and the table of those that are chosen, in memory that the next choice writes anew.
template <class Table>
class TableColumns;

template <class Code>
class TableColumns<BinnedTable<Code>> {
 public:
  using Columns = CodeColumns<Code>;

  // A large table is not copied (kMostCopied): its rows are parted by codes that are a row apart.
  TableColumns(const BinnedTable<Code>& table, ThreadTeam& team) : table_(table) {
    require_codes_in_range(table, team);
    if (table.n_rows * table.n_features <= kMostCopied) by_column_ = by_column(table, team);
  }

  CodeColumns<Code> all() const {
    CodeColumns<Code> columns{{}, stride()};
    for (std::int64_t j = 0; j < table_.n_features; ++j) columns.of_feature.push_back(column(j));
    return columns;
  }
  CodeColumns<Code> some(const BinnedTable<Code>& chosen, const std::int32_t* features) const {
    CodeColumns<Code> columns{{}, stride()};
    for (std::int64_t i = 0; i < chosen.n_features; ++i) columns.of_feature.push_back(column(features[i]));
    return columns;
  }

  // The chosen columns side by side, so that rows are as short as they can be. `chosen` has features and cells.
  void fill(BinnedTable<Code>& chosen, const std::int32_t* features, ThreadTeam& team) {
    const std::int64_t n = table_.n_rows, p = table_.n_features, q = chosen.n_features;
    codes_.resize(n * q);
    team.blocks(n, n * q, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t i = 0; i < q; ++i) codes_[row * q + i] = table_.codes[row * p + features[i]];
    });
    chosen.codes = codes_.data();
  }

 private:
  bool copied() const { return !by_column_.empty(); }
  std::int64_t stride() const { return copied() ? 1 : table_.n_features; }
  const Code* column(std::int64_t j) const {
    return copied() ? by_column_.data() + j * table_.n_rows : table_.codes + j;
  }
  const BinnedTable<Code>& table_;
  Vector<Code> by_column_, codes_;
};

template <>
class TableColumns<SparseTable> {
 public:
  using Columns = SparseColumns;

  TableColumns(const SparseTable& table, ThreadTeam&) : table_(table) {}

  SparseColumns all() const { return {&table_, nullptr}; }
  SparseColumns some(const SparseTable&, const std::int32_t* features) const { return {&table_, features}; }

  // The entries in the chosen columns, under their new numbers. `chosen` has features and cells.
  void fill(SparseTable& chosen, const std::int32_t* features, ThreadTeam& team) {
    const std::int64_t n = table_.n_rows;
    Vector<std::int32_t> number(table_.n_cells(), -1);
    for (std::int64_t i = 0; i < chosen.n_features; ++i) {
      chosen.zero.push_back(table_.zero[features[i]]);
      for (std::int64_t c = chosen.cell[i]; c < chosen.cell[i + 1]; ++c)
        number[table_.cell[features[i]] + c - chosen.cell[i]] = static_cast<std::int32_t>(c);
    }
    number.back() = static_cast<std::int32_t>(chosen.cell.back());
    const auto each = [&](std::int64_t row, auto&& visit) {
      for (std::int64_t e = table_.start[row]; e < table_.start[row + 1]; ++e)
        if (const std::int32_t cell = number[table_.entries[e]]; cell >= 0) visit(cell);
    };
    start_.assign(n + 1, 0);
    team.blocks(n, table_.cells_of(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) each(row, [&](std::int32_t) { ++start_[row + 1]; });
    });
    for (std::int64_t row = 0; row < n; ++row) start_[row + 1] += start_[row];
    entries_.resize(start_.back());
    team.blocks(n, table_.cells_of(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int32_t* to = entries_.data() + start_[row];
        each(row, [&](std::int32_t cell) { *to++ = cell; });
      }
    });
    chosen.start = start_.data();
    chosen.entries = entries_.data();
  }

 private:
  const SparseTable& table_;
  Vector<std::int64_t> start_;
  Vector<std::int32_t> entries_;
};

}  // namespace committee
