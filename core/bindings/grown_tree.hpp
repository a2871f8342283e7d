// A grown tree as Python sees it: flat arrays, one per property of a node.
#pragma once

#include <utility>

#include "../tree.hpp"
#include "../vector.hpp"
#include "arrays.hpp"

namespace committee {

struct GrownNodes {
  nb::object feature, bin, left, missing_left, category_offset, category_bits, gain, count, sums;

  explicit GrownNodes(FlatTree&& t) {
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

template <class Tree>
nb::class_<Tree> register_nodes(nb::module_& m, const char* name) {
  return nb::class_<Tree>(m, name)
      .def_ro("feature", &Tree::feature)
      .def_ro("bin", &Tree::bin)
      .def_ro("left", &Tree::left)
      .def_ro("missing_left", &Tree::missing_left)
      .def_ro("category_offset", &Tree::category_offset)
      .def_ro("category_bits", &Tree::category_bits)
      .def_ro("gain", &Tree::gain)
      .def_ro("count", &Tree::count)
      .def_ro("sums", &Tree::sums);
}

struct GrownTree : GrownNodes {
  nb::object leaf_of_row;

  explicit GrownTree(FlatTree&& t) : GrownNodes(std::move(t)), leaf_of_row(array_of(std::move(t.leaf_of_row))) {}
};

}  // namespace committee
