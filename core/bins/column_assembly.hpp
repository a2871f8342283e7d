// A matrix of doubles from the columns of a frame, each of doubles or of floats.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>

#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

// Every stride-th of some numbers.
template <class Number>
struct StridedColumn {
  const Number* first;
  std::int64_t stride;
};
using AnyColumn = std::variant<StridedColumn<double>, StridedColumn<float>>;

// Writes n numbers to every p-th place; returns whether one is infinite.
template <class Number>
bool put_column(const StridedColumn<Number>& column, std::int64_t n, std::int64_t p, double* to) {
  bool infinite = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const Number x = column.first[i * column.stride];
    infinite |= std::abs(x) == std::numeric_limits<Number>::infinity();
    to[i * p] = x;
  }
  return infinite;
}

// Fills the columns first, first + 1, ... of a matrix (n x p, row-major); returns whether a cell of theirs is infinite.
inline bool put_together(const Vector<AnyColumn>& columns, double* matrix, std::int64_t n, std::int64_t p,
                         std::int64_t first, ThreadTeam& team) {
  constexpr std::int64_t kRows = 128, kColumns = 32;  // what is written stays in cache
  std::atomic<bool> any = false;
  team.blocks_of(kRows, n, n * columns.size(), [&](std::int64_t begin, std::int64_t end) {
    bool infinite = false;
    for (std::int64_t group = 0; group < columns.size(); group += kColumns)
      for (std::int64_t j = group; j < std::min(columns.size(), group + kColumns); ++j)
        std::visit(
            [&](auto column) {
              column.first += begin * column.stride;
              infinite |= put_column(column, end - begin, p, matrix + begin * p + first + j);
            },
            columns[j]);
    if (infinite) any = true;
  });
  return any;
}

}  // namespace committee
