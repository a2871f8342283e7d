// histogram/: sums of row statistics per cell (feature, bin), as exact integers.
//   histogram           class weights and moments in one 64-bit word per cell
//   gradient_histogram  gradients, hessians and counts; gradient_words: their packing
//   column_histogram    large nodes, four columns at a time; gathered_histogram: scattered rows; few_rows: a few
//   columns             the binned table by column; sparse_table: that without zeros; sparse_bins: its edges and codes
//   partition           rows of a node moved to its children
//   bit_counts          counts per bit position; reproducible_sum: sums that do not depend on the order of terms
//
// Histograms: for every cell (feature, bin) and plane, the sum over rows of a fixed-point statistic.
//
// A row's weight w and its count 1 share one 64-bit integer, (round(w * unit) << count_bits) + 1, so one
// addition serves both; integer sums are exact, do not depend on the order of rows or threads, and parent -
// child is exact too. Class statistics use one plane per class: a row adds to the plane of its label alone,
// whatever their number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

template <class Code>
struct BinnedTable {
  static constexpr std::int64_t kTogether = 1;  // features that a thread scans at a time

  const Code* codes;  // n_rows x n_features, row-major
  std::int64_t n_rows;
  std::int64_t n_features;
  Vector<std::int64_t> cell;  // feature j owns cells cell[j]..cell[j + 1]; its last one is "missing"
  Vector<std::uint8_t> categorical;

  std::int64_t n_cells() const { return cell.back(); }
  std::int64_t missing_bin(std::int64_t j) const { return cell[j + 1] - cell[j] - 1; }
  std::int64_t cells_of(std::int64_t n) const { return n * n_features; }
  const Code* row(std::int64_t i) const { return codes + i * n_features; }
};

template <class Code>
void require_codes_in_range(const BinnedTable<Code>& table, ThreadTeam& team) {
  const std::int64_t p = table.n_features, n = table.n_rows;
  Vector<Vector<Code>> largest(n_blocks(n));
  team.blocks(n, n * p / 4, [&](std::int64_t begin, std::int64_t end) {
    Vector<Code> most(p, 0);
    Code* __restrict const of_block = most.data();  // of their own, or a byte might be any other
    for (std::int64_t i = begin; i < end; ++i) {
      const Code* __restrict const row = table.codes + i * p;
      for (std::int64_t j = 0; j < p; ++j) of_block[j] = std::max(of_block[j], row[j]);
    }
    largest[begin / kRowBlock] = std::move(most);
  });
  for (const Vector<Code>& most : largest)
    for (std::int64_t j = 0; j < p; ++j)
      if (most[j] > table.missing_bin(j))
        throw std::invalid_argument("codes of feature " + std::to_string(j) + " exceed its number of bins");
}

// How weights become integers: w -> (round(w * unit) << count_bits) + 1.
struct FixedPoint {
  int count_bits = 1;
  double unit = 1.0;     // integers per unit of weight
  double inverse = 1.0;  // weight per integer

  // n rows whose weights sum to `total` cannot overflow 64 bits. The unit is a power of two: whole weights stay whole,
  // so that a weight of k and k rows are the same to the last bit.
  static FixedPoint for_total(std::int64_t n, double total) {
    const int bits = bits_for(n);
    int exponent = 0;
    std::frexp(total, &exponent);  // total < 2^exponent
    return {bits, std::ldexp(1.0, 63 - bits - exponent), std::ldexp(1.0, exponent + bits - 63)};
  }
  std::uint64_t pack(double w, std::uint64_t count = 1) const {
    return (static_cast<std::uint64_t>(w * unit + 0.5) << count_bits) + count;
  }
  double weight(std::uint64_t packed) const { return static_cast<double>(signed_of(packed >> count_bits)) * inverse; }
  std::int64_t count(std::uint64_t packed) const { return signed_of(packed & ((std::uint64_t{1} << count_bits) - 1)); }
};

// Whole numbers per unit for signed values whose magnitudes sum to `total`: a power of two by which they stay below
// 2^62.
inline double exact_unit(double total) {
  int exponent = 0;
  std::frexp(total, &exponent);  // total < 2^exponent
  return std::ldexp(1.0, std::min(62 - exponent, 1000));
}

// Which plane a row adds to, and what. One per kind of statistic.
struct ClassPlanes {  // Gini, entropy, two-class Z: plane = label
  const std::uint64_t* packed;
  const std::uint16_t* labels;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(labels[row], packed[row]);
  }
  void prefetch(std::int64_t row) const {
    __builtin_prefetch(packed + row);
    __builtin_prefetch(labels + row);
  }
};

struct OneVersusRest {  // AdaBoost.MH, output l: planes 2l (no) and 2l + 1 (yes)
  const std::uint64_t* packed;
  const std::uint16_t* labels;
  std::uint16_t output;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(2 * output + (labels[row] == output), packed[row]);
  }
  void prefetch(std::int64_t row) const {
    __builtin_prefetch(packed + row);
    __builtin_prefetch(labels + row);
  }
};

struct Moments {  // squared error: plane 0 holds w, the plane of each target w z as a signed integer
  const std::uint64_t* packed;
  const std::uint64_t* moment;  // n x n_targets
  std::int64_t n_targets;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(0, packed[row]);
    for (std::int64_t k = 0; k < n_targets; ++k) add(1 + k, moment[row * n_targets + k]);
  }
  void prefetch(std::int64_t row) const {
    __builtin_prefetch(packed + row);
    __builtin_prefetch(moment + row * n_targets);
  }
};

inline constexpr std::int64_t kAhead = 20;  // rows fetched ahead of use; sequential rows need none

// histogram[plane][cell] += statistic, over rows[begin..end) (or the rows begin..end themselves when rows is
// null).
template <class Code, class Planes>
void add_rows(const BinnedTable<Code>& table, const std::int32_t* rows, std::int64_t begin, std::int64_t end,
              const Planes& planes, std::uint64_t* histogram) {
  const std::int64_t p = table.n_features, n_cells = table.n_cells();
  const std::int64_t* const cell = table.cell.data();
  const auto one_row = [&](std::int64_t row) {
    const Code* const code = table.codes + row * p;
    planes(row, [&](auto plane, std::uint64_t value) {
      std::uint64_t* const h = histogram + std::int64_t{plane} * n_cells;
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < p; ++j) h[cell[j] + code[j]] += value;
    });
  };
  if (rows == nullptr) {
    for (std::int64_t i = begin; i < end; ++i) one_row(i);
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) {
      const std::int64_t next = rows[i + kAhead];
      planes.prefetch(next);
      const char* const line = reinterpret_cast<const char*>(table.codes + next * p);
      const std::int64_t bytes = p * count_of(sizeof(Code));
      for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(line + byte);
      __builtin_prefetch(line + bytes - 1);  // a row seldom begins where a line does
    }
    one_row(rows[i]);
  }
}

// Completes a histogram that all rows of a node have been added to: of a table with all its codes there is nothing left
// to do (sparse_table.hpp).
template <class Code>
void complete(const BinnedTable<Code>&, std::uint64_t*, std::int64_t) {}

// The same as add_rows, with the rows shared out over threads and their private histograms summed: the sums are exact,
// so how many there are changes nothing.
template <class Table, class Planes>
void build_histogram(const Table& table, const std::int32_t* rows, std::int64_t n, const Planes& planes,
                     std::uint64_t* histogram, std::int64_t n_planes, Vector<std::uint64_t>& scratch,
                     ThreadTeam& team) {
  const std::int64_t size = n_planes * table.n_cells();
  const std::int64_t work = table.cells_of(n);
  // a private histogram must be worth zeroing and merging
  const std::int64_t parts = std::clamp<std::int64_t>(work / (4 * size + 1), 1, team.wanted(work));
  if (parts == 1) return add_rows(table, rows, 0, n, planes, histogram);
  scratch.assign((parts - 1) * size, 0);
  team.each(parts, work, [&](std::int64_t part) {
    std::uint64_t* const mine = part == 0 ? histogram : scratch.data() + (part - 1) * size;
    add_rows(table, rows, n * part / parts, n * (part + 1) / parts, planes, mine);
  });
  for (std::int64_t part = 1; part < parts; ++part)
    for (std::int64_t i = 0; i < size; ++i) histogram[i] += scratch[(part - 1) * size + i];
}

}  // namespace committee
