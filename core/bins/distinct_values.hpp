// Distinct values of a column that arrives in chunks, up to a limit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "bins/bins.hpp"
#include "bins/counter_rng.hpp"
#include "threads/vector.hpp"

namespace committee {

// A set of keys of values, of which 0 is none, in a table at most half full.
class ValueSet {
 public:
  explicit ValueSet(std::int64_t most) : slots_(std::int64_t{1} << std::bit_width(word_of(2 * most + 2))) {
    std::ranges::fill(slots_, 0);
  }
  void insert(std::uint64_t key) {
    const std::int64_t mask = slots_.size() - 1;
    std::int64_t at = signed_of(scramble(key)) & mask;
    while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
    size_ += slots_[at] == 0;
    slots_[at] = key;
  }
  std::int64_t size() const { return size_; }
  Vector<double> rising() const {
    Vector<std::uint64_t> keys;
    std::ranges::copy_if(slots_, std::back_inserter(keys), [](std::uint64_t key) { return key != 0; });
    std::ranges::sort(keys);
    Vector<double> values(keys.size());
    std::ranges::transform(keys, values.begin(), key_value);
    return values;
  }

 private:
  Vector<std::uint64_t> slots_;
  std::int64_t size_ = 0;
};

// Those of `known` and of a further piece, rising and without NaN; nothing as soon as there are more than `most`.
inline std::optional<Vector<double>> distinct_values(const double* known, std::int64_t n_known, const double* column,
                                                     std::int64_t n, std::int64_t most) {
  ValueSet found(most);
  for (const auto& [values, count] : {std::pair{known, n_known}, std::pair{column, n}})
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isnan(values[i])) continue;
      found.insert(ordered_key(values[i]));
      if (found.size() > most) return std::nullopt;
    }
  return found.rising();
}

}  // namespace committee
