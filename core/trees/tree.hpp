// trees/: growth of shallow trees, and the walk through grown trees. gradient/ and deep/ have their own growth.
//   tree              a grown tree as flat arrays; growing_tree: limits, open nodes, node records
//   grow              best-first or depth-first growth; grower, table_grower: buffers that boosting rounds reuse
//   split             the best split of a histogram; criterion: gini, entropy, squared error ...
//   lane_gains        gains of eight bins at a time; feature_scan: the criterion chosen at run time
//   row_statistics    weights and targets as integers; units: back to the user's units; pairwise_sum: sums as NumPy's
//   feature_sampling  features drawn per tree and node; interactions: features allowed together on a path
//   leaf_value        leaf values under L0, L1 and L2 penalties
//   traverse          prediction; leaf_bits: small trees without branches; leaf_index: sums over leaves and rows
//
// One tree as flat arrays, as growth writes it: node 0 is the root, children are adjacent and come after
// their parent.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads/vector.hpp"

namespace committee {

struct NodeSplit {
  double gain = 0.0;
  std::int32_t feature = -1;
  std::int32_t bin = -1;  // bins <= bin go left; -1 for a categorical split
  bool missing_left = false;
  Vector<std::uint8_t> category_is_left;  // per category, empty for a numeric split

  // For every bin of the feature, "missing" the last of them, whether it goes left.
  Vector<std::uint8_t> left_bins(std::int64_t missing_bin) const {
    Vector<std::uint8_t> is_left(missing_bin + 1);
    if (category_is_left.empty())
      std::fill_n(is_left.begin(), bin + 1, std::uint8_t{1});
    else
      std::copy_n(category_is_left.begin(), missing_bin, is_left.begin());
    is_left[missing_bin] = missing_left;
    return is_left;
  }
};

// The last bin of the left side, where the node has no row between these two: the middle of the gap, so that rows that
// growth did not see go to the nearer side. Its middle in bins, not in values: a monotone transform changes no tree.
inline std::int32_t middle_of_gap(std::int32_t below, std::int32_t above) { return below + (above - below - 1) / 2; }

// The same, where the next bin with rows has to be looked for; `below` itself if there is none.
template <class IsEmpty>
std::int32_t middle_of_gap_after(std::int32_t below, std::int64_t missing_bin, IsEmpty&& is_empty) {
  for (std::int32_t above = below + 1; above < missing_bin; ++above)
    if (!is_empty(above)) return middle_of_gap(below, above);
  return below;
}

struct FlatTree {
  Vector<std::int32_t> feature, bin, left;
  Vector<std::uint8_t> missing_left;
  Vector<Vector<std::uint32_t>> category_bits;
  Vector<double> gain, sums;  // sums: nodes x planes, or of the classes that each node holds
  Vector<std::int64_t> count;
  Vector<std::int32_t> leaf_of_row;
  int n_classes = 0;                  // of sums by class; 0: nodes x planes
  Vector<std::int64_t> class_offset;  // (nodes + 1): the part of sums and labels that is of a node
  Vector<std::uint16_t> class_label;  // of each sum

  void reserve(std::int64_t n_nodes) {
    feature.reserve(n_nodes);
    bin.reserve(n_nodes);
    left.reserve(n_nodes);
    missing_left.reserve(n_nodes);
    category_bits.reserve(n_nodes);
    gain.reserve(n_nodes);
    count.reserve(n_nodes);
  }

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

  void set_split(std::int32_t node, const NodeSplit& split, std::int32_t left_child) {
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

// The rows of a leaf: begin..end of the list that growth leaves behind.
struct LeafRows {
  std::int64_t begin, end;
  std::int32_t id;
};

}  // namespace committee
