// Training rows by leaf, the outputs that are boosted in a leaf, and the rows that each of them is boosted on.
//
// Equation: class-samples (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "linear/leaf_columns.hpp"
#include "threads/vector.hpp"

namespace committee {

// The rows that boosting sees, leaf by leaf: those of leaf l are rows[start[l]..start[l + 1]). One output means two
// classes, sign + for label 1; otherwise output k is "class k or not".
struct RowsByLeaf {
  const double* D;  // n x n_features
  std::int64_t n_features;
  const std::int32_t* rows;
  const std::int64_t* start;
  std::int64_t n_leaves;
  const std::uint16_t* labels;  // n
  const double* weights;        // n
  std::int64_t n_outputs;
  std::int64_t most_classes = 0;  // leaves of more classes boost each output on a sample of the rows; 0: no leaf does

  std::int64_t n_rows() const { return start[n_leaves]; }
  bool of_one_class(std::int64_t begin, std::int64_t end) const {
    return std::all_of(rows + begin, rows + end, [&](std::int32_t row) { return labels[row] == labels[rows[begin]]; });
  }
  Leaf leaf(std::int64_t l) const { return Leaf(D, n_features, rows + start[l], start[l + 1] - start[l]); }
  double sign(std::int64_t row, std::int64_t output) const {
    return labels[row] == (n_outputs == 1 ? 1 : output) ? 1.0 : -1.0;
  }
};

// Outputs of the classes that n rows have, and of the first absent class, whose score all absent classes share.
struct DistinctOutputs {
  DistinctOutputs(const RowsByLeaf& data, const std::int32_t* rows, std::int64_t n) {
    Vector<std::uint8_t> present(data.n_outputs, data.n_outputs == 1);
    for (std::int64_t i = 0; data.n_outputs > 1 && i < n; ++i) present[data.labels[rows[i]]] = 1;
    for (std::int64_t k = 0; k < data.n_outputs; ++k) {
      if (!present[k] && first_absent >= 0) continue;
      if (!present[k]) first_absent = k;
      outputs.push_back(k);
    }
    sampled = data.most_classes > 0 && outputs.size() - (first_absent >= 0) > data.most_classes;
  }

  Vector<std::int64_t> outputs;
  std::int64_t first_absent = -1;
  bool sampled;  // more classes than are boosted on all rows
};

// The rows of a class, and a systematic sample of the others: of n rows of C classes about n most_classes / C, drawn in
// proportion to their weight and in the order of their classes, so that each of these has its share.
class ClassSamples {
 public:
  ClassSamples(const RowsByLeaf& data, const std::int32_t* listed, std::int64_t n)
      : data_(data), sorted_(listed, listed + n), until_(n) {
    std::ranges::stable_sort(sorted_, {}, [&](std::int32_t row) { return data.labels[row]; });
    double sum = 0.0;
    std::int64_t n_classes = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      until_[i] = sum += data.weights[sorted_[i]];
      n_classes += i == 0 || data.labels[sorted_[i]] != data.labels[sorted_[i - 1]];
    }
    n_others_ = (n * data.most_classes + n_classes - 1) / n_classes;
  }

  // Draws the rows of output k: `n_own` of its class come first.
  void draw(std::int64_t k) {
    const auto range = std::ranges::equal_range(sorted_, k, {}, [&](std::int32_t row) { return data_.labels[row]; });
    const std::int64_t first = range.begin() - sorted_.begin(), end = range.end() - sorted_.begin();
    rows.assign(range.begin(), range.end());
    weights.clear();
    for (const std::int32_t row : rows) weights.push_back(data_.weights[row]);
    n_own = rows.size();
    const double before = first > 0 ? until_[first - 1] : 0.0, own = end > 0 ? until_[end - 1] - before : 0.0;
    const double spacing = (until_.back() - own) / static_cast<double>(n_others_);
    const double turns = static_cast<double>(k + 1) * kGolden, offset = turns - std::floor(turns);
    double n_drawn = 0.0;
    const auto take = [&](std::int64_t begin, std::int64_t stop, double shift) {
      for (std::int64_t i = begin; i < stop; ++i) {
        const double before_row = n_drawn;
        while ((offset + n_drawn) * spacing < until_[i] - shift) n_drawn += 1.0;
        if (n_drawn == before_row) continue;
        rows.push_back(sorted_[i]);
        weights.push_back((n_drawn - before_row) * spacing);
      }
    };
    take(0, first, 0.0);
    take(end, sorted_.size(), own);
  }

  Vector<std::int32_t> rows;
  Vector<double> weights;
  std::int64_t n_own = 0;

 private:
  // Fraction of the first distance by which the sample of the next class begins later, so that samples differ.
  static constexpr double kGolden = 0.6180339887498949;

  const RowsByLeaf& data_;
  Vector<std::int32_t> sorted_;  // by class
  Vector<double> until_;         // sums of their weights
  std::int64_t n_others_;
};

// Scores intercept + slope . x of n rows (whole lanes) given as columns; columns of slope 0 are skipped.
template <class Lanes>
COMMITTEE_INLINE void scores_of_columns_in(const double* columns, std::int64_t n, std::int64_t p, double intercept,
                                           const double* slope, double* scores) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(scores + i, Lanes{} + intercept);
  for (std::int64_t j = 0; j < p; ++j) {
    if (slope[j] == 0.0) continue;
    const double* const x = columns + j * n;
    for (std::int64_t i = 0; i < n; i += kLanes)
      store(scores + i, load<Lanes>(scores + i) + slope[j] * load<Lanes>(x + i));
  }
}
COMMITTEE_ON_LANES(void, scores_of_columns,
                   (const double* columns, std::int64_t n, std::int64_t p, double intercept, const double* slope,
                    double* scores),
                   (columns, n, p, intercept, slope, scores))

// Linear scores of listed rows, from their columns in the user's units.
class ScoredRows {
 public:
  ScoredRows(const double* D, std::int64_t p, const std::int32_t* rows, std::int64_t n)
      : p_(p), stride_(whole_lanes(n)), columns_(p * stride_), scores_(stride_) {
    LaneVector<double> sums(p * kLanes, 0.0);
    if (n > 0) columns_of_rows(D, p, rows, n, stride_, 0.0, columns_.data(), sums.data());
  }
  std::int64_t stride() const { return stride_; }
  const LaneVector<double>& operator()(double intercept, const double* slope) {
    scores_of_columns(columns_.data(), stride_, p_, intercept, slope, scores_.data());
    return scores_;
  }

 private:
  std::int64_t p_, stride_;
  LaneVector<double> columns_, scores_;
};

}  // namespace committee
