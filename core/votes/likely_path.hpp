// The path that a row takes through a graph of voters if each gives its likelier answer: no probability is computed,
// for that of a stump is above 1/2 on one side of its threshold. A step is one comparison (of categories: a look-up);
// a stump's direction and where it sends missing values are settled when the steps are made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "votes/vote_graph.hpp"

namespace committee {

class LikelySteps {
 public:
  static LikelySteps of_stumps(const VoteGraph& graph, const SoftStumps& stumps) {
    LikelySteps steps(graph);
    for (std::int64_t t = 0; t < graph.size(); ++t) {
      const SoftStump& s = stumps[t];
      if (s.words > 0)
        steps.add_set(graph[t], s, t);
      else
        steps.add(graph[t], s.feature, s.threshold, s.sign > 0.0, s.softness == 0.0 || s.sign > 0.0, s.missing > 0.5);
    }
    steps.add_end();
    return steps;
  }

  // By a matrix of probabilities with a column for each node.
  static LikelySteps of_columns(const VoteGraph& graph) {
    LikelySteps steps(graph);
    for (std::int64_t t = 0; t < graph.size(); ++t)
      steps.add(graph[t], static_cast<std::int32_t>(t), 0.5, true, true, false);
    steps.add_end();
    return steps;
  }

  // stumps: those of sets, null for a matrix.
  void walk(const SoftStumps* stumps, const double* X, std::int64_t width, std::int64_t n, double* scores,
            std::int32_t* steps, ThreadTeam& team) const {
    team.blocks_of(kGraphBlock, n, 8 * n * n_graphs() * bits_for(steps_.size()),
                   [&](std::int64_t begin, std::int64_t end) {
                     if (has_sets_)
                       walk_block<true>(stumps, X, width, begin, end, scores, steps);
                     else
                       walk_block<false>(stumps, X, width, begin, end, scores, steps);
                   });
  }

 private:
  // The test is sign * x >= bound. NaN always fails it, so each node has the test that missing values should fail.
  struct Step {
    double bound, sign;
    double vote[2];  // fails, holds
    std::int32_t next[2];
    std::int32_t feature;
    std::int32_t set;  // the stump on categories, or -1
  };

  explicit LikelySteps(const VoteGraph& graph) {
    for (std::int64_t d = 0; d < graph.n_graphs(); ++d) start_.push_back(static_cast<std::int32_t>(graph.start(d)));
    steps_.reserve(graph.size() + 1);
  }

  std::int64_t n_graphs() const { return start_.size(); }

  // above_is_plus: which side of the threshold votes +; tie_below: a value at the threshold is not above it.
  void add(const VoteGraph::Node& node, std::int32_t feature, double threshold, bool above_is_plus, bool tie_below,
           bool missing_is_plus) {
    constexpr double kFar = std::numeric_limits<double>::infinity(), kNever = std::numeric_limits<double>::quiet_NaN();
    const bool ask_below = missing_is_plus == above_is_plus;  // missing values fail it, and count as above
    double bound;
    if (ask_below)  // x <= the threshold, or < it
      bound = tie_below ? -threshold : (threshold == -kFar ? kNever : -std::nextafter(threshold, -kFar));
    else
      bound = !tie_below ? threshold : (threshold == kFar ? kNever : std::nextafter(threshold, kFar));
    const bool holds_is_plus = above_is_plus != ask_below;
    push(node, bound, ask_below ? -1.0 : 1.0, feature, -1, holds_is_plus);
  }

  void add_set(const VoteGraph::Node& node, const SoftStump& stump, std::int64_t t) {
    has_sets_ = true;
    push(node, 0.0, 1.0, stump.feature, static_cast<std::int32_t>(t), true);
  }

  void push(const VoteGraph::Node& node, double bound, double sign, std::int32_t feature, std::int32_t set,
            bool holds_is_plus) {
    const int fails = holds_is_plus ? 1 : 0;  // as VoteGraph counts answers: + first
    steps_.push_back({bound,
                      sign,
                      {node.vote[fails], node.vote[1 - fails]},
                      {node.next[fails], node.next[1 - fails]},
                      feature,
                      set});
  }

  void add_end() {  // where all paths end, and stay
    const auto end = static_cast<std::int32_t>(steps_.size());
    steps_.push_back({0.0, 1.0, {0.0, 0.0}, {end, end}, 0, -1});
  }

  template <bool kSets>
  bool holds(const Step& step, const SoftStumps* stumps, const double* x) const {
    if constexpr (kSets)
      if (step.set >= 0) return stumps->of_category((*stumps)[step.set], read_once(x + step.feature)) > 0.5;
    return x[step.feature] * step.sign >= step.bound;
  }

  template <bool kSets>
  void walk_block(const SoftStumps* stumps, const double* X, std::int64_t width, std::int64_t begin, std::int64_t end,
                  double* scores, std::int32_t* n_steps) const {
    constexpr int kAbreast = kLanes;
    constexpr std::int64_t kFetchedWidth = 64;  // wider rows have more values than a path asks for
    const Step* const steps = steps_.data();
    const auto out = static_cast<std::int32_t>(steps_.size() - 1);
    const std::int64_t D = n_graphs();
    std::fill(n_steps + begin, n_steps + end, 0);
    for (std::int64_t i = begin; i < end; i += kAbreast) {
      const std::int64_t n = std::min(kLanes, end - i);
      if (width <= kFetchedWidth) fetch_after(X, width, i, end);  // the next value depends on the step
      const double* x[kAbreast];
      rows_from(X, width, i, end, x);
      for (std::int64_t d = 0; d < D; ++d) {
        std::int32_t at[kAbreast], met[kAbreast]{};
        double score[kAbreast]{};
        std::fill(at, at + kAbreast, start_[d]);
        for (bool walking = true; walking;) {
          walking = false;
#pragma GCC unroll 8
          for (int r = 0; r < kAbreast; ++r) {
            const Step& step = steps[at[r]];
            const bool answer = holds<kSets>(step, stumps, x[r]);
            score[r] += step.vote[answer];
            met[r] += at[r] != out;
            at[r] = step.next[answer];
            walking |= at[r] != out;
          }
        }
        for (std::int64_t r = 0; r < n; ++r) {
          scores[(i + r) * D + d] = score[r];
          n_steps[i + r] += met[r];
        }
      }
    }
  }

  Vector<std::int32_t> start_;
  Vector<Step> steps_;
  bool has_sets_ = false;
};

}  // namespace committee
