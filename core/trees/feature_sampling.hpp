// Feature sampling: the features scanned at a node, drawn per node, per tree or both. The first scanned feature wins a
// tie, so drawn features are scanned in random order: deep nodes of few rows tie often. The draw depends on the seed
// and the node's path alone, hence is the same for every order of growth. With weights each feature that is drawn next
// has a probability proportional to its weight; those of weight 0 are never drawn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "bins/counter_rng.hpp"
#include "threads/vector.hpp"

namespace committee {

class FeatureDraw {
 public:
  // `wanted` of each node, out of `of_tree`; 0: all, none drawn. `weights`: of the features; none: all alike.
  FeatureDraw(std::int64_t n_features, std::int64_t wanted, std::uint64_t seed, std::int64_t of_tree = 0,
              const Vector<std::uint32_t>& weights = {})
      : drawn_(wanted > 0), seed_(seed), features_(n_features), weights_(weights) {
    std::iota(features_.begin(), features_.end(), 0);
    if (of_tree > 0 && of_tree < n_features) {
      SplitMix random(seed_, kOfTree);
      std::int64_t i = 0;
      for (std::uint64_t left = total(); i < of_tree && (weights_.empty() || left > 0); ++i)
        std::swap(features_[i], features_[next_place(i, random, left)]);
      features_.resize(i);
      std::sort(features_.begin(), features_.end());
    }
    wanted_ = drawn_ ? std::min(wanted, features_.size()) : features_.size();
  }

  bool drawn() const { return drawn_; }
  std::int64_t wanted() const { return wanted_; }
  // Features of a node that may use n of them: the same share, rounded up.
  std::int64_t share_of(std::int64_t n) const { return (wanted_ * n + features_.size() - 1) / features_.size(); }

  // `path`: the node's. take(feature) for all of them in order; or, in a random order of the node's own, until so many
  // were taken: `take` returns whether the feature counts.
  template <class Take>
  void visit(std::uint64_t path, Take&& take) {
    visit(path, wanted_, take);
  }
  template <class Take>
  void visit(std::uint64_t path, std::int64_t wanted, Take&& take) {
    SplitMix random(seed_, path);
    swapped_.clear();
    std::int64_t taken = 0;
    std::uint64_t left = drawn_ ? total() : 0;
    for (std::int64_t i = 0; i < features_.size() && (!drawn_ || taken < wanted); ++i) {
      if (drawn_) {
        if (!weights_.empty() && left == 0) break;
        const std::int64_t k = next_place(i, random, left);
        std::swap(features_[i], features_[k]);
        swapped_.push_back(k);
      }
      taken += take(features_[i]);  // in one place: the compiler copies `take` into each
    }
    for (std::int64_t i = swapped_.size(); i-- > 0;)  // in order again, without a look at those that were not drawn
      std::swap(features_[i], features_[swapped_[i]]);
  }

 private:
  static constexpr std::uint64_t kOfTree = ~std::uint64_t{0};  // the path of no node

  std::uint64_t total() const {
    std::uint64_t sum = 0;
    if (!weights_.empty())
      for (const std::int32_t j : features_) sum += weights_[j];
    return sum;
  }

  // The place, from i on, of the feature that is drawn next; `left`: the weight of all of these, which loses its own.
  std::int64_t next_place(std::int64_t i, SplitMix& random, std::uint64_t& left) const {
    if (weights_.empty()) return i + random.below(features_.size() - i);
    auto at = static_cast<std::uint64_t>(random.below(static_cast<std::int64_t>(left)));
    std::int64_t k = i;
    for (; at >= weights_[features_[k]]; ++k) at -= weights_[features_[k]];
    left -= weights_[features_[k]];
    return k;
  }

  bool drawn_;
  std::int64_t wanted_;
  std::uint64_t seed_;
  Vector<std::int32_t> features_;
  Vector<std::uint32_t> weights_;
  Vector<std::int64_t> swapped_;
};

}  // namespace committee
