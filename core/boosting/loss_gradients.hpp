// Gradients and hessians of the losses that boosting uses most, each times the row's weight.
//
// Logistic, one score: p = sigma(F), gradient p - [y = 1], hessian p (1 - p). Softmax, a score for each class: the
// same with p_k = exp(F_k) / sum_j exp(F_j). Squared: gradient F - y, hessian 1. 1 - p is never a difference of nearly
// equal numbers, so both have their digits however certain a score is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

inline constexpr double kSmallestHessian = 1e-16;  // so that a leaf may divide by its sum
// LogitBoost has K / (K - 1) here; 1 makes it the diagonal of the second derivatives.
inline constexpr double kSoftmaxCurvature = 1.0;

template <class Lanes>
COMMITTEE_INLINE Lanes not_below(const Lanes& x, double floor_at) {
  const Lanes low = Lanes{} + floor_at;
  return select(x < low, low, x);
}

// Rows [begin, end) of F, and of what is written; rows of outputs are `stride` apart. No weights: null.
struct RowSpan {
  const double *F, *weights;
  double *gradient, *hessian;
  std::int64_t stride, begin, end;
};

// Calls eight(span, y, i) for every whole eight rows, and for the last ones on a copy that repeats the last row.
template <class Target, class Eight>
COMMITTEE_INLINE void by_eights(const RowSpan& span, const Target* y, std::int64_t n_outputs, double* spare,
                                Eight&& eight) {
  std::int64_t i = span.begin;
  for (; i + kLanes <= span.end; i += kLanes) eight(span, y, i);
  if (i == span.end) return;
  const std::int64_t left = span.end - i;
  double *const F = spare, *const gradient = F + n_outputs * kLanes, *const hessian = gradient + n_outputs * kLanes;
  double weights[kLanes];
  Target target[kLanes];
  for (std::int64_t r = 0; r < kLanes; ++r) {
    const std::int64_t row = i + std::min(r, left - 1);
    target[r] = y[row];
    weights[r] = span.weights ? span.weights[row] : 1.0;
    for (std::int64_t k = 0; k < n_outputs; ++k) F[k * kLanes + r] = span.F[k * span.stride + row];
  }
  eight(RowSpan{F, weights, gradient, hessian, kLanes, 0, kLanes}, target, 0);
  for (std::int64_t k = 0; k < n_outputs; ++k) {
    std::copy_n(gradient + k * kLanes, left, span.gradient + k * span.stride + i);
    std::copy_n(hessian + k * kLanes, left, span.hessian + k * span.stride + i);
  }
}

// Writes both for output k of the eight rows from i.
template <class Lanes>
COMMITTEE_INLINE void store_weighted(const RowSpan& span, std::int64_t i, std::int64_t k, Lanes gradient,
                                     Lanes hessian) {
  if (span.weights) {
    const Lanes w = load<Lanes>(span.weights + i);
    gradient *= w;
    hessian *= w;
  }
  store(span.gradient + k * span.stride + i, gradient);
  store(span.hessian + k * span.stride + i, hessian);
}

template <class Lanes>
COMMITTEE_INLINE void squared_rows_in(const RowSpan& rows, const double* y) {
  double spare[3 * kLanes];
  by_eights(rows, y, 1, spare,
            [](const RowSpan& span, const double* target, std::int64_t i) __attribute__((always_inline)) {
              store_weighted<Lanes>(span, i, 0, load<Lanes>(span.F + i) - load<Lanes>(target + i), Lanes{} + 1.0);
            });
}

COMMITTEE_ON_LANES(void, squared_rows, (const RowSpan& rows, const double* y), (rows, y))

// False if a label is neither 0 nor 1.
template <class Lanes>
COMMITTEE_INLINE bool logistic_rows_in(const RowSpan& rows, const std::uint16_t* y) {
  double spare[3 * kLanes];
  using LaneBits = BitsOf<Lanes>;
  LaneBits unknown{};
  by_eights(rows, y, 1, spare,
            [&](const RowSpan& span, const std::uint16_t* target, std::int64_t i) __attribute__((always_inline)) {
              const LaneBits label = widened<LaneBits>(target + i);
              unknown |= label > 1;
              const auto F = load<Lanes>(span.F + i), e = exp_negative<Lanes>(-absolute(F));
              const Lanes larger = 1.0 / (1.0 + e), smaller = e * larger;
              const LaneBits above = F > 0.0;
              const Lanes p = select(above, larger, smaller), rest = select(above, smaller, larger);
              store_weighted<Lanes>(span, i, 0, select<Lanes>(label == 1, -rest, p),
                                    not_below<Lanes>(p * rest, kSmallestHessian));
            });
  return !any_lane(unknown);
}

COMMITTEE_ON_LANES(bool, logistic_rows, (const RowSpan& rows, const std::uint16_t* y), (rows, y))

// False if a label is not below the number of outputs. `spare` holds 3 kLanes numbers for each output.
template <class Lanes>
COMMITTEE_INLINE bool softmax_rows_in(const RowSpan& rows, const std::uint16_t* y, std::int64_t n_outputs,
                                      double* spare) {
  using LaneBits = BitsOf<Lanes>;
  LaneBits unknown{};
  by_eights(rows, y, n_outputs, spare,
            [&](const RowSpan& span, const std::uint16_t* target, std::int64_t i) __attribute__((always_inline)) {
              const LaneBits label = widened<LaneBits>(target + i);
              unknown |= label >= n_outputs;
              auto largest = load<Lanes>(span.F + i);
              LaneBits winner{};
              for (std::int64_t k = 1; k < n_outputs; ++k) {
                const auto F = load<Lanes>(span.F + k * span.stride + i);
                const LaneBits larger = F > largest;
                largest = select(larger, F, largest);
                winner = select_bits<LaneBits>(larger, LaneBits{} + k, winner);
              }
              Lanes others{};  // all but the winner, whose exponential is 1
              for (std::int64_t k = 0; k < n_outputs; ++k) {
                const Lanes e = exp_negative<Lanes>(load<Lanes>(span.F + k * span.stride + i) - largest);
                store(span.gradient + k * span.stride + i, e);
                others += select<Lanes>(winner == k, Lanes{}, e);
              }
              const Lanes total = others + 1.0, inverse = 1.0 / total;
              for (std::int64_t k = 0; k < n_outputs; ++k) {
                const auto e = load<Lanes>(span.gradient + k * span.stride + i);
                const Lanes p = e * inverse, rest = select<Lanes>(winner == k, others, total - e) * inverse;
                store_weighted<Lanes>(span, i, k, select<Lanes>(label == k, -rest, p),
                                      not_below<Lanes>(kSoftmaxCurvature * p * rest, kSmallestHessian));
              }
            });
  return !any_lane(unknown);
}

COMMITTEE_ON_LANES(bool, softmax_rows,
                   (const RowSpan& rows, const std::uint16_t* y, std::int64_t n_outputs, double* spare),
                   (rows, y, n_outputs, spare))

// Losses with these kernels. Labels are uint16, targets double; F, gradients and hessians are n_outputs x n.
enum class NativeLoss { logistic, softmax, squared };

inline void write_gradients(NativeLoss loss, const void* y, const double* F, const double* weights, double* gradient,
                            double* hessian, std::int64_t n, std::int64_t n_outputs, ThreadTeam& team) {
  constexpr std::int64_t kSquaredWork = 2, kExponentialWork = 10;  // of a row: an exponential is worth ten operations
  const bool squared = loss == NativeLoss::squared, softmax = loss == NativeLoss::softmax;
  team.blocks(n, (squared ? kSquaredWork : kExponentialWork * n_outputs) * n,
              [&](std::int64_t begin, std::int64_t end) {
                const RowSpan rows{F, weights, gradient, hessian, n, begin, end};
                const auto* const label = static_cast<const std::uint16_t*>(y);
                if (squared) return squared_rows(rows, static_cast<const double*>(y));
                Vector<double> spare(softmax ? 3 * n_outputs * kLanes : 0);
                if (!(softmax ? softmax_rows(rows, label, n_outputs, spare.data()) : logistic_rows(rows, label)))
                  throw std::invalid_argument("a label has no score");
              });
}

}  // namespace committee
