// Leaves of the out-of-bag rows of a grown tree, found by their bin codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "histogram/histogram.hpp"
#include "threads/vector.hpp"

namespace committee {

struct TreeArrays {  // as GrownTree has them
  std::int64_t n_nodes;
  const std::int32_t *feature, *bin, *left;
  const std::uint8_t* missing_left;
  const std::int64_t* category_offset;
  const std::uint32_t* category_bits;
};

template <class Table>
class CodeWalk {
 public:
  CodeWalk(const Table& table, const TreeArrays& tree) : table_(table), tree_(tree) {
    nodes_.reserve(tree.n_nodes);
    for (std::int64_t i = 0; i < tree.n_nodes; ++i) {
      const std::int32_t j = tree.feature[i];
      if (j < 0) {  // a leaf sends every row to itself
        nodes_.push_back({0, std::numeric_limits<std::int32_t>::max(), static_cast<std::int32_t>(i), kNone});
        continue;
      }
      const bool categorical = tree.category_offset[i] < tree.category_offset[i + 1];
      has_categories_ |= categorical;
      nodes_.push_back({j, tree.bin[i], tree.left[i],
                        categorical            ? kCategorical
                        : tree.missing_left[i] ? static_cast<std::int32_t>(table.missing_bin(j))
                                               : kNone});
    }
  }

  // leaves[i]: the leaf that rows[i] reaches.
  void walk(const std::int32_t* rows, std::int64_t n, std::int32_t* leaves) const {
    if (has_categories_)
      walk<true>(rows, n, leaves);
    else
      walk<false>(rows, n, leaves);
  }

 private:
  static constexpr std::int32_t kNone = -1, kCategorical = -2;
  struct Node {
    std::int32_t feature, bin, left;
    std::int32_t also_left;  // the missing bin, where that goes left
  };

  template <bool kCategories>
  void walk(const std::int32_t* rows, std::int64_t n, std::int32_t* leaves) const {
    constexpr std::int64_t kAbreast = 8;  // their loads overlap
    std::int64_t row[kAbreast];
    std::int32_t at[kAbreast];
    for (std::int64_t first = 0; first < n; first += kAbreast) {
      const std::int64_t last = n - 1 - first;
      for (std::int64_t k = 0; k < kAbreast; ++k) {
        row[k] = rows[first + std::min(k, last)];
        at[k] = 0;
      }
      for (bool moved = true; moved;) {
        moved = false;
        for (std::int64_t k = 0; k < kAbreast; ++k) {
          const std::int32_t next = step<kCategories>(at[k], table_.row(row[k]));
          moved |= next != at[k];
          at[k] = next;
        }
      }
      for (std::int64_t k = 0; k <= std::min(kAbreast - 1, last); ++k) leaves[first + k] = at[k];
    }
  }

  template <bool kCategories, class Codes>
  std::int32_t step(std::int32_t i, const Codes& codes) const {
    const Node& node = nodes_[i];
    const std::int32_t code = codes[node.feature];
    if (kCategories && node.also_left == kCategorical) {
      if (code == table_.missing_bin(node.feature)) return node.left + !tree_.missing_left[i];
      const std::uint32_t word = tree_.category_bits[tree_.category_offset[i] + code / 32];
      return node.left + !((word >> (code % 32)) & 1u);
    }
    const bool left = (code <= node.bin) | (code == node.also_left);
    return node.left + !left;
  }

  const Table& table_;
  const TreeArrays& tree_;
  Vector<Node> nodes_;
  bool has_categories_ = false;
};

}  // namespace committee
