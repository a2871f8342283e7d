// The scan of a node's features by a criterion that is chosen at run time: tables and growers share one instance of
// FeatureScan for each criterion.
#pragma once

#include <cstdint>

#include "trees/criterion.hpp"
#include "trees/split.hpp"

namespace committee {

// A node's histogram: feature j owns the cells cell[j] .. cell[j + 1], the last one "missing", in planes `stride`
// apart.
struct NodeCells {
  const SplitRules& rules;
  int planes;
  const std::uint64_t* sums;  // of the node, one per plane
  const std::uint64_t* histogram;
  std::int64_t stride;
  const std::int64_t* cell;
  const std::uint8_t* categorical;
};

// Writes the best split of each of n features to `found`.
template <class Criterion>
void scan_features(const NodeCells& node, const std::int32_t* features, std::int64_t n, Split* found);
using ScanFeatures = void (*)(const NodeCells& node, const std::int32_t* features, std::int64_t n, Split* found);
ScanFeatures scan_of(CriterionName criterion);

}  // namespace committee
