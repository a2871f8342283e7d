#include "votes/cells.hpp"

#include <memory>
#include <utility>
#include <variant>

#include "bindings/arrays.hpp"
#include "bindings/stump_cells.hpp"
#include "votes/disagreement.hpp"

namespace committee {
namespace {

class PyCells {
 public:
  PyCells(AnyCodes codes, In1<std::int32_t> n_bins, int n_threads) : codes_(codes), n_threads_(n_threads) {
    require_codes(codes, n_bins);
    require(extent(codes, 0) >= 1, "codes needs at least one row");
    with_table(codes, n_bins, nullptr, [&]<class Table>(Table table) { table_ = std::move(table); });
    visit([&](const auto& table) {
      ThreadTeam team(n_threads_);
      require_codes_in_range(table, team);
    });
  }

  nb::object sums(In1<double> values) const {
    require_rows(length(values));
    Vector<double> out;
    visit([&](const auto& table) {
      nb::gil_scoped_release release;
      require_finite(values.data(), length(values));
      out.resize(table.cell.back());
      Vector<std::uint64_t> scratch;
      ThreadTeam team(n_threads_);
      cell_sums(table, values.data(), out.data(), scratch, team);
    });
    return array_of(std::move(out));
  }

  nb::object pairs(In1<double> weights) const {
    require_rows(length(weights));
    Vector<double> out;
    std::int64_t n_cells = 0;
    visit([&](const auto& table) {
      nb::gil_scoped_release release;
      require_finite(weights.data(), length(weights));
      n_cells = table.cell.back();
      out.resize(n_cells * n_cells);
      ThreadTeam team(n_threads_);
      cell_pairs(table, weights.data(), out.data(), team);
    });
    return array_of(std::move(out), {n_cells, n_cells});
  }

  bool is_sparse() const { return std::holds_alternative<SparseTable>(table_); }

  nb::object votes_apart(In1<std::int64_t> first, In1<std::int64_t> missing, In1<std::int64_t> low,
                         In1<std::int64_t> high, In1<std::int8_t> vote) const {
    const StumpCells stumps = stump_cells(first, missing, low, high, vote);
    for (std::int64_t j = 0; j < stumps.n; ++j) require(vote(j) != 0, "vote must not be 0, as every row has one");
    return std::visit(
        [&]<class Table>(const Table& table) -> nb::object {
          if constexpr (std::is_same_v<Table, SparseTable>) {
            require(false, "the table must not be sparse");
            return nb::none();
          } else {
            for (std::int64_t j = 0; j < stumps.n; ++j) {
              const auto of = std::lower_bound(table.cell.begin(), table.cell.end(), first(j));
              require(
                  of != table.cell.end() && *of == first(j) && of + 1 != table.cell.end() && of[1] == missing(j) + 1,
                  "a stump's cells are no column of the table");
            }
            return table.n_rows <= UINT16_MAX ? apart_of<std::uint16_t>(table, stumps)
                                              : apart_of<std::uint32_t>(table, stumps);
          }
        },
        table_);
  }

  nb::object scores(In2<double> by_cell) const {
    Vector<double> out;
    const std::int64_t k = extent(by_cell, 1);
    visit([&](const auto& table) {
      require(extent(by_cell, 0) == table.cell.back(), "by_cell needs one row per cell");
      nb::gil_scoped_release release;
      out.resize(table.n_rows * k);
      ThreadTeam team(n_threads_);
      cell_scores(table, by_cell.data(), k, out.data(), team);
    });
    return array_of(std::move(out), {extent(codes_, 0), k});
  }

  void shift(nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> values, std::int64_t feature,
             In1<double> by_bin) const {
    require_rows(length(values));
    visit([&](const auto& table) {
      require(feature >= 0 && feature < table.n_features, "feature is no column of the table");
      require(length(by_bin) == table.missing_bin(feature) + 1,
              "by_bin needs one number per bin of the column, and one for missing values");
      nb::gil_scoped_release release;
      ThreadTeam team(n_threads_);
      committee::shift(table, feature, by_bin.data(), values.data(), team);
    });
  }

 private:
  template <class Count, class Table>
  nb::object apart_of(const Table& table, const StumpCells& stumps) const {
    Vector<Count> apart(stumps.n * stumps.n);
    unlocked(n_threads_, [&](ThreadTeam& team) { committee::votes_apart(table, stumps, apart.data(), team); });
    return array_of(std::move(apart), {stumps.n, stumps.n});
  }
  template <class Body>
  void visit(Body&& body) const {
    std::visit(std::forward<Body>(body), table_);
  }
  void require_rows(std::int64_t n) const { require(n == extent(codes_, 0), "one number per row is needed"); }
  static void require_finite(const double* values, std::int64_t n) {
    bool finite = true;
    for (std::int64_t i = 0; i < n; ++i) finite &= std::abs(values[i]) <= std::numeric_limits<double>::max();
    require(finite, "values must be finite");
  }

  AnyCodes codes_;  // keeps the table's memory; that of a sparse one is kept beside this object
  int n_threads_;
  std::variant<BinnedTable<std::uint8_t>, BinnedTable<std::uint16_t>, SparseTable> table_;
};

nb::object py_stump_gram(In2<double> pairs, In1<std::int64_t> first, In1<std::int64_t> missing, In1<std::int64_t> low,
                         In1<std::int64_t> high, In1<std::int8_t> vote, std::optional<In1<double>> mean,
                         int n_threads) {
  const auto n_cells = extent(pairs, 0);
  require(extent(pairs, 1) == extent(pairs, 0), "pairs must be square");
  const StumpCells stumps = stump_cells(first, missing, low, high, vote);
  const std::int64_t n = stumps.n;
  for (std::int64_t j = 0; j < n; ++j) require(missing(j) < n_cells, "a stump's cells are out of order");
  require(!mean || length(*mean) == n, "mean needs one number per stump");
  Vector<double> gram(n * n);
  unlocked(n_threads,
           [&](ThreadTeam& team) { stump_gram(pairs.data(), n_cells, stumps, data_or_null(mean), gram.data(), team); });
  return array_of(std::move(gram), {n, n});
}

}  // namespace

void register_cells(nb::module_& m) {
  nb::class_<PyCells>(m, "Cells")
      .def(nb::init<AnyCodes, In1<std::int32_t>, int>(), "codes"_a.noconvert(), "n_bins"_a.noconvert(), "n_threads"_a,
           nb::keep_alive<1, 2>())
      .def("sums", &PyCells::sums, "values"_a.noconvert())
      .def("pairs", &PyCells::pairs, "weights"_a.noconvert())
      .def_prop_ro("is_sparse", &PyCells::is_sparse)
      .def("votes_apart", &PyCells::votes_apart, "first"_a.noconvert(), "missing"_a.noconvert(), "low"_a.noconvert(),
           "high"_a.noconvert(), "vote"_a.noconvert())
      .def("scores", &PyCells::scores, "by_cell"_a.noconvert())
      .def("shift", &PyCells::shift, "values"_a.noconvert(), "feature"_a, "by_bin"_a.noconvert());
  m.def("stump_gram", &py_stump_gram, "pairs"_a.noconvert(), "first"_a.noconvert(), "missing"_a.noconvert(),
        "low"_a.noconvert(), "high"_a.noconvert(), "vote"_a.noconvert(), "mean"_a.noconvert().none(), "n_threads"_a);
}

}  // namespace committee
