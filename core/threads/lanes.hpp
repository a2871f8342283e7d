// Eight doubles at a time, written once: the compiler makes one AVX-512, two AVX2 or four SSE2 operations of each.
// Sums are kept per lane and folded in one fixed order, and nothing is contracted, so all of them give the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "threads/lane_types.hpp"

namespace committee {

// One copy of a function for each of these instruction sets, chosen when the library is loaded. The sanitizers
// start after that choice is made, so their build has the baseline only.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(COMMITTEE_SANITIZE)
#define COMMITTEE_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define COMMITTEE_CLONES
#endif

// n rounded up to whole lanes.
constexpr std::int64_t whole_lanes(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

COMMITTEE_INLINE Lanes load(const double* x) { return load_as<Lanes>(x); }
COMMITTEE_INLINE Lanes lanes_of(const LaneBits& b) { return lanes_of<Lanes>(b); }

// Of the coefficients from the highest power down.
template <class V, class Number, class... Others>
COMMITTEE_INLINE V polynomial(const V& x, Number highest, Others... others) {
  V sum = V{} + highest;
  ((sum = sum * x + others), ...);
  return sum;
}

// Integers of |v| < 2^51 as doubles, where the processor has no instruction for it: between 2^52 and 2^53 a double
// counts in ones, so that v added to the bits of 1.5 2^52 (0x4338...) is the double 1.5 2^52 + v, from which that is
// taken.
template <class V>
COMMITTEE_INLINE V as_doubles(const BitsOf<V>& v) {
  return lanes_of<V>(v + 0x4338000000000000) - 0x1.8p52;
}

// Any whole numbers as the nearest doubles: two halves are exact, and their sum is rounded once.
template <class V>
COMMITTEE_INLINE V as_rounded_doubles(const BitsOf<V>& v) {
  if constexpr (sizeof(V) == 64 && !is_pieces<V>)
    return __builtin_convertvector(v, V);  // which AVX-512 has
  else
    return as_doubles<V>(signed_shifted_down(v, 32)) * 0x1p32 + as_doubles<V>(v & 0xffffffff);
}

// exp(x) for x <= 0, to 1e-14 of its value; 0 below -708.
template <class V>
COMMITTEE_INLINE V exp_negative(const V& x) {
  const V floor_at = V{} - 745.0;
  const V clamped = select(x < floor_at, floor_at, x);
  const V magic = V{} + 0x1.8p52;
  const V shifted = clamped * 0x1.71547652b82fep0 + magic;  // the whole number of ln 2 in x, in the low bits
  const V whole = shifted - magic;
  const V r = (clamped - whole * 0x1.62e42fefa3800p-1) - whole * 0x1.ef35793c76730p-45;
  const V r2 = r * r;  // odd and even powers side by side
  const V even = polynomial(r2, 1.0 / 3628800.0, 1.0 / 40320.0, 1.0 / 720.0, 1.0 / 24.0, 0.5, 1.0);
  const V odd = polynomial(r2, 1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0, 1.0);
  const V p = even + r * odd;
  const BitsOf<V> scaled = bits_of(p) + ((bits_of(shifted) - bits_of(magic)) << 52);
  const V tiny = V{} - 708.0;
  return select(clamped < tiny, V{}, lanes_of<V>(scaled));
}

// ln(x) for normal x > 0, to 1e-14.
template <class V>
COMMITTEE_INLINE V log_positive(const V& x) {
  constexpr std::int64_t kHalf = 0x3fe6a09e667f3bcd;  // sqrt(1/2): mantissas are taken from [sqrt(1/2), sqrt 2)
  const BitsOf<V> b = bits_of(x);
  const BitsOf<V> exponent = signed_shifted_down(b - kHalf, 52);
  const V m = lanes_of<V>(b - (exponent << 52));
  const V s = (m - 1.0) / (m + 1.0), t = s * s;
  const V t2 = t * t;
  const V even = polynomial(t2, 2.0 / 17.0, 2.0 / 13.0, 2.0 / 9.0, 2.0 / 5.0, 2.0);
  const V odd = polynomial(t2, 2.0 / 19.0, 2.0 / 15.0, 2.0 / 11.0, 2.0 / 7.0, 2.0 / 3.0);
  const V p = even + t * odd;
  const V e = as_doubles<V>(exponent);
  return e * 0x1.62e42fefa3800p-1 + (s * p + e * 0x1.ef35793c76730p-45);
}

// Rows that are taken eight at a time, each by a pointer of its own.

// Eight rows from `first` on, of which those after the last repeat it.
COMMITTEE_INLINE void rows_from(const double* X, std::int64_t width, std::int64_t first, std::int64_t end,
                                const double** row) {
  for (std::int64_t r = 0; r < kLanes; ++r) row[r] = X + std::min(first + r, end - 1) * width;
}

// Asks for one of the rows that a list names: the processor does not follow a list by itself.
COMMITTEE_INLINE void fetch_row(const double* row, std::int64_t width) {
  for (std::int64_t j = 0; j < width; j += kLanes) __builtin_prefetch(row + j);
}
inline constexpr std::int64_t kRowsAhead = 16;  // by so many rows

// Asks for the eight rows after these, if there are so many: the processor does not follow eight of them by itself.
COMMITTEE_INLINE void fetch_after(const double* X, std::int64_t width, std::int64_t first, std::int64_t end) {
  if (end - first < 2 * kLanes) return;
  const double* const next = X + (first + kLanes) * width;
  for (std::int64_t j = 0; j < kLanes * width; j += kLanes) __builtin_prefetch(next + j);
}

}  // namespace committee
