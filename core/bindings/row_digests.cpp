#include "bins/row_digests.hpp"

#include "bindings/arrays.hpp"

namespace committee {
namespace {

using Numbers = In1<std::uint64_t>;

DenseCells dense_cells(const In2<double>& X) { return {X.data(), extent(X, 0), extent(X, 1)}; }

StoredCells stored_cells(const In1<std::int64_t>& start, const In1<std::int32_t>& column, const In1<double>& value,
                         std::int64_t p) {
  const std::int64_t n = length(start) - 1;
  require(n >= 0 && start(0) == 0 && start(n) == length(value), "start must go from 0 to the number of cells");
  require(length(column) == length(value), "column needs one number per cell");
  for (std::int64_t i = 0; i < n; ++i) require(start(i) <= start(i + 1), "start must not decrease");
  for (std::int64_t c = 0; c < length(column); ++c)
    require(column(c) >= 0 && column(c) < p, "column must lie within the columns of the table");
  return {start.data(), column.data(), value.data(), n};
}

template <class Cells>
nb::object of_rows(const Cells& cells, const Numbers& column_number, int n_threads) {
  Vector<std::uint64_t> digest;
  unlocked(n_threads, [&](ThreadTeam& team) {
    digest.resize(cells.n);
    row_digests(cells, column_number.data(), length(column_number), digest.data(), team);
  });
  return array_of(std::move(digest));
}

template <class Cells>
nb::object of_columns(const Cells& cells, const Numbers& row_number, std::int64_t p) {
  require(length(row_number) == cells.n, "row_number needs one number per row");
  Vector<std::uint64_t> digest;
  unlocked(1, [&](ThreadTeam& team) {
    digest.resize(p);
    column_digests(cells, row_number.data(), digest.data(), team);
  });
  return array_of(std::move(digest));
}

nb::object py_row_digests(In2<double> X, Numbers column_number, int n_threads) {
  require(length(column_number) == extent(X, 1), "column_number needs one number per column");
  return of_rows(dense_cells(X), column_number, n_threads);
}

nb::object py_column_digests(In2<double> X, Numbers row_number) {
  return of_columns(dense_cells(X), row_number, extent(X, 1));
}

nb::object py_stored_row_digests(In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value,
                                 Numbers column_number, int n_threads) {
  return of_rows(stored_cells(start, column, value, length(column_number)), column_number, n_threads);
}

nb::object py_stored_column_digests(In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value,
                                    Numbers row_number, std::int64_t n_columns) {
  return of_columns(stored_cells(start, column, value, n_columns), row_number, n_columns);
}

}  // namespace

void register_row_digests(nb::module_& m) {
  m.def("row_digests", &py_row_digests, "X"_a.noconvert(), "column_number"_a.noconvert(), "n_threads"_a);
  m.def("column_digests", &py_column_digests, "X"_a.noconvert(), "row_number"_a.noconvert());
  m.def("stored_row_digests", &py_stored_row_digests, "start"_a.noconvert(), "column"_a.noconvert(),
        "value"_a.noconvert(), "column_number"_a.noconvert(), "n_threads"_a);
  m.def("stored_column_digests", &py_stored_column_digests, "start"_a.noconvert(), "column"_a.noconvert(),
        "value"_a.noconvert(), "row_number"_a.noconvert(), "n_columns"_a);
}

}  // namespace committee
