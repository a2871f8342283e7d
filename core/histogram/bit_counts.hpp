// How many of some rows have each of 512 bits, by carry-save addition (Harley and Seal's count of bits): rows are added
// up for all bits at once. Digit d of as many sums as a vector has bits lies in one vector, and three digits of one
// worth are added by five operations. Whole numbers: the same on every processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "threads/lane_types.hpp"

namespace committee {

// The words of one vector of the processor, for which V stands.
template <class V>
struct Register;
template <>
struct Register<Doubles64> {
  using Words = Words64;
};
template <>
struct Register<LanesBy32> {
  using Words = Words32;
};
template <>
struct Register<LanesBy16> {
  using Words = Words16;
};

// sum + a + b in each bit: the digit stays in `sum`, what is carried is returned.
template <class Words>
COMMITTEE_INLINE Words carry_of(Words& sum, const Words& a, const Words& b) {
  const Words either = sum ^ a, carry = (sum & a) | (either & b);
  sum = either ^ b;
  return carry;
}

// In every byte of eight words bit r of the d-th goes to bit d of the r-th: where digit[d] had the digits d of all
// sums, byte j of digit[r] is then the sum of bit 8 j + r.
template <class Words>
COMMITTEE_INLINE void transpose_bits(Words* digit) {
  const auto swap = [&](std::int64_t d, auto by, std::uint64_t low) __attribute__((always_inline)) {
    const Words other = ((digit[d] >> by.value) ^ digit[d + by.value]) & low;
    digit[d] ^= other << by.value;
    digit[d + by.value] ^= other;
  };
  for (const std::int64_t d : {0, 2, 4, 6}) swap(d, std::integral_constant<int, 1>{}, 0x5555555555555555);
  for (const std::int64_t d : {0, 1, 4, 5}) swap(d, std::integral_constant<int, 2>{}, 0x3333333333333333);
  for (const std::int64_t d : {0, 1, 2, 3}) swap(d, std::integral_constant<int, 4>{}, 0x0f0f0f0f0f0f0f0f);
}

inline constexpr std::int64_t kBitsCounted = 512, kRowsAtOnce = 16;

// Where count_bits puts what it counts of a bit.
constexpr std::int64_t place_of_count(std::int64_t bit) { return bit % 8 * (kBitsCounted / 8) + bit / 8; }

template <class V>
COMMITTEE_INLINE void count_bits_in(const std::uint64_t* bits, const std::int64_t* place, std::int64_t n,
                                    std::uint32_t* __restrict counts) {
  using Words = typename Register<V>::Words;
  constexpr std::int64_t kMost = 240;  // rows that eight digits count
  constexpr std::int64_t kBytes = sizeof(Words);
  for (std::int64_t first = 0; first < n; first += kMost)
    for (std::int64_t byte = 0; byte < kBitsCounted / 8; byte += kBytes) {
      Words digit[8]{};
      for (std::int64_t i = first; i < std::min(n, first + kMost); i += kRowsAtOnce) {
        const auto row = [&](std::int64_t k) __attribute__((always_inline)) {
          Words of_row;
          std::memcpy(&of_row, bits + place[i + k] + byte / 8, sizeof of_row);
          return of_row;
        };
        const auto two = [&](std::int64_t k)
                             __attribute__((always_inline)) { return carry_of(digit[0], row(k), row(k + 1)); };
        const auto four = [&](std::int64_t k) __attribute__((always_inline)) {
          const Words a = two(k), b = two(k + 2);
          return carry_of(digit[1], a, b);
        };
        const auto eight = [&](std::int64_t k) __attribute__((always_inline)) {
          const Words a = four(k), b = four(k + 4);
          return carry_of(digit[2], a, b);
        };
        const Words a = eight(0), b = eight(8);
        Words carry = carry_of(digit[3], a, b);
#pragma GCC unroll 4
        for (int d = 4; d < 8; ++d) {
          const Words next = digit[d] & carry;
          digit[d] ^= carry;
          carry = next;
        }
      }
      transpose_bits(digit);
      std::uint8_t sums[sizeof digit];
      std::memcpy(sums, digit, sizeof sums);
      for (std::int64_t r = 0; r < 8; ++r) {
        std::uint32_t* const to = counts + r * (kBitsCounted / 8) + byte;
        for (std::int64_t j = 0; j < kBytes; ++j) to[j] += sums[r * kBytes + j];
      }
    }
}

// counts[place_of_count(k)] += how many rows have bit k. A row's bits begin at bits + place; n is a multiple of
// kRowsAtOnce.
COMMITTEE_ON_LANES(void, count_bits,
                   (const std::uint64_t* bits, const std::int64_t* place, std::int64_t n, std::uint32_t* counts),
                   (bits, place, n, counts))

}  // namespace committee
