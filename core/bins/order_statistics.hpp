// The values of a column in cells of equal width, each cell in order once something in it is asked for: a few order
// statistics cost little more than the cells, where sorting looks at every digit of every value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "threads/vector.hpp"

namespace committee {

// Doubles as unsigned integers of the same order.

inline std::uint64_t ordered_key(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);  // + 0.0: -0.0 and 0.0 are one value
  return bits ^ (-(bits >> 63) | (std::uint64_t{1} << 63));
}

inline double key_value(std::uint64_t key) {
  return std::bit_cast<double>(key ^ (((key >> 63) - 1) | (std::uint64_t{1} << 63)));
}

class ValueCells {
 public:
  struct Run {  // equal values: they have the ranks begin..end - 1
    std::int64_t begin, end, cell;
    double value;
  };

  // Takes over values, by their keys. False where cells do not part them well: no more than `max_bins` cells have any,
  // or one has many.
  bool fill(const Vector<std::uint64_t>& keys, std::int64_t max_bins) {
    const std::int64_t n = keys.size();
    if (n < kLeastValues || n > INT32_MAX) return false;
    std::uint64_t lowest = keys[0], highest = keys[0];
    for (const std::uint64_t key : keys) {
      lowest = std::min(lowest, key);
      highest = std::max(highest, key);
    }
    const double least = key_value(lowest), range = key_value(highest) - least;
    const std::int64_t n_cells = std::min(signed_of(std::bit_ceil(word_of(n / kValuesOfCell))), kMostCells);
    const double scale = static_cast<double>(n_cells) / range, last = static_cast<double>(n_cells - 1);
    if (!std::isfinite(scale) || scale == 0.0) return false;
    cell_.resize(n);
    for (std::int64_t i = 0; i < n; ++i)  // rounding keeps order: what is in a lower cell is less
      cell_[i] = static_cast<std::int32_t>(std::min((key_value(keys[i]) - least) * scale, last));
    start_.assign(n_cells + 1, 0);
    for (const std::int32_t cell : cell_) ++start_[cell + 1];
    if (n_cells - std::count(start_.begin() + 1, start_.end(), 0) <= max_bins) return false;
    if (*std::ranges::max_element(start_) > n / kLeastParts) return false;
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    next_.assign(start_.begin(), start_.end());
    values_.resize(n);
    for (std::int64_t i = 0; i < n; ++i) values_[next_[cell_[i]]++] = key_value(keys[i]);
    at_ = sorted_ = -1;
    return true;
  }

  std::int64_t size() const { return values_.size(); }

  // The value of a rank and its equals; no rank is asked for that lies in a lower cell than one before.
  Run run_at(std::int64_t rank) {
    while (at_ < 0 || start_[at_ + 1] <= rank) ++at_;
    double* const begin = values_.data() + start_[at_];
    double* const end = values_.data() + start_[at_ + 1];
    if (sorted_ != at_) std::sort(begin, end);
    sorted_ = at_;
    const double value = values_[rank];
    const auto [first, last] = std::equal_range(begin, end, value);
    return {first - values_.data(), last - values_.data(), at_, value};
  }
  // The largest value below the run, and the least above it; there must be one.
  double below(const Run& run) const {
    std::int64_t c = run.cell;
    if (run.begin > start_[c]) return values_[run.begin - 1];
    do --c;
    while (start_[c] == start_[c + 1]);
    return *std::max_element(values_.data() + start_[c], values_.data() + start_[c + 1]);
  }
  double above(const Run& run) const {
    std::int64_t c = run.cell;
    if (run.end < start_[c + 1]) return values_[run.end];
    do ++c;
    while (start_[c] == start_[c + 1]);
    return *std::min_element(values_.data() + start_[c], values_.data() + start_[c + 1]);
  }

 private:
  static constexpr std::int64_t kLeastValues = 512, kValuesOfCell = 8, kMostCells = 16384, kLeastParts = 8;

  Vector<std::int32_t> cell_, start_, next_;  // of each value; where each cell begins, and where its next value goes
  Vector<double> values_;
  std::int64_t at_ = -1, sorted_ = -1;
};

}  // namespace committee
