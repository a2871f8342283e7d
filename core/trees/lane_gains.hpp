// Gains of the splits after each of a feature's bins, eight at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "histogram/histogram.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"
#include "trees/criterion.hpp"
#include "trees/units.hpp"

namespace committee {

// Running sums of a feature's planes over its bins, and what splits after these gain. Both have room for eight bins
// more, as they are read eight at a time.
struct RunningPlanes {
  Vector<double> gain;
  void make_room(std::int64_t n, int planes) {
    room_ = std::max(room_, n + kLanes);
    if (gain.size() < room_) gain.resize(room_);
    if (sums_.size() < room_ * planes) sums_.resize(room_ * planes);
  }
  std::uint64_t* plane(std::int64_t k) { return sums_.data() + k * room_; }

 private:
  std::int64_t room_ = 0;
  Vector<std::uint64_t> sums_;
};

template <class Lanes>
COMMITTEE_INLINE Lanes weights_of(const BitsOf<Lanes>& packed, const FixedPoint& fixed) {
  return as_rounded_doubles<Lanes>(shifted_down(packed, fixed.count_bits)) * fixed.inverse;
}

// Gains of the splits after the bins first .. end - 1, by the operations of the criterion in their order. A side
// without weight gains NaN, which is never more.
template <class Lanes>
COMMITTEE_INLINE void gains_of_in(Gini, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                                  const std::uint64_t* total, const Units& units, double parent) {
  for (std::int64_t i = first; i < end; i += kLanes) {
    Lanes left{}, left_squares{}, right{}, right_squares{};
    for (int k = 0; k < planes; ++k) {
      const auto a = load_as<BitsOf<Lanes>>(running.plane(k) + i);
      const Lanes w = weights_of<Lanes>(a, units.fixed),
                  rest = weights_of<Lanes>(rest_of_word(total[k], a), units.fixed);
      left += w;
      left_squares += w * w;
      right += rest;
      right_squares += rest * rest;
    }
    store<Lanes>(running.gain.data() + i, left_squares / left + right_squares / right - parent);
  }
}
template <class Lanes>
COMMITTEE_INLINE void gains_of_in(SquaredError, RunningPlanes& running, std::int64_t first, std::int64_t end,
                                  int planes, const std::uint64_t* total, const Units& units, double parent) {
  const auto node = [&](const BitsOf<Lanes>& weight, const Lanes& squares) __attribute__((always_inline)) {
    const Lanes w = weights_of<Lanes>(weight, units.fixed);
    return select<Lanes>(w > 0.0, squares / w, w / w);  // weights may round to nothing where moments do not
  };
  for (std::int64_t i = first; i < end; i += kLanes) {
    Lanes left{}, right{};
    for (int k = 1; k < planes; ++k) {
      const auto b = load_as<BitsOf<Lanes>>(running.plane(k) + i);
      const BitsOf<Lanes> d = rest_of_word(total[k], b);
      const Lanes m = as_rounded_doubles<Lanes>(b) / units.moment_unit;
      const Lanes rest = as_rounded_doubles<Lanes>(d) / units.moment_unit;
      left += m * m;
      right += rest * rest;
    }
    const auto a = load_as<BitsOf<Lanes>>(running.plane(0) + i);
    store<Lanes>(running.gain.data() + i, node(a, left) + node(rest_of_word(total[0], a), right) - parent);
  }
}
template <class Lanes>
COMMITTEE_INLINE void gains_of_in(Error, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                                  const std::uint64_t* total, const Units& units, double parent) {
  for (std::int64_t i = first; i < end; i += kLanes) {
    Lanes left{}, left_most{}, right{}, right_most{};
    for (int k = 0; k < planes; ++k) {
      const auto a = load_as<BitsOf<Lanes>>(running.plane(k) + i);
      const Lanes w = weights_of<Lanes>(a, units.fixed),
                  rest = weights_of<Lanes>(rest_of_word(total[k], a), units.fixed);
      left += w;
      left_most = larger_of(w, left_most);
      right += rest;
      right_most = larger_of(rest, right_most);
    }
    const Lanes gain = left_most + right_most - parent;
    store<Lanes>(running.gain.data() + i, select<Lanes>((left > 0.0) & (right > 0.0), gain, Lanes{} / Lanes{}));
  }
}
template <class Lanes>
COMMITTEE_INLINE void gains_of_in(Confidence, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                                  const std::uint64_t* total, const Units& units, double parent) {
  for (std::int64_t i = first; i < end; i += kLanes) {
    Lanes left{}, left_roots{}, right{}, right_roots{};
    for (int k = 0; k < planes; k += 2) {
      const auto no = load_as<BitsOf<Lanes>>(running.plane(k) + i);
      const auto yes = load_as<BitsOf<Lanes>>(running.plane(k + 1) + i);
      const Lanes a = weights_of<Lanes>(no, units.fixed), b = weights_of<Lanes>(yes, units.fixed);
      const Lanes c = weights_of<Lanes>(rest_of_word(total[k], no), units.fixed),
                  d = weights_of<Lanes>(rest_of_word(total[k + 1], yes), units.fixed);
      left += a + b;
      left_roots += square_root(a * b);
      right += c + d;
      right_roots += square_root(c * d);
    }
    const Lanes gain = -2.0 * left_roots + -2.0 * right_roots - parent;
    store<Lanes>(running.gain.data() + i, select<Lanes>((left > 0.0) & (right > 0.0), gain, Lanes{} / Lanes{}));
  }
}
template <class Lanes>
COMMITTEE_INLINE void gains_of_in(Entropy, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                                  const std::uint64_t* total, const Units& units, double parent) {
  const auto xlogx = [](const Lanes& x) __attribute__((always_inline)) {
    return select<Lanes>(x > 0.0, x * log_positive<Lanes>(x), Lanes{});
  };
  for (std::int64_t i = first; i < end; i += kLanes) {
    Lanes left{}, left_logs{}, right{}, right_logs{};
    for (int k = 0; k < planes; ++k) {
      const auto a = load_as<BitsOf<Lanes>>(running.plane(k) + i);
      const Lanes w = weights_of<Lanes>(a, units.fixed),
                  rest = weights_of<Lanes>(rest_of_word(total[k], a), units.fixed);
      left += w;
      left_logs += xlogx(w);
      right += rest;
      right_logs += xlogx(rest);
    }
    const Lanes gain = left_logs - xlogx(left) + right_logs - xlogx(right) - parent;
    store<Lanes>(running.gain.data() + i, select<Lanes>((left > 0.0) & (right > 0.0), gain, Lanes{} / Lanes{}));
  }
}
COMMITTEE_ON_LANES(void, gains_of,
                   (Gini gini, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                    const std::uint64_t* total, const Units& units, double parent),
                   (gini, running, first, end, planes, total, units, parent))
COMMITTEE_ON_LANES(void, gains_of,
                   (SquaredError error, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                    const std::uint64_t* total, const Units& units, double parent),
                   (error, running, first, end, planes, total, units, parent))
COMMITTEE_ON_LANES(void, gains_of,
                   (Error error, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                    const std::uint64_t* total, const Units& units, double parent),
                   (error, running, first, end, planes, total, units, parent))
COMMITTEE_ON_LANES(void, gains_of,
                   (Confidence confidence, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                    const std::uint64_t* total, const Units& units, double parent),
                   (confidence, running, first, end, planes, total, units, parent))
COMMITTEE_ON_LANES(void, gains_of,
                   (Entropy entropy, RunningPlanes& running, std::int64_t first, std::int64_t end, int planes,
                    const std::uint64_t* total, const Units& units, double parent),
                   (entropy, running, first, end, planes, total, units, parent))

// Criteria with gains eight at a time. Those of entropy are not exact, as its logarithm is to 1e-14: they find
// candidates, which are then compared by the criterion itself.
template <class Criterion>
inline constexpr bool kExactLanes = std::is_same_v<Criterion, SquaredError> || std::is_same_v<Criterion, Gini> ||
                                    std::is_same_v<Criterion, Error> || std::is_same_v<Criterion, Confidence>;
template <class Criterion>
inline constexpr bool kHasLanes = kExactLanes<Criterion> || std::is_same_v<Criterion, Entropy>;

// Bound on the error of `gains_of` in a node of these weights: |x ln x| is at most that of the node, or 1/e.
template <class Criterion>
double gain_error(const double* w, int planes) {
  if constexpr (!kHasLanes<Criterion> || kExactLanes<Criterion>) {
    return 0.0;
  } else {
    double sum = 0.0;
    for (int k = 0; k < planes; ++k) sum += w[k];
    const double most = std::abs(Entropy::xlogx(sum));
    return 1e-13 * (planes + 2) * (sum > 0.36 ? std::max(most, 0.37) : most);
  }
}

// Running sums over n bins of each plane, `stride` apart, from the cell `first` on, or from nothing.
template <class Lanes>
COMMITTEE_INLINE void add_up_bins_in(const std::uint64_t* cells, std::int64_t stride, int planes, std::int64_t n,
                                     const std::uint64_t* first, RunningPlanes& running) {
  using LaneBits = BitsOf<Lanes>;
  for (int k = 0; k < planes; ++k, cells += stride) {
    std::uint64_t* const sums = running.plane(k);
    LaneBits before = LaneBits{} + signed_of(first ? first[k * stride] : 0);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const LaneBits v = running_sums(load_as<LaneBits>(cells + i));
      store(sums + i, sum_of_words(v, before));
      before = sum_of_words(before, last_of(v));
    }
    std::uint64_t sum = i > 0 ? sums[i - 1] : first ? first[k * stride] : 0;
    for (; i < n; ++i) sums[i] = sum += cells[i];
  }
}
COMMITTEE_ON_LANES(void, add_up_bins,
                   (const std::uint64_t* cells, std::int64_t stride, int planes, std::int64_t n,
                    const std::uint64_t* first, RunningPlanes& running),
                   (cells, stride, planes, n, first, running))

// The largest gain from `at` on, that of a side without weight not counted; negative infinity of none.
template <class Lanes>
COMMITTEE_INLINE double largest_gain_in(const double* gain, std::int64_t at, std::int64_t end) {
  const Lanes never = Lanes{} - std::numeric_limits<double>::infinity();
  Lanes most = never;
  for (std::int64_t i = at; i < end; i += kLanes)
    most = larger_of(select(first_lanes<BitsOf<Lanes>>(end - i), load<Lanes>(gain + i), never), most);
  return most_of(most);
}
COMMITTEE_ON_LANES(double, largest_gain, (const double* gain, std::int64_t at, std::int64_t end), (gain, at, end))

// The first place from `at` on where a gain is above the bar, or n.
template <class Lanes>
COMMITTEE_INLINE std::int64_t first_above_in(const double* gain, std::int64_t at, std::int64_t n, double bar) {
  const Lanes high = Lanes{} + bar;
  for (std::int64_t i = at; i < n; i += kLanes) {
    const BitsOf<Lanes> above = (load<Lanes>(gain + i) > high) & first_lanes<BitsOf<Lanes>>(n - i);
    if (any_lane(above)) return i + least_of(select_bits(above, places<BitsOf<Lanes>>(), BitsOf<Lanes>{} + kLanes));
  }
  return n;
}
COMMITTEE_ON_LANES(std::int64_t, first_above, (const double* gain, std::int64_t at, std::int64_t n, double bar),
                   (gain, at, n, bar))

}  // namespace committee
