// Doubles as unsigned integers of the same order.
#pragma once

#include <bit>
#include <cstdint>

namespace committee {

inline std::uint64_t ordered_key(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);  // + 0.0: -0.0 and 0.0 are one value
  return bits ^ (-(bits >> 63) | (std::uint64_t{1} << 63));
}

inline double key_value(std::uint64_t key) {
  return std::bit_cast<double>(key ^ (((key >> 63) - 1) | (std::uint64_t{1} << 63)));
}

}  // namespace committee
