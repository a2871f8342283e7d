// Upper bound of the gain of a node's splits. Ties go to the first feature scanned, so a split that reaches the bound
// ends the scan: most nodes of a deep tree have few rows, and many columns separate them perfectly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "threads/vector.hpp"
#include "trees/criterion.hpp"
#include "trees/deep/rows.hpp"
#include "trees/units.hpp"

namespace committee {

// Items whose best parting is looked for among all.
inline constexpr std::int64_t kFewItems = 8;

// The largest pair(left, right) of the squared error: the best of all partings has the smallest targets on one side
// (Fisher 1958). Sums are those of words, as a split's are. Infinite where a row weighs nothing.
inline double largest_pair(const TargetItem* items, std::int64_t n, const std::uint64_t* sums, const Units& units) {
  const TargetItem* sorted[kFewItems];
  double weights[kFewItems], moments[kFewItems];
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t words[2]{items[i].packed, items[i].moment};
    double own[2];
    units.read(words, 2, own);
    if (!(own[0] > 0.0)) return std::numeric_limits<double>::infinity();
    std::int64_t k = i;
    for (; k > 0 && moments[k - 1] * own[0] > own[1] * weights[k - 1]; --k) {
      sorted[k] = sorted[k - 1];
      weights[k] = weights[k - 1];
      moments[k] = moments[k - 1];
    }
    sorted[k] = items + i;
    weights[k] = own[0];
    moments[k] = own[1];
  }
  double largest = 0.0;
  std::uint64_t left[2]{0, 0};
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    left[0] += sorted[i]->packed;
    left[1] += sorted[i]->moment;
    const std::uint64_t right[2]{sums[0] - left[0], sums[1] - left[1]};
    double of_left[2], of_right[2];
    units.read(left, 2, of_left);
    units.read(right, 2, of_right);
    largest = std::max(largest, SquaredError::pair(of_left, of_right, 2));
  }
  return largest;
}

// Of a node of n items and these sums, one for each of the planes that it holds; infinite where it is not known.
template <class Criterion, class Item>
double most_gain(const Item* items, std::int64_t n, const std::uint64_t* sums, int planes, const Units& units) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  constexpr double kRounding = 4e-15;  // share of a pair that its rounding may be
  double pair = kUnknown;
  if constexpr (std::is_same_v<Criterion, Gini>) {
    if (planes == 2) pair = units.fixed.weight(sums[0]) + units.fixed.weight(sums[1]);  // a class on each side
  } else if constexpr (std::is_same_v<Criterion, SquaredError> && std::is_same_v<Item, TargetItem>) {
    if (n <= kFewItems) pair = largest_pair(items, n, sums, units);
  }
  if constexpr (!std::is_same_v<Criterion, AbsoluteError>) {
    if (!(pair < kUnknown)) return kUnknown;
    double whole[2];
    units.read(sums, 2, whole);
    return pair - Criterion::node(whole, 2) + kRounding * pair;
  }
  return kUnknown;
}

}  // namespace committee
