// shap/: Shapley values of trees.
//   tree_shap     contributions under the training distribution of the tree's nodes; shap_tree: the tree prepared
//   interactions  contributions of pairs of features; interventional: contributions against background rows
//
// Shapley values of trees: what each feature adds to the mean over the training rows, by the integrals of
// shap_tree.hpp.
//
// At each point of the rule the products go down the tree, their sums G over the leaves come up, and an edge adds G
// times the change of h = (o - z) / (z (1 - t) + o t) to its feature: along the edges of one feature these changes add
// up to the last h. Factors are never negative, so nothing cancels.
//
// The tree is gone through once, depth first, with all points of eight rows at each split. What a split needs is then
// that of its path: a few numbers for each level, which stay in the first-level cache however large the tree is. Where
// the feature was split on before, rows that failed it there have no change of h, and a factor that is the same at all
// points; so each side has one number for rows that pass, one for those that fail here, and one for the others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shap/shap_tree.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "trees/traverse.hpp"

namespace committee {

struct ShapStep {           // a split, before its subtrees or after them
  std::int64_t node, left;  // counted over all trees; within the tree
  std::int32_t feature;
  std::int32_t slot, children;  // where its own numbers are on the stack, and its left child's; the right's are next
  std::int32_t previous;        // the slot of the last split's side on the same feature, 0 if there is none
  std::int32_t split;           // the number of its terms
  double threshold;
  bool after, left_is_leaf, right_is_leaf, is_numeric, missing_left;
};
struct ShapSplit {  // at a point t; "here" is for rows that passed the feature's splits up to this one
  double pass_left, pass_right, fail_left, fail_right;  // factors of the products
  double h_left, h_right, h_fail;                       // changes of h
};

// One tree as steps, and the terms of its splits at all points.
class ShapWay {
 public:
  ShapWay(const Trees& trees, const ShapTree& tree, const Quadrature& rule)
      : n_points(rule.point.size()), root_is_leaf(tree.size == 1), weight(rule.weight) {
    slot_of_.assign(tree.size, 0);
    terms.reserve(tree.size / 2 * n_points);
    steps.reserve(tree.size);
    for (const double t : rule.point) h_off_.push_back(-1.0 / (1.0 - t));
    if (!root_is_leaf) visit(trees, tree, rule, 0, 0);
    slot_of_.clear();
  }

  std::int64_t n_points, n_slots = 1;
  bool root_is_leaf;
  Vector<double> weight;
  Vector<ShapStep> steps;
  Vector<ShapSplit> terms;    // (splits, points)
  Vector<double> other_left;  // factors of rows that failed the feature before, for each split
  Vector<double> other_right;

 private:
  void visit(const Trees& trees, const ShapTree& tree, const Quadrature& rule, std::int32_t at, std::int32_t level) {
    struct Open {
      std::int32_t node, level;
      int visited;  // of its sides
      std::int64_t step;
    };
    Vector<Open> open;
    const auto begin = [&](std::int32_t node, std::int32_t depth) {
      add_split(trees, tree, rule, node, depth);
      open.push_back({node, depth, 0, steps.size() - 1});
    };
    begin(at, level);
    while (!open.empty()) {
      Open& top = open.back();
      const std::int64_t left = trees.left(tree.begin + top.node);
      if (top.visited < 2) {
        const auto child = static_cast<std::int32_t>(left + top.visited++);
        if (!tree.edges[child].is_leaf) begin(child, top.level + 1);
        continue;
      }
      ShapStep after = steps[top.step];
      after.after = true;
      steps.push_back(after);
      open.pop_back();
    }
  }

  void add_split(const Trees& trees, const ShapTree& tree, const Quadrature& rule, std::int32_t at,
                 std::int32_t level) {
    const std::int32_t left = trees.left(tree.begin + at), up = tree.edges[left].previous;
    const std::int32_t children = 2 * level + 1;
    slot_of_[left] = children;
    slot_of_[left + 1] = children + 1;
    n_slots = std::max<std::int64_t>(n_slots, children + 2);
    steps.push_back({tree.begin + at, left, tree.edges[left].feature, slot_of_[at], children, slot_of_[up],
                     static_cast<std::int32_t>(other_left.size()), trees.threshold(tree.begin + at), false,
                     tree.edges[left].is_leaf, tree.edges[left + 1].is_leaf, trees.is_numeric(tree.begin + at),
                     trees.missing_left(tree.begin + at)});
    const double z = up ? tree.share[up] : 1.0, z_left = tree.share[left], z_right = tree.share[left + 1];
    other_left.push_back(z > 0.0 ? z_left / z : 0.0);
    other_right.push_back(z > 0.0 ? z_right / z : 0.0);
    for (std::int64_t q = 0; q < n_points; ++q) {
      const double t = rule.point[q], off_left = z_left * (1.0 - t), off_right = z_right * (1.0 - t);
      const double per_on = up ? 1.0 / (z * (1.0 - t) + t) : 1.0, h = (1.0 - z) * per_on;
      terms.push_back({(off_left + t) * per_on, (off_right + t) * per_on, off_left * per_on, off_right * per_on,
                       (1.0 - z_left) / (off_left + t) - h, (1.0 - z_right) / (off_right + t) - h, h_off_[q] - h});
    }
  }

  Vector<std::int32_t> slot_of_;
  Vector<double> h_off_;
};

struct ShapStack {                          // numbers of eight rows: of each slot, and of each slot and point
  Vector<LaneOfRows> passes, product, sum;  // sum: (outputs, slots, points)
};

template <class Lanes>
COMMITTEE_INLINE Lanes either(const BitsOf<Lanes>& one, double of_one, const BitsOf<Lanes>& other, double of_other) {
  return lanes_of<Lanes>((bits_of(Lanes{} + of_one) & one) | (bits_of(Lanes{} + of_other) & other));
}

// Which of eight rows go left at a split; x has the rows of each feature, rows their places in the table.
struct EightRows {
  const LaneOfRows* x;
  const double* rows[kLanes];
};
template <class Lanes>
COMMITTEE_INLINE BitsOf<Lanes> to_left(const Trees& trees, const ShapStep& step, const EightRows& eight) {
  if (step.is_numeric) {
    const auto x = load<Lanes>(eight.x[step.feature].lane);
    const BitsOf<Lanes> left = x <= step.threshold;
    return step.missing_left ? left | (x != x) : left;
  }
  std::int64_t left[kLanes];
  for (std::int64_t r = 0; r < kLanes; ++r) left[r] = -std::int64_t{trees.goes_left(step.node, eight.rows[r])};
  return load_as<BitsOf<Lanes>>(left);
}

// Adds weight times the tree's contributions of eight rows to phi[feature * stride], D numbers each.
template <class Lanes>
COMMITTEE_INLINE void add_contributions_in(const Trees& trees, const ShapWay& way, const ShapValues& values,
                                           const EightRows& eight, ShapStack& stack, LaneOfRows* phi,
                                           std::int64_t stride) {
  using LaneBits = BitsOf<Lanes>;
  const std::int64_t Q = way.n_points, D = values.D;
  LaneOfRows* const passes = stack.passes.data();
  store(passes[0].lane, lanes_of<Lanes>(LaneBits{} - 1));
  for (std::int64_t q = 0; q < Q; ++q) store<Lanes>(stack.product[q].lane, Lanes{} + values.weight * way.weight[q]);
  for (const ShapStep& step : way.steps) {
    const ShapSplit* const terms = way.terms.data() + step.split * Q;
    const LaneOfRows* const above = stack.product.data() + step.slot * Q;
    LaneOfRows* const left = stack.product.data() + step.children * Q;
    LaneOfRows* const right = left + Q;
    if (!step.after) {
      const LaneBits here = bits_of(load<Lanes>(passes[step.previous].lane)), goes = to_left<Lanes>(trees, step, eight);
      const LaneBits on_left = here & goes, on_right = here & ~goes;
      store(passes[step.children].lane, lanes_of<Lanes>(on_left));
      store(passes[step.children + 1].lane, lanes_of<Lanes>(on_right));
      const LaneBits other_left = bits_of<Lanes>(Lanes{} + way.other_left[step.split]) & ~here;
      const LaneBits other_right = bits_of<Lanes>(Lanes{} + way.other_right[step.split]) & ~here;
      for (std::int64_t q = 0; q < Q; ++q) {
        const ShapSplit& term = terms[q];
        const Lanes p = load<Lanes>(above[q].lane);
        const LaneBits f = bits_of(either<Lanes>(on_left, term.pass_left, on_right, term.fail_left));
        const LaneBits g = bits_of(either<Lanes>(on_right, term.pass_right, on_left, term.fail_right));
        store(left[q].lane, p * lanes_of<Lanes>(f | other_left));
        store(right[q].lane, p * lanes_of<Lanes>(g | other_right));
      }
      continue;
    }
    const LaneBits on_left = bits_of(load<Lanes>(passes[step.children].lane));
    const LaneBits on_right = bits_of(load<Lanes>(passes[step.children + 1].lane));
    for (std::int64_t d = 0; d < D; ++d) {
      LaneOfRows* const sums = stack.sum.data() + d * way.n_slots * Q;
      const LaneOfRows* const of_left = step.left_is_leaf ? left : sums + step.children * Q;
      const LaneOfRows* const of_right = step.right_is_leaf ? right : sums + (step.children + 1) * Q;
      const double left_value = step.left_is_leaf ? values.value[step.left * D + d] : 1.0;
      const double right_value = step.right_is_leaf ? values.value[(step.left + 1) * D + d] : 1.0;
      LaneOfRows* const sum = sums + step.slot * Q;
      Lanes change{};
      for (std::int64_t q = 0; q < Q; ++q) {
        const ShapSplit& term = terms[q];
        const Lanes a = load<Lanes>(of_left[q].lane) * left_value, b = load<Lanes>(of_right[q].lane) * right_value;
        change += a * either<Lanes>(on_left, term.h_left, on_right, term.h_fail) +
                  b * either<Lanes>(on_right, term.h_right, on_left, term.h_fail);
        store(sum[q].lane, a + b);
      }
      double* const out = phi[step.feature * stride + d].lane;
      store(out, load<Lanes>(out) + change);
    }
  }
}
COMMITTEE_ON_LANES(void, add_contributions,
                   (const Trees& trees, const ShapWay& way, const ShapValues& values, const EightRows& eight,
                    ShapStack& stack, LaneOfRows* phi, std::int64_t stride),
                   (trees, way, values, eight, stack, phi, stride))

class TreeShap {
 public:
  TreeShap(const Trees& trees, const double* cover, const TreeScores& scores)
      : trees_(trees), cover_(cover), scores_(scores) {}

  // out (n, features + 1, n_outputs), zeros before; the last place becomes the expected score.
  void contributions(const double* X, std::int64_t n, double* out, ThreadTeam& team) const {
    constexpr std::int64_t kTerms = std::int64_t{1} << 20;  // held at once
    const std::int64_t O = scores_.n_outputs, places = (trees_.n_features() + 1) * O;
    Vector<Quadrature> rules;
    Vector<double> expected(O, 0.0);
    Vector<ShapWay> batch;
    std::int64_t terms = 0;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      const ShapTree tree(trees_, t, cover_);
      while (rules.size() <= tree.n_points) rules.emplace_back(static_cast<int>(rules.size()));
      terms += batch.emplace_back(trees_, tree, rules[tree.n_points]).terms.size();
      for (std::int64_t c = 0; c < tree.size; ++c)
        if (tree.edges[c].is_leaf)
          for (std::int64_t d = 0; d < scores_.D; ++d)
            expected[scores_.output(t) + d] +=
                scores_.weight(t) * tree.reach[c] * scores_.value[(tree.begin + c) * scores_.D + d];
      if (terms < kTerms && t + 1 < trees_.n_trees()) continue;
      add(batch, t + 1 - batch.size(), X, n, out, team);
      batch.clear();
      terms = 0;
    }
    for (std::int64_t i = 0; i < n; ++i) std::copy(expected.begin(), expected.end(), out + (i + 1) * places - O);
  }

 private:
  // The contributions of some trees, of which the first is number `first`.
  void add(const Vector<ShapWay>& batch, std::int64_t first, const double* X, std::int64_t n, double* out,
           ThreadTeam& team) const {
    constexpr std::int64_t kBlock = 64;
    const std::int64_t p = trees_.n_features(), places = p * scores_.n_outputs;
    std::int64_t slots = 1, numbers = 1, terms = 0;
    for (const ShapWay& way : batch) {
      slots = std::max(slots, way.n_slots);
      numbers = std::max(numbers, way.n_slots * way.n_points);
      terms += way.terms.size() * scores_.D;
    }
    team.blocks_of(kBlock, n, 2 * n * terms, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t groups = n_blocks(end - begin, kLanes);
      ShapStack stack{Vector<LaneOfRows>(slots), Vector<LaneOfRows>(numbers), Vector<LaneOfRows>(numbers * scores_.D)};
      Vector<LaneOfRows> phi(places * groups, LaneOfRows{}), x(p * groups);
      Vector<EightRows> eight(groups);
      for (std::int64_t g = 0; g < groups; ++g) {
        eight[g].x = x.data() + g * p;
        for (std::int64_t r = 0; r < kLanes; ++r) {  // rows beyond the end repeat the last
          eight[g].rows[r] = X + std::min(begin + g * kLanes + r, end - 1) * p;
          for (std::int64_t j = 0; j < p; ++j) x[g * p + j].lane[r] = eight[g].rows[r][j];
        }
      }
      for (std::int64_t k = 0; k < batch.size(); ++k) {
        const std::int64_t t = first + k, D = scores_.D;
        const ShapValues values{scores_.value + trees_.offset(t) * D, D, scores_.weight(t)};
        for (std::int64_t g = 0; g < groups; ++g)
          add_contributions(trees_, batch[k], values, eight[g], stack, phi.data() + g * places + scores_.output(t),
                            scores_.n_outputs);
      }
      for (std::int64_t i = begin; i < end; ++i) {
        const LaneOfRows* const mine = phi.data() + (i - begin) / kLanes * places;
        double* const row = out + i * (places + scores_.n_outputs);
        for (std::int64_t j = 0; j < places; ++j) row[j] += mine[j].lane[(i - begin) % kLanes];
      }
    });
  }

  const Trees& trees_;
  const double* cover_;
  TreeScores scores_;
};

}  // namespace committee
