#include "bins/bins.hpp"

#include "bindings/arrays.hpp"
#include "bins/distinct_values.hpp"
#include "bins/sampled_rows.hpp"

namespace committee {
namespace {

nb::tuple py_bin_edges(In2<double> X, std::optional<In1<double>> weights, In1<std::int32_t> n_categories, int max_bins,
                       std::int64_t max_sample, int n_threads) {
  require(length(n_categories) == extent(X, 1), "n_categories needs one number per column");
  for (std::int64_t j = 0; j < length(n_categories); ++j)
    require(n_categories(j) >= 0, "n_categories must not be negative");
  if (weights) require_weights(*weights);
  require(!weights || length(*weights) == extent(X, 0), "weights needs one number per row");
  require(max_bins >= 2 && max_bins <= 65535, "max_bins must lie in [2, 65535]");
  require(max_sample >= 1, "max_sample must be positive");
  Vector<double> edges;
  Vector<std::int64_t> offset{0};
  unlocked(n_threads, [&](ThreadTeam& team) {
    const auto learn = weights ? bin_edges<Weighed> : bin_edges<std::uint64_t>;
    const RawTable table{X.data(), extent(X, 0), extent(X, 1), n_categories.data()};
    for (const auto& column : learn(table, data_or_null(weights), max_bins, max_sample, team)) {
      edges.insert(edges.end(), column.begin(), column.end());
      offset.push_back(edges.size());
    }
  });
  return nb::make_tuple(array_of(std::move(edges)), array_of(std::move(offset)));
}

nb::object py_bin_codes(In2<double> X, In1<double> edges, In1<std::int64_t> offset, In1<std::int32_t> n_categories,
                        bool wide, int n_threads) {
  const std::int64_t n = extent(X, 0), p = extent(X, 1);
  require(length(n_categories) == p && length(offset) == p + 1, "offset and n_categories must fit the columns");
  require(offset(0) == 0 && offset(p) == length(edges), "offset must span the edges");
  for (std::int64_t j = 0; j < p; ++j) {
    require(offset(j) <= offset(j + 1) && offset(j + 1) <= length(edges), "offset must not fall");
    require(offset(j + 1) - offset(j) + 1 <= (wide ? 65535 : 255) && n_categories(j) <= (wide ? 65535 : 255),
            "a column has more bins than its codes can hold");
    require(n_categories(j) >= 0, "n_categories must not be negative");
    for (std::int64_t e = offset(j); e < offset(j + 1); ++e)
      require(std::isfinite(edges(e)) && (e == offset(j) || edges(e - 1) < edges(e)),
              "edges must be finite and rise within a column");
  }
  const auto make = [&]<class Code>(Code) {
    Vector<Code> codes(n * p);
    unlocked(n_threads, [&](ThreadTeam& team) {
      bin_codes({X.data(), n, p, n_categories.data()}, edges.data(), offset.data(), codes.data(), team);
    });
    return array_of(std::move(codes), {n, p});
  };
  return wide ? make(std::uint16_t{}) : make(std::uint8_t{});
}

nb::object py_sample_levels(std::int64_t first, std::int64_t n) {
  require(first >= 0 && n >= 0, "rows are numbered from 0");
  Vector<std::uint8_t> level(n);
  {
    nb::gil_scoped_release release;
    for (std::int64_t i = 0; i < n; ++i) level[i] = static_cast<std::uint8_t>(sample_level(first + i));
  }
  return array_of(std::move(level));
}

nb::object py_distinct_values(In1<double> known, In1<double> column, std::int64_t most) {
  require(most >= 0 && most <= 65535, "most must lie in [0, 65535]");
  std::optional<Vector<double>> found;
  {
    nb::gil_scoped_release release;
    found = distinct_values(known.data(), length(known), column.data(), length(column), most);
  }
  return found ? array_of(std::move(*found)) : nb::none();
}

}  // namespace

void register_bins(nb::module_& m) {
  m.def("bin_edges", &py_bin_edges, "X"_a.noconvert(), "weights"_a.noconvert().none(), "n_categories"_a.noconvert(),
        "max_bins"_a, "max_sample"_a, "n_threads"_a);
  m.def("bin_codes", &py_bin_codes, "X"_a.noconvert(), "edges"_a.noconvert(), "offset"_a.noconvert(),
        "n_categories"_a.noconvert(), "wide"_a, "n_threads"_a);
  m.def("sample_levels", &py_sample_levels, "first"_a, "n"_a);
  m.def("distinct_values", &py_distinct_values, "known"_a.noconvert(), "column"_a.noconvert(), "most"_a);
}

}  // namespace committee
