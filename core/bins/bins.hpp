// bins/: a table of doubles -> edges and codes.
//   bins             edges of a column, codes of its cells (of sparse tables: histogram/sparse_bins.hpp)
//   edge_search      codes of eight columns with few edges; order_statistics: quantiles without a sort
//   distinct_values  distinct values of a column that arrives in chunks; sampled_rows: rows that edges are learned from
//   column_assembly  a matrix from the columns of a frame
//   row_digests      hashes of rows and columns; counter_rng: random numbers as a function of a counter
//
// Bins: edges learned from the columns, then a code for every cell.
//
// A value x has code = number of edges < x, so "x <= edges[b]" and "code <= b" are equivalent. Missing values
// (and, in a categorical column, codes out of range) get the code after the last.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "bins/edge_search.hpp"
#include "bins/order_statistics.hpp"
#include "bins/sampled_rows.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct Weighed {
  std::uint64_t key;  // the value, as an unsigned integer of the same order
  double weight;
};

inline std::uint64_t key_of(std::uint64_t key) { return key; }
inline std::uint64_t key_of(const Weighed& item) { return item.key; }
inline double weight_of(std::uint64_t) { return 1.0; }
inline double weight_of(const Weighed& item) { return item.weight; }

// Sorts by key: a radix sort on the upper 33 bits (three passes of 11; a pass whose digit is the same
// everywhere is skipped), then each run that agrees in those - values within 1e-6 of each other - on its own.
template <class Item>
void sort_by_key(Vector<Item>& items, Vector<Item>& scratch) {
  constexpr int kBits = 11, kPasses = 3, kLow = 64 - kBits * kPasses;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kBits;
  const auto digit = [](const Item& item, int pass) { return (key_of(item) >> (kLow + kBits * pass)) & (kDigits - 1); };
  std::uint32_t counts[kPasses][kDigits]{};
  for (const Item& item : items)
    for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(item, pass)];
  scratch.resize(items.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    auto& count = counts[pass];
    if (items.empty() || count[digit(items[0], pass)] == word_of(items.size())) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& c : count) start += std::exchange(c, start);
    for (const Item& item : items) scratch[count[digit(item, pass)]++] = item;
    items.swap(scratch);
  }
  for (std::int64_t first = 0, last = 0; first < items.size(); first = last) {
    bool sorted = true;
    for (last = first + 1; last < items.size() && key_of(items[last]) >> kLow == key_of(items[first]) >> kLow; ++last)
      sorted &= key_of(items[last - 1]) <= key_of(items[last]);
    if (!sorted)
      std::stable_sort(items.begin() + first, items.begin() + last,
                       [](const Item& a, const Item& b) { return key_of(a) < key_of(b); });
  }
}

// The distinct values of sorted items one after the other, each with its summed weight.
template <class Item>
class Runs {
 public:
  explicit Runs(const Vector<Item>& sorted) : items_(sorted) {}
  bool next(Weighed& run) {
    if (at_ == items_.size()) return false;
    run = {key_of(items_[at_]), 0.0};
    for (; at_ < items_.size() && key_of(items_[at_]) == run.key; ++at_) run.weight += weight_of(items_[at_]);
    return true;
  }

 private:
  const Vector<Item>& items_;
  std::int64_t at_ = 0;
};

// A number e with a <= e < b, as near the middle as the floating-point grid allows.
inline double between(double a, double b) {
  const double middle = 0.5 * a + 0.5 * b;
  return middle >= a && middle < b ? middle : a;
}

// Edges between the distinct values of sorted items: all of them when they fit, else where the weight is
// shared out evenly. A bin is closed once it holds its share of what is left, or when the next value would
// overfill it.
template <class Item>
Vector<double> edges_of(const Vector<Item>& sorted, int max_bins) {
  Vector<double> edges;
  std::int64_t n_distinct = sorted.empty() ? 0 : 1;
  double left_over = 0.0;
  for (std::int64_t i = 0; i < sorted.size(); ++i) {
    n_distinct += i > 0 && key_of(sorted[i]) != key_of(sorted[i - 1]);
    left_over += weight_of(sorted[i]);
  }
  int bins_left = max_bins;
  double filled = 0.0, share = left_over / bins_left;
  Runs<Item> runs(sorted);
  Weighed run, next;
  for (bool more = runs.next(run) && runs.next(next); more && bins_left > 1; run = next, more = runs.next(next)) {
    filled += run.weight;
    if (n_distinct <= max_bins || filled >= share || (2.0 * filled >= share && filled + next.weight >= 2.0 * share)) {
      edges.push_back(between(key_value(run.key), key_value(next.key)));
      left_over -= filled;
      filled = 0.0;
      share = left_over / --bins_left;
    }
  }
  return edges;
}

// Those edges of more values than bins, of one weight each: the end of a bin is found by rank. Its share is reached
// within the run of equal values that has the rank of its last one; the bin is closed after that run, or before it
// where the run would overfill it.
inline Vector<double> edges_by_rank(ValueCells& values, int max_bins) {
  Vector<double> edges;
  const std::int64_t n = values.size();
  std::int64_t begin = 0;
  for (int bins_left = max_bins; bins_left > 1; --bins_left) {
    const double share = static_cast<double>(n - begin) / bins_left;
    const ValueCells::Run run = values.run_at(begin + static_cast<std::int64_t>(std::ceil(share)) - 1);
    const double without = static_cast<double>(run.begin - begin), with = static_cast<double>(run.end - begin);
    const bool before = run.begin > begin && 2.0 * without >= share && with >= 2.0 * share;
    begin = before ? run.begin : run.end;
    if (begin == n) break;
    edges.push_back(before ? between(values.below(run), run.value) : between(run.value, values.above(run)));
  }
  return edges;
}

// The edges of a column's items, which are left in some order.
template <class Item>
Vector<double> edges_of_column(Vector<Item>& items, Vector<Item>& scratch, ValueCells& cells, int max_bins) {
  if constexpr (std::is_same_v<Item, std::uint64_t>) {
    if (cells.fill(items, max_bins)) return edges_by_rank(cells, max_bins);
  }
  sort_by_key(items, scratch);
  return edges_of<Item>(items, max_bins);
}

// The distinct values of a whole column, or nothing as soon as there are more than max_bins of them.
inline Vector<std::uint64_t> few_distinct(const double* column, std::int64_t n, std::int64_t stride,
                                          const double* weights, int max_bins) {
  Vector<std::uint64_t> found;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = column[i * stride];
    if (std::isnan(x) || (weights && weights[i] == 0.0)) continue;
    const std::uint64_t key = ordered_key(x);
    const auto at = std::ranges::lower_bound(found, key);
    if (at != found.end() && *at == key) continue;
    if (found.size() == max_bins) return {};
    found.insert(at, key);
  }
  return found;
}

struct RawTable {
  const double* X;  // n x p, row-major
  std::int64_t n, p;
  const std::int32_t* n_categories;  // p; 0: a column of numbers
};

inline constexpr std::int64_t kSampledAhead = 24;  // rows of a sample that are fetched ahead of use

// Edges of every numeric column; rows of weight 0 do not count. Item: a bare key when all rows weigh the same, else a
// key with its weight.
template <class Item>
Vector<Vector<double>> bin_edges(const RawTable& table, const double* weights, int max_bins, std::int64_t max_sample,
                                 ThreadTeam& team) {
  const auto [X, n, p, n_categories] = table;
  constexpr std::int64_t kColumns = 2;  // gathered together: they share cache lines, and few columns share out well
  const Vector<std::int64_t> sampled = sampled_rows(n, max_sample);
  const std::int64_t m = sampled.size();
  Vector<Vector<double>> edges(p);
  team.each((p + kColumns - 1) / kColumns, 20 * m * p, [&](std::int64_t group) {
    const std::int64_t first = group * kColumns, last = std::min(p, first + kColumns);
    Vector<Item> columns[kColumns];
    std::int64_t size[kColumns]{};
    for (std::int64_t j = first; j < last; ++j) columns[j - first].resize(m);
    for (std::int64_t k = 0; k < m; ++k) {
      const std::int64_t i = sampled[k];
      if (k + kSampledAhead < m) __builtin_prefetch(X + sampled[k + kSampledAhead] * p + first);
      for (std::int64_t c = 0; c < last - first; ++c) {
        const double x = X[i * p + first + c];
        if constexpr (std::is_same_v<Item, Weighed>)
          columns[c][size[c]] = {ordered_key(x), weights[i]};
        else
          columns[c][size[c]] = ordered_key(x);
        size[c] += !(std::isnan(x) || (weights && weights[i] == 0.0));
      }
    }
    Vector<Item> scratch;
    ValueCells cells;
    for (std::int64_t j = first; j < last; ++j) {
      if (n_categories[j] > 0) continue;
      Vector<Item>& column = columns[j - first];
      column.resize(size[j - first]);
      edges[j] = edges_of_column(column, scratch, cells, max_bins);
      if (m < n && edges[j].size() + 1 < max_bins) {
        // the sample may have missed rare values of a column with few of them
        const Vector<std::uint64_t> all = few_distinct(X + j, n, p, weights, max_bins);
        if (!all.empty()) edges[j] = edges_of<std::uint64_t>(all, max_bins);
      }
    }
  });
  return edges;
}

// Number of edges < x, for several values at a time and without a branch, so that their searches overlap. A grid of
// equal cells over the edges gives the start - an edge in a lower cell than x is below x, one in a higher cell is
// above it, as rounding keeps order - and a binary search over the most edges that any cell holds does the rest.
class EdgeSearch {
 public:
  static constexpr int kAbreast = 16;

  explicit EdgeSearch(std::span<const double> edges) : edges_(edges.begin(), edges.end()), below_(kCells + 1, 0) {
    if (edges.size() > 1) {
      lowest_ = edges.front();
      scale_ = kCells / (edges.back() - edges.front());
      if (!std::isfinite(scale_)) scale_ = 0.0;  // one cell for all
    }
    for (const double edge : edges) ++below_[cell_of(edge) + 1];
    const std::uint32_t most = *std::ranges::max_element(below_);
    std::partial_sum(below_.begin(), below_.end(), below_.begin());
    depth_ = static_cast<int>(std::bit_width(most));
    edges_.resize(edges_.size() + (std::int64_t{1} << depth_), std::numeric_limits<double>::infinity());
  }

  void operator()(const double* x, std::int64_t stride, std::uint32_t* found) const {
    double value[kAbreast];
    std::uint32_t at[kAbreast];
    for (int r = 0; r < kAbreast; ++r) {
      value[r] = read_once(x + r * stride);
      at[r] = below_[cell_of(value[r])];
    }
    for (int level = depth_ - 1; level >= 0; --level) {
      const double* const last = edges_.data() + (std::uint32_t{1} << level) - 1;
      for (int r = 0; r < kAbreast; ++r) at[r] += static_cast<std::uint32_t>(last[at[r]] < value[r]) << level;
    }
    std::ranges::copy(at, found);
  }

 private:
  static constexpr int kCells = 1024;

  std::uint32_t cell_of(double x) const {
    const double cell = (x - lowest_) * scale_;
    return static_cast<std::uint32_t>(cell > 0.0 ? std::min(cell, kCells - 1.0) : 0.0);  // NaN: any cell will do
  }

  double lowest_ = 0.0, scale_ = 0.0;
  int depth_ = 0;
  Vector<double> edges_;
  Vector<std::uint32_t> below_;  // edges in lower cells
};

// codes (n x p, row-major) from the edges of all columns.
template <class Code>
void bin_codes(const RawTable& table, const double* edges, const std::int64_t* offset, Code* codes, ThreadTeam& team) {
  const auto [X, n, p, n_categories] = table;
  // eight columns of few edges at a time, the last ones of a table together with some that are coded already
  Vector<FewEdges> few;
  Vector<std::uint8_t> has_few(p, 0);
  for (std::int64_t j = 0; p >= kLanes && j < p; j += kLanes) {
    const std::int64_t first = std::min(j, p - kLanes);
    bool all_few = true;
    for (std::int64_t k = first; k < first + kLanes; ++k)
      all_few &= n_categories[k] == 0 && offset[k + 1] - offset[k] <= FewEdges::kMost;
    if (!all_few) continue;
    few.emplace_back(edges, offset, first);
    std::fill_n(has_few.begin() + first, kLanes, 1);
  }
  Vector<EdgeSearch> search;  // of the other columns of numbers
  Vector<std::int64_t> search_of(p, -1);
  for (std::int64_t j = 0; j < p; ++j) {
    if (has_few[j] || n_categories[j] > 0) continue;
    search_of[j] = search.size();
    search.emplace_back(std::span(edges + offset[j], edges + offset[j + 1]));
  }
  constexpr std::int64_t kBlock = 256;  // rows of X that stay in cache while every column is coded
  constexpr std::int64_t kRows = 16;    // of few edges, which are many columns' in turn: X is read as it lies
  // captured by value: a byte that is written might be any other in memory
  team.blocks_of(kBlock, n, 4 * n * p, [=, &search, &search_of, &few, &has_few](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kRows)
      for (const FewEdges& columns : few) columns(X + i * p, p, std::min(kRows, end - i), codes + i * p);
    for (std::int64_t j = 0; j < p; ++j) {
      if (has_few[j]) continue;
      if (n_categories[j] > 0) {
        const double k = n_categories[j];
        for (std::int64_t i = begin; i < end; ++i) {
          const double x = read_once(X + i * p + j);
          codes[i * p + j] = static_cast<Code>(x >= 0.0 && x < k && x == std::floor(x) ? x : k);
        }
      } else {
        const EdgeSearch& code_of = search[search_of[j]];
        const auto missing = static_cast<std::uint32_t>(offset[j + 1] - offset[j] + 1);
        std::uint32_t found[kBlock];
        std::int64_t i = begin;
        for (; i + EdgeSearch::kAbreast <= end; i += EdgeSearch::kAbreast)
          code_of(X + i * p + j, p, found + (i - begin));
        if (i < end) {  // the last few rows of the table, kAbreast wide by repeating the last one
          double rest[EdgeSearch::kAbreast];
          for (int r = 0; r < EdgeSearch::kAbreast; ++r) rest[r] = X[std::min(i + r, end - 1) * p + j];
          code_of(rest, 1, found + (i - begin));
        }
        for (i = begin; i < end; ++i)
          codes[i * p + j] = static_cast<Code>(std::isnan(X[i * p + j]) ? missing : found[i - begin]);
      }
    }
  });
}

}  // namespace committee
