// Sums of rows of a matrix that are mostly zeros, with the bits of NumPy's sum of the whole row.
#pragma once

#include <cstdint>

namespace committee {

// The terms of a row: their columns, ascending, and their values.
struct SparseTerms {
  const std::uint16_t* column;
  const double* value;
  std::int64_t n;
};

// NumPy adds up to 128 numbers in eight partial sums, and halves longer ranges. Takes the terms of the columns
// first .. first + size - 1 from the front of `terms`.
inline double pairwise_sum(SparseTerms& terms, std::int64_t first, std::int64_t size) {
  const auto within = [&](std::int64_t end) { return terms.n > 0 && *terms.column < end; };
  const auto take = [&] {
    ++terms.column;
    --terms.n;
    return *terms.value++;
  };
  if (size > 128) {
    const std::int64_t half = size / 2 - size / 2 % 8;
    const double low = pairwise_sum(terms, first, half);
    return low + pairwise_sum(terms, first + half, size - half);
  }
  double sum = 0.0;
  if (size >= 8) {
    double part[8]{};
    while (within(first + size - size % 8)) {
      double& own = part[(*terms.column - first) % 8];
      own += take();
    }
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  }
  while (within(first + size)) sum += take();
  return sum;
}

// Of a whole row of `size` columns.
inline double row_sum(SparseTerms terms, std::int64_t size) {
  if (terms.n == 1) return terms.value[0];
  return pairwise_sum(terms, 0, size);
}

}  // namespace committee
