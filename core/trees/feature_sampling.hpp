// Feature sampling: the features scanned at a node, drawn per node, per tree or both. The first scanned feature wins a
// tie, so drawn features are scanned in random order: deep nodes of few rows tie often. The draw depends on the seed
// and the node's path alone, hence is the same for every order of growth.
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
  // `wanted` of each node, out of `of_tree`; 0: all, none drawn.
  FeatureDraw(std::int64_t n_features, std::int64_t wanted, std::uint64_t seed, std::int64_t of_tree = 0)
      : drawn_(wanted > 0), seed_(seed), features_(n_features) {
    std::iota(features_.begin(), features_.end(), 0);
    if (of_tree > 0 && of_tree < n_features) {
      SplitMix random(seed_, kOfTree);
      for (std::int64_t i = 0; i < of_tree; ++i) std::swap(features_[i], features_[i + random.below(n_features - i)]);
      features_.resize(of_tree);
      std::sort(features_.begin(), features_.end());
    }
    wanted_ = drawn_ ? std::min(wanted, features_.size()) : features_.size();
  }

  bool drawn() const { return drawn_; }
  std::int64_t wanted() const { return wanted_; }
  // Features of a node that may use n of them: the same share, rounded up.
  std::int64_t share_of(std::int64_t n) const { return (wanted_ * n + features_.size() - 1) / features_.size(); }

  // `path`: the node's. take(feature) for all of them in order; or, in a random order of the node's own, until so many
  // were taken: `take` says whether the feature counts.
  template <class Take>
  void visit(std::uint64_t path, Take&& take) {
    visit(path, wanted_, take);
  }
  template <class Take>
  void visit(std::uint64_t path, std::int64_t wanted, Take&& take) {
    SplitMix random(seed_, path);
    swapped_.clear();
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i < features_.size() && (!drawn_ || taken < wanted); ++i) {
      if (drawn_) {
        const std::int64_t k = i + random.below(features_.size() - i);
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

  bool drawn_;
  std::int64_t wanted_;
  std::uint64_t seed_;
  Vector<std::int32_t> features_;
  Vector<std::int64_t> swapped_;
};

}  // namespace committee
