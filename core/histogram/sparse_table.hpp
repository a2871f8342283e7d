// A binned table of which each row keeps the cells that it has outside the bin of the value 0.
//
// A row's entries are the numbers of these cells, in the order of the columns, and last that of one more cell, the
// total, which every row has. The same entries are kept column by column too, for parting rows. Histograms are counted
// over the entries; what the total leaves of a feature's other cells is then the cell of its zeros (complete). Sums are
// exact integers, so that it is what counting would have given: trees are those of the same table made dense, to the
// last bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "histogram/histogram.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct SparseTable {
  static constexpr std::int64_t kTogether = 16;  // there are many, and most have a threshold or two

  const std::int64_t* start;          // row i has the entries start[i]..start[i + 1]
  const std::int32_t* entries;        // rising cells
  const std::int64_t* column_start;   // feature j has the entries column_start[j]..column_start[j + 1]
  const std::int32_t* column_rows;    // of the rows, which rise,
  const std::uint16_t* column_codes;  // with these codes
  std::int64_t n_rows, n_features;
  Vector<std::int64_t> cell;  // feature j owns cells cell[j]..cell[j + 1]; its last one is "missing"
  Vector<std::uint8_t> categorical;
  Vector<std::int32_t> zero;  // the bin of the value 0, of each feature

  std::int64_t n_cells() const { return cell.back() + 1; }
  std::int64_t missing_bin(std::int64_t j) const { return cell[j + 1] - cell[j] - 1; }
  // How many additions the rows of a node take, about.
  std::int64_t cells_of(std::int64_t n) const { return start[n_rows] / n_rows * n; }

  // A row's code of any feature.
  struct Row {
    const SparseTable& table;
    std::int64_t number;
    std::int32_t operator[](std::int64_t j) const {
      const std::int32_t* at = table.entries + table.start[number];
      const std::int64_t first = table.cell[j];
      // the first entry that is not below the feature, found without a branch
      for (std::int64_t n = table.start[number + 1] - table.start[number]; n > 1;) {
        const std::int64_t half = n / 2;
        at += at[half - 1] < first ? half : 0;
        n -= half;
      }
      // the total is beyond all features
      return *at < table.cell[j + 1] ? static_cast<std::int32_t>(*at - table.cell[j]) : table.zero[j];
    }
  };
  Row row(std::int64_t i) const { return {*this, i}; }

  // All of a row's cells, one for each feature.
  void expand(std::int64_t i, std::uint32_t* cells) const {
    const std::int32_t* e = entries + start[i];
    for (std::int64_t j = 0; j < n_features; ++j)
      cells[j] = static_cast<std::uint32_t>(*e < cell[j + 1] ? *e++ : cell[j] + zero[j]);
  }
};

// The cell of a feature's zeros, which are most of its rows; of a table with all its codes nothing is known.
inline std::int64_t zero_cell(const SparseTable& table, std::int64_t j) { return table.cell[j] + table.zero[j]; }
template <class Code>
std::int64_t zero_cell(const BinnedTable<Code>&, std::int64_t) {
  return -1;
}

// Entries are numbers of cells from the start (SparseCodes).
inline void require_codes_in_range(const SparseTable&, ThreadTeam&) {}

template <class Planes>
void add_rows(const SparseTable& table, const std::int32_t* rows, std::int64_t begin, std::int64_t end,
              const Planes& planes, std::uint64_t* histogram) {
  const std::int64_t n_cells = table.n_cells();
  const auto one_row = [&](std::int64_t row) {
    const std::int32_t* const last = table.entries + table.start[row + 1];
    planes(row, [&](auto plane, std::uint64_t value) {
      std::uint64_t* const h = histogram + std::int64_t{plane} * n_cells;
      for (const std::int32_t* e = table.entries + table.start[row]; e < last; ++e) h[*e] += value;
    });
  };
  if (rows == nullptr) {
    for (std::int64_t i = begin; i < end; ++i) one_row(i);
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + 2 * kAhead < end) __builtin_prefetch(table.start + rows[i + 2 * kAhead]);
    if (i + kAhead < end) {
      const std::int64_t next = rows[i + kAhead];
      planes.prefetch(next);
      const char* const line = reinterpret_cast<const char*>(table.entries + table.start[next]);
      const std::int64_t bytes = (table.start[next + 1] - table.start[next]) * count_of(sizeof(std::int32_t));
      for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(line + byte);
    }
    one_row(rows[i]);
  }
}

// Gives the cells of zeros what belongs to them; whatever they held before, rows may have been added or taken out
// since.
inline void complete(const SparseTable& table, std::uint64_t* histogram, std::int64_t n_planes) {
  for (std::int64_t k = 0; k < n_planes; ++k) {
    std::uint64_t* const h = histogram + k * table.n_cells();
    const std::uint64_t total = h[table.n_cells() - 1];
    for (std::int64_t j = 0; j < table.n_features; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t c = table.cell[j]; c < table.cell[j + 1]; ++c) sum += h[c];
      h[table.cell[j] + table.zero[j]] += total - sum;
    }
  }
}

}  // namespace committee
