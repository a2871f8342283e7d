// Counter-based random numbers (SplitMix64: G. Steele, D. Lea, C. Flood 2014). A number depends on its counter alone:
// not on other draws, their order or the thread.
#pragma once

#include <cstdint>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

inline constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

template <class Word>
COMMITTEE_INLINE Word scramble(Word z) {  // one word, or several at a time
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The numbers of one stream, one after the other.
class SplitMix {
 public:
  SplitMix(std::uint64_t seed, std::uint64_t stream) : state_(scramble(scramble(seed) + stream)) {}
  std::int64_t below(std::int64_t n) {
    const std::uint64_t drawn = scramble(state_ += kStride);
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(drawn) * word_of(n)) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace committee
