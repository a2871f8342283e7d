// Row weights below a node of a graph of voters: totals by vote and label, and the weights passed on to both children.
// A row votes + with probability q: a share q of its weight takes one branch, 1 - q the other.
//
// Equation: branch-weights (docs/theory.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "boosting/row_weights.hpp"
#include "threads/vector.hpp"

namespace committee {

template <class Weight>
struct NodeRows {
  const Weight* weights;
  const double* q;
  const std::uint8_t* labels;  // 1: +, 0: -
  std::int64_t n;
};

struct BranchSums {  // by answer, then by label: + answered, of the rows that are + and of those that are -; then -
  double of[4]{};
};

struct BranchFactors {
  double plus_yes, plus_no, minus_yes, minus_no;  // answer, label
};

struct EightRows {
  Lanes w, q;
  LaneBits yes;           // all ones where the label is +
  std::uint64_t strange;  // bits that no label has
};

template <class Weight>
COMMITTEE_INLINE EightRows eight_rows(const NodeRows<Weight>& rows, std::int64_t i) {
  using Words = std::uint64_t __attribute__((vector_size(64)));
  std::uint64_t bytes;
  std::memcpy(&bytes, rows.labels + i, sizeof bytes);
  const Words bit = ((Words{} + bytes) >> Words{0, 8, 16, 24, 32, 40, 48, 56}) & 1;
  return {load_weights(rows.weights + i), load(rows.q + i), -LaneBits(bit), bytes & 0xfefefefefefefefe};
}
COMMITTEE_INLINE Lanes where(const LaneBits& mask, const Lanes& x) { return lanes_of(mask & bits_of(x)); }

// Calls body(rows, i) for eight rows at a time, those after the last of weight zero; false if any row is refused.
template <class Weight, class Body>
COMMITTEE_INLINE bool by_eight_rows(const NodeRows<Weight>& rows, std::int64_t begin, std::int64_t end,
                                    const Body& body) {
  LaneBits refused{};
  std::uint64_t strange = 0;
  const auto take = [&](const EightRows& eight, std::int64_t i) __attribute__((always_inline)) {
    refused |= no_weight(eight.w) | outside(eight.q, 1.0);
    strange |= eight.strange;
    body(eight, i);
  };
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) take(eight_rows(rows, i), i);
  if (i < end) {
    Weight w[kLanes]{};
    double q[kLanes]{};
    std::uint8_t y[kLanes]{};
    std::copy(rows.weights + i, rows.weights + end, w);
    std::copy(rows.q + i, rows.q + end, q);
    std::copy(rows.labels + i, rows.labels + end, y);
    take(eight_rows(NodeRows<Weight>{w, q, y, kLanes}, 0), i);
  }
  return !any_sign(refused) && strange == 0;
}

template <class Weight>
COMMITTEE_INLINE bool sum_block_of(const NodeRows<Weight>& rows, std::int64_t begin, std::int64_t end,
                                   BranchSums& sums) {
  Lanes sum[4]{};
  const bool fine =
      by_eight_rows(rows, begin, end, [&](const EightRows& eight, std::int64_t) __attribute__((always_inline)) {
        const Lanes plus = eight.w * eight.q, minus = eight.w * (1.0 - eight.q);
        sum[0] += where(eight.yes, plus);
        sum[1] += where(~eight.yes, plus);
        sum[2] += where(eight.yes, minus);
        sum[3] += where(~eight.yes, minus);
      });
  for (std::int64_t k = 0; k < 4; ++k) sums.of[k] = fold(sum[k]);
  return fine;
}
COMMITTEE_CLONES inline bool sum_block(const NodeRows<double>& rows, std::int64_t begin, std::int64_t end,
                                       BranchSums& sums) {
  return sum_block_of(rows, begin, end, sums);
}
COMMITTEE_CLONES inline bool sum_block(const NodeRows<float>& rows, std::int64_t begin, std::int64_t end,
                                       BranchSums& sums) {
  return sum_block_of(rows, begin, end, sums);
}

// Of eight rows, or of those before `end`.
template <class Weight>
COMMITTEE_INLINE void store_rows(Weight* to, const Lanes& v, std::int64_t i, std::int64_t end) {
  if (i + kLanes <= end) return store_weights(to + i, v);
  for (std::int64_t k = 0; k < end - i; ++k) to[i + k] = static_cast<Weight>(v[k]);
}

// Each answer's rows with new weights; without `minus` both go to `plus`.
template <class Weight>
COMMITTEE_INLINE bool scale_block_of(const NodeRows<Weight>& rows, std::int64_t begin, std::int64_t end,
                                     const BranchFactors& factor, Weight* plus, Weight* minus) {
  return by_eight_rows(rows, begin, end, [&](const EightRows& eight, std::int64_t i) __attribute__((always_inline)) {
    const auto factor_of = [&](double of_yes, double of_no) __attribute__((always_inline)) {
      return where(eight.yes, Lanes{} + of_yes) + where(~eight.yes, Lanes{} + of_no);  // one of them is 0
    };
    const Lanes to_plus = eight.w * eight.q * factor_of(factor.plus_yes, factor.plus_no);
    const Lanes to_minus = eight.w * (1.0 - eight.q) * factor_of(factor.minus_yes, factor.minus_no);
    store_rows(plus, minus ? to_plus : to_plus + to_minus, i, end);
    if (minus) store_rows(minus, to_minus, i, end);
  });
}
COMMITTEE_CLONES inline bool scale_block(const NodeRows<double>& rows, std::int64_t begin, std::int64_t end,
                                         const BranchFactors& factor, double* plus, double* minus) {
  return scale_block_of(rows, begin, end, factor, plus, minus);
}
COMMITTEE_CLONES inline bool scale_block(const NodeRows<float>& rows, std::int64_t begin, std::int64_t end,
                                         const BranchFactors& factor, float* plus, float* minus) {
  return scale_block_of(rows, begin, end, factor, plus, minus);
}

// Throws for the first row of an invalid weight, q or label.
template <class Weight>
[[noreturn]] void refuse_row(const NodeRows<Weight>& rows) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const std::string row = " of row " + std::to_string(i);
    if (!is_weight(rows.weights[i]))
      throw std::invalid_argument("the weight" + row + " is " + std::to_string(rows.weights[i]) +
                                  "; it must be finite and not negative");
    if (!(rows.q[i] >= 0.0 && rows.q[i] <= 1.0))
      throw std::invalid_argument("q" + row + " is " + std::to_string(rows.q[i]) + "; it must lie in [0, 1]");
    if (rows.labels[i] > 1)
      throw std::invalid_argument("the label" + row + " is " + std::to_string(rows.labels[i]) + "; it must be 0 or 1");
  }
  throw std::invalid_argument("the rows changed while they were read");
}

// body(begin, end) returns whether all rows of the block are valid.
template <class Weight, class Body>
void by_blocks(const NodeRows<Weight>& rows, ThreadTeam& team, const Body& body) {
  Vector<std::uint8_t> fine(n_blocks(rows.n), 0);
  team.blocks(rows.n, rows.n,
              [&](std::int64_t begin, std::int64_t end) { fine[begin / kRowBlock] = body(begin, end); });
  if (std::find(fine.begin(), fine.end(), 0) != fine.end()) refuse_row(rows);
}

template <class Weight>
BranchSums branch_sums(const NodeRows<Weight>& rows, ThreadTeam& team) {
  Vector<BranchSums> partial(n_blocks(rows.n));
  by_blocks(rows, team, [&](std::int64_t begin, std::int64_t end) {
    return sum_block(rows, begin, end, partial[begin / kRowBlock]);
  });
  BranchSums total;
  for (const BranchSums& sums : partial)
    for (std::int64_t k = 0; k < 4; ++k) total.of[k] += sums.of[k];
  return total;
}

template <class Weight>
void branch_weights(const NodeRows<Weight>& rows, const BranchFactors& factor, Weight* plus, Weight* minus,
                    ThreadTeam& team) {
  by_blocks(rows, team,
            [&](std::int64_t begin, std::int64_t end) { return scale_block(rows, begin, end, factor, plus, minus); });
}

}  // namespace committee
