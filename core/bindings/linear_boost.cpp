#include "../linear_boost.hpp"

#include <string>

#include "loss_name.hpp"

namespace committee {
namespace {

nb::tuple py_newton_terms(const std::string& link, In1<double> x) {
  const LossName loss = loss_named(link);
  const std::int64_t n = length(x), padded = (n + kLanes - 1) / kLanes * kLanes;
  Vector<double> in(padded, 0.0), gradient(padded), curvature(padded), value(padded);
  {
    nb::gil_scoped_release release;
    std::copy_n(x.data(), n, in.begin());
    newton_values(loss, in.data(), padded, gradient.data(), curvature.data(), value.data());
    for (Vector<double>* terms : {&gradient, &curvature, &value}) terms->resize(n);
  }
  return nb::make_tuple(array_of(std::move(gradient)), array_of(std::move(curvature)), array_of(std::move(value)));
}

nb::tuple py_linear_boost(In2<double> D, In1<std::int32_t> rows, In1<std::int64_t> start, In1<std::uint16_t> labels,
                          In1<double> weights, std::int64_t n_outputs, const std::string& link, int n_steps, double tol,
                          double cap, bool by_likelihood, bool record, int n_threads) {
  const std::int64_t n = extent(D, 0), q = extent(D, 1);
  require(length(start) >= 2 && start(0) == 0 && start(length(start) - 1) == length(rows),
          "start must run from 0 to the number of rows");
  for (std::int64_t l = 0; l + 1 < length(start); ++l) require(start(l) < start(l + 1), "a leaf has no rows");
  require(length(labels) == n && length(weights) == n, "labels and weights need one number per row");
  require(n_outputs >= 1, "n_outputs must be positive");
  require(n_steps >= 1, "n_steps must be positive");
  require(tol >= 0.0 && cap > 0.0 && std::isfinite(cap), "tol must not be negative, cap must be positive and finite");
  for (std::int64_t i = 0; i < length(rows); ++i) {
    require(rows(i) >= 0 && rows(i) < n, "rows holds a number outside the table");
    require(weights(rows(i)) > 0.0 && std::isfinite(weights(rows(i))), "weights must be positive and finite");
    require(labels(rows(i)) < (n_outputs == 1 ? 2 : n_outputs), "a label is not below the number of classes");
    for (std::int64_t j = 0; j < q; ++j) require(std::isfinite(D(rows(i), j)), "D must be finite");
  }
  const BoostSettings settings{loss_named(link), n_steps, tol, cap, by_likelihood};
  LeafModels out;
  {
    nb::gil_scoped_release release;
    ThreadTeam team(n_threads);
    out = linear_boost(D.data(), q, rows.data(), start.data(), length(start) - 1, labels.data(), weights.data(),
                       n_outputs, settings, record, team);
  }
  const std::int64_t L = length(start) - 1, K = n_outputs, B = n_steps;
  return nb::make_tuple(array_of(std::move(out.intercept), {L, K}), array_of(std::move(out.coefficient), {L, K, q}),
                        array_of(std::move(out.score), {length(rows), K}),
                        array_of(std::move(out.path), {record ? L : 0, K, B}),
                        array_of(std::move(out.risk), {record ? L : 0, K, B + 1}));
}

}  // namespace

void register_linear_boost(nb::module_& m) {
  m.def("newton_terms", &py_newton_terms, "link"_a, "x"_a.noconvert());
  m.def("linear_boost", &py_linear_boost, "D"_a.noconvert(), "rows"_a.noconvert(), "start"_a.noconvert(),
        "labels"_a.noconvert(), "weights"_a.noconvert(), "n_outputs"_a, "link"_a, "n_steps"_a, "tol"_a, "cap"_a,
        "by_likelihood"_a, "record"_a, "n_threads"_a);
}

}  // namespace committee
