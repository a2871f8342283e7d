// The LASSO of a few voters that are much alike, as the stumps of one column are, while all others stay: coordinate
// steps alone need many rounds there, so the weights that are not zero are put where their signs say at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "linear/coordinate_descent.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

// Rows of whole lanes, filled up with zeros. `own` are the voters' correlations with the residual, which follow.
struct LassoGroup {
  std::int64_t size;
  const double* square;  // size rows: the voters' products
  double* own;
  double* alpha;
  double lambda;
};

// y -= the rows of a matrix, each times its number.
template <class V>
COMMITTEE_INLINE void subtract_rows(double* __restrict y, const double* __restrict rows, const double* __restrict by,
                                    std::int64_t n_rows, std::int64_t width) {
  for (std::int64_t m = 0; m < width; m += kLanes) {
    V sum = load<V>(y + m);
    for (std::int64_t k = 0; k < n_rows; ++k) sum -= load<V>(rows + k * width + m) * by[k];
    store(y + m, sum);
  }
}

// One step for each voter in turn; returns the sum of eta d^2 over the steps d.
template <class V>
COMMITTEE_INLINE double step_each_in(const LassoGroup& group) {
  const std::int64_t width = whole_lanes(group.size);
  const L1Penalty penalty{group.lambda};
  double* __restrict const own = group.own;
  double moved = 0.0;
  for (std::int64_t k = 0; k < group.size; ++k) {
    const double* __restrict const row = group.square + k * width;
    const double eta = row[k];
    if (!(eta > 0.0)) continue;
    const double best = penalty.best(own[k] + eta * group.alpha[k], eta), d = best - group.alpha[k];
    if (d == 0.0) continue;
    for (std::int64_t m = 0; m < width; m += kLanes) store(own + m, load<V>(own + m) - load<V>(row + m) * d);
    group.alpha[k] = best;
    moved += eta * d * d;
  }
  return moved;
}
COMMITTEE_ON_LANES(double, step_each, (const LassoGroup& group), (group))

// The weights that solve the normal equations of the voters with weights, as long as their signs are what they are:
// `inverse` is that of their products, zeros elsewhere. Returns false, with nothing changed, if a sign would change or
// a voter without a weight should have one. `room`: twice the width.
template <class V>
COMMITTEE_INLINE bool step_all_in(const LassoGroup& group, const double* __restrict inverse, double* __restrict room) {
  const std::int64_t size = group.size, width = whole_lanes(size);
  double* __restrict const off = room;
  double* __restrict const own = room + width;
  for (std::int64_t k = 0; k < size; ++k)
    off[k] = group.alpha[k] == 0.0 ? 0.0 : std::copysign(group.lambda, group.alpha[k]) - group.own[k];
  double step[64];
  std::fill(step, step + width, 0.0);
  subtract_rows<V>(step, inverse, off, size, width);
  std::copy(group.own, group.own + width, own);
  subtract_rows<V>(own, group.square, step, size, width);
  const double most = group.lambda * (1.0 + 1e-9);
  bool holds = true;
  for (std::int64_t k = 0; k < size; ++k) {
    const double alpha = group.alpha[k];
    holds &= alpha == 0.0 ? std::abs(own[k]) <= most : (alpha + step[k]) * alpha > 0.0;
  }
  if (!holds) return false;
  for (std::int64_t k = 0; k < size; ++k) group.alpha[k] += step[k];
  std::copy(own, own + width, group.own);
  return true;
}
COMMITTEE_ON_LANES(bool, step_all, (const LassoGroup& group, const double* inverse, double* room),
                   (group, inverse, room))

// The inverse of the products of some voters of a group, the others' rows and columns zero; false if there is none.
inline bool invert_some(const double* square, std::int64_t size, std::uint64_t some, double* inverse) {
  constexpr double kSingular = 1e-10;  // of a voter's product with itself: others determine it
  const std::int64_t width = whole_lanes(size);
  std::fill(inverse, inverse + size * width, 0.0);
  for (std::int64_t k = 0; k < size; ++k)
    for (std::int64_t m = 0; m < size; ++m)
      if (some >> k & some >> m & 1) inverse[k * width + m] = square[k * width + m];
  for (std::int64_t k = 0; k < size; ++k) {  // Gauss and Jordan, in place
    if (!(some >> k & 1)) continue;
    double* const row = inverse + k * width;
    const double pivot = row[k];
    if (!(pivot > kSingular * square[k * width + k])) return false;
    row[k] = 1.0;
    for (std::int64_t m = 0; m < width; m += kLanes) store(row + m, load(row + m) / pivot);
    for (std::int64_t i = 0; i < size; ++i) {
      if (i == k || !(some >> i & 1)) continue;
      double* const other = inverse + i * width;
      const double by = other[k];
      other[k] = 0.0;
      for (std::int64_t m = 0; m < width; m += kLanes) store(other + m, load(other + m) - load(row + m) * by);
    }
  }
  return true;
}

// What is known of a group between its turns.
class GroupSolver {
 public:
  static constexpr std::int64_t kMostSolved = 64;  // voters of a group whose equations are solved

  GroupSolver(const double* square, std::int64_t size) : square_(square), size_(size) {
    if (size <= kMostSolved) inverse_.resize(size * whole_lanes(size));
  }

  // Settles the weights among themselves, to some 1e-4 of lambda in their correlations. `room`: twice the width.
  void settle(double* own, double* alpha, double lambda, double* room) {
    constexpr int kCycles = 64;
    const LassoGroup group{size_, square_, own, alpha, lambda};
    const double little = 1e-8 * lambda * lambda;
    std::uint64_t before = 0;
    for (int cycle = 0; cycle < kCycles; ++cycle) {
      if (size_ <= kMostSolved) {
        const std::uint64_t weighed = voters_with_weight(alpha);
        // the equations of other voters are worth their inverse once these have stayed for a round
        if (weighed != 0 && (weighed == solved_ || (weighed == before && solve(weighed))) &&
            step_all(group, inverse_.data(), room))
          return;
        before = weighed;
      }
      if (step_each(group) <= little) return;
    }
  }

 private:
  std::uint64_t voters_with_weight(const double* alpha) const {
    std::uint64_t with = 0;
    for (std::int64_t k = 0; k < size_; ++k) with |= static_cast<std::uint64_t>(alpha[k] != 0.0) << k;
    return with;
  }
  bool solve(std::uint64_t voters) {
    if (voters == singular_) return false;
    const bool solved = invert_some(square_, size_, voters, inverse_.data());
    solved_ = solved ? voters : 0;
    if (!solved) singular_ = voters;
    return solved;
  }

  const double* square_;
  std::int64_t size_;
  Vector<double> inverse_;
  std::uint64_t solved_ = 0, singular_ = 0;  // whose inverse it is, and who were last found to have none
};

}  // namespace committee
