// Two kinds of integers, and every conversion between them.
//
// Rows, bins, nodes and places in memory are counted in std::int64_t: a difference may be negative, and a product of
// two counts does not wrap. A word is 64 bits that hold packed sums, std::uint64_t, so that adding and shifting wrap as
// the packing means them to.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace committee {

constexpr std::int64_t count_of(std::size_t n) { return static_cast<std::int64_t>(n); }
constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }  // for the standard library

// The same 64 bits, read the other way.
constexpr std::uint64_t word_of(std::int64_t n) { return static_cast<std::uint64_t>(n); }
constexpr std::int64_t signed_of(std::uint64_t word) { return static_cast<std::int64_t>(word); }

// How many bits hold every count up to n.
constexpr int bits_for(std::int64_t n) { return static_cast<int>(std::bit_width(word_of(n))); }

}  // namespace committee
