// One tree as flat arrays, as growth writes it: node 0 is the root, children are adjacent and come after
// their parent.
#pragma once

#include <cstdint>

#include "vector.hpp"

namespace committee {

struct FlatTree {
  Vector<std::int32_t> feature, bin, left;
  Vector<std::uint8_t> missing_left;
  Vector<Vector<std::uint32_t>> category_bits;
  Vector<double> gain, sums;  // sums: nodes x planes
  Vector<std::int64_t> count;
  Vector<std::int32_t> leaf_of_row;

  std::int32_t add_node(int planes) {
    feature.push_back(-1);
    bin.push_back(-1);
    left.push_back(-1);
    missing_left.push_back(0);
    category_bits.emplace_back();
    gain.push_back(0.0);
    sums.resize(sums.size() + planes);
    count.push_back(0);
    return static_cast<std::int32_t>(feature.size() - 1);
  }

  template <class AnySplit>
  void set_split(std::int32_t node, const AnySplit& split, std::int32_t left_child) {
    feature[node] = split.feature;
    bin[node] = split.bin;
    left[node] = left_child;
    missing_left[node] = split.missing_left;
    gain[node] = split.gain;
    category_bits[node].assign((split.category_is_left.size() + 31) / 32, 0);
    for (std::int64_t c = 0; c < split.category_is_left.size(); ++c)
      category_bits[node][c / 32] |= static_cast<std::uint32_t>(split.category_is_left[c]) << (c % 32);
  }
};

}  // namespace committee
