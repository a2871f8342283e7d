// Lines of leaves as they come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "linear/leaf_lines.hpp"
#include "linear/line_fit.hpp"

namespace committee {

// Lines, checked against the numbers of nodes and columns.
inline Lines checked_lines(std::int64_t n_nodes, std::int64_t n_features, const In1<std::int64_t>& start,
                           const In1<std::int32_t>& column, const In2<double>& slope, const In2<double>& centre,
                           const In1<double>& low, const In1<double>& high) {
  require(length(start) == n_nodes + 1 && start(0) == 0 && start(n_nodes) == length(column),
          "start must run from 0 to the number of lines, with one more number than there are nodes");
  for (std::int64_t i = 0; i < n_nodes; ++i) require(start(i) <= start(i + 1), "start falls");
  for (std::int64_t m = 0; m < length(column); ++m)
    require(column(m) >= 0 && column(m) < n_features, "column holds a number outside the table");
  const std::int64_t M = length(column), D = extent(slope, 1);
  require(D >= 1 && extent(slope, 0) == M && extent(centre, 0) == M && extent(centre, 1) == D,
          "slope and centre need one row per line, and the same outputs");
  require(length(low) == M && length(high) == M, "low and high need one number per line");
  return {start.data(), column.data(), slope.data(), centre.data(), low.data(), high.data(), D};
}

inline nb::tuple arrays_of(LeafLines&& found, std::int64_t D) {
  const std::int64_t M = found.columns.column.size();
  return nb::make_tuple(array_of(std::move(found.columns.start)), array_of(std::move(found.columns.column)),
                        array_of(std::move(found.slope), {M, D}), array_of(std::move(found.centre), {M, D}),
                        array_of(std::move(found.low)), array_of(std::move(found.high)));
}

}  // namespace committee
