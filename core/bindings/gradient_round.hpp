// Arguments of a round of gradient boosting, and orders to its shards, as they come from Python.
#pragma once

#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>
#include <utility>

#include "bindings/arrays.hpp"
#include "trees/gradient/rows.hpp"
#include "trees/gradient/sharded_rows.hpp"

namespace committee {

inline GradientRound gradient_round(const In<double>& gradient, const In<double>& hessian,
                                    const std::optional<In1<double>>& weights,
                                    const std::optional<In1<std::int32_t>>& rows,
                                    const std::optional<In1<std::int32_t>>& features, std::int64_t n,
                                    std::int64_t n_features, std::int64_t n_outputs, std::uint64_t seed,
                                    std::int64_t score) {
  for (const In<double>& a : {gradient, hessian}) {
    const bool one = a.ndim() == 1 && n_outputs == 1 && extent(a, 0) == n;
    const bool several = a.ndim() == 2 && extent(a, 0) == n_outputs && extent(a, 1) == n;
    require(one || several, "gradient and hessian must be (n,), or (n_outputs, n)");
  }
  require(!weights || length(*weights) == n, "weights needs one number per row");
  require(!features || length(*features) >= 1, "features must name at least one column");
  static constexpr std::int32_t kNoRows = 0;  // an empty array may have no memory, and null is all rows
  return {gradient.data(),
          hessian.data(),
          data_or_null(weights),
          rows && length(*rows) == 0 ? &kNoRows : data_or_null(rows),
          rows ? length(*rows) : n,
          data_or_null(features),
          features ? length(*features) : n_features,
          seed,
          score};
}

// packed, of_words, block, count_bits, hessian_bits, wide_count_bits, gradient_unit, hessian_unit
using LayoutNumbers = std::tuple<bool, bool, std::int64_t, int, int, int, double, double>;
inline LayoutNumbers numbers_of(const WordLayout& layout) {
  return {layout.packed,       layout.of_words,        layout.block,         layout.count_bits,
          layout.hessian_bits, layout.wide_count_bits, layout.gradient_unit, layout.hessian_unit};
}
inline WordLayout layout_of(const LayoutNumbers& numbers) {
  const auto [packed, of_words, block, count_bits, hessian_bits, wide_bits, gradient_unit, hessian_unit] = numbers;
  require(block >= 1 && count_bits >= 1 && hessian_bits >= 1 && count_bits + hessian_bits < 64 && wide_bits >= 1 &&
              wide_bits < 64,
          "the layout of words has fields that do not fit");
  return {packed, of_words, block, count_bits, hessian_bits, wide_bits, gradient_unit, hessian_unit};
}

// Orders as arrays: place, left and feature of each node; flags (1: a child is counted, 2: the left one, 4: in words);
// and for all bins of each node's feature, one node after the other, whether they go left.
inline nb::tuple order_arrays(const Vector<PartOrder>& orders) {
  Vector<std::int32_t> place, left, feature;
  Vector<std::uint8_t> flags, is_left;
  for (const PartOrder& order : orders) {
    place.push_back(order.place);
    left.push_back(order.left);
    feature.push_back(order.feature);
    flags.push_back(static_cast<std::uint8_t>(order.counted + 2 * order.left_side + 4 * order.narrow));
    is_left.insert(is_left.end(), order.is_left.begin(), order.is_left.end());
  }
  return nb::make_tuple(array_of(std::move(place)), array_of(std::move(left)), array_of(std::move(feature)),
                        array_of(std::move(flags)), array_of(std::move(is_left)));
}

// 128-bit integers as four whole numbers below 2^32 (the last with the sign), which add up over 2^31 shards.
inline constexpr std::int64_t kLimbs = 4;
inline nb::object limbs_of(const Vector<Multiples>& sums, std::int64_t width) {
  Vector<std::int64_t> limbs;
  for (const Multiples sum : sums)
    for (int k = 0; k < kLimbs; ++k) {
      const Multiples rest = sum >> (32 * k);
      limbs.push_back(static_cast<std::int64_t>(k + 1 < kLimbs ? rest & 0xffffffff : rest));
    }
  return array_of(std::move(limbs), {sums.size() / width, width, kLimbs});
}
inline Vector<Multiples> multiples_of(const In3<std::int64_t>& limbs, std::int64_t n, std::int64_t width) {
  require(extent(limbs, 0) == n && extent(limbs, 1) == width && extent(limbs, 2) == kLimbs,
          "the sums of leaves are of another size than was asked for");
  Vector<Multiples> sums(n * width, 0);
  for (std::int64_t i = 0; i < n * width; ++i)
    for (int k = kLimbs - 1; k >= 0; --k) sums[i] = sums[i] * (Multiples{1} << 32) + limbs.data()[i * kLimbs + k];
  return sums;
}

}  // namespace committee
