// The best split of one feature of a node by the absolute error: -sum w |y - median|, with each side's own median. Rows
// go from the right side to the left one, bin after bin, and both sides keep their targets by rank, so that a median
// takes the logarithm of the number of rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

#include "threads/vector.hpp"
#include "trees/deep/rows.hpp"
#include "trees/split.hpp"

namespace committee {

struct RankSums {
  std::int64_t weight = 0, moment = 0;  // in integers
  RankSums& operator+=(const RankSums& other) {
    weight += other.weight;
    moment += other.moment;
    return *this;
  }
  RankSums operator-() const { return {-weight, -moment}; }
};

// Sums of weights and moments by rank, and those up to a rank (Fenwick 1994).
class RankedSums {
 public:
  void clear(std::int64_t n) {
    sums_.assign(n + 1, {});
    all_ = {};
  }
  void add(std::int64_t rank, const RankSums& sums) {
    for (std::int64_t i = rank + 1; i < sums_.size(); i += i & -i) sums_[i] += sums;
    all_ += sums;
  }
  const RankSums& all() const { return all_; }

  // The rank of the lower weighted median, and the sums of the ranks below it.
  std::pair<std::int64_t, RankSums> median() const {
    std::int64_t rank = 0;
    RankSums below;
    for (auto step = signed_of(std::bit_floor(word_of(sums_.size() - 1))); step > 0; step /= 2) {
      const std::int64_t next = rank + step;
      if (next >= sums_.size() || 2 * (below.weight + sums_[next].weight) >= all_.weight) continue;
      rank = next;
      below += sums_[next];
    }
    return {std::min(rank, sums_.size() - 2), below};
  }

 private:
  Vector<RankSums> sums_;
  RankSums all_;
};

class MedianScan {
 public:
  // `distinct`: the targets by rank.
  MedianScan(const SplitRules& rules, const Vector<double>& distinct) : rules_(rules), distinct_(distinct) {}

  // Looks at the items of a node, which stay where they are until the next one.
  void start(const RankedItem* items, std::int64_t n) {
    items_ = items;
    ranks_.resize(n);
    for (std::int64_t i = 0; i < n; ++i) ranks_[i] = items[i].rank;
    std::sort(ranks_.begin(), ranks_.end());
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    place_.resize(n);
    whole_.clear(ranks_.size());
    for (std::int64_t i = 0; i < n; ++i) {
      place_[i] = std::lower_bound(ranks_.begin(), ranks_.end(), items[i].rank) - ranks_.begin();
      whole_.add(place_[i], sums_of(items[i]));
    }
    error_ = error(whole_);
  }

  // `code_of`: the bin of an item's row. Writes the left child's sums to `best_left`.
  template <class CodeOf>
  Split best(const CodeOf& code_of, std::int32_t missing_bin, std::int32_t feature, bool categorical,
             std::uint64_t* best_left) {
    group(code_of);
    if (categorical) order_groups();
    const bool has_missing = !categorical && groups_.back().code == missing_bin;
    const std::int64_t n_values = groups_.size() - has_missing;
    for (int way = 0; way <= has_missing; ++way) find_gains(n_values, way == 1, has_missing, gains_[way]);
    Split best;
    best.gain = rules_.limits.least();
    std::int64_t at = -1;
    for (std::int64_t i = 0; i < n_values; ++i)
      for (int way = 0; way <= has_missing; ++way) {
        const double gain = gains_[way][i];
        if (!is_larger(gain, best.gain) || (categorical && i + 1 < n_values && are_alike(i))) continue;
        best.gain = gain;
        best.missing_left = way == 1;
        at = i;
      }
    if (at < 0 || !(best.gain > rules_.limits.min_gain)) return best;
    best.feature = feature;
    put_left(at, best.missing_left);
    if (categorical)
      send_categories(missing_bin, best);
    else
      best.bin = at + 1 < n_values ? middle_of_gap(groups_[at].code, groups_[at + 1].code) : groups_[at].code;
    if (!categorical && !has_missing) best.missing_left = is_larger(weight(true), weight(false));
    best_left[0] = best_left[1] = 0;
    for (const Group& group : groups_)
      if (group.is_left)
        for (std::int64_t i = group.begin; i < group.end; ++i) {
          best_left[0] += items_[entries_[i].item].packed;
          best_left[1] += items_[entries_[i].item].moment;
        }
    return best;
  }

 private:
  struct Entry {
    std::int32_t code;
    std::int64_t item;
  };
  struct Group {  // of the rows of one bin
    std::int32_t code;
    std::int64_t begin, end;
    RankSums sums;
    std::int64_t median = 0;
    bool is_left = false;
    auto content() const { return std::tuple{median, sums.weight, sums.moment}; }
  };

  RankSums sums_of(const RankedItem& item) const {
    return {rules_.units.whole(item.packed, 0), signed_of(item.moment)};
  }

  double error(const RankedSums& side) const {
    const auto [place, below] = side.median();
    const double median = distinct_[ranks_[place]];
    return static_cast<double>(side.all().moment - 2 * below.moment) / rules_.units.moment_unit -
           median * (static_cast<double>(side.all().weight - 2 * below.weight) * rules_.units.fixed.inverse);
  }

  template <class CodeOf>
  void group(const CodeOf& code_of) {
    entries_.resize(place_.size());
    for (std::int64_t i = 0; i < entries_.size(); ++i)
      entries_[i] = {static_cast<std::int32_t>(code_of(items_[i].row)), i};
    std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
      return std::tuple{a.code, place_[a.item]} < std::tuple{b.code, place_[b.item]};
    });
    groups_.clear();
    for (std::int64_t i = 0; i < entries_.size(); ++i) {
      if (groups_.empty() || groups_.back().code != entries_[i].code) groups_.push_back({entries_[i].code, i, i, {}});
      groups_.back().end = i + 1;
      groups_.back().sums += sums_of(items_[entries_[i].item]);
    }
  }

  // By their medians; names decide nothing.
  void order_groups() {
    for (Group& group : groups_) {
      std::int64_t below = 0, i = group.begin;
      for (; i + 1 < group.end; ++i) {
        below += sums_of(items_[entries_[i].item]).weight;
        if (2 * below >= group.sums.weight) break;
      }
      group.median = place_[entries_[i].item];
    }
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const Group& a, const Group& b) { return a.content() < b.content(); });
  }
  bool are_alike(std::int64_t i) const { return groups_[i].content() == groups_[i + 1].content(); }

  // Of the splits after each group of values, missing values on either side; never of those that are none.
  void find_gains(std::int64_t n_values, bool missing_left, bool has_missing, Vector<double>& gains) {
    left_.clear(ranks_.size());
    right_ = whole_;
    const SplitLimits& limits = rules_.limits;
    std::int64_t n_left = 0;
    const auto move = [&](const Group& group) {
      for (std::int64_t i = group.begin; i < group.end; ++i) {
        const std::int64_t item = entries_[i].item;
        left_.add(place_[item], sums_of(items_[item]));
        right_.add(place_[item], -sums_of(items_[item]));
      }
      n_left += group.end - group.begin;
    };
    if (missing_left) move(groups_.back());
    gains.assign(n_values, -1.0);
    for (std::int64_t i = 0; i < n_values; ++i) {
      move(groups_[i]);
      const double inverse = rules_.units.fixed.inverse;
      const double lighter = static_cast<double>(std::min(left_.all().weight, right_.all().weight)) * inverse;
      if (std::min(n_left, entries_.size() - n_left) < limits.min_samples_leaf || !(lighter > 0.0) ||
          lighter < limits.min_weight_leaf)
        continue;
      gains[i] = error_ - error(left_) - error(right_);
    }
    if (!has_missing) gains[n_values - 1] = -1.0;
  }

  void put_left(std::int64_t last, bool missing_left) {
    for (std::int64_t i = 0; i < groups_.size(); ++i) groups_[i].is_left = i <= last;
    if (missing_left) groups_.back().is_left = true;
  }
  double weight(bool of_left) const {
    std::int64_t sum = 0;
    for (const Group& group : groups_) sum += group.is_left == of_left ? group.sums.weight : 0;
    return static_cast<double>(sum);
  }

  // The heavier side goes left, and with it the categories that the node has not.
  void send_categories(std::int32_t missing_bin, Split& best) {
    if (is_larger(weight(false), weight(true)))
      for (Group& group : groups_) group.is_left = !group.is_left;
    Vector<std::uint8_t> is_left(missing_bin + 1, is_larger(weight(true), weight(false)));
    for (const Group& group : groups_) is_left[group.code] = group.is_left;
    best.missing_left = is_left.back();
    is_left.pop_back();
    best.category_is_left = std::move(is_left);
  }

  const SplitRules& rules_;
  const Vector<double>& distinct_;
  const RankedItem* items_ = nullptr;
  double error_ = 0.0;          // of the node as one
  Vector<std::int32_t> ranks_;  // that the node has
  Vector<std::int64_t> place_;  // of each item's rank among these
  RankedSums whole_, left_, right_;
  Vector<Entry> entries_;
  Vector<Group> groups_;
  Vector<double> gains_[2];
};

}  // namespace committee
