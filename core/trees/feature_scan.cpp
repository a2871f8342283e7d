#include "trees/feature_scan.hpp"

namespace committee {

template <class Criterion>
void scan_features(const NodeCells& node, const std::int32_t* features, std::int64_t n, Split* found) {
  const auto scan = [&](auto&& feature) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t j = features[i];
      const std::int64_t first = node.cell[j], missing_bin = node.cell[j + 1] - first - 1;
      found[i] = feature.best(node.sums, node.histogram + first, node.stride, missing_bin, j, node.categorical[j] != 0);
    }
  };
  if (node.planes == 2)
    scan(FeatureScan<Criterion, 2>(node.rules, node.planes));
  else
    scan(FeatureScan<Criterion, 0>(node.rules, node.planes));
}

ScanFeatures scan_of(CriterionName criterion) {
  switch (criterion) {
    case CriterionName::gini:
      return scan_features<Gini>;
    case CriterionName::entropy:
      return scan_features<Entropy>;
    case CriterionName::error:
      return scan_features<Error>;
    case CriterionName::confidence:
      return scan_features<Confidence>;
    case CriterionName::abstaining:
      return scan_features<Abstaining>;
    case CriterionName::poisson:
      return scan_features<Poisson>;
    default:
      return scan_features<SquaredError>;
  }
}

}  // namespace committee
