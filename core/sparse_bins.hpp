// Bins of a table of which only some cells are stored, all others being 0: edges and codes as bins.hpp makes them of the
// same table with all its cells.
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

#include "bins.hpp"
#include "sparse_table.hpp"
#include "threads.hpp"
#include "vector.hpp"

namespace committee {

// Stored cells row by row, each row's in the order of the columns.
struct SparseRows {
  const std::int64_t* start;   // row i has start[i]..start[i + 1]
  const std::int32_t* column;  // rising within a row
  const double* value;
  std::int64_t n, p;
};

// The same column by column, each column's in the order of the rows.
struct StoredColumns {
  Vector<std::int64_t> start;
  Vector<std::int32_t> row;
  Vector<double> value;

  explicit StoredColumns(const SparseRows& rows) : start(rows.p + 1, 0) {
    const std::int64_t n_stored = rows.start[rows.n];
    for (std::int64_t e = 0; e < n_stored; ++e) ++start[rows.column[e] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    Vector<std::int64_t> next(start.begin(), start.end() - 1);
    row.resize(n_stored);
    value.resize(n_stored);
    for (std::int64_t i = 0; i < rows.n; ++i)
      for (std::int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e) {
        const std::int64_t at = next[rows.column[e]]++;
        row[at] = static_cast<std::int32_t>(i);
        value[at] = rows.value[e];
      }
  }
};

// Learns the edges of one column after the other.
template <class Item>
class SparseEdges {
 public:
  SparseEdges(const StoredColumns& columns, std::int64_t n, const double* weights, int max_bins,
              std::int64_t max_sample)
      : columns_(columns), n_(n), weights_(weights), max_bins_(max_bins), n_sampled_(std::min(n, max_sample)) {
    for (std::int64_t i = 0; i < n; ++i) n_counted_ += counts(i);
  }

  Vector<double> of(std::int64_t j) const {
    const Vector<std::uint64_t> distinct = distinct_of(j);
    if (distinct.size() <= max_bins_) return edges_of<std::uint64_t>(distinct, max_bins_);
    return edges_of<Item>(sorted_sample(j), max_bins_);
  }

 private:
  bool counts(std::int64_t i) const { return weights_ == nullptr || weights_[i] != 0.0; }

  Vector<std::uint64_t> distinct_of(std::int64_t j) const {
    Vector<std::uint64_t> keys;
    std::int64_t n_stored = 0;
    for (std::int64_t e = columns_.start[j]; e < columns_.start[j + 1]; ++e) {
      if (!counts(columns_.row[e])) continue;
      ++n_stored;
      if (!std::isnan(columns_.value[e])) keys.push_back(ordered_key(columns_.value[e]));
    }
    if (n_stored < n_counted_) keys.push_back(ordered_key(0.0));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  // The sampled rows' values in order. Zeros, of which there may be many, are not sorted but put where they belong, in
  // the order of their rows: sums of weights have the bits that they have in bin_edges.
  Vector<Item> sorted_sample(std::int64_t j) const {
    const std::uint64_t zero = ordered_key(0.0);
    Vector<Item> others, zeros, scratch;
    std::int64_t e = columns_.start[j];
    const std::int64_t end = columns_.start[j + 1];
    for (std::int64_t k = 0; k < n_sampled_; ++k) {
      const std::int64_t i = n_sampled_ == n_ ? k : static_cast<std::int64_t>(static_cast<__int128>(k) * n_ / n_sampled_);
      while (e < end && columns_.row[e] < i) ++e;
      const double x = e < end && columns_.row[e] == i ? columns_.value[e] : 0.0;
      if (std::isnan(x) || !counts(i)) continue;
      const std::uint64_t key = ordered_key(x);
      Vector<Item>& items = key == zero ? zeros : others;
      if constexpr (std::is_same_v<Item, Weighed>)
        items.push_back({key, weights_[i]});
      else
        items.push_back(key);
    }
    sort_by_key(others, scratch);
    const auto positive = std::partition_point(others.begin(), others.end(),
                                               [zero](const Item& item) { return key_of(item) < zero; });
    others.insert(positive, zeros.begin(), zeros.end());
    return others;
  }

  const StoredColumns& columns_;
  const std::int64_t n_;
  const double* const weights_;
  const int max_bins_;
  const std::int64_t n_sampled_;
  std::int64_t n_counted_ = 0;  // rows of weight
};

// Edges of every column, those of bin_edges; rows of weight 0 do not count.
template <class Item>
Vector<Vector<double>> sparse_bin_edges(const SparseRows& rows, const double* weights, int max_bins,
                                        std::int64_t max_sample, ThreadTeam& team) {
  const StoredColumns columns(rows);
  const SparseEdges<Item> learning(columns, rows.n, weights, max_bins, max_sample);
  Vector<Vector<double>> edges(rows.p);
  team.each(rows.p, 20 * rows.start[rows.n] + rows.p, [&](std::int64_t j) { edges[j] = learning.of(j); });
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
    const std::int64_t n_stored = rows.start[rows.n];
    Vector<std::int32_t> cells(n_stored);  // -1: that of the zeros
    team.blocks(rows.n, 8 * n_stored, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e) {
          const std::int32_t j = rows.column[e];
          const double x = rows.value[e];
          const std::int32_t bin = std::isnan(x) ? static_cast<std::int32_t>(cell_[j + 1] - cell_[j] - 1)
                                                 : below(edges, offset, j, x);
          cells[e] = bin == zero_[j] ? -1 : static_cast<std::int32_t>(cell_[j]) + bin;
          start_[i + 1] += bin != zero_[j];
        }
    });
    for (std::int64_t i = 0; i < rows.n; ++i) start_[i + 1] += start_[i] + 1;  // one more for the total
    entries_.resize(start_.back());
    team.blocks(rows.n, n_stored, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int32_t* to = entries_.data() + start_[i];
        for (std::int64_t e = rows.start[i]; e < rows.start[i + 1]; ++e)
          if (cells[e] >= 0) *to++ = cells[e];
        *to = static_cast<std::int32_t>(cell_.back());
      }
    });
  }

  SparseTable table() const {
    const std::int64_t n_features = zero_.size();
    return {start_.data(), entries_.data(), start_.size() - 1, n_features, cell_, Vector<std::uint8_t>(n_features, 0),
            zero_};
  }
  std::int64_t n_rows() const { return start_.size() - 1; }
  std::int64_t n_features() const { return zero_.size(); }
  std::int64_t n_bytes() const {
    return start_.size() * count_of(sizeof(std::int64_t)) + entries_.size() * count_of(sizeof(std::int32_t)) +
           n_features() * count_of(sizeof(std::int64_t) + sizeof(std::int32_t));
  }

 private:
  static std::int32_t below(const double* edges, const std::int64_t* offset, std::int64_t j, double x) {
    const double* const first = edges + offset[j];
    return static_cast<std::int32_t>(std::lower_bound(first, edges + offset[j + 1], x) - first);
  }

  Vector<std::int64_t> start_, cell_;
  Vector<std::int32_t> entries_, zero_;
};

}  // namespace committee
