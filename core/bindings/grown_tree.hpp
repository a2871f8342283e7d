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

  // From the arrays of a tree that was grown before.
  explicit TreeNodes(const nb::tuple& nodes) {
    require(nodes.size() == 9, "a tree is of 9 arrays");
    feature = nodes[0];
    bin = nodes[1];
    left = nodes[2];
    missing_left = nodes[3];
    category_offset = nodes[4];
    category_bits = nodes[5];
    gain = nodes[6];
    count = nodes[7];
    sums = nodes[8];
    require_tree();
  }

  nb::tuple nodes() const {
    return nb::make_tuple(feature, bin, left, missing_left, category_offset, category_bits, gain, count, sums);
  }

  // The array of an object, which must be of the type and the number of dimensions already.
  template <class Array>
  static Array exactly(const nb::object& object) {
    Array array;
    require(nb::try_cast(object, array, false), "an array of the tree has another type or shape");
    return array;
  }

 private:
  // A walk reads no further than the arrays reach, and ends.
  void require_tree() const {
    const auto split_on = exactly<In1<std::int32_t>>(feature), child = exactly<In1<std::int32_t>>(left);
    const auto offset = exactly<In1<std::int64_t>>(category_offset);
    const auto bits = exactly<In1<std::uint32_t>>(category_bits);
    const std::int64_t n = length(split_on);
    require(n >= 1 && length(exactly<In1<std::int32_t>>(bin)) == n && length(child) == n &&
                length(exactly<In1<std::uint8_t>>(missing_left)) == n && length(offset) == n + 1 &&
                length(exactly<In1<double>>(gain)) == n && length(exactly<In1<std::int64_t>>(count)) == n &&
                extent(exactly<In2<double>>(sums), 0) == n,
            "the arrays of the tree are not of one length");
    require(offset(0) == 0 && offset(n) == length(bits), "the tree's words of categories are not those of its nodes");
    for (std::int64_t i = 0; i < n; ++i) {
      require(offset(i) <= offset(i + 1), "the tree's words of categories are not those of its nodes");
      require(split_on(i) < 0 || (child(i) > i && child(i) < n - 1), "a child of the tree does not follow its parent");
    }
  }
};

struct GrownTree : TreeNodes {
  nb::object leaf_of_row;

  GrownTree(const nb::tuple& nodes, nb::object leaf_of_row) : TreeNodes(nodes), leaf_of_row(std::move(leaf_of_row)) {
    if (!this->leaf_of_row.is_none()) exactly<In1<std::int32_t>>(this->leaf_of_row);
  }
  explicit GrownTree(FlatTree&& t) : TreeNodes(std::move(t)), leaf_of_row(array_of(std::move(t.leaf_of_row))) {}
};

}  // namespace committee
