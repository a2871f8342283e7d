#include <variant>

#include "bindings/stump_arrays.hpp"
#include "boosting/branch_weights.hpp"
#include "boosting/stump_search.hpp"

namespace committee {
namespace {

class PyStumpSearch {
 public:
  PyStumpSearch(Codes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, In1<std::uint8_t> labels,
                In1<double> positions, In1<double> edges, In1<std::int64_t> edge_offset, In1<double> softness,
                int n_threads)
      : codes_(codes), n_threads_(n_threads), search_(std::monostate{}) {
    require_codes(codes, n_bins);
    require(extent(codes, 0) >= 1, "codes needs at least one row");
    require(length(categorical) == extent(codes, 1) && length(softness) == extent(codes, 1),
            "categorical and softness need one number per column");
    require(length(labels) == extent(codes, 0), "labels needs one number per row");
    for (std::int64_t i = 0; i < length(labels); ++i) require(labels(i) <= 1, "labels must be 0 or 1");
    require_bins(n_bins, categorical, positions, edges, edge_offset, softness);
    with_code_type(codes, [&]<class Code>(Code) {
      BinnedTable<Code> table = table_of<Code>(codes, n_bins, categorical.data());
      nb::gil_scoped_release release;
      ThreadTeam team(n_threads_);
      require_codes_in_range(table, team);
      search_.emplace<StumpSearch<Code>>(std::move(table),
                                         Vector<std::uint8_t>(labels.data(), labels.data() + length(labels)),
                                         positions.data(), edges.data(), edge_offset.data(), softness.data(), team);
    });
  }

  template <class Weight>
  nb::tuple best(In1<Weight> weights) const {
    require(length(weights) == extent(codes_, 0), "weights needs one number per row");
    StumpChoice choice;
    unlocked(n_threads_, [&](ThreadTeam& team) {
      const double total = checked_sum(weights.data(), length(weights), team);
      require(std::isfinite(total), "weights must be finite and not negative, and so must their sum");
      if (const auto* narrow = std::get_if<StumpSearch<std::uint8_t>>(&search_))
        choice = narrow->best(weights.data(), total, team);
      else
        choice = std::get<StumpSearch<std::uint16_t>>(search_).best(weights.data(), total, team);
    });
    nb::object categories = nb::none();
    if (!choice.categories.empty()) categories = array_of(std::move(choice.categories));
    return nb::make_tuple(choice.feature, choice.edge, choice.ascending, choice.missing, choice.z, categories);
  }

 private:
  static void require_bins(const In1<std::int32_t>& n_bins, const In1<std::uint8_t>& categorical,
                           const In1<double>& positions, const In1<double>& edges, const In1<std::int64_t>& edge_offset,
                           const In1<double>& softness) {
    const std::int64_t p = length(n_bins);
    require(length(edge_offset) == p + 1 && edge_offset(0) == 0 && edge_offset(p) == length(edges),
            "edge_offset must run from 0 to the number of edges, column by column");
    std::int64_t n_positions = 0;
    for (std::int64_t j = 0; j < p; ++j) {
      require(n_bins(j) >= 1 && n_bins(j) <= 65535, "n_bins must lie in [1, 65535]");
      n_positions += n_bins(j);
      require(edge_offset(j + 1) - edge_offset(j) == (categorical(j) ? 0 : n_bins(j) - 1),
              "a column of numbers needs one edge less than it has bins, and one of categories none");
      require(softness(j) >= 0.0 && std::isfinite(softness(j)), "softness must be finite and not negative");
    }
    require(length(positions) == n_positions, "positions needs one number per bin");
    for (std::int64_t b = 0; b < length(positions); ++b)
      require(std::isfinite(positions(b)), "positions must be finite");
    for (std::int64_t j = 0; j < p; ++j)
      for (std::int64_t e = edge_offset(j); e < edge_offset(j + 1); ++e)
        require(std::isfinite(edges(e)) && (e == edge_offset(j) || edges(e) > edges(e - 1)),
                "the edges of a column must be finite and increase");
  }

  Codes codes_;  // keeps the table's memory
  int n_threads_;
  std::variant<std::monostate, StumpSearch<std::uint8_t>, StumpSearch<std::uint16_t>> search_;
};

nb::object py_stump_probabilities(In2<double> X, In1<std::int32_t> feature, In1<double> threshold, In1<double> softness,
                                  In1<std::uint8_t> ascending, In1<double> missing, In1<std::int64_t> category_offset,
                                  In1<std::uint32_t> category_bits, int n_threads) {
  const std::int64_t n = extent(X, 0), T = length(feature);
  const SoftStumps stumps(
      stump_arrays(extent(X, 1), feature, threshold, softness, ascending, missing, category_offset, category_bits));
  Vector<double> q;
  unlocked(n_threads, [&](ThreadTeam& team) {
    q.resize(n * T);
    stump_probabilities(stumps, X.data(), n, q.data(), team);
  });
  return array_of(std::move(q), {n, T});
}

template <class Weight>
NodeRows<Weight> node_rows(const In1<Weight>& weights, const In1<double>& q, const In1<std::uint8_t>& labels) {
  require(length(q) == length(weights) && length(labels) == length(weights),
          "weights, q and labels need one number per row");
  return {weights.data(), q.data(), labels.data(), length(weights)};
}

BranchFactors branch_factors(const In2<double>& factors) {
  require(extent(factors, 0) == 2 && extent(factors, 1) == 2, "factors must be (2, 2)");
  for (std::int64_t k = 0; k < 4; ++k)
    require(factors.data()[k] >= 0.0 && std::isfinite(factors.data()[k]), "factors must be finite and not negative");
  return {factors(0, 0), factors(0, 1), factors(1, 0), factors(1, 1)};
}

template <class Weight>
nb::object py_branch_sums(In1<Weight> weights, In1<double> q, In1<std::uint8_t> labels, int n_threads) {
  const NodeRows<Weight> rows = node_rows(weights, q, labels);
  Vector<double> sums;
  unlocked(n_threads, [&](ThreadTeam& team) {
    const BranchSums found = branch_sums(rows, team);
    sums.assign(std::begin(found.of), std::end(found.of));
  });
  return array_of(std::move(sums), {2, 2});
}

template <class Weight>
nb::tuple py_branch_weights(In1<Weight> weights, In1<double> q, In1<std::uint8_t> labels, In2<double> factors,
                            int n_threads) {
  const NodeRows<Weight> rows = node_rows(weights, q, labels);
  const BranchFactors factor = branch_factors(factors);
  Vector<Weight> plus, minus;
  unlocked(n_threads, [&](ThreadTeam& team) {
    plus.resize(length(weights));
    minus.resize(length(weights));
    branch_weights(rows, factor, plus.data(), minus.data(), team);
  });
  return nb::make_tuple(array_of(std::move(plus)), array_of(std::move(minus)));
}

template <class Weight>
nb::object py_joined_weights(In1<Weight> weights, In1<double> q, In1<std::uint8_t> labels, In2<double> factors,
                             int n_threads) {
  const NodeRows<Weight> rows = node_rows(weights, q, labels);
  const BranchFactors factor = branch_factors(factors);
  Vector<Weight> joined;
  unlocked(n_threads, [&](ThreadTeam& team) {
    joined.resize(length(weights));
    branch_weights<Weight>(rows, factor, joined.data(), nullptr, team);
  });
  return array_of(std::move(joined));
}

template <class Weight>
void register_branches(nb::module_& m) {
  m.def("branch_sums", &py_branch_sums<Weight>, "weights"_a.noconvert(), "q"_a.noconvert(), "labels"_a.noconvert(),
        "n_threads"_a);
  m.def("branch_weights", &py_branch_weights<Weight>, "weights"_a.noconvert(), "q"_a.noconvert(),
        "labels"_a.noconvert(), "factors"_a.noconvert(), "n_threads"_a);
  m.def("joined_weights", &py_joined_weights<Weight>, "weights"_a.noconvert(), "q"_a.noconvert(),
        "labels"_a.noconvert(), "factors"_a.noconvert(), "n_threads"_a);
}

}  // namespace

void register_soft_stumps(nb::module_& m) {
  nb::class_<PyStumpSearch>(m, "StumpSearch")
      .def(nb::init<Codes, In1<std::int32_t>, In1<std::uint8_t>, In1<std::uint8_t>, In1<double>, In1<double>,
                    In1<std::int64_t>, In1<double>, int>(),
           "codes"_a.noconvert(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), "labels"_a.noconvert(),
           "positions"_a.noconvert(), "edges"_a.noconvert(), "edge_offset"_a.noconvert(), "softness"_a.noconvert(),
           "n_threads"_a)
      .def("best", &PyStumpSearch::best<double>, "weights"_a.noconvert())
      .def("best", &PyStumpSearch::best<float>, "weights"_a.noconvert());
  m.def("stump_probabilities", &py_stump_probabilities, "X"_a.noconvert(), "feature"_a.noconvert(),
        "threshold"_a.noconvert(), "softness"_a.noconvert(), "ascending"_a.noconvert(), "missing"_a.noconvert(),
        "category_offset"_a.noconvert(), "category_bits"_a.noconvert(), "n_threads"_a);
  register_branches<double>(m);
  register_branches<float>(m);
}

}  // namespace committee
