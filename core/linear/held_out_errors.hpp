// Errors of linear scores on rows that they were not fitted to, for every node of a tree.
//
// A node's rows are a range of one list, as those of its left child come before those of its right one. A score is
// boosted on the rows of the range that are not held out, and elects a class for those that are.
//
// Equation: reduced-error (docs/theory.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "linear/linear_boost.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

struct NodeRanges {
  const std::int64_t* begin;  // of the list of rows
  const std::int64_t* end;
  std::int64_t n_nodes;
};

// A list of rows in two, those that scores are fitted to and those that judge them, in its order.
class HeldOutList {
 public:
  HeldOutList(const std::int32_t* rows, std::int64_t n, const std::uint8_t* held_out) : n_judges_(n + 1, 0) {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool judges = held_out[rows[i]] != 0;
      (judges ? judges_ : fitted_).push_back(rows[i]);
      n_judges_[i + 1] = n_judges_[i] + judges;
    }
  }
  using Rows = std::span<const std::int32_t>;
  Rows judges(std::int64_t begin, std::int64_t end) const {
    return {judges_.data() + n_judges_[begin], judges_.data() + n_judges_[end]};
  }
  Rows fitted(std::int64_t begin, std::int64_t end) const {
    return {fitted_.data() + (begin - n_judges_[begin]), fitted_.data() + (end - n_judges_[end])};
  }

 private:
  Vector<std::int64_t> n_judges_;  // before each place
  Vector<std::int32_t> fitted_, judges_;
};

// One node: the scores' rows, at most `most_rows` of them at even distances, and the rows that judge.
class HeldOutNode {
 public:
  HeldOutNode(const RowsByLeaf& data, const HeldOutList& list, std::int64_t begin, std::int64_t end,
              std::int64_t most_rows)
      : data_(data), judges_(list.judges(begin, end)) {
    const HeldOutList::Rows fitted = list.fitted(begin, end);
    const std::int64_t n = count_of(fitted.size()), n_taken = std::min(n, most_rows);
    fitted_.resize(n_taken);
    for (std::int64_t i = 0; i < n_taken; ++i) fitted_[i] = fitted[size_of(n > most_rows ? i * n / most_rows : i)];
  }

  // Weight of the judges that the scores are wrong about; all of it where there are no rows to fit scores to.
  double error(const BoostSettings& settings) const {
    if (fitted_.empty()) return weight_where([](std::int64_t) { return true; });
    const std::uint16_t first = data_.labels[fitted_[0]];
    if (std::ranges::all_of(fitted_, [&](std::int32_t row) { return data_.labels[row] == first; }))
      return weight_where([&](std::int64_t i) { return data_.labels[judge(i)] != first; });
    const Vector<std::int64_t> votes = judged(settings);
    return weight_where([&](std::int64_t i) { return votes[i] != data_.labels[judge(i)]; });
  }

 private:
  std::int64_t n_judges() const { return count_of(judges_.size()); }
  std::int32_t judge(std::int64_t i) const { return judges_[size_of(i)]; }
  template <class Wrong>
  double weight_where(Wrong&& wrong) const {
    double weight = 0.0;
    for (std::int64_t i = 0; i < n_judges(); ++i)
      if (wrong(i)) weight += data_.weights[judge(i)];
    return weight;
  }

  // The classes that scores elect for the judges: one output by its sign, more by the (first) largest.
  Vector<std::int64_t> judged(const BoostSettings& settings) const {
    const std::int64_t p = data_.n_features, n = n_judges();
    ScoredRows rows(data_.D, p, judges_.data(), n);
    Vector<double> slope(p), most(n, 0.0);
    Vector<std::int64_t> votes(n, 0);
    const DistinctOutputs distinct(data_, fitted_.data(), fitted_.size());
    each_output(data_, distinct, fitted_.data(), fitted_.size(),
                [&](std::int64_t k, const Leaf& leaf, LeafBoost& boost) {
                  boost.run(settings, nullptr, nullptr);
                  double intercept = boost.intercept();
                  std::ranges::fill(slope, 0.0);
                  for (std::int64_t c = 0; c < leaf.n_columns(); ++c)
                    slope[leaf.feature(c)] = leaf.in_user_units(c, boost.slope(c), intercept);
                  const LaneVector<double>& scores = rows(intercept, slope.data());
                  const std::int64_t vote = data_.n_outputs == 1 ? 1 : k;
                  const bool first = data_.n_outputs > 1 && k == 0;
                  for (std::int64_t i = 0; i < n; ++i) {
                    const bool leads = first || scores[i] > most[i];
                    most[i] = leads ? scores[i] : most[i];
                    votes[i] = leads ? vote : votes[i];
                  }
                });
    return votes;
  }

  const RowsByLeaf& data_;
  HeldOutList::Rows judges_;
  Vector<std::int32_t> fitted_;
};

// The weight of held-out rows that each node's own score is wrong about.
inline Vector<double> held_out_errors(const RowsByLeaf& data, const NodeRanges& nodes, const std::uint8_t* held_out,
                                      const BoostSettings& settings, std::int64_t most_rows, ThreadTeam& team) {
  Vector<double> errors(nodes.n_nodes, 0.0);
  const std::int64_t work = data.n_rows() * data.n_outputs * settings.n_steps * (data.n_features + 8);
  const HeldOutList list(data.rows, data.n_rows(), held_out);
  team.each(nodes.n_nodes, work, [&](std::int64_t node) {
    errors[node] = HeldOutNode(data, list, nodes.begin[node], nodes.end[node], most_rows).error(settings);
  });
  return errors;
}

}  // namespace committee
