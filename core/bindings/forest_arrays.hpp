// The arrays of a forest as they come from Python.
#pragma once

#include "../traverse.hpp"
#include "arrays.hpp"

namespace committee {

inline ForestArrays forest_arrays(std::int64_t n_features, const In1<std::int64_t>& offset,
                                  const In1<std::int32_t>& feature, const In1<double>& threshold,
                                  const In1<std::int32_t>& left, const In1<std::uint8_t>& missing_left,
                                  const In1<std::int64_t>& category_offset, const In1<std::uint32_t>& category_bits) {
  const std::int64_t n = length(feature);
  require(length(offset) >= 1, "trees: offset needs at least one number");
  require(length(threshold) == n && length(left) == n && length(missing_left) == n && length(category_offset) == n + 1,
          "trees: the node arrays differ in length");
  return {n_features,          length(offset) - 1, n,           length(category_bits), offset.data(),
          feature.data(),      threshold.data(),   left.data(), missing_left.data(),   category_offset.data(),
          category_bits.data()};
}
}  // namespace committee
