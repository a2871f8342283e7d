#include "../row_digests.hpp"

#include "arrays.hpp"

namespace committee {
namespace {

nb::object py_row_digests(In2<double> X, int n_threads) {
  Vector<std::uint64_t> digest;
  unlocked(n_threads, [&](ThreadTeam& team) {
    digest.resize(extent(X, 0));
    row_digests(X.data(), extent(X, 0), extent(X, 1), digest.data(), team);
  });
  return array_of(std::move(digest));
}

nb::object py_stored_digests(In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value, int n_threads) {
  const std::int64_t n = length(start) - 1;
  require(n >= 0 && start(0) == 0 && start(n) == length(value), "start must go from 0 to the number of cells");
  require(length(column) == length(value), "column needs one number per cell");
  for (std::int64_t i = 0; i < n; ++i) require(start(i) <= start(i + 1), "start must not decrease");
  Vector<std::uint64_t> digest;
  unlocked(n_threads, [&](ThreadTeam& team) {
    digest.resize(n);
    row_digests(StoredCells{start.data(), column.data(), value.data()}, n, digest.data(), team);
  });
  return array_of(std::move(digest));
}

}  // namespace

void register_row_digests(nb::module_& m) {
  m.def("row_digests", &py_row_digests, "X"_a.noconvert(), "n_threads"_a);
  m.def("stored_digests", &py_stored_digests, "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "n_threads"_a);
}

}  // namespace committee
