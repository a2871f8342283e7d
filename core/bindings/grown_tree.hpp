// A grown tree as Python sees it: flat arrays, one per property of a node.
//
// The tree stays in the kernel's memory, and an array is made when it is asked for: a fit of a hundred trees would make
// more than a thousand, which take longer than some of the trees, and set off the interpreter's garbage collector.
#pragma once

#include <utility>

#include "bindings/arrays.hpp"
#include "threads/vector.hpp"
#include "trees/pairwise_sum.hpp"
#include "trees/tree.hpp"

namespace committee {

// The array of an object, which must be of the type and the number of dimensions already.
template <class Array>
Array exactly(const nb::object& object) {
  Array array;
  require(nb::try_cast(object, array, false), "an array of the tree has another type or shape");
  return array;
}
template <class Array>
auto copied(const nb::object& object) {
  const auto array = exactly<Array>(object);
  return Vector<std::remove_cv_t<typename Array::Scalar>>(array.data(), array.data() + length(array));
}

struct TreeNodes {
  Vector<std::int32_t> feature, bin, left;
  Vector<std::uint8_t> missing_left;
  Vector<std::int64_t> category_offset{0};
  Vector<std::uint32_t> category_bits;
  Vector<double> gain, sums;  // sums: nodes x planes, or of the classes that each node holds
  Vector<std::int64_t> count;
  int n_classes = 0;  // of sums by class; 0: nodes x planes
  Vector<std::int64_t> class_offset;
  Vector<std::uint16_t> class_label;

  explicit TreeNodes(FlatTree&& t)
      : feature(std::move(t.feature)),
        bin(std::move(t.bin)),
        left(std::move(t.left)),
        missing_left(std::move(t.missing_left)),
        gain(std::move(t.gain)),
        sums(std::move(t.sums)),
        count(std::move(t.count)),
        n_classes(t.n_classes),
        class_offset(std::move(t.class_offset)),
        class_label(std::move(t.class_label)) {
    category_offset.reserve(n_nodes() + 1);
    for (const auto& words : t.category_bits) {
      category_bits.insert(category_bits.end(), words.begin(), words.end());
      category_offset.push_back(category_bits.size());
    }
  }

  // From the arrays of a tree that was grown before.
  explicit TreeNodes(const nb::tuple& nodes) {
    require(nodes.size() == 9, "a tree is of 9 arrays");
    feature = copied<In1<std::int32_t>>(nodes[0]);
    bin = copied<In1<std::int32_t>>(nodes[1]);
    left = copied<In1<std::int32_t>>(nodes[2]);
    missing_left = copied<In1<std::uint8_t>>(nodes[3]);
    category_offset = copied<In1<std::int64_t>>(nodes[4]);
    category_bits = copied<In1<std::uint32_t>>(nodes[5]);
    gain = copied<In1<double>>(nodes[6]);
    count = copied<In1<std::int64_t>>(nodes[7]);
    sums = copied<In2<double>>(nodes[8]);
    require(extent(exactly<In2<double>>(nodes[8]), 0) == n_nodes(), kOtherLengths);
    require_tree();
  }

  std::int64_t n_nodes() const { return feature.size(); }

  // An array of the tree, owned by the Python object that is the tree.
  template <auto member>
  static nb::object array(nb::pointer_and_handle<TreeNodes> tree) {
    return view_of(tree.p->*member, tree.h);
  }
  static nb::object sums_array(nb::pointer_and_handle<TreeNodes> tree) {
    const TreeNodes& own = *tree.p;
    if (own.n_classes == 0) return rows_view_of(own.sums, own.n_nodes(), tree.h);
    Vector<double> all(own.n_nodes() * own.n_classes, 0.0);
    own.each_sum([&](std::int64_t node, std::int64_t label, double sum) { all[node * own.n_classes + label] = sum; });
    return array_of(std::move(all), {own.n_nodes(), own.n_classes});
  }
  // Of each leaf the classes that it holds and their weights, and the weight of every node; None of other trees.
  static nb::object leaf_sums(const TreeNodes& tree) {
    if (tree.n_classes == 0) return nb::none();
    const std::int64_t n = tree.n_nodes();
    Vector<std::int64_t> offset(n + 1);
    Vector<std::uint16_t> label;
    Vector<double> sum, total(n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t first = tree.class_offset[i], last = tree.class_offset[i + 1];
      const std::uint16_t* const labels = tree.class_label.data();
      total[i] = row_sum({labels + first, tree.sums.data() + first, last - first}, tree.n_classes);
      if (tree.feature[i] < 0) {
        label.insert(label.end(), labels + first, labels + last);
        sum.insert(sum.end(), tree.sums.data() + first, tree.sums.data() + last);
      }
      offset[i + 1] = label.size();
    }
    return nb::make_tuple(array_of(std::move(offset)), array_of(std::move(label)), array_of(std::move(sum)),
                          array_of(std::move(total)));
  }
  static nb::tuple arrays(nb::pointer_and_handle<TreeNodes> tree) {
    return nb::make_tuple(array<&TreeNodes::feature>(tree), array<&TreeNodes::bin>(tree), array<&TreeNodes::left>(tree),
                          array<&TreeNodes::missing_left>(tree), array<&TreeNodes::category_offset>(tree),
                          array<&TreeNodes::category_bits>(tree), array<&TreeNodes::gain>(tree),
                          array<&TreeNodes::count>(tree), sums_array(tree));
  }

 protected:
  static constexpr const char* kOtherLengths = "the arrays of the tree are not of one length";

 private:
  template <class Visit>
  void each_sum(Visit&& visit) const {
    for (std::int64_t i = 0; i < n_nodes(); ++i)
      for (std::int64_t at = class_offset[i]; at < class_offset[i + 1]; ++at) visit(i, class_label[at], sums[at]);
  }

  // A walk reads no further than the arrays reach, and ends.
  void require_tree() const {
    const std::int64_t n = n_nodes();
    require(n >= 1 && bin.size() == n && left.size() == n && missing_left.size() == n &&
                category_offset.size() == n + 1 && gain.size() == n && count.size() == n,
            kOtherLengths);
    const char* const kOtherWords = "the tree's words of categories are not those of its nodes";
    require(category_offset[0] == 0 && category_offset[n] == category_bits.size(), kOtherWords);
    for (std::int64_t i = 0; i < n; ++i) {
      require(category_offset[i] <= category_offset[i + 1], kOtherWords);
      require(feature[i] < 0 || (left[i] > i && left[i] < n - 1), "a child of the tree does not follow its parent");
    }
  }
};

struct GrownTree : TreeNodes {
  nb::object leaf_of_row;  // an array of its own, as it may be forgotten

  GrownTree(const nb::tuple& nodes, nb::object leaf_of_row) : TreeNodes(nodes), leaf_of_row(std::move(leaf_of_row)) {
    if (!this->leaf_of_row.is_none()) exactly<In1<std::int32_t>>(this->leaf_of_row);
  }
  explicit GrownTree(FlatTree&& t) : TreeNodes(std::move(t)), leaf_of_row(array_of(std::move(t.leaf_of_row))) {}
};

}  // namespace committee
