// The arrays of a forest as they come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "trees/traverse.hpp"

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

// The constructor of a class that takes these arrays, and perhaps more.
template <class... More, class Class, class... Names>
void takes_forest(Class& to, const Names&... more) {
  to.def(nb::init<std::int64_t, In1<std::int64_t>, In1<std::int32_t>, In1<double>, In1<std::int32_t>, In1<std::uint8_t>,
                  In1<std::int64_t>, In1<std::uint32_t>, More...>(),
         "n_features"_a, "offset"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(),
         "left"_a.noconvert(), "missing_left"_a.noconvert(), "category_offset"_a.noconvert(),
         "category_bits"_a.noconvert(), more...);
}

}  // namespace committee
