// Rounds of discrete AdaBoost over voters whose votes are listed: each takes the voter, or its complement, of least
// weighted error,
//
//     D_i ~ w_i exp(-y_i F(x_i)),    e_j = sum_i D_i [h_j(x_i) != y_i] / sum_i D_i,    F += 1/2 ln((1 - e) / e) h_j.
//
// Eight rows at a time: the sums of all subsets of their weights are a table of 256 numbers, and which of them a voter
// gets wrong is a byte that finds its own. A round costs n N / 8 look-ups, whatever came before it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

inline constexpr double kTiedError = 1e-12;  // of voters whose errors differ by no more the first is taken
inline constexpr double kLeastEdge = 1e-12;  // a voter with an error this near to 0 or 1/2 is perfect, or at chance

// D_i = weights_i exp(least - margins_i), rows in whole lanes. Returned is their sum.
COMMITTEE_CLONES inline double emphasised(const double* weights, const double* margins, double least, double* D,
                                          std::int64_t n) {
  Lanes sum{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Lanes d = load(weights + i) * exp_negative(least - load(margins + i));
    store(D + i, d);
    sum += d;
  }
  return fold(sum);
}

// table[b] = the sum of the D_k whose bit is set in b.
COMMITTEE_CLONES inline void sums_of_subsets(const double* D, double* table) {
  table[0] = 0.0;
  for (std::int64_t k = 0, half = 1; k < kLanes; ++k, half *= 2)
    for (std::int64_t b = 0; b < half; ++b) table[half + b] = table[b] + D[k];
}

COMMITTEE_CLONES inline void move_margins(const std::int8_t* agrees, double step, double* margins, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) margins[i] += agrees[i] * step;
}

class ListedRounds {
 public:
  // votes: n_rows x n_voters, -1 or +1, as the signs of the rows are.
  ListedRounds(const std::int8_t* votes, const std::int8_t* signs, const double* weights, std::int64_t n_rows,
               std::int64_t n_voters)
      : n_(n_rows),
        n_voters_(n_voters),
        agrees_(n_rows * n_voters),
        wrong_(whole_lanes(n_rows) / kLanes * n_voters, 0),
        weights_(whole_lanes(n_rows), 0.0),
        margins_(weights_.size(), std::numeric_limits<double>::infinity()),  // exp(-) = 0 behind the last row
        emphasis_(weights_.size()),
        errors_(n_voters) {
    std::copy(weights, weights + n_, weights_.begin());
    std::fill(margins_.begin(), margins_.begin() + n_, 0.0);
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_voters_; ++j) {
        const bool wrong = votes[i * n_voters_ + j] != signs[i];
        agrees_[j * n_ + i] = wrong ? -1 : 1;
        wrong_[i / kLanes * n_voters_ + j] |= static_cast<std::uint8_t>(wrong << (i % kLanes));
      }
  }

  // One round, whose step is added to the weight of its voter in alpha; false where no voter beats chance, or the last
  // one made no error. Such a one is taken to err on half of a row out of n.
  bool next(double* alpha) {
    if (perfect_) return false;
    const double least = *std::min_element(margins_.begin(), margins_.begin() + n_);
    const double total = emphasised(weights_.data(), margins_.data(), least, emphasis_.data(), emphasis_.size());
    add_up_errors();
    std::int64_t best = -1;
    double error = (0.5 - kLeastEdge) * total;
    for (std::int64_t j = 0; j < n_voters_; ++j) {
      const double either = std::min(errors_[j], total - errors_[j]);
      if (either >= error - kTiedError * total) continue;
      best = j;
      error = either;
    }
    if (best < 0) return false;
    error /= total;
    perfect_ = error <= kLeastEdge;
    if (perfect_) error = 0.5 / static_cast<double>(n_);
    const double size = 0.5 * std::log((1.0 - error) / error);
    const double step = errors_[best] <= 0.5 * total ? size : -size;
    alpha[best] += step;
    move_margins(agrees_.data() + best * n_, step, margins_.data(), n_);
    return true;
  }

 private:
  void add_up_errors() {
    std::fill(errors_.begin(), errors_.end(), 0.0);
    double table[1 << kLanes];
    for (std::int64_t first = 0, group = 0; first < n_; first += kLanes, ++group) {
      const double* const D = emphasis_.data() + first;
      if (std::all_of(D, D + kLanes, [](double d) { return d == 0.0; })) continue;
      sums_of_subsets(D, table);
      const std::uint8_t* const wrong = wrong_.data() + group * n_voters_;
      for (std::int64_t j = 0; j < n_voters_; ++j) errors_[j] += table[wrong[j]];
    }
  }

  const std::int64_t n_, n_voters_;
  Vector<std::int8_t> agrees_;  // n_voters x n_rows: +1 where the vote is right
  Vector<std::uint8_t> wrong_;  // eight rows x n_voters: their bits where it is not
  Vector<double> weights_, margins_, emphasis_, errors_;
  bool perfect_ = false;
};

}  // namespace committee
