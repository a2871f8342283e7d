// Bins of a table of which only some cells are stored, all others being 0: edges and codes as bins.hpp makes them of
// the same table with all its cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bins/bins.hpp"
#include "histogram/sparse_table.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// Stored cells row by row, each row's in the order of the columns.
struct SparseRows {
  const std::int64_t* start;   // row i has start[i]..start[i + 1]
  const std::int32_t* column;  // rising within a row
  const double* value;
  std::int64_t n, p;
};

// Some of the columns, each with its stored cells in the order of the rows.
struct StoredColumns {
  std::int64_t first;  // column first + k has start[k]..start[k + 1]
  Vector<std::int64_t> start;
  Vector<std::int32_t> row;
  Vector<double> value;

  // Columns first..last, of `sizes` cells.
  StoredColumns(const SparseRows& rows, const Vector<std::int64_t>& sizes, std::int64_t first, std::int64_t last)
      : first(first), start(1, 0) {
    for (std::int64_t j = first; j < last; ++j) start.push_back(start.back() + sizes[j]);
    Vector<std::int64_t> next(start.begin(), start.end() - 1);
    row.resize(start.back());
    value.resize(start.back());
    for (std::int64_t i = 0; i < rows.n; ++i)
      for (std::int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e) {
        const std::int64_t j = rows.column[e];
        if (j < first || j >= last) continue;
        const std::int64_t at = next[j - first]++;
        row[at] = static_cast<std::int32_t>(i);
        value[at] = rows.value[e];
      }
  }
};

// Learns the edges of one column after the other.
template <class Item>
class SparseEdges {
 public:
  SparseEdges(std::int64_t n, const double* weights, int max_bins, std::int64_t max_sample)
      : weights_(weights), max_bins_(max_bins), sampled_(sampled_rows(n, max_sample)) {
    for (std::int64_t i = 0; i < n; ++i) n_counted_ += counts(i);
  }

  // Of the k-th of these columns.
  Vector<double> of(const StoredColumns& columns, std::int64_t k) const {
    const Vector<std::uint64_t> distinct = distinct_of(columns, k);
    if (distinct.size() <= max_bins_) return edges_of<std::uint64_t>(distinct, max_bins_);
    return edges_of<Item>(sorted_sample(columns, k), max_bins_);
  }

 private:
  bool counts(std::int64_t i) const { return weights_ == nullptr || weights_[i] != 0.0; }

  Vector<std::uint64_t> distinct_of(const StoredColumns& columns, std::int64_t c) const {
    Vector<std::uint64_t> keys;
    std::int64_t n_stored = 0;
    for (std::int64_t e = columns.start[c]; e < columns.start[c + 1]; ++e) {
      if (!counts(columns.row[e])) continue;
      ++n_stored;
      if (!std::isnan(columns.value[e])) keys.push_back(ordered_key(columns.value[e]));
    }
    if (n_stored < n_counted_) keys.push_back(ordered_key(0.0));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  // The sampled rows' values in order. Zeros, of which there may be many, are not sorted but put where they belong, in
  // the order of their rows: sums of weights have the bits that they have in bin_edges.
  Vector<Item> sorted_sample(const StoredColumns& columns, std::int64_t c) const {
    const std::uint64_t zero = ordered_key(0.0);
    Vector<Item> others, zeros, scratch;
    std::int64_t e = columns.start[c];
    const std::int64_t end = columns.start[c + 1];
    for (const std::int64_t i : sampled_) {
      while (e < end && columns.row[e] < i) ++e;
      const double x = e < end && columns.row[e] == i ? columns.value[e] : 0.0;
      if (std::isnan(x) || !counts(i)) continue;
      const std::uint64_t key = ordered_key(x);
      Vector<Item>& items = key == zero ? zeros : others;
      if constexpr (std::is_same_v<Item, Weighed>)
        items.push_back({key, weights_[i]});
      else
        items.push_back(key);
    }
    sort_by_key(others, scratch);
    const auto positive =
        std::partition_point(others.begin(), others.end(), [zero](const Item& item) { return key_of(item) < zero; });
    others.insert(positive, zeros.begin(), zeros.end());
    return others;
  }

  const double* const weights_;
  const int max_bins_;
  const Vector<std::int64_t> sampled_;
  std::int64_t n_counted_ = 0;  // rows of weight
};

// Edges of every column, those of bin_edges; rows of weight 0 do not count. Some columns at a time are sorted by
// column: all of them would take more memory than anything else in a fit.
template <class Item>
Vector<Vector<double>> sparse_bin_edges(const SparseRows& rows, const double* weights, int max_bins,
                                        std::int64_t max_sample, ThreadTeam& team) {
  const std::int64_t n_stored = rows.start[rows.n], most = std::max<std::int64_t>(n_stored / 8, 1 << 18);
  Vector<std::int64_t> sizes(rows.p, 0);
  for (std::int64_t e = 0; e < n_stored; ++e) ++sizes[rows.column[e]];
  const SparseEdges<Item> learning(rows.n, weights, max_bins, max_sample);
  Vector<Vector<double>> edges(rows.p);
  for (std::int64_t first = 0, last = 0; first < rows.p; first = last) {
    std::int64_t size = sizes[last++];
    while (last < rows.p && size + sizes[last] <= most) size += sizes[last++];
    const StoredColumns columns(rows, sizes, first, last);
    team.each(last - first, 20 * size + last - first,
              [&](std::int64_t k) { edges[first + k] = learning.of(columns, k); });
  }
  return edges;
}

// The entries of a SparseTable and what they mean, with the memory that its pointers need.
class SparseCodes {
 public:
  SparseCodes(const SparseRows& rows, const double* edges, const std::int64_t* offset, ThreadTeam& team)
      : start_(rows.n + 1, 0), cell_(1, 0) {
    for (std::int64_t j = 0; j < rows.p; ++j) {
      cell_.push_back(cell_.back() + offset[j + 1] - offset[j] + 2);
      zero_.push_back(below(edges, offset, j, 0.0));
    }
    if (cell_.back() >= std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("the columns have more than 2^31 bins in all; lower max_bins");
    // each row where it could have all its cells and the total; then the rows are moved together
    entries_.resize(rows.start[rows.n] + rows.n);
    team.blocks(rows.n, 8 * rows.start[rows.n], [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int32_t* const first = entries_.data() + rows.start[i] + i;
        std::int32_t* to = first;
        for (std::int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e) {
          const std::int32_t j = rows.column[e];
          const double x = rows.value[e];
          const std::int32_t bin =
              std::isnan(x) ? static_cast<std::int32_t>(cell_[j + 1] - cell_[j] - 1) : below(edges, offset, j, x);
          *to = static_cast<std::int32_t>(cell_[j]) + bin;
          to += bin != zero_[j];
        }
        *to++ = static_cast<std::int32_t>(cell_.back());
        start_[i + 1] = to - first;
      }
    });
    for (std::int64_t i = 0; i < rows.n; ++i) {
      const std::int64_t from = rows.start[i] + i, size = start_[i + 1];
      if (from > start_[i]) std::copy_n(entries_.begin() + from, size, entries_.begin() + start_[i]);
      start_[i + 1] += start_[i];
    }
    entries_.resize(start_.back());
    if (8 * (count_of(entries_.capacity()) - entries_.size()) > entries_.size()) entries_.shrink_to_fit();
    sort_by_column();
  }

  SparseTable table() const {
    SparseTable table{};
    table.start = start_.data();
    table.entries = entries_.data();
    table.column_start = column_start_.data();
    table.column_rows = column_rows_.data();
    table.column_codes = column_codes_.data();
    table.n_rows = n_rows();
    table.n_features = n_features();
    table.cell = cell_;
    table.categorical.assign(n_features(), 0);
    table.zero = zero_;
    return table;
  }
  std::int64_t n_rows() const { return start_.size() - 1; }
  std::int64_t n_features() const { return zero_.size(); }
  std::int64_t n_bytes() const {
    return start_.size() * count_of(sizeof(std::int64_t)) + entries_.size() * count_of(sizeof(std::int32_t)) +
           column_rows_.size() * count_of(sizeof(std::int32_t) + sizeof(std::uint16_t)) +
           n_features() * count_of(2 * sizeof(std::int64_t) + sizeof(std::int32_t));
  }

 private:
  void sort_by_column() {
    const std::int64_t p = n_features();
    Vector<std::int32_t> feature_of(cell_.back());
    for (std::int64_t j = 0; j < p; ++j)
      std::fill(feature_of.begin() + cell_[j], feature_of.begin() + cell_[j + 1], static_cast<std::int32_t>(j));
    const auto each = [&](auto&& visit) {
      for (std::int64_t i = 0; i < n_rows(); ++i)
        for (std::int64_t e = start_[i]; e < start_[i + 1] - 1; ++e) visit(i, entries_[e], feature_of[entries_[e]]);
    };
    column_start_.assign(p + 1, 0);
    each([&](std::int64_t, std::int32_t, std::int32_t j) { ++column_start_[j + 1]; });
    std::partial_sum(column_start_.begin(), column_start_.end(), column_start_.begin());
    column_rows_.resize(column_start_.back());
    column_codes_.resize(column_start_.back());
    Vector<std::int64_t> next(column_start_.begin(), column_start_.end() - 1);
    each([&](std::int64_t i, std::int32_t cell, std::int32_t j) {
      column_rows_[next[j]] = static_cast<std::int32_t>(i);
      column_codes_[next[j]++] = static_cast<std::uint16_t>(cell - cell_[j]);
    });
  }

  static std::int32_t below(const double* edges, const std::int64_t* offset, std::int64_t j, double x) {
    const double* const first = edges + offset[j];
    return static_cast<std::int32_t>(std::lower_bound(first, edges + offset[j + 1], x) - first);
  }

  Vector<std::int64_t> start_, cell_, column_start_;
  Vector<std::int32_t> entries_, zero_, column_rows_;
  Vector<std::uint16_t> column_codes_;
};

}  // namespace committee
