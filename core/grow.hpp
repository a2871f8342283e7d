// Growth of one tree over a binned table: histogram of the smaller child, the larger one by subtraction,
// best-first under max_leaf_nodes, else depth-first (left child first), which keeps few histograms alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>

#include "criterion.hpp"
#include "histogram.hpp"
#include "partition.hpp"
#include "split.hpp"
#include "threads.hpp"
#include "tree.hpp"
#include "vector.hpp"

namespace committee {

struct GrowthLimits {
  int max_depth = 0;                // 0: unlimited
  std::int64_t max_leaf_nodes = 0;  // 0: unlimited
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;   // share of the total weight
  double min_gain = 0.0;          // share of the total weight
  std::int64_t max_features = 0;  // 0: all
};

// A generator that needs no state between nodes: the draw depends on the seed and the node alone.
class SplitMix {
 public:
  SplitMix(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed) + stream)) {}
  std::uint64_t operator()() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((static_cast<unsigned __int128>((*this)()) * word_of(n)) >> 64);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// The buffers of one boosting run: kept between trees, so that a round allocates nothing of size n.
struct GrowthBuffers {
  Vector<std::int32_t> rows, scratch_rows;
  Vector<std::uint64_t> packed;   // n per output
  Vector<std::uint64_t> moments;  // n, squared error only
  Vector<std::uint64_t> private_histograms;
  Vector<std::unique_ptr<Vector<std::uint64_t>>> idle_histograms;
};

using Histogram = std::unique_ptr<Vector<std::uint64_t>>;

template <class Code, class Criterion>
class Growth {
 public:
  // `fill(rows, n, histogram)` adds the statistics of some rows to a histogram.
  template <class Fill>
  Growth(const BinnedTable<Code>& table, const GrowthLimits& limits, int planes, Units units, Fill fill,
         std::uint64_t seed, GrowthBuffers& buffers, ThreadTeam& team)
      : table_(table),
        limits_(limits),
        units_(units),
        fill_(std::move(fill)),
        seed_(seed),
        buffers_(buffers),
        team_(team),
        planes_(planes) {}

  // Grows the tree over buffers.rows, whose sums are `root`.
  FlatTree grow(std::int64_t n_in_use, bool all_rows) {
    all_rows_ = all_rows;
    Node root{.begin = 0, .end = n_in_use, .depth = 0, .id = tree_.add_node(planes_)};
    root.histogram = build(root);
    root.sums = feature_sums(*root.histogram, 0);
    const double total = weight_of(root.sums);
    split_limits_ = {limits_.min_samples_leaf, limits_.min_weight_leaf * total,
                     std::max(limits_.min_gain * total, kNoise * (units_.moment_unit > 0.0 ? units_.spread : total))};
    record(root);
    consider(std::move(root));
    std::int64_t leaves = 1;
    while (!open_.empty() && (limits_.max_leaf_nodes == 0 || leaves < limits_.max_leaf_nodes)) {
      expand(next_open());
      ++leaves;
    }
    for (Node& node : open_) leaf(node);
    return std::move(tree_);
  }

 private:
  struct Node {
    std::int64_t begin, end;  // its rows: buffers.rows[begin..end)
    int depth;
    std::int32_t id;
    Vector<std::uint64_t> sums{};
    Histogram histogram{};
    Split split{};
    std::int64_t size() const { return end - begin; }
  };

  double weight_of(const Vector<std::uint64_t>& sums) const {
    Vector<double> w(planes_);
    units_.read(sums.data(), planes_, w.data());
    return units_.weight(w.data(), planes_);
  }

  void record(const Node& node) {
    tree_.count[node.id] = node.size();
    double* const sums = tree_.sums.data() + std::int64_t{node.id} * planes_;
    units_.read(node.sums.data(), planes_, sums);
    if (units_.moment_unit > 0.0) sums[1] += units_.centre * sums[0];
  }

  Histogram take_histogram() {
    Histogram h;
    if (buffers_.idle_histograms.empty()) {
      h = std::make_unique<Vector<std::uint64_t>>();
    } else {
      h = std::move(buffers_.idle_histograms.back());
      buffers_.idle_histograms.pop_back();
    }
    h->assign(planes_ * table_.n_cells(), 0);
    return h;
  }

  Histogram build(const Node& node) {
    Histogram h = take_histogram();
    fill_(all_rows_ && node.id == 0 ? nullptr : buffers_.rows.data() + node.begin, node.size(), h->data());
    return h;
  }

  // The sums over one feature's cells are the node's sums.
  Vector<std::uint64_t> feature_sums(const Vector<std::uint64_t>& h, std::int64_t j) const {
    Vector<std::uint64_t> sums(planes_, 0);
    for (int k = 0; k < planes_; ++k)
      for (std::int64_t c = table_.cell[j]; c < table_.cell[j + 1]; ++c) sums[k] += h[k * table_.n_cells() + c];
    return sums;
  }

  bool may_split(const Node& node) const {
    return (limits_.max_depth == 0 || node.depth < limits_.max_depth) &&
           node.size() >= std::max<std::int64_t>(2, 2 * limits_.min_samples_leaf) && !is_pure(node);
  }

  bool is_pure(const Node& node) const {
    if (units_.moment_unit > 0.0) return false;
    Vector<double> w(planes_);
    units_.read(node.sums.data(), planes_, w.data());
    const double sum = units_.weight(w.data(), planes_);
    return sum <= 0.0 || *std::max_element(w.begin(), w.end()) >= sum;
  }

  void leaf(Node& node) {
    if (node.histogram) buffers_.idle_histograms.push_back(std::move(node.histogram));
    leaves_.push_back({node.begin, node.end, node.id});
  }

  // Finds the node's best split; it stays open if there is one.
  void consider(Node node) {
    if (may_split(node)) node.split = find_split(node);
    if (node.split.feature < 0) return leaf(node);
    open_.push_back(std::move(node));
    if (limits_.max_leaf_nodes > 0) std::push_heap(open_.begin(), open_.end(), worse);
  }

  static bool worse(const Node& a, const Node& b) {
    return a.split.gain != b.split.gain ? a.split.gain < b.split.gain : a.id > b.id;
  }

  Node next_open() {
    if (limits_.max_leaf_nodes > 0) std::pop_heap(open_.begin(), open_.end(), worse);
    Node node = std::move(open_.back());
    open_.pop_back();
    return node;
  }

  Split find_split(const Node& node) {
    Vector<std::int32_t> features = features_of(node);
    Vector<Split> found(features.size());
    const std::int64_t n_cells = table_.n_cells();
    team_.each(features.size(), 8 * planes_ * n_cells, [&](std::int64_t i) {
      const std::int32_t j = features[i];
      const auto scan = [&](auto&& feature) {
        return feature.best(node.sums.data(), node.histogram->data() + table_.cell[j], n_cells, table_.missing_bin(j),
                            j, table_.categorical[j] != 0);
      };
      found[i] = planes_ == 2 ? scan(FeatureScan<Criterion, 2>(units_, split_limits_, planes_))
                              : scan(FeatureScan<Criterion, 0>(units_, split_limits_, planes_));
    });
    Split best;
    for (Split& split : found)
      if (split.feature >= 0 && split.gain > best.gain * (1.0 + kTie)) best = std::move(split);
    return best;
  }

  // All features, or max_features of those that vary in the node, in a random order of the node's own.
  Vector<std::int32_t> features_of(const Node& node) const {
    const std::int64_t p = table_.n_features;
    Vector<std::int32_t> features(p);
    std::iota(features.begin(), features.end(), 0);
    if (limits_.max_features <= 0 || limits_.max_features >= p) return features;
    SplitMix random(seed_, word_of(node.id));
    Vector<std::int32_t> chosen;
    for (std::int64_t i = 0; i < p && chosen.size() < limits_.max_features; ++i) {
      std::swap(features[i], features[i + random.below(p - i)]);
      const std::int32_t j = features[i];
      if (FeatureScan<Criterion, 0>::varies(node.histogram->data() + table_.cell[j], table_.n_cells(), planes_,
                                            table_.cell[j + 1] - table_.cell[j]))
        chosen.push_back(j);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void expand(Node node) {
    const std::int64_t middle = node.begin + partition(node);
    const std::int32_t first = tree_.add_node(planes_);
    const std::int32_t second = tree_.add_node(planes_);
    tree_.set_split(node.id, node.split, first);
    Node left{.begin = node.begin, .end = middle, .depth = node.depth + 1, .id = first};
    Node right{.begin = middle, .end = node.end, .depth = node.depth + 1, .id = second};
    left.sums = node.split.left;
    right.sums = node.sums;
    for (int k = 0; k < planes_; ++k) right.sums[k] -= left.sums[k];
    record(left);
    record(right);
    share_histogram(node, left, right);
    consider(std::move(right));  // depth-first takes the last one: the left child
    consider(std::move(left));
  }

  // The smaller child's histogram is built, the larger one's is what it leaves of the parent's.
  void share_histogram(Node& parent, Node& left, Node& right) {
    if (!may_split(left) && !may_split(right)) {
      buffers_.idle_histograms.push_back(std::move(parent.histogram));
      return;
    }
    Node& smaller = left.size() <= right.size() ? left : right;
    Node& larger = left.size() <= right.size() ? right : left;
    smaller.histogram = build(smaller);
    if (may_split(larger)) {
      std::uint64_t* const p = parent.histogram->data();
      const std::uint64_t* const s = smaller.histogram->data();
      for (std::int64_t i = 0; i < parent.histogram->size(); ++i) p[i] -= s[i];
    }
    larger.histogram = std::move(parent.histogram);
  }

  // Returns how many of the node's rows go left.
  std::int64_t partition(const Node& node) {
    const std::int64_t j = node.split.feature, p = table_.n_features, n = node.size();
    const std::int64_t missing = table_.missing_bin(j);
    Vector<std::uint8_t> is_left(missing + 1);
    for (std::int64_t b = 0; b < missing; ++b)
      is_left[b] = node.split.category_is_left.empty() ? b <= node.split.bin : node.split.category_is_left[b];
    is_left[missing] = node.split.missing_left;
    return partition_rows(buffers_.rows.data() + node.begin, buffers_.scratch_rows.data() + node.begin, n,
                          table_.codes + j, p, is_left, team_);
  }

 public:
  struct Leaf {
    std::int64_t begin, end;
    std::int32_t id;
  };
  const Vector<Leaf>& leaves() const { return leaves_; }

 private:
  const BinnedTable<Code>& table_;
  const GrowthLimits& limits_;
  const Units units_;
  const std::function<void(const std::int32_t*, std::int64_t, std::uint64_t*)> fill_;
  const std::uint64_t seed_;
  GrowthBuffers& buffers_;
  ThreadTeam& team_;
  const int planes_;
  bool all_rows_ = false;
  SplitLimits split_limits_;
  FlatTree tree_;
  Vector<Node> open_;
  Vector<Leaf> leaves_;
};

}  // namespace committee
