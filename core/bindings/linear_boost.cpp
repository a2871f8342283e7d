#include "linear/linear_boost.hpp"

#include <array>
#include <string>

#include "bindings/loss_name.hpp"
#include "linear/held_out_errors.hpp"
#include "linear/joint_boost.hpp"
#include "linear/leaf_products.hpp"

namespace committee {
namespace {

nb::tuple py_newton_terms(const std::string& link, In1<double> x, bool rough) {
  const LossName loss = loss_named(link);
  const std::int64_t n = length(x), padded = whole_lanes(n);
  Vector<double> in(padded, 0.0), gradient(padded), curvature(padded), value(padded);
  {
    nb::gil_scoped_release release;
    std::copy_n(x.data(), n, in.begin());
    newton_values(loss, rough ? Asked::rough_terms : Asked::risk, in.data(), padded, gradient.data(), curvature.data(),
                  value.data());
    for (Vector<double>* terms : {&gradient, &curvature, &value}) terms->resize(n);
  }
  return nb::make_tuple(array_of(std::move(gradient)), array_of(std::move(curvature)), array_of(std::move(value)));
}

void require_rows(const RowsByLeaf& data, std::int64_t n) {
  require(data.n_outputs >= 1, "n_outputs must be positive");
  require(data.most_classes >= 0, "most_classes must not be negative");
  for (std::int64_t l = 0; l < data.n_leaves; ++l) require(data.start[l] < data.start[l + 1], "a leaf has no rows");
  for (std::int64_t i = 0; i < data.n_rows(); ++i) {
    const std::int64_t row = data.rows[i];
    require(row >= 0 && row < n, "rows holds a number outside the table");
    require(data.weights[row] > 0.0 && std::isfinite(data.weights[row]), "weights must be positive and finite");
    require(data.labels[row] < std::max<std::int64_t>(2, data.n_outputs), "a label is not below the number of classes");
  }
}

RowsByLeaf rows_by_leaf(const In2<double>& D, const In1<std::int32_t>& rows, const In1<std::int64_t>& start,
                        const In1<std::uint16_t>& labels, const In1<double>& weights, std::int64_t n_outputs,
                        std::int64_t most_classes = 0) {
  require(length(start) >= 2 && start(0) == 0 && start(length(start) - 1) == length(rows),
          "start must run from 0 to the number of rows");
  require(length(labels) == extent(D, 0) && length(weights) == extent(D, 0),
          "labels and weights need one number per row");
  const RowsByLeaf data{D.data(),      extent(D, 1),   rows.data(), start.data(), length(start) - 1,
                        labels.data(), weights.data(), n_outputs,   most_classes};
  require_rows(data, extent(D, 0));
  return data;
}

BoostSettings checked_settings(const std::string& link, int n_steps, double tol, double cap, bool by_likelihood) {
  require(n_steps >= 1, "n_steps must be positive");
  require(tol >= 0.0 && cap > 0.0 && std::isfinite(cap), "tol must not be negative, cap must be positive and finite");
  return {loss_named(link), n_steps, tol, cap, by_likelihood};
}

nb::tuple py_linear_boost(In2<double> D, In1<std::int32_t> rows, In1<std::int64_t> start, In1<std::uint16_t> labels,
                          In1<double> weights, std::int64_t n_outputs, const std::string& link, int n_steps, double tol,
                          double cap, bool by_likelihood, bool record, int n_threads, std::int64_t most_classes) {
  require(most_classes == 0 || !record, "outputs that are boosted on samples of the rows have no record");
  const RowsByLeaf data = rows_by_leaf(D, rows, start, labels, weights, n_outputs, most_classes);
  const BoostSettings settings = checked_settings(link, n_steps, tol, cap, by_likelihood);
  LeafModels out;
  unlocked(n_threads, [&](ThreadTeam& team) { out = linear_boost(data, settings, record, team); });
  const std::int64_t L = data.n_leaves, K = n_outputs, recorded = record ? n_steps : 0;
  return nb::make_tuple(
      array_of(std::move(out.intercept), {L, K}), array_of(std::move(out.coefficient), {L, K, data.n_features}),
      array_of(std::move(out.score), {data.n_rows(), K}), array_of(std::move(out.path), {L, K, recorded}),
      array_of(std::move(out.risk), {L, K, recorded + 1}));
}

nb::tuple py_joint_boost(In2<double> D, In1<std::int32_t> rows, In1<std::int64_t> start, In1<std::uint16_t> labels,
                         In1<double> weights, std::int64_t n_outputs, const std::string& link, int n_steps, double tol,
                         double cap, int n_threads) {
  const RowsByLeaf data = rows_by_leaf(D, rows, start, labels, weights, n_outputs);
  const BoostSettings settings = checked_settings(link, n_steps, tol, cap, false);
  JointModels out;
  unlocked(n_threads, [&](ThreadTeam& team) { out = joint_boost(data, settings, team); });
  const std::int64_t L = data.n_leaves, K = n_outputs, B = n_steps;
  LeafModels& models = out.models;
  return nb::make_tuple(
      array_of(std::move(models.intercept), {L, K}), array_of(std::move(models.coefficient), {L, K, data.n_features}),
      array_of(std::move(models.score), {data.n_rows(), K}), array_of(std::move(models.path), {L, K, B}),
      array_of(std::move(models.risk), {L, K, B + 1}), array_of(std::move(out.lines), {L, K, B, 2}));
}

nb::object py_held_out_errors(In2<double> D, In1<std::int32_t> rows, In1<std::int64_t> begin, In1<std::int64_t> end,
                              In1<std::uint16_t> labels, In1<double> weights, In1<std::uint8_t> held_out,
                              std::int64_t n_outputs, const std::string& link, int n_steps, double cap,
                              std::int64_t most_rows, int n_threads, std::int64_t most_classes) {
  const std::int64_t n = extent(D, 0);
  require(length(labels) == n && length(weights) == n && length(held_out) == n,
          "labels, weights and held_out need one number per row");
  require(length(begin) == length(end), "begin and end need one number per node");
  for (std::int64_t v = 0; v < length(begin); ++v)
    require(0 <= begin(v) && begin(v) <= end(v) && end(v) <= length(rows), "a node's rows are no range of the list");
  require(n_steps >= 1 && most_rows >= 1, "n_steps and most_rows must be positive");
  require(cap > 0.0 && std::isfinite(cap), "cap must be positive and finite");
  const std::array<std::int64_t, 2> whole{0, length(rows)};
  const RowsByLeaf data{D.data(),      extent(D, 1),   rows.data(), whole.data(), length(rows) > 0 ? 1 : 0,
                        labels.data(), weights.data(), n_outputs,   most_classes};
  require_rows(data, n);
  const BoostSettings settings{loss_named(link), n_steps, 0.0, cap, false, true};
  Vector<double> errors;
  unlocked(n_threads, [&](ThreadTeam& team) {
    errors =
        held_out_errors(data, {begin.data(), end.data(), length(begin)}, held_out.data(), settings, most_rows, team);
  });
  return array_of(std::move(errors));
}

nb::object py_leaf_products(In2<double> D, In1<std::int32_t> rows, In1<std::int64_t> start, In2<double> values) {
  const std::int64_t L = length(start) - 1, q = extent(D, 1), K = extent(values, 1);
  require(L >= 0 && start(0) == 0 && start(L) == length(rows) && length(rows) == extent(values, 0),
          "start must run from 0 to the number of rows, and values needs one row for each");
  for (std::int64_t l = 0; l < L; ++l) require(start(l) < start(l + 1), "a leaf has no rows");
  for (std::int64_t i = 0; i < length(rows); ++i)
    require(rows(i) >= 0 && rows(i) < extent(D, 0), "rows holds a number outside the table");
  const RowsByLeaf data{D.data(), q, rows.data(), start.data(), L, nullptr, nullptr, K};
  Vector<double> sums;
  {
    nb::gil_scoped_release release;
    sums = leaf_products(data, values.data(), K);
  }
  return array_of(std::move(sums), {L, K, q});
}

}  // namespace

void register_linear_boost(nb::module_& m) {
  m.def("newton_terms", &py_newton_terms, "link"_a, "x"_a.noconvert(), "rough"_a = false);
  m.def("linear_boost", &py_linear_boost, "D"_a.noconvert(), "rows"_a.noconvert(), "start"_a.noconvert(),
        "labels"_a.noconvert(), "weights"_a.noconvert(), "n_outputs"_a, "link"_a, "n_steps"_a, "tol"_a, "cap"_a,
        "by_likelihood"_a, "record"_a, "n_threads"_a, "most_classes"_a = 0);
  m.def("joint_boost", &py_joint_boost, "D"_a.noconvert(), "rows"_a.noconvert(), "start"_a.noconvert(),
        "labels"_a.noconvert(), "weights"_a.noconvert(), "n_outputs"_a, "link"_a, "n_steps"_a, "tol"_a, "cap"_a,
        "n_threads"_a);
  m.def("held_out_errors", &py_held_out_errors, "D"_a.noconvert(), "rows"_a.noconvert(), "begin"_a.noconvert(),
        "end"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(), "held_out"_a.noconvert(), "n_outputs"_a,
        "link"_a, "n_steps"_a, "cap"_a, "most_rows"_a, "n_threads"_a, "most_classes"_a = 0);
  m.def("leaf_products", &py_leaf_products, "D"_a.noconvert(), "rows"_a.noconvert(), "start"_a.noconvert(),
        "values"_a.noconvert());
}

}  // namespace committee
