// Prediction with flat trees: a block of rows against all trees. Small trees use leaf_bits.hpp; through others eight
// rows descend at a time, so that their memory loads overlap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/leaf_bits.hpp"

namespace committee {

struct ForestArrays {  // as they come from Python, unchecked
  std::int64_t n_features, n_trees, n_nodes, n_words;
  const std::int64_t* offset;
  const std::int32_t* feature;
  const double* threshold;
  const std::int32_t* left;
  const std::uint8_t* missing_left;
  const std::int64_t* category_offset;
  const std::uint32_t* category_bits;
};

class Trees {
 public:
  explicit Trees(const ForestArrays& a) : n_features_(a.n_features), n_trees_(a.n_trees) {
    check(a);
    offset_.assign(a.offset, a.offset + a.n_trees + 1);
    nodes_.reserve(a.n_nodes);
    sides_.reserve(a.n_nodes);
    words_.assign(a.category_bits, a.category_bits + a.n_words);
    for (std::int64_t t = 0; t < a.n_trees; ++t) add_tree(a, t);
    measure_depths();
  }

  std::int64_t n_features() const { return n_features_; }
  std::int64_t n_trees() const { return n_trees_; }
  std::int64_t n_nodes() const { return nodes_.size(); }
  std::int64_t offset(std::int64_t tree) const { return offset_[tree]; }
  // Of a node, counted over all trees; the left child is counted within its own.
  bool is_leaf(std::int64_t node) const { return sides_[node].kind == kLeaf; }
  std::int32_t feature(std::int64_t node) const { return nodes_[node].feature; }
  std::int32_t left(std::int64_t node) const { return nodes_[node].left; }
  bool is_numeric(std::int64_t node) const { return sides_[node].kind == kNumeric; }
  double threshold(std::int64_t node) const { return nodes_[node].threshold; }
  bool missing_left(std::int64_t node) const { return sides_[node].missing_left; }
  bool goes_left(std::int64_t node, const double* x) const { return step(nodes_[node], sides_[node], x) == left(node); }

  // visitor(tree) gives what is called with (row, leaf) for every row that the tree sees; a row's trees come
  // in order.
  template <class Visitor>
  void walk(const double* X, std::int64_t n, ThreadTeam& team, const Visitor& visitor) const {
    const bool by_bits = bits_.worthwhile(n_features_);
    const std::int64_t block = by_bits ? kBitRows : rows_abreast(n, team.size());
    team.blocks_of(block, n, 8 * n * n_trees_, [&](std::int64_t begin, std::int64_t end) {
      const double* const x = X + begin * n_features_;
      const bool in_columns = by_bits && end - begin == kBitRows;
      const BitColumns columns = in_columns ? bits_.columns_of(x, n_features_) : BitColumns{};
      const bool gaps = !(in_columns && bits_.all()) && any_missing(x, (end - begin) * n_features_);
      if (end - begin < kAbreast) {
        for (std::int64_t row = begin; row < end; ++row)
          gaps ? walk_row<kGaps>(X + row * n_features_, row, visitor)
               : walk_row<kPlain>(X + row * n_features_, row, visitor);
        return;
      }
      for (std::int64_t t = 0; t < n_trees_; ++t) {
        const auto visit = visitor(t);
        const bool has_categories = has_categories_[t];
        if (in_columns && bits_.has(t) && (columns.codes_fit || !has_categories))
          bits_.read(t, columns, begin, visit);
        else if (has_categories)
          walk_tree<kAny>(t, X, begin, end, visit);
        else if (gaps)
          walk_tree<kGaps>(t, X, begin, end, visit);
        else
          walk_tree<kPlain>(t, X, begin, end, visit);
      }
    });
  }

 private:
  enum Kind : std::uint8_t { kLeaf, kNumeric, kCategorical };
  enum Steps { kPlain, kGaps, kAny };  // of numbers, of numbers with gaps, of categories too
  struct Node {                        // all that a row without missing values needs
    double threshold;                  // of a categorical split, which has none, a number of its categories instead
    std::int32_t feature;
    std::int32_t left;  // a leaf points at itself, with threshold +inf
  };
  struct Side {  // where the other rows go
    Kind kind;
    bool missing_left;
  };
  struct Categories {  // of a categorical split, 32 to a word
    std::int64_t first_word, n_words;
  };

  void add_tree(const ForestArrays& a, std::int64_t t) {
    const std::int64_t begin = offset_[t], end = offset_[t + 1];
    for (std::int64_t i = begin; i < end; ++i) add_node(a, t, i);
    bits_.add(end - begin, a.feature + begin, a.threshold + begin, a.left + begin, a.missing_left + begin,
              a.category_offset + begin, a.category_bits);
    has_categories_.push_back(a.category_offset[end] > a.category_offset[begin]);
  }

  void add_node(const ForestArrays& a, std::int64_t tree, std::int64_t i) {
    if (a.feature[i] < 0) {
      nodes_.push_back({std::numeric_limits<double>::infinity(), 0, static_cast<std::int32_t>(i - a.offset[tree])});
      sides_.push_back({kLeaf, true});  // a gap in the first column stays too
      return;
    }
    const std::int64_t words = a.category_offset[i + 1] - a.category_offset[i];
    const double threshold = words > 0 ? std::bit_cast<double>(categories_.size()) : a.threshold[i];
    if (words > 0) categories_.push_back({a.category_offset[i], words});
    nodes_.push_back({threshold, a.feature[i], a.left[i]});
    sides_.push_back({words > 0 ? kCategorical : kNumeric, a.missing_left[i] != 0});
  }

  // Rows of a block that is walked step by step: a tree is fetched once for all of them, so as many as stay in cache
  // meanwhile, more where trees are large, as leave each thread two blocks, and as do not keep an interrupt waiting.
  std::int64_t rows_abreast(std::int64_t n, std::int64_t n_threads) const {
    constexpr std::int64_t kLeast = 1 << 16, kMost = 1 << 18, kOfNode = 64, kSteps = 1 << 22;
    const std::int64_t trees = std::max<std::int64_t>(n_trees_, 1), share = n_threads == 1 ? n : n / (2 * n_threads);
    const std::int64_t cells = std::clamp(kOfNode * n_nodes() / trees, kLeast, kMost);
    const std::int64_t rows = std::min({cells / n_features_, kSteps / trees, share});
    return std::max<std::int64_t>(rows / kBitRows, 1) * kBitRows;
  }

  void measure_depths() {
    Vector<std::int32_t> depth;
    for (std::int64_t t = 0; t < n_trees_; ++t) {
      depth.assign(offset_[t + 1] - offset_[t], 0);
      std::int32_t deepest = 0;
      for (std::int64_t i = 0; i < depth.size(); ++i) {  // children come after their parents
        deepest = std::max(deepest, depth[i]);
        const Node& node = nodes_[offset_[t] + i];
        if (sides_[offset_[t] + i].kind != kLeaf) depth[node.left] = depth[node.left + 1] = depth[i] + 1;
      }
      depth_.push_back(deepest);
    }
  }

  static void check(const ForestArrays& a) {
    const auto fail = [](const std::string& what) { throw std::invalid_argument("trees: " + what); };
    if (a.n_features <= 0 || a.n_features >= (std::int64_t{1} << 29)) fail("the number of features is out of range");
    if (a.offset[0] != 0 || a.offset[a.n_trees] != a.n_nodes) fail("offset must run from 0 to the number of nodes");
    if (a.category_offset[0] != 0 || a.category_offset[a.n_nodes] != a.n_words)
      fail("category_offset must run from 0 to the number of category words");
    for (std::int64_t i = 0; i < a.n_nodes; ++i)
      if (a.category_offset[i] > a.category_offset[i + 1] || a.category_offset[i + 1] > a.n_words)
        fail("category_offset falls at node " + std::to_string(i));
    for (std::int64_t t = 0; t < a.n_trees; ++t) {
      const std::int64_t size = a.offset[t + 1] - a.offset[t];
      if (size <= 0 || a.offset[t + 1] > a.n_nodes) fail("tree " + std::to_string(t) + " has no nodes");
      if (size > std::numeric_limits<std::int32_t>::max()) fail("tree " + std::to_string(t) + " is too large");
      for (std::int64_t i = a.offset[t]; i < a.offset[t + 1]; ++i) {
        if (a.feature[i] < 0) continue;
        if (a.feature[i] >= a.n_features) fail("feature out of range at node " + std::to_string(i));
        if (a.left[i] <= i - a.offset[t] || a.left[i] + std::int64_t{1} >= size)
          fail("child out of range at node " + std::to_string(i));
        if (std::isnan(a.threshold[i])) fail("threshold is NaN at node " + std::to_string(i));
      }
    }
  }

  static bool any_missing(const double* x, std::int64_t n) {
    bool missing = false;
    for (std::int64_t i = 0; i < n; ++i) missing |= x[i] != x[i];
    return missing;
  }

  // Where a row without missing values goes from a numeric split, or from a leaf. Nothing is above a leaf's threshold,
  // not even a NaN that another thread writes while the row is walked.
  static std::int32_t plain_step(const Node& node, const double* x) {
    return node.left + (x[node.feature] > node.threshold);
  }

  // Where a row goes whose values may be missing.
  static std::int32_t gap_step(const Node& node, const Side& side, const double* x) {
    const double value = x[node.feature];
    return node.left + ((value > node.threshold) | (std::isnan(value) & !side.missing_left));
  }

  // Where any row goes.
  std::int32_t step(const Node& node, const Side& side, const double* x) const {
    if (side.kind == kLeaf) return node.left;
    const double value = read_once(x + node.feature);
    if (std::isnan(value)) return node.left + !side.missing_left;
    if (side.kind == kNumeric) return node.left + !(value <= node.threshold);
    const Categories& split = categories_[std::bit_cast<std::int64_t>(node.threshold)];
    if (!(value >= 0.0 && value < 32.0 * static_cast<double>(split.n_words) && value == std::floor(value)))
      return node.left + !side.missing_left;  // not a category: missing
    const auto category = static_cast<std::uint32_t>(value);
    return node.left + !((words_[split.first_word + category / 32] >> (category % 32)) & 1u);
  }

  // One row, of few, goes down eight trees abreast; trees with categories one by one.
  template <Steps kSteps, class Visitor>
  void walk_row(const double* x, std::int64_t row, Visitor&& visitor) const {
    const auto next_of = [&](std::int64_t t, std::int32_t at) {
      const std::int64_t node = offset_[t] + at;
      return kSteps == kPlain ? plain_step(nodes_[node], x) : gap_step(nodes_[node], sides_[node], x);
    };
    std::int64_t t = 0;
    while (t < n_trees_) {
      std::int64_t n = 0;  // trees without categories from here on
      while (n < kAbreast && t + n < n_trees_ && !has_categories_[t + n]) ++n;
      if (n < kAbreast) {
        const std::int64_t end = n > 0 ? t + n : t + 1;
        for (; t < end; ++t) {
          const double* const X = x - row * n_features_;
          walk_tree<kAny>(t, X, row, row + 1, visitor(t));
        }
        continue;
      }
      std::int32_t at[kAbreast]{};
      for (std::int32_t moved = 1; moved != 0;) {
        moved = 0;
        for (int k = 0; k < kAbreast; ++k) {
          const std::int32_t next = next_of(t + k, at[k]);
          moved |= next ^ at[k];
          at[k] = next;
        }
      }
      for (int k = 0; k < kAbreast; ++k) visitor(t + k)(row, at[k]);
      t += kAbreast;
    }
  }

  static constexpr int kAbreast = 8;

  template <Steps kSteps, class Visit>
  void walk_tree(std::int64_t t, const double* X, std::int64_t begin, std::int64_t end, const Visit& visit) const {
    constexpr std::int32_t kShallow = 6;
    const Node* const tree = nodes_.data() + offset_[t];
    const Side* const sides = sides_.data() + offset_[t];
    const auto next_of = [&](std::int32_t at, const double* x) {
      if constexpr (kSteps == kPlain) return plain_step(tree[at], x);
      if constexpr (kSteps == kGaps) return gap_step(tree[at], sides[at], x);
      return step(tree[at], sides[at], x);
    };
    const std::int32_t depth = depth_[t];
    std::int64_t i = begin;
    for (; i + kAbreast <= end; i += kAbreast) {
      std::int32_t at[kAbreast]{};
      const double* const x = X + i * n_features_;
      const auto advance = [&] {
        std::int32_t moved = 0;
        for (int r = 0; r < kAbreast; ++r) {
          const std::int32_t next = next_of(at[r], x + r * n_features_);
          moved |= next ^ at[r];
          at[r] = next;
        }
        return moved != 0;
      };
      // a leaf stays where it is, so a shallow tree takes its depth in steps, without a test
      if (depth <= kShallow) {
        std::int32_t d = 0;
        if constexpr (kSteps == kPlain) {
          const Node root = tree[0];  // where every row is: read once
          for (int r = 0; r < kAbreast; ++r) at[r] = plain_step(root, x + r * n_features_);
          d = 1;
        }
        for (; d < depth; ++d) advance();
      } else
        while (advance()) {
        }
      for (int r = 0; r < kAbreast; ++r) visit(i + r, at[r]);
    }
    for (; i < end; ++i) {
      std::int32_t at = 0;
      for (std::int32_t next; (next = next_of(at, X + i * n_features_)) != at;) at = next;
      visit(i, at);
    }
  }

  std::int64_t n_features_, n_trees_;
  Vector<std::int64_t> offset_;
  Vector<std::int32_t> depth_;
  Vector<Node> nodes_;
  Vector<Side> sides_;
  Vector<Categories> categories_;
  Vector<std::uint32_t> words_;
  Vector<std::uint8_t> has_categories_;  // of each tree
  BitTrees bits_;
};

}  // namespace committee
