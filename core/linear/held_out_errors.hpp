// Errors of linear scores on rows that they were not fitted to, for every node of a tree.
//
// A node's rows are a range of one list, as those of its left child come before those of its right one. A score is
// boosted on the rows of the range that are not held out, and elects a class for those that are.
//
// Equation: reduced-error (docs/theory.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
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

// Some of the listed rows, copied in the order of the list, so that those of a node lie side by side.
struct CopiedRows {
  CopiedRows(const RowsByLeaf& data, const std::uint8_t* held_out, bool judges) : n_before(data.n_rows() + 1) {
    const std::int64_t p = data.n_features;
    for (std::int64_t i = 0; i < data.n_rows(); ++i)
      n_before[i + 1] = n_before[i] + ((held_out[data.rows[i]] != 0) == judges);
    const std::int64_t n = n_before.back();
    D.resize(n * p);
    weights.resize(n);
    labels.resize(n);
    places.resize(n);
    std::iota(places.begin(), places.end(), 0);
    for (std::int64_t i = 0; i < data.n_rows(); ++i) {
      const std::int64_t to = n_before[i], row = data.rows[i];
      if (n_before[i + 1] == to) continue;
      fetch_row(data.D + data.rows[std::min(i + kRowsAhead, data.n_rows() - 1)] * p, p);
      std::copy_n(data.D + row * p, p, D.data() + to * p);
      weights[to] = data.weights[row];
      labels[to] = data.labels[row];
    }
  }
  RowsByLeaf table(const RowsByLeaf& data) const {
    return {D.data(),      data.n_features, places.data(),  nullptr,          0,
            labels.data(), weights.data(),  data.n_outputs, data.most_classes};
  }
  std::span<const std::int32_t> range(std::int64_t begin, std::int64_t end) const {
    return {places.data() + n_before[begin], places.data() + n_before[end]};
  }

  Vector<std::int64_t> n_before;  // of the list's rows before each place
  Vector<double> D, weights;
  Vector<std::uint16_t> labels;
  Vector<std::int32_t> places;
};

// One node: the rows that scores are fitted to, at most `most_rows` at even distances, and the held-out rows (judges).
class HeldOutNode {
 public:
  using Rows = std::span<const std::int32_t>;
  HeldOutNode(const RowsByLeaf& data, Rows fitted, const RowsByLeaf& of_judges, Rows judges, std::int64_t most_rows)
      : data_(data), of_judges_(of_judges), judges_(judges) {
    const std::int64_t n = count_of(fitted.size()), n_taken = std::min(n, most_rows);
    fitted_.resize(n_taken);
    for (std::int64_t i = 0; i < n_taken; ++i) fitted_[i] = fitted[size_of(n > most_rows ? i * n / most_rows : i)];
  }

  // Weight of the judges that the scores get wrong; that of all judges where there are no rows to fit scores to.
  double error(const BoostSettings& settings) const {
    if (fitted_.empty()) return weight_where([](std::int64_t) { return true; });
    const std::uint16_t first = data_.labels[fitted_[0]];
    if (std::ranges::all_of(fitted_, [&](std::int32_t row) { return data_.labels[row] == first; }))
      return weight_where([&](std::int64_t i) { return label(i) != first; });
    const Vector<std::int64_t> votes = judged(settings);
    return weight_where([&](std::int64_t i) { return votes[i] != label(i); });
  }

 private:
  std::int64_t n_judges() const { return count_of(judges_.size()); }
  std::uint16_t label(std::int64_t i) const { return of_judges_.labels[judges_[size_of(i)]]; }
  template <class Wrong>
  double weight_where(Wrong&& wrong) const {
    double weight = 0.0;
    for (std::int64_t i = 0; i < n_judges(); ++i)
      if (wrong(i)) weight += of_judges_.weights[judges_[size_of(i)]];
    return weight;
  }

  // The classes that scores elect for the judges: one output by its sign, more by the (first) largest.
  Vector<std::int64_t> judged(const BoostSettings& settings) const {
    const std::int64_t p = data_.n_features, n = n_judges();
    const DistinctOutputs distinct(data_, fitted_.data(), fitted_.size());
    Vector<double> intercepts, slopes(distinct.outputs.size() * p, 0.0), most(n, 0.0);
    each_output(data_, distinct, fitted_.data(), fitted_.size(), [&](std::int64_t, const Leaf& leaf, LeafBoost& boost) {
      boost.run(settings, nullptr, nullptr);
      double intercept = boost.intercept(), *const slope = slopes.data() + intercepts.size() * p;
      for (std::int64_t c = 0; c < leaf.n_columns(); ++c)
        slope[leaf.feature(c)] = leaf.in_user_units(c, boost.slope(c), intercept);
      intercepts.push_back(intercept);
    });
    Vector<std::int64_t> votes(n, 0);
    for (std::int64_t begin = 0; begin < n; begin += kAtOnce) {
      const std::int64_t size = std::min(kAtOnce, n - begin);
      ScoredRows rows(of_judges_.D, p, judges_.data() + begin, size);
      for (std::int64_t o = 0; o < intercepts.size(); ++o) {
        const LaneVector<double>& scores = rows(intercepts[o], slopes.data() + o * p);
        const std::int64_t vote = data_.n_outputs == 1 ? 1 : distinct.outputs[o];
        const bool first = data_.n_outputs > 1 && vote == 0;
        for (std::int64_t i = 0; i < size; ++i) {
          const bool leads = first || scores[i] > most[begin + i];
          most[begin + i] = leads ? scores[i] : most[begin + i];
          votes[begin + i] = leads ? vote : votes[begin + i];
        }
      }
    }
    return votes;
  }

  static constexpr std::int64_t kAtOnce = 512;  // judges, whose columns stay in the cache
  const RowsByLeaf &data_, &of_judges_;
  Rows judges_;
  Vector<std::int32_t> fitted_;
};

// The weight of the held-out rows that each node's own scores get wrong.
inline Vector<double> held_out_errors(const RowsByLeaf& data, const NodeRanges& nodes, const std::uint8_t* held_out,
                                      const BoostSettings& settings, std::int64_t most_rows, ThreadTeam& team) {
  Vector<double> errors(nodes.n_nodes, 0.0);
  const std::int64_t work = data.n_rows() * data.n_outputs * settings.n_steps * (data.n_features + 8);
  const CopiedRows fitted(data, held_out, false), judges(data, held_out, true);
  const RowsByLeaf of_fitted = fitted.table(data), of_judges = judges.table(data);
  team.each(nodes.n_nodes, work, [&](std::int64_t node) {
    const std::int64_t begin = nodes.begin[node], end = nodes.end[node];
    const HeldOutNode one(of_fitted, fitted.range(begin, end), of_judges, judges.range(begin, end), most_rows);
    errors[node] = one.error(settings);
  });
  return errors;
}

}  // namespace committee
