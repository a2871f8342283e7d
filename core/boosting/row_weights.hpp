// Weights of rows, in single or double precision: read eight at a time, checked, summed. Probabilities and labels of
// the same rows are read the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

COMMITTEE_INLINE Lanes load_weights(const double* w) { return load(w); }
COMMITTEE_INLINE Lanes load_weights(const float* w) {
  float __attribute__((vector_size(32))) v;
  std::memcpy(&v, w, sizeof v);
  return __builtin_convertvector(v, Lanes);
}
COMMITTEE_INLINE void store_weights(double* w, const Lanes& v) { store(w, v); }
COMMITTEE_INLINE void store_weights(float* w, const Lanes& v) {
  const auto narrow = __builtin_convertvector(v, float __attribute__((vector_size(32))));
  std::memcpy(w, &narrow, sizeof narrow);
}

inline bool is_weight(double w) { return w >= 0.0 && w <= std::numeric_limits<double>::max(); }

// Checks by sign bits, which gather in one word for each lane: GCC takes comparisons apart whose results are kept.
COMMITTEE_INLINE LaneBits outside(const Lanes& x, double most) {  // its sign is set unless 0 <= x <= most
  using Words = std::uint64_t __attribute__((vector_size(64)));   // which may wrap
  const Words bits = Words(bits_of(x + 0.0));                     // -0.0 is 0.0
  return LaneBits(bits | (Words(bits_of(Lanes{} + most)) - bits));
}
COMMITTEE_INLINE LaneBits no_weight(const Lanes& w) { return outside(w, std::numeric_limits<double>::max()); }
COMMITTEE_INLINE bool any_sign(const LaneBits& b) {
  return (((b[0] | b[4]) | (b[2] | b[6])) | ((b[1] | b[5]) | (b[3] | b[7]))) < 0;
}

struct WeightSum {
  double sum;
  bool fine;  // all are finite and none is negative
};

template <class Weight>
COMMITTEE_INLINE WeightSum weight_sum_of(const Weight* w, std::int64_t n) {
  Lanes sum{};
  LaneBits refused{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes wi = load_weights(w + i);
    refused |= no_weight(wi);
    sum += wi;
  }
  WeightSum found{fold(sum), !any_sign(refused)};
  for (; i < n; ++i) {
    found.sum += static_cast<double>(w[i]);
    found.fine &= is_weight(w[i]);
  }
  return found;
}
COMMITTEE_CLONES inline WeightSum weight_sum(const double* w, std::int64_t n) { return weight_sum_of(w, n); }
COMMITTEE_CLONES inline WeightSum weight_sum(const float* w, std::int64_t n) { return weight_sum_of(w, n); }

// The sum of all, by blocks in their order; not a number where one of them is no weight.
template <class Weight>
double checked_sum(const Weight* w, std::int64_t n, ThreadTeam& team) {
  Vector<WeightSum> partial(n_blocks(n));
  team.blocks(n, n, [&](std::int64_t begin, std::int64_t end) {
    partial[begin / kRowBlock] = weight_sum(w + begin, end - begin);
  });
  double total = 0.0;
  for (const WeightSum& of_block : partial)
    total += of_block.fine ? of_block.sum : std::numeric_limits<double>::quiet_NaN();
  return total;
}

}  // namespace committee
