// Eight doubles, or eight whole numbers, at a time: in one vector of 64 bytes, in two of 32 or in four of 16, as the
// processor has them. Kernels are templates over this type, and COMMITTEE_ON_LANES makes one of each.
//
// Whatever the type, there are eight lanes, every operation is that of one lane, and sums are folded in one order: the
// same bits on every processor. GCC takes longer vectors than the processor has apart for sums and products, but into
// single numbers for comparisons, choices and shuffles, which is why the type has to know.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define COMMITTEE_INLINE __attribute__((always_inline)) inline

namespace committee {

inline constexpr std::int64_t kLanes = 8;

// Copied half by half: the compiler would copy a whole in other pieces, which a vector read at once must wait for.
template <class Half>
struct Twice {
  Half low, high;

  Twice() = default;
  COMMITTEE_INLINE Twice(const Half& a, const Half& b) : low(a), high(b) {}
  COMMITTEE_INLINE Twice(const Twice& v) : low(v.low), high(v.high) {}
  COMMITTEE_INLINE Twice& operator=(const Twice& v) {
    low = v.low;
    high = v.high;
    return *this;
  }
};

using Doubles16 = double __attribute__((vector_size(16)));
using Doubles32 = double __attribute__((vector_size(32)));
using Doubles64 = double __attribute__((vector_size(64)));
using Singles16 = float __attribute__((vector_size(16)));
using Singles32 = float __attribute__((vector_size(32)));
using Singles64 = float __attribute__((vector_size(64)));
using Bits16 = std::int64_t __attribute__((vector_size(16)));
using Bits32 = std::int64_t __attribute__((vector_size(32)));
using Bits64 = std::int64_t __attribute__((vector_size(64)));
using Halves16 = std::int32_t __attribute__((vector_size(16)));
using Halves32 = std::int32_t __attribute__((vector_size(32)));
using Words16 = std::uint64_t __attribute__((vector_size(16)));
using Words32 = std::uint64_t __attribute__((vector_size(32)));
using Words64 = std::uint64_t __attribute__((vector_size(64)));

using Lanes = Doubles64;
using LaneBits = Bits64;
using LanesBy32 = Twice<Doubles32>;
using LanesBy16 = Twice<Twice<Doubles16>>;

// The whole numbers of a type of doubles, or of singles.
template <class Numbers>
struct BitsOfType;
template <>
struct BitsOfType<Singles16> {
  using Type = Halves16;
};
template <>
struct BitsOfType<Singles32> {
  using Type = Halves32;
};
template <>
struct BitsOfType<Doubles16> {
  using Type = Bits16;
};
template <>
struct BitsOfType<Doubles32> {
  using Type = Bits32;
};
template <>
struct BitsOfType<Doubles64> {
  using Type = Bits64;
};
template <class Half>
struct BitsOfType<Twice<Half>> {
  using Type = Twice<typename BitsOfType<Half>::Type>;
};
template <class Numbers>
using BitsOf = typename BitsOfType<Numbers>::Type;

template <class V>
inline constexpr bool is_pieces = false;
template <class Half>
inline constexpr bool is_pieces<Twice<Half>> = true;

template <class V>
inline constexpr std::size_t n_lanes = sizeof(V) / sizeof(V{}[0]);
template <class Half>
inline constexpr std::size_t n_lanes<Twice<Half>> = 2 * n_lanes<Half>;

// --- operators, those of a vector piece by piece -------------------------------------------------------------------

#define COMMITTEE_PIECEWISE(op)                                                                    \
  template <class Half>                                                                            \
  COMMITTEE_INLINE auto operator op(const Twice<Half>& a, const Twice<Half>& b) {                  \
    return Twice<std::remove_cvref_t<decltype(a.low op b.low)>>{a.low op b.low, a.high op b.high}; \
  }                                                                                                \
  template <class Half, class Number>                                                              \
    requires std::is_arithmetic_v<Number>                                                          \
  COMMITTEE_INLINE auto operator op(const Twice<Half>& a, Number b) {                              \
    return Twice<std::remove_cvref_t<decltype(a.low op b)>>{a.low op b, a.high op b};              \
  }                                                                                                \
  template <class Half, class Number>                                                              \
    requires std::is_arithmetic_v<Number>                                                          \
  COMMITTEE_INLINE auto operator op(Number a, const Twice<Half>& b) {                              \
    return Twice<std::remove_cvref_t<decltype(a op b.low)>>{a op b.low, a op b.high};              \
  }
COMMITTEE_PIECEWISE(+)
COMMITTEE_PIECEWISE(-)
COMMITTEE_PIECEWISE(*)
COMMITTEE_PIECEWISE(/)
COMMITTEE_PIECEWISE(&)
COMMITTEE_PIECEWISE(|)
COMMITTEE_PIECEWISE(^)
COMMITTEE_PIECEWISE(<<)
COMMITTEE_PIECEWISE(<)
COMMITTEE_PIECEWISE(<=)
COMMITTEE_PIECEWISE(>)
COMMITTEE_PIECEWISE(>=)
COMMITTEE_PIECEWISE(==)
COMMITTEE_PIECEWISE(!=)
#undef COMMITTEE_PIECEWISE

template <class Half>
COMMITTEE_INLINE Twice<Half> operator-(const Twice<Half>& a) {
  return {-a.low, -a.high};
}
template <class Half>
COMMITTEE_INLINE Twice<Half> operator~(const Twice<Half>& a) {
  return {~a.low, ~a.high};
}
template <class Half, class Other>
COMMITTEE_INLINE Twice<Half>& operator+=(Twice<Half>& a, const Other& b) {
  return a = a + b;
}
template <class Half, class Other>
COMMITTEE_INLINE Twice<Half>& operator-=(Twice<Half>& a, const Other& b) {
  return a = a - b;
}
template <class Half, class Other>
COMMITTEE_INLINE Twice<Half>& operator*=(Twice<Half>& a, const Other& b) {
  return a = a * b;
}
template <class Half, class Other>
COMMITTEE_INLINE Twice<Half>& operator|=(Twice<Half>& a, const Other& b) {
  return a = a | b;
}

// --- reading, writing, choosing ------------------------------------------------------------------------------------

// Piece by piece, or the compiler copies a whole in other pieces, which a vector read at once must wait for.
template <class V, class Number>
COMMITTEE_INLINE V load_as(const Number* x) {
  static_assert(sizeof(Number) == sizeof(double));
  if constexpr (is_pieces<V>) {
    using Half = decltype(V::low);
    return {load_as<Half>(x), load_as<Half>(x + sizeof(Half) / sizeof(Number))};
  } else {
    V v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
}
template <class V>
COMMITTEE_INLINE V load(const double* x) {
  return load_as<V>(x);
}
template <class V, class Number>
COMMITTEE_INLINE void store(Number* x, const V& v) {
  static_assert(sizeof(Number) == sizeof(double));
  if constexpr (is_pieces<V>) {
    store(x, v.low);
    store(x + sizeof v.low / sizeof(Number), v.high);
  } else {
    std::memcpy(x, &v, sizeof v);
  }
}
template <class V>
COMMITTEE_INLINE BitsOf<V> bits_of(const V& v) {
  if constexpr (is_pieces<V>)
    return {bits_of(v.low), bits_of(v.high)};
  else
    return (BitsOf<V>)v;
}
template <class V>
COMMITTEE_INLINE V lanes_of(const BitsOf<V>& b) {
  if constexpr (is_pieces<V>)
    return {lanes_of<decltype(V::low)>(b.low), lanes_of<decltype(V::low)>(b.high)};
  else
    return (V)b;
}
// Small whole numbers that lie side by side, such as labels.
template <class Bits, class Number>
COMMITTEE_INLINE Bits widened(const Number* x) {
  if constexpr (is_pieces<Bits>) {
    using Half = decltype(Bits::low);
    return {widened<Half>(x), widened<Half>(x + sizeof(Half) / sizeof(std::int64_t))};
  } else {
    Bits v;
    for (std::size_t k = 0; k < sizeof v / sizeof(std::int64_t); ++k) v[k] = x[k];
    return v;
  }
}

// Number j of eight rows.
template <class V>
COMMITTEE_INLINE V gathered_from(const double* const* row, std::int64_t j) {
  if constexpr (is_pieces<V>) {
    using Half = decltype(V::low);
    return {gathered_from<Half>(row, j), gathered_from<Half>(row + sizeof(Half) / sizeof(double), j)};
  } else {
    V v;
    for (std::size_t r = 0; r < sizeof v / sizeof(double); ++r) v[r] = row[r][j];
    return v;
  }
}

// chosen ? a : b, lane by lane; all bits of a lane of `chosen` are alike.
template <class V>
COMMITTEE_INLINE V select(const BitsOf<V>& chosen, const V& a, const V& b) {
  if constexpr (is_pieces<V>)
    return {select(chosen.low, a.low, b.low), select(chosen.high, a.high, b.high)};
  else
    return chosen ? a : b;
}
template <class Bits>
COMMITTEE_INLINE Bits select_bits(const Bits& chosen, const Bits& a, const Bits& b) {
  if constexpr (is_pieces<Bits>)
    return {select_bits(chosen.low, a.low, b.low), select_bits(chosen.high, a.high, b.high)};
  else
    return chosen ? a : b;
}
template <class V>
COMMITTEE_INLINE V larger_of(const V& a, const V& b) {  // b where they are equal, or one is no number
  return select(a > b, a, b);
}
template <class V>
COMMITTEE_INLINE V absolute(const V& v) {
  return lanes_of<V>(bits_of(v) & INT64_MAX);
}
template <class V>
COMMITTEE_INLINE V square_root(const V& v) {
  if constexpr (is_pieces<V>) {
    return {square_root(v.low), square_root(v.high)};
  } else {
    V roots;
    for (std::size_t k = 0; k < n_lanes<V>; ++k) roots[k] = __builtin_sqrt(v[k]);
    return roots;
  }
}

// Shifted down with zeros, or with the sign, from the top: a shift of whole numbers with a sign is not everywhere.
COMMITTEE_INLINE Bits16 shifted_down(const Bits16& b, int n) { return (Bits16)((Words16)b >> n); }
COMMITTEE_INLINE Bits32 shifted_down(const Bits32& b, int n) { return (Bits32)((Words32)b >> n); }
COMMITTEE_INLINE Bits64 shifted_down(const Bits64& b, int n) { return (Bits64)((Words64)b >> n); }
template <class Half>
COMMITTEE_INLINE Twice<Half> shifted_down(const Twice<Half>& b, int n) {
  return {shifted_down(b.low, n), shifted_down(b.high, n)};
}
template <class Bits>
COMMITTEE_INLINE Bits signed_shifted_down(const Bits& b, int n) {
  const std::int64_t sign = std::int64_t{1} << (63 - n);
  return (shifted_down(b, n) ^ sign) - sign;
}

// Sums that wrap, as those of words do.
COMMITTEE_INLINE Bits16 sum_of_words(const Bits16& a, const Bits16& b) { return (Bits16)((Words16)a + (Words16)b); }
COMMITTEE_INLINE Bits32 sum_of_words(const Bits32& a, const Bits32& b) { return (Bits32)((Words32)a + (Words32)b); }
COMMITTEE_INLINE Bits64 sum_of_words(const Bits64& a, const Bits64& b) { return (Bits64)((Words64)a + (Words64)b); }
template <class Half>
COMMITTEE_INLINE Twice<Half> sum_of_words(const Twice<Half>& a, const Twice<Half>& b) {
  return {sum_of_words(a.low, b.low), sum_of_words(a.high, b.high)};
}

// What is left of a number when these are taken off, likewise.
COMMITTEE_INLINE Bits16 rest_of_word(std::uint64_t a, const Bits16& b) { return (Bits16)(a - (Words16)b); }
COMMITTEE_INLINE Bits32 rest_of_word(std::uint64_t a, const Bits32& b) { return (Bits32)(a - (Words32)b); }
COMMITTEE_INLINE Bits64 rest_of_word(std::uint64_t a, const Bits64& b) { return (Bits64)(a - (Words64)b); }
template <class Half>
COMMITTEE_INLINE Twice<Half> rest_of_word(std::uint64_t a, const Twice<Half>& b) {
  return {rest_of_word(a, b.low), rest_of_word(a, b.high)};
}

template <class V>
COMMITTEE_INLINE bool any_lane(const V& bits) {
  if constexpr (is_pieces<V>) {
    return any_lane(bits.low | bits.high);
  } else {
    std::int64_t any = 0;
    for (std::size_t k = 0; k < sizeof bits / sizeof(std::int64_t); ++k) any |= bits[k];
    return any != 0;
  }
}

// --- across lanes --------------------------------------------------------------------------------------------------

// v[0], v[0] + v[1], ..., of whole numbers, whose sums are the same in any order; they wrap.
COMMITTEE_INLINE Bits16 running_sums(Bits16 v) { return sum_of_words(v, __builtin_shuffle(Bits16{}, v, Bits16{0, 2})); }
COMMITTEE_INLINE Bits32 running_sums(Bits32 v) {
  v = sum_of_words(v, __builtin_shuffle(Bits32{}, v, Bits32{0, 4, 5, 6}));
  return sum_of_words(v, __builtin_shuffle(Bits32{}, v, Bits32{0, 0, 4, 5}));
}
COMMITTEE_INLINE Bits64 running_sums(Bits64 v) {
  v = sum_of_words(v, __builtin_shuffle(Bits64{}, v, Bits64{0, 8, 9, 10, 11, 12, 13, 14}));
  v = sum_of_words(v, __builtin_shuffle(Bits64{}, v, Bits64{0, 0, 8, 9, 10, 11, 12, 13}));
  return sum_of_words(v, __builtin_shuffle(Bits64{}, v, Bits64{0, 0, 0, 0, 8, 9, 10, 11}));
}
// The last lane in all of them.
COMMITTEE_INLINE Bits16 last_of(const Bits16& v) { return __builtin_shuffle(v, Bits16{1, 1}); }
COMMITTEE_INLINE Bits32 last_of(const Bits32& v) { return __builtin_shuffle(v, Bits32{3, 3, 3, 3}); }
COMMITTEE_INLINE Bits64 last_of(const Bits64& v) { return __builtin_shuffle(v, Bits64{7, 7, 7, 7, 7, 7, 7, 7}); }
template <class Half>
COMMITTEE_INLINE Twice<Half> last_of(const Twice<Half>& v) {
  const Half last = last_of(v.high);
  return {last, last};
}
template <class Half>
COMMITTEE_INLINE Twice<Half> running_sums(const Twice<Half>& v) {
  const Half low = running_sums(v.low);
  return {low, sum_of_words(running_sums(v.high), last_of(low))};
}

// The lanes 0, 1, ..., 7.
template <class Bits>
COMMITTEE_INLINE Bits places() {
  static constexpr std::int64_t kPlaces[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7};
  return load_as<Bits>(kPlaces);
}
// All bits in the first n lanes, none in the others.
template <class Bits>
COMMITTEE_INLINE Bits first_lanes(std::int64_t n) {
  static constexpr std::int64_t kBits[2 * kLanes] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return load_as<Bits>(kBits + kLanes - std::min(n, kLanes));
}

// The sum of all lanes: the lower half and the upper half lane by lane, until one is left.
COMMITTEE_INLINE double fold(const Doubles16& v) { return v[0] + v[1]; }
COMMITTEE_INLINE double fold(const Doubles32& v) { return (v[0] + v[2]) + (v[1] + v[3]); }
COMMITTEE_INLINE double fold(const Doubles64& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
COMMITTEE_INLINE std::int64_t fold(const Bits16& v) { return v[0] + v[1]; }
COMMITTEE_INLINE std::int64_t fold(const Bits32& v) { return fold(Bits16{v[0], v[1]} + Bits16{v[2], v[3]}); }
COMMITTEE_INLINE std::int64_t fold(const Bits64& v) {
  return fold(Bits32{v[0], v[1], v[2], v[3]} + Bits32{v[4], v[5], v[6], v[7]});
}
template <class Half>
COMMITTEE_INLINE auto fold(const Twice<Half>& v) {
  return fold(v.low + v.high);
}

// Lane k of the result is the sum of v[k]'s lanes, as many vectors as lanes: as fast as one or two of them alone, in an
// order of their own, neighbours first.
COMMITTEE_INLINE Doubles16 fold_each(const Doubles16* v) {
  return __builtin_shuffle(v[0], v[1], Bits16{0, 2}) + __builtin_shuffle(v[0], v[1], Bits16{1, 3});
}
// Of four lanes and of eight, chosen by whole numbers of their size.
template <class Bits, class V>
COMMITTEE_INLINE V fold_each_of_four(const V* v) {
  V pair[2];
  for (int k = 0; k < 2; ++k)
    pair[k] = __builtin_shuffle(v[2 * k], v[2 * k + 1], Bits{0, 4, 2, 6}) +
              __builtin_shuffle(v[2 * k], v[2 * k + 1], Bits{1, 5, 3, 7});
  return __builtin_shuffle(pair[0], pair[1], Bits{0, 1, 4, 5}) + __builtin_shuffle(pair[0], pair[1], Bits{2, 3, 6, 7});
}
template <class Bits, class V>
COMMITTEE_INLINE V fold_each_of_eight(const V* v) {
  V pair[4], four[2];
  for (int k = 0; k < 4; ++k)
    pair[k] = __builtin_shuffle(v[2 * k], v[2 * k + 1], Bits{0, 8, 2, 10, 4, 12, 6, 14}) +
              __builtin_shuffle(v[2 * k], v[2 * k + 1], Bits{1, 9, 3, 11, 5, 13, 7, 15});
  for (int k = 0; k < 2; ++k)
    four[k] = __builtin_shuffle(pair[2 * k], pair[2 * k + 1], Bits{0, 1, 8, 9, 4, 5, 12, 13}) +
              __builtin_shuffle(pair[2 * k], pair[2 * k + 1], Bits{2, 3, 10, 11, 6, 7, 14, 15});
  return __builtin_shuffle(four[0], four[1], Bits{0, 1, 2, 3, 8, 9, 10, 11}) +
         __builtin_shuffle(four[0], four[1], Bits{4, 5, 6, 7, 12, 13, 14, 15});
}
COMMITTEE_INLINE Doubles32 fold_each(const Doubles32* v) { return fold_each_of_four<Bits32>(v); }
COMMITTEE_INLINE Doubles64 fold_each(const Doubles64* v) { return fold_each_of_eight<Bits64>(v); }
COMMITTEE_INLINE Bits16 fold_each(const Bits16* v) {  // sums that wrap
  return sum_of_words(__builtin_shuffle(v[0], v[1], Bits16{0, 2}), __builtin_shuffle(v[0], v[1], Bits16{1, 3}));
}
COMMITTEE_INLINE Bits32 fold_each(const Bits32* v) { return fold_each_of_four<Bits32>(v); }
COMMITTEE_INLINE Bits64 fold_each(const Bits64* v) { return fold_each_of_eight<Bits64>(v); }
COMMITTEE_INLINE Singles16 fold_each(const Singles16* v) { return fold_each_of_four<Halves16>(v); }
COMMITTEE_INLINE Singles32 fold_each(const Singles32* v) { return fold_each_of_eight<Halves32>(v); }
template <class Half>
COMMITTEE_INLINE Twice<Half> fold_each(const Twice<Half>* v) {
  constexpr std::size_t kHalf = n_lanes<Half>;
  Half low[2][kHalf], high[2][kHalf];
  for (std::size_t part = 0; part < 2; ++part)
    for (std::size_t k = 0; k < kHalf; ++k) {
      low[part][k] = v[part * kHalf + k].low;
      high[part][k] = v[part * kHalf + k].high;
    }
  return {fold_each(low[0]) + fold_each(high[0]), fold_each(low[1]) + fold_each(high[1])};
}

// The largest, or the least, lane.
COMMITTEE_INLINE double most_of(const Doubles16& v) { return v[0] > v[1] ? v[0] : v[1]; }
COMMITTEE_INLINE double most_of(const Doubles32& v) {
  return most_of(larger_of(Doubles16{v[0], v[1]}, Doubles16{v[2], v[3]}));
}
COMMITTEE_INLINE double most_of(const Doubles64& v) {
  return most_of(larger_of(Doubles32{v[0], v[1], v[2], v[3]}, Doubles32{v[4], v[5], v[6], v[7]}));
}
template <class Half>
COMMITTEE_INLINE double most_of(const Twice<Half>& v) {
  return most_of(larger_of(v.low, v.high));
}
template <class Bits>
COMMITTEE_INLINE std::int64_t least_of(const Bits& v) {
  std::int64_t lanes[kLanes];
  store(lanes, v);
  return *std::min_element(lanes, lanes + kLanes);
}

// --- one kernel for each type --------------------------------------------------------------------------------------

// How many bytes a vector of this processor has: 64, 32 or 16; or fewer, to try the other types on it.
COMMITTEE_INLINE int bytes_of_processor() {
#if defined(__x86_64__) && !defined(COMMITTEE_SANITIZE)  // the sanitizers' build has no clones
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}
inline std::atomic<int> lane_bytes{bytes_of_processor()};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define COMMITTEE_TARGET_64 __attribute__((target("arch=x86-64-v4")))
#define COMMITTEE_TARGET_32 __attribute__((target("avx2")))
#else
#define COMMITTEE_TARGET_64
#define COMMITTEE_TARGET_32
#endif

// Defines name(parameters) as that of name_in<V>(arguments) whose V suits the processor. The sanitizers' build has the
// kernels of one type alone (CMakeLists.txt): those of pieces take ten times as long there, to compile and to run.
#ifdef COMMITTEE_ONE_LANE_TYPE
#define COMMITTEE_ON_LANES(result, name, parameters, arguments) \
  inline result name parameters { return name##_in<COMMITTEE_ONE_LANE_TYPE> arguments; }
#else
#define COMMITTEE_ON_LANES(result, name, parameters, arguments)                                                  \
  COMMITTEE_TARGET_64 inline result name##_by_64 parameters { return name##_in<Doubles64> arguments; }           \
  COMMITTEE_TARGET_32 inline result name##_by_32 parameters { return name##_in<LanesBy32> arguments; }           \
  inline result name##_by_16 parameters { return name##_in<LanesBy16> arguments; }                               \
  inline result name parameters {                                                                                \
    const int bytes = lane_bytes.load(std::memory_order_relaxed);                                                \
    return bytes == 64 ? name##_by_64 arguments : bytes == 32 ? name##_by_32 arguments : name##_by_16 arguments; \
  }
#endif

}  // namespace committee
