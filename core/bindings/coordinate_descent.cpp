#include "linear/coordinate_descent.hpp"

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/stump_cells.hpp"
#include "boosting/best_stump.hpp"
#include "linear/lasso_path.hpp"

namespace committee {
namespace {

using Out1 = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Problem problem(const In2<double>& gram, const Out1& c, const Out1& alpha) {
  const std::int64_t n = extent(gram, 0);
  require(extent(gram, 1) == n, "gram must be square");
  require(length(c) == n && length(alpha) == n, "c and alpha need one number per voter");
  return {gram.data(), c.data(), alpha.data(), n};
}

template <class Run>
auto with_penalty(const std::string& name, double strength, Run&& run) {
  require(strength >= 0.0, "strength must not be negative");
  if (name == "none") return run(NoPenalty{});
  if (name == "l1") return run(L1Penalty{strength});
  if (name == "l2") return run(L2Penalty{strength});
  require(name == "linf", "penalty must be 'none', 'l1', 'l2' or 'linf'");
  return run(Box{strength});
}

nb::tuple py_greedy_rounds(In2<double> gram, Out1 c, Out1 alpha, const std::string& penalty, double strength,
                           bool as_new, std::int64_t n_rounds, double least_decrease) {
  const Problem on = problem(gram, c, alpha);
  require(n_rounds >= 0 && least_decrease >= 0.0, "n_rounds and least_decrease must not be negative");
  Vector<std::int32_t> voter(n_rounds);
  Vector<double> weight(voter.size()), decrease(voter.size());
  with_penalty(penalty, strength, [&](const auto& rule) {
    nb::gil_scoped_release release;
    Vector<double> eta(on.n);
    for (std::int64_t j = 0; j < on.n; ++j) eta[j] = on.gram[j * on.n + j];
    const std::int64_t n = greedy_rounds(
        on, rule, eta.data(), {n_rounds, as_new, least_decrease, voter.data(), weight.data(), decrease.data()});
    voter.resize(n);
    weight.resize(voter.size());
    decrease.resize(voter.size());
  });
  return nb::make_tuple(array_of(std::move(voter)), array_of(std::move(weight)), array_of(std::move(decrease)));
}

nb::tuple py_cyclic_sweeps(In2<double> gram, Out1 c, Out1 alpha, const std::string& penalty, double strength,
                           double tol, std::int64_t max_sweeps) {
  const Problem on = problem(gram, c, alpha);
  require(max_sweeps >= 0 && tol >= 0.0, "max_sweeps and tol must not be negative");
  std::int64_t sweeps = 0;
  double distance = 0.0;
  with_penalty(penalty, strength, [&](const auto& rule) {
    nb::gil_scoped_release release;
    sweeps = cyclic_sweeps(on, rule, tol, max_sweeps, distance);
  });
  return nb::make_tuple(sweeps, distance);
}

nb::tuple py_best_stump(In1<double> sums, double total, In1<std::int64_t> first, In1<std::int64_t> missing,
                        In1<std::int64_t> low, In1<std::int64_t> high, In1<std::int8_t> vote,
                        std::optional<In1<double>> mean, In1<double> eta, std::optional<In1<double>> alpha,
                        const std::string& penalty, double strength, double tie) {
  const StumpCells stumps = stump_cells(first, missing, low, high, vote);
  for (std::int64_t j = 0; j < stumps.n; ++j) require(missing(j) < length(sums), "a stump's cells are out of order");
  require(length(eta) == stumps.n && (!mean || length(*mean) == stumps.n) && (!alpha || length(*alpha) == stumps.n),
          "mean, eta and alpha need one number per stump");
  BestStump found;
  with_penalty(penalty, strength, [&](const auto& rule) {
    nb::gil_scoped_release release;
    const StumpNumbers numbers{data_or_null(mean), eta.data(), data_or_null(alpha)};
    found = best_stump(sums.data(), length(sums), total, stumps, numbers, rule, tie);
  });
  return nb::make_tuple(found.stump, found.correlation);
}

// The path over n voters whose products are known one way or another.
template <class Products>
nb::tuple path_over(const Products& products, const In1<double>& b, double square, const In1<std::int64_t>& start,
                    const In1<double>& lambdas, double tol, std::int64_t max_sweeps) {
  const std::int64_t n = products.n, n_lambdas = length(lambdas);
  require(length(b) == n, "b needs one number per voter");
  require(tol >= 0.0 && max_sweeps >= 0, "tol and max_sweeps must not be negative");
  require(length(start) >= 1 && start(0) == 0 && start(length(start) - 1) == n,
          "start must begin at 0 and end at the number of voters");
  for (std::int64_t g = 1; g < length(start); ++g) require(start(g - 1) <= start(g), "start must not fall");
  for (std::int64_t i = 0; i < n_lambdas; ++i) require(lambdas(i) >= 0.0, "lambdas must not be negative");
  Vector<double> weights(n * n_lambdas), gaps(n_lambdas), risks(n_lambdas);
  {
    nb::gil_scoped_release release;
    Vector<double> c(b.data(), b.data() + n), alpha(n, 0.0);
    lasso_path(
        LassoProblem<Products>{products, c.data(), alpha.data(), n, b.data(), square, start.data(), length(start) - 1},
        {lambdas.data(), n_lambdas, tol, max_sweeps, weights.data(), gaps.data(), risks.data()});
  }
  return nb::make_tuple(array_of(std::move(weights), {n_lambdas, n}), array_of(std::move(gaps)),
                        array_of(std::move(risks)));
}

nb::tuple py_lasso_path(In2<double> gram, In1<double> b, double square, In1<std::int64_t> start, In1<double> lambdas,
                        double tol, std::int64_t max_sweeps) {
  require(extent(gram, 0) == extent(gram, 1), "gram must be square");
  return path_over(DenseProducts{gram.data(), extent(gram, 0)}, b, square, start, lambdas, tol, max_sweeps);
}

template <class Count>
nb::tuple py_lasso_path_of_votes(In2<Count> apart, In1<double> mean, double unit, double total, In1<double> b,
                                 double square, In1<std::int64_t> start, In1<double> lambdas, double tol,
                                 std::int64_t max_sweeps) {
  require(extent(apart, 0) == extent(apart, 1), "apart must be square");
  require(length(mean) == extent(apart, 0), "mean needs one number per voter");
  return path_over(CountedProducts<Count>{apart.data(), mean.data(), unit, total, extent(apart, 0)}, b, square, start,
                   lambdas, tol, max_sweeps);
}

}  // namespace

void register_coordinate_descent(nb::module_& m) {
  m.def("greedy_rounds", &py_greedy_rounds, "gram"_a.noconvert(), "c"_a.noconvert(), "alpha"_a.noconvert(), "penalty"_a,
        "strength"_a, "as_new"_a, "n_rounds"_a, "least_decrease"_a);
  m.def("cyclic_sweeps", &py_cyclic_sweeps, "gram"_a.noconvert(), "c"_a.noconvert(), "alpha"_a.noconvert(), "penalty"_a,
        "strength"_a, "tol"_a, "max_sweeps"_a);
  m.def("best_stump", &py_best_stump, "sums"_a.noconvert(), "total"_a, "first"_a.noconvert(), "missing"_a.noconvert(),
        "low"_a.noconvert(), "high"_a.noconvert(), "vote"_a.noconvert(), "mean"_a.noconvert().none(),
        "eta"_a.noconvert(), "alpha"_a.noconvert().none(), "penalty"_a, "strength"_a, "tie"_a);
  m.def("lasso_path", &py_lasso_path, "gram"_a.noconvert(), "b"_a.noconvert(), "square"_a, "start"_a.noconvert(),
        "lambdas"_a.noconvert(), "tol"_a, "max_sweeps"_a);
  const auto of_votes = [&]<class Count>(nb::tuple (*path)(In2<Count>, In1<double>, double, double, In1<double>, double,
                                                           In1<std::int64_t>, In1<double>, double, std::int64_t)) {
    m.def("lasso_path_of_votes", path, "apart"_a.noconvert(), "mean"_a.noconvert(), "unit"_a, "total"_a,
          "b"_a.noconvert(), "square"_a, "start"_a.noconvert(), "lambdas"_a.noconvert(), "tol"_a, "max_sweeps"_a);
  };
  of_votes(&py_lasso_path_of_votes<std::uint16_t>);
  of_votes(&py_lasso_path_of_votes<std::uint32_t>);
}

}  // namespace committee
