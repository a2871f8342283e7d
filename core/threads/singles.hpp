// Single-precision numbers: eight or sixteen at a time, in vectors of the lengths that eight doubles have.
#pragma once

#include <cstdint>
#include <cstring>

#include "threads/lane_types.hpp"

namespace committee {

inline constexpr std::int64_t kSingleLanes = 16;

// Eight singles, and sixteen.
template <class Lanes>
struct SinglesOfType;
template <>
struct SinglesOfType<Doubles64> {
  using Eight = Singles32;
  using Sixteen = Singles64;
};
template <>
struct SinglesOfType<LanesBy32> {
  using Eight = Singles32;
  using Sixteen = Twice<Singles32>;
};
template <>
struct SinglesOfType<LanesBy16> {
  using Eight = Twice<Singles16>;
  using Sixteen = Twice<Twice<Singles16>>;
};
template <class Lanes>
using EightSingles = typename SinglesOfType<Lanes>::Eight;
template <class Lanes>
using SinglesOf = typename SinglesOfType<Lanes>::Sixteen;

template <class Singles>
COMMITTEE_INLINE Singles load_singles(const float* x) {
  if constexpr (is_pieces<Singles>) {
    using Half = decltype(Singles::low);
    return {load_singles<Half>(x), load_singles<Half>(x + n_lanes<Half>)};
  } else {
    Singles v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
}

// Doubles rounded to singles, and singles as doubles.
template <class V>
COMMITTEE_INLINE void store_rounded(float* x, const V& v) {
  if constexpr (is_pieces<V>) {
    store_rounded(x, v.low);
    store_rounded(x + n_lanes<decltype(V::low)>, v.high);
  } else {
    typedef float Few __attribute__((vector_size(sizeof(V) / 2)));
    const Few few = __builtin_convertvector(v, Few);
    std::memcpy(x, &few, sizeof few);
  }
}
template <class V>
COMMITTEE_INLINE V load_exact(const float* x) {
  if constexpr (is_pieces<V>) {
    using Half = decltype(V::low);
    return {load_exact<Half>(x), load_exact<Half>(x + n_lanes<Half>)};
  } else {
    typedef float Few __attribute__((vector_size(sizeof(V) / 2)));
    Few few;
    std::memcpy(&few, x, sizeof few);
    return __builtin_convertvector(few, V);
  }
}
template <class Lanes>
COMMITTEE_INLINE EightSingles<Lanes> rounded(const Lanes& v) {
  float few[kLanes];
  store_rounded(few, v);
  return load_singles<EightSingles<Lanes>>(few);
}
template <class Lanes>
COMMITTEE_INLINE Lanes exact(const EightSingles<Lanes>& v) {
  float few[kLanes];
  std::memcpy(few, &v, sizeof few);
  return load_exact<Lanes>(few);
}

// The upper eight of sixteen singles on the lower.
COMMITTEE_INLINE Singles32 halved(const Singles64& v) {
  Singles32 part[2];
  std::memcpy(part, &v, sizeof part);
  return part[0] + part[1];
}
template <class Half>
COMMITTEE_INLINE Half halved(const Twice<Half>& v) {
  return v.low + v.high;
}

// Lane k of the result is the sum of v[k]'s sixteen lanes.
template <class Lanes>
COMMITTEE_INLINE Lanes fold_singles(const SinglesOf<Lanes>* v) {
  decltype(halved(v[0])) half[kLanes];
  for (int k = 0; k < kLanes; ++k) half[k] = halved(v[k]);
  return exact<Lanes>(fold_each(half));
}

}  // namespace committee
