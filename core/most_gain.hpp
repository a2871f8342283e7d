// What no split of a node gains more than. Ties go to the first feature that was looked at, so that where its split
// gains as much, the others need not be: most nodes of a deep tree have a few rows, which many a column parts in the
// best way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "criterion.hpp"
#include "deep_items.hpp"
#include "units.hpp"

namespace committee {

// Rows whose best parting is looked for among all.
inline constexpr std::int64_t kFewRows = 8;

// The largest pair(left, right) of the squared error: the best of all partings has the smallest targets on one side
// (Fisher 1958). Infinite where a row weighs nothing.
inline double largest_pair(const TargetItem* items, std::int64_t n, const Units& units) {
  double w[kFewRows], m[kFewRows], whole[2]{0.0, 0.0};
  for (std::int64_t i = 0; i < n; ++i) {
    const double weight = units.fixed.weight(items[i].packed);
    const double moment = static_cast<double>(signed_of(items[i].moment)) / units.moment_unit;
    if (!(weight > 0.0)) return std::numeric_limits<double>::infinity();
    std::int64_t k = i;
    for (; k > 0 && m[k - 1] * weight > moment * w[k - 1]; --k) {
      w[k] = w[k - 1];
      m[k] = m[k - 1];
    }
    w[k] = weight;
    m[k] = moment;
    whole[0] += weight;
    whole[1] += moment;
  }
  double largest = 0.0, left[2]{0.0, 0.0};
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    left[0] += w[i];
    left[1] += m[i];
    const double right[2]{whole[0] - left[0], whole[1] - left[1]};
    largest = std::max(largest, SquaredError::pair(left, right, 2));
  }
  return largest;
}

// Of a node of n items and these sums, one for each of the planes that it holds; infinite where it is not known.
template <class Criterion, class Item>
double most_gain(const Item* items, std::int64_t n, const std::uint64_t* sums, int planes, const Units& units) {
  constexpr double kRounding = 4e-15;  // of a pair, a sum of some terms
  double pair = std::numeric_limits<double>::infinity();
  if constexpr (std::is_same_v<Criterion, Gini>) {
    if (planes == 2) pair = units.fixed.weight(sums[0]) + units.fixed.weight(sums[1]);  // a class on each side
  } else if constexpr (std::is_same_v<Criterion, SquaredError> && std::is_same_v<Item, TargetItem>) {
    if (n <= kFewRows) pair = largest_pair(items, n, units);
  }
  if (!(pair < std::numeric_limits<double>::infinity())) return pair;
  double whole[2];
  units.read(sums, 2, whole);
  return pair - Criterion::node(whole, 2) + kRounding * pair;
}

}  // namespace committee
