// Stumps that answer at random: + with probability q(x) = Phi((x - c) / s), or with that of the other side. With s = 0
// a stump is hard, q = 1 above c; a set of categories has q = 1 on it. A missing value has a probability of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "linear/newton.hpp"
#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// Phi(-|z|), never above 1/2: the formula gives 1/2 + 3e-15 at 0, on every processor.
COMMITTEE_INLINE Lanes smaller_side(const Lanes& z) {
  const Lanes half = Lanes{} + 0.5, p = Probit::smaller(z);
  return p < half ? p : half;
}
// Phi(z), of full relative accuracy in both tails and never on the wrong side of 1/2.
COMMITTEE_INLINE Lanes normal_cdf(const Lanes& z) {
  const Lanes p = smaller_side(z);
  return z > Lanes{} ? 1.0 - p : p;
}

struct SoftStumpArrays {  // as they come from Python, unchecked
  std::int64_t n_features, n_stumps, n_words;
  const std::int32_t* feature;
  const double* threshold;
  const double* softness;
  const std::uint8_t* ascending;
  const double* missing;
  const std::int64_t* category_offset;
  const std::uint32_t* category_bits;
};

struct SoftStump {
  double threshold, softness, missing;
  double sign;  // +1 where + is above the threshold, -1 where it is below
  std::int32_t feature;
  std::int32_t words;  // of a set of categories, 32 each; 0: the column has numbers
  std::int64_t first_word;
};

class SoftStumps {
 public:
  explicit SoftStumps(const SoftStumpArrays& a) : n_features_(a.n_features) {
    check(a);
    words_.assign(a.category_bits, a.category_bits + a.n_words);
    for (std::int64_t t = 0; t < a.n_stumps; ++t)
      stumps_.push_back({a.threshold[t], a.softness[t], a.missing[t], a.ascending[t] ? 1.0 : -1.0, a.feature[t],
                         static_cast<std::int32_t>(a.category_offset[t + 1] - a.category_offset[t]),
                         a.category_offset[t]});
  }

  std::int64_t n_features() const { return n_features_; }
  std::int64_t size() const { return stumps_.size(); }
  const SoftStump& operator[](std::int64_t t) const { return stumps_[t]; }

  // q of a stump on categories. Whatever is no category of the set, known or not, is outside it.
  double of_category(const SoftStump& stump, double x) const {
    if (std::isnan(x)) return stump.missing;
    if (!(x >= 0.0 && x < 32.0 * stump.words && x == std::floor(x))) return 0.0;
    const auto category = static_cast<std::uint32_t>(x);
    return static_cast<double>((words_[stump.first_word + category / 32] >> category % 32) & 1u);
  }

  // q of one stump on eight rows.
  COMMITTEE_INLINE Lanes answers(const SoftStump& stump, const double* const* row) const {
    Lanes x, q;
    if (stump.words > 0) {
      for (int r = 0; r < kLanes; ++r) q[r] = of_category(stump, read_once(row[r] + stump.feature));
      return q;
    }
    for (int r = 0; r < kLanes; ++r) x[r] = row[r][stump.feature];
    const Lanes c = Lanes{} + stump.threshold, missing = Lanes{} + stump.missing;
    if (stump.softness > 0.0) {
      q = normal_cdf(x == c ? Lanes{} : stump.sign * (x - c) / stump.softness);
    } else {
      const Lanes above = Lanes{} + (stump.sign > 0.0 ? 1.0 : 0.0);
      q = x > c ? above : 1.0 - above;
    }
    return x == x ? q : missing;
  }

  // q of eight stumps, each on a row of its own; hard ones are soft ones whose tie goes below.
  COMMITTEE_INLINE Lanes answers(const SoftStump* const* stump, const double* const* row) const {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    Lanes z, missing;
    LaneBits known;
    for (int r = 0; r < kLanes; ++r) {
      const SoftStump& s = *stump[r];
      const double x = read_once(row[r] + s.feature), tie = s.softness > 0.0 ? 0.0 : -kFar;
      z[r] = s.sign * (x == s.threshold ? tie : (x - s.threshold) / s.softness);
      missing[r] = s.words > 0 ? of_category(s, x) : s.missing;
      known[r] = s.words > 0 || std::isnan(x) ? 0 : -1;
    }
    return known ? normal_cdf(z) : missing;
  }

 private:
  static void check(const SoftStumpArrays& a) {
    const auto fail = [](const std::string& what, std::int64_t t) {
      throw std::invalid_argument("stumps: " + what + " at stump " + std::to_string(t));
    };
    if (a.n_features <= 0 || a.n_features >= (std::int64_t{1} << 29))
      throw std::invalid_argument("stumps: the number of features is out of range");
    if (a.category_offset[0] != 0 || a.category_offset[a.n_stumps] != a.n_words)
      throw std::invalid_argument("stumps: category_offset must run from 0 to the number of category words");
    for (std::int64_t t = 0; t < a.n_stumps; ++t) {
      const std::int64_t begin = a.category_offset[t], end = a.category_offset[t + 1];
      if (begin > end || end > a.n_words) fail("category_offset falls", t);
      if (end - begin > std::numeric_limits<std::int32_t>::max() / 32) fail("there are too many categories", t);
      if (a.feature[t] < 0 || a.feature[t] >= a.n_features) fail("feature out of range", t);
      if (std::isnan(a.threshold[t])) fail("threshold is NaN", t);
      if (!(a.softness[t] >= 0.0 && a.softness[t] <= std::numeric_limits<double>::max()))
        fail("softness must be finite and not negative", t);
      if (!(a.missing[t] >= 0.0 && a.missing[t] <= 1.0)) fail("missing must lie in [0, 1]", t);
    }
  }

  std::int64_t n_features_;
  Vector<SoftStump> stumps_;
  Vector<std::uint32_t> words_;
};

// q[i * T + t], of the rows begin..end.
COMMITTEE_CLONES inline void stump_block(const SoftStumps& stumps, const double* X, std::int64_t begin,
                                         std::int64_t end, double* q) {
  constexpr std::int64_t kAhead = 4 * kLanes;
  const std::int64_t T = stumps.size();
  const double* row[kLanes];
  for (std::int64_t i = begin; i < end; i += kLanes) {
    rows_from(X, stumps.n_features(), i, end, row);
    const std::int64_t n = std::min(kLanes, end - i);
    if (T == 1 && end - i >= 2 * kAhead)  // of each row one value, far from the next
      for (std::int64_t r = 0; r < kLanes; ++r)
        __builtin_prefetch(row[r] + kAhead * stumps.n_features() + stumps[0].feature);
    for (std::int64_t t = 0; t < T; ++t) {
      const Lanes of_rows = stumps.answers(stumps[t], row);
      if (T == 1 && n == kLanes)
        store(q + i, of_rows);
      else
        for (std::int64_t r = 0; r < n; ++r) q[(i + r) * T + t] = of_rows[r];
    }
  }
}

inline void stump_probabilities(const SoftStumps& stumps, const double* X, std::int64_t n, double* q,
                                ThreadTeam& team) {
  constexpr std::int64_t kBlock = 1024;
  team.blocks_of(kBlock, n, 8 * n * stumps.size(),
                 [&](std::int64_t begin, std::int64_t end) { stump_block(stumps, X, begin, end, q); });
}

}  // namespace committee
