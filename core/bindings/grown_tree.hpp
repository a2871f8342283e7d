// A grown tree as Python sees it: flat arrays, one per property of a node.
#pragma once

#include <utility>

#include "../tree.hpp"
#include "../vector.hpp"
#include "arrays.hpp"

namespace committee {

struct TreeNodes {
  nb::object feature, bin, left, missing_left, category_offset, category_bits, gain, count, sums;

  explicit TreeNodes(FlatTree&& t) {
    const std::int64_t n = t.feature.size(), n_sums = t.sums.size() / n;
    Vector<std::int64_t> offset{0};
    Vector<std::uint32_t> bits;
    for (const auto& words : t.category_bits) {
      bits.insert(bits.end(), words.begin(), words.end());
      offset.push_back(bits.size());
    }
    feature = array_of(std::move(t.feature));
    bin = array_of(std::move(t.bin));
    left = array_of(std::move(t.left));
    missing_left = array_of(std::move(t.missing_left));
    category_offset = array_of(std::move(offset));
    category_bits = array_of(std::move(bits));
    gain = array_of(std::move(t.gain));
    count = array_of(std::move(t.count));
    sums = array_of(std::move(t.sums), {n, n_sums});
  }
};

struct GrownTree : TreeNodes {
  nb::object leaf_of_row;

  explicit GrownTree(FlatTree&& t) : TreeNodes(std::move(t)), leaf_of_row(array_of(std::move(t.leaf_of_row))) {}
};

}  // namespace committee
