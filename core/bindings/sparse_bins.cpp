#include "histogram/sparse_bins.hpp"

#include "bindings/arrays.hpp"

namespace committee {
namespace {

// Stored cells row by row: all are checked, as every loop relies on them.
SparseRows sparse_rows(const In1<std::int64_t>& start, const In1<std::int32_t>& column, const In1<double>& value,
                       std::int64_t p) {
  require(length(start) >= 1 && start(0) == 0, "start must begin with 0");
  const std::int64_t n = length(start) - 1, n_stored = length(column);
  require(length(value) == n_stored && start(n) == n_stored, "start must end with the number of stored cells");
  require(n < std::numeric_limits<std::int32_t>::max(), "too many rows");
  require(p >= 1 && p < (std::int64_t{1} << 29), "the number of columns is out of range");
  for (std::int64_t i = 0; i < n; ++i)
    require(0 <= start(i) && start(i) <= start(i + 1) && start(i + 1) <= n_stored, "start must not fall");
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = start(i); e < start(i + 1); ++e)
      require(column(e) >= 0 && column(e) < p && (e == start(i) || column(e - 1) < column(e)),
              "columns must rise within a row and stay within the table");
  return {start.data(), column.data(), value.data(), n, p};
}

nb::tuple py_sparse_bin_edges(In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value, std::int64_t p,
                              std::optional<In1<double>> weights, int max_bins, std::int64_t max_sample,
                              int n_threads) {
  const SparseRows rows = sparse_rows(start, column, value, p);
  if (weights) require_weights(*weights);
  require(!weights || length(*weights) == rows.n, "weights needs one number per row");
  require(max_bins >= 2 && max_bins <= 65535, "max_bins must lie in [2, 65535]");
  require(max_sample >= 1, "max_sample must be positive");
  Vector<double> edges;
  Vector<std::int64_t> offset{0};
  unlocked(n_threads, [&](ThreadTeam& team) {
    const auto learn = weights ? sparse_bin_edges<Weighed> : sparse_bin_edges<std::uint64_t>;
    for (const auto& of_column : learn(rows, data_or_null(weights), max_bins, max_sample, team)) {
      edges.insert(edges.end(), of_column.begin(), of_column.end());
      offset.push_back(edges.size());
    }
  });
  return nb::make_tuple(array_of(std::move(edges)), array_of(std::move(offset)));
}

void make_codes(SparseCodes* self, In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value,
                In1<double> edges, In1<std::int64_t> offset, int n_threads) {
  require(length(offset) >= 1, "offset must span the edges");
  const std::int64_t p = length(offset) - 1;
  const SparseRows rows = sparse_rows(start, column, value, p);
  require(rows.n >= 1, "the table needs at least one row");
  require(offset(0) == 0 && offset(p) == length(edges), "offset must span the edges");
  for (std::int64_t j = 0; j < p; ++j) {
    require(offset(j) <= offset(j + 1) && offset(j + 1) <= length(edges), "offset must not fall");
    require(offset(j + 1) - offset(j) < 65535, "a column has more bins than its codes can hold");
    for (std::int64_t e = offset(j); e < offset(j + 1); ++e)
      require(std::isfinite(edges(e)) && (e == offset(j) || edges(e - 1) < edges(e)),
              "edges must be finite and rise within a column");
  }
  unlocked(n_threads, [&](ThreadTeam& team) { new (self) SparseCodes(rows, edges.data(), offset.data(), team); });
}

nb::object column_of(const SparseCodes& codes, std::int64_t feature) {
  require(feature >= 0 && feature < codes.n_features(), "feature is no column of the table");
  const SparseTable table = codes.table();
  Vector<std::uint16_t> column(table.n_rows);
  for (std::int64_t i = 0; i < table.n_rows; ++i) column[i] = static_cast<std::uint16_t>(table.row(i)[feature]);
  return array_of(std::move(column));
}

// Some rows made dense, in the columns that have a place.
nb::object py_dense_rows(In1<std::int64_t> start, In1<std::int32_t> column, In1<double> value, In1<std::int32_t> place,
                         std::int64_t n_places, std::int64_t first, std::int64_t last, int n_threads) {
  const std::int64_t n = length(start) - 1, n_stored = length(column), p = length(place);
  require(0 <= first && first <= last && last <= n, "first and last must be rows of the table");
  require(n_places >= 0 && length(value) == n_stored, "column and value must be of one length");
  for (std::int64_t j = 0; j < p; ++j) require(place(j) >= -1 && place(j) < n_places, "a place is out of range");
  Vector<double> rows((last - first) * n_places, 0.0);
  unlocked(n_threads, [&](ThreadTeam& team) {
    team.blocks(last - first, 4 * (last - first) * (n_stored / std::max<std::int64_t>(n, 1) + 1),
                [&, cells = rows.data()](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t from = start.data()[first + i], to = start.data()[first + i + 1];
                    require(0 <= from && from <= to && to <= n_stored, "start must not fall");
                    for (std::int64_t e = from; e < to; ++e) {
                      const std::int32_t j = column.data()[e];
                      require(j >= 0 && j < p, "a column is out of range");
                      if (place.data()[j] >= 0) cells[i * n_places + place.data()[j]] = value.data()[e];
                    }
                  }
                });
  });
  return array_of(std::move(rows), {last - first, n_places});
}

}  // namespace

void register_sparse_bins(nb::module_& m) {
  m.def("sparse_bin_edges", &py_sparse_bin_edges, "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "n_columns"_a, "weights"_a.noconvert().none(), "max_bins"_a, "max_sample"_a, "n_threads"_a);
  nb::class_<SparseCodes>(m, "SparseCodes")
      .def("__init__", &make_codes, "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
           "edges"_a.noconvert(), "offset"_a.noconvert(), "n_threads"_a)
      .def("__len__", [](const SparseCodes& codes) { return size_of(codes.n_rows()); })
      .def_prop_ro("shape", [](const SparseCodes& codes) { return nb::make_tuple(codes.n_rows(), codes.n_features()); })
      .def_prop_ro("nbytes", &SparseCodes::n_bytes)
      .def("column", &column_of, "feature"_a);
  m.def("dense_rows", &py_dense_rows, "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(),
        "place"_a.noconvert(), "n_places"_a, "first"_a, "last"_a, "n_threads"_a);
}

}  // namespace committee
