// The arrays of soft stumps as they come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "votes/soft_stump.hpp"

namespace committee {

inline SoftStumpArrays stump_arrays(std::int64_t n_features, const In1<std::int32_t>& feature,
                                    const In1<double>& threshold, const In1<double>& softness,
                                    const In1<std::uint8_t>& ascending, const In1<double>& missing,
                                    const In1<std::int64_t>& category_offset, const In1<std::uint32_t>& category_bits) {
  const std::int64_t n = length(feature);
  require(length(threshold) == n && length(softness) == n && length(ascending) == n && length(missing) == n &&
              length(category_offset) == n + 1,
          "stumps: the arrays differ in length");
  return {n_features,
          n,
          length(category_bits),
          feature.data(),
          threshold.data(),
          softness.data(),
          ascending.data(),
          missing.data(),
          category_offset.data(),
          category_bits.data()};
}

}  // namespace committee
