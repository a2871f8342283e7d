#include "../leaf_lines.hpp"

#include "forest_arrays.hpp"

namespace committee {
namespace {

// Lines as they come from Python, checked beside so many nodes and columns.
Lines checked_lines(std::int64_t n_nodes, std::int64_t n_features, const In1<std::int64_t>& start,
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

void require_leaves(const In1<std::int32_t>& leaf, std::int64_t n_nodes) {
  for (std::int64_t i = 0; i < length(leaf); ++i)
    require(leaf(i) >= 0 && leaf(i) < n_nodes, "leaf_of_row holds a number that is no node");
}

nb::tuple py_leaf_lines(In2<double> X, In1<std::int32_t> leaf_of_row, std::optional<In1<std::int32_t>> rows,
                        In2<double> gradient, In2<double> hessian, In1<std::int32_t> feature, In1<std::int32_t> left,
                        In1<std::uint8_t> lines, In1<std::uint8_t> numeric, double l2, int n_threads) {
  const std::int64_t n = extent(X, 0), p = extent(X, 1), D = extent(gradient, 0), n_nodes = length(feature);
  require(length(leaf_of_row) == n, "leaf_of_row needs one number per row");
  require(D >= 1 && extent(gradient, 1) == n && extent(hessian, 0) == D && extent(hessian, 1) == n,
          "gradient and hessian must be (n_outputs, n)");
  require(length(left) == n_nodes && length(lines) == n_nodes, "left and lines need one number per node");
  require(length(numeric) == p, "numeric needs one number per column");
  for (std::int64_t i = 0; i < n_nodes; ++i)
    require(left(i) < 0 || (left(i) > i && left(i) + std::int64_t{1} < n_nodes && feature(i) >= 0 && feature(i) < p),
            "a node splits on no column, or has its children before it");
  require(l2 >= 0.0 && std::isfinite(l2), "l2 must be finite, and not negative");
  require_leaves(leaf_of_row, n_nodes);
  if (rows)
    for (std::int64_t i = 0; i < length(*rows); ++i)
      require((*rows)(i) >= 0 && (*rows)(i) < n, "rows holds a number outside the table");
  const LineRows seen{
      X.data(), p, leaf_of_row.data(), data_or_null(rows), rows ? length(*rows) : n, gradient.data(), hessian.data(),
      D,        n};
  LeafLines found;
  unlocked(n_threads, [&](ThreadTeam& team) {
    found = leaf_lines(seen, {feature.data(), left.data(), lines.data(), numeric.data(), n_nodes}, l2, team);
  });
  const std::int64_t M = found.columns.column.size();
  return nb::make_tuple(array_of(std::move(found.columns.start)), array_of(std::move(found.columns.column)),
                        array_of(std::move(found.slope), {M, D}), array_of(std::move(found.centre), {M, D}),
                        array_of(std::move(found.low)), array_of(std::move(found.high)));
}

void py_add_leaf_lines(nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores,
                       In1<std::int32_t> leaf_of_row, In2<double> X, In1<std::int64_t> start, In1<std::int32_t> column,
                       In2<double> slope, In2<double> centre, In1<double> low, In1<double> high, std::int64_t output,
                       double step, int n_threads) {
  const std::int64_t n = extent(X, 0), p = extent(X, 1), n_nodes = length(start) - 1;
  require(length(scores) == n && length(leaf_of_row) == n, "scores and leaf_of_row need one number per row");
  const Lines lines = checked_lines(n_nodes, p, start, column, slope, centre, low, high);
  require(output >= 0 && output < lines.n_outputs, "output is not below the number of outputs");
  require_leaves(leaf_of_row, n_nodes);
  double* const F = scores.data();
  unlocked(n_threads, [&](ThreadTeam& team) {
    team.blocks(n, 16 * n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        F[i] += step * sum_of_lines(lines, leaf_of_row(i), output, X.data() + i * p);
    });
  });
}

class PyLineTrees {
 public:
  PyLineTrees(std::int64_t n_features, In1<std::int64_t> offset, In1<std::int32_t> feature, In1<double> threshold,
              In1<std::int32_t> left, In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
              In1<std::uint32_t> category_bits, In2<double> value, In1<std::int64_t> start, In1<std::int32_t> column,
              In2<double> slope, In2<double> centre, In1<double> low, In1<double> high, std::int64_t trees_per_voter)
      : trees_(
            forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits),
            checked(checked_lines(length(feature), n_features, start, column, slope, centre, low, high), value,
                    length(feature), length(offset) - 1, trees_per_voter),
            value.data(), trees_per_voter) {}

  nb::object tally(In2<double> X, In1<double> weights, int n_threads) const {
    const std::int64_t n = rows_of(X, weights), K = trees_.n_scores();
    Vector<double> F(n * K, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) { trees_.tally(X.data(), n, weights.data(), F.data(), team); });
    return array_of(std::move(F), {n, K});
  }

  nb::object shares(In2<double> X, In1<double> weights, int n_threads) const {
    const std::int64_t n = rows_of(X, weights), p = trees_.n_features(), K = trees_.n_scores();
    Vector<double> out(n * p * K, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) { trees_.shares(X.data(), n, weights.data(), out.data(), team); });
    return array_of(std::move(out), {n, p, K});
  }

 private:
  static Lines checked(Lines lines, const In2<double>& value, std::int64_t n_nodes, std::int64_t n_trees,
                       std::int64_t per_voter) {
    require(extent(value, 0) == n_nodes && extent(value, 1) == lines.n_outputs,
            "value needs one row per node, and the outputs of the lines");
    require(per_voter >= 1 && n_trees % per_voter == 0 && (per_voter == 1 || lines.n_outputs == 1),
            "there must be one tree of one output for each score of a voter, or one tree for all");
    return lines;
  }

  std::int64_t rows_of(const In2<double>& X, const In1<double>& weights) const {
    require(extent(X, 1) == trees_.n_features(), "X has another number of columns than the trees");
    require(length(weights) == trees_.n_trees() / trees_.trees_per_voter(), "weights needs one number per voter");
    return extent(X, 0);
  }

  LineTrees trees_;
};

}  // namespace

void register_leaf_lines(nb::module_& m) {
  m.def("leaf_lines", &py_leaf_lines, "X"_a.noconvert(), "leaf_of_row"_a.noconvert(), "rows"_a.noconvert().none(),
        "gradient"_a.noconvert(), "hessian"_a.noconvert(), "feature"_a.noconvert(), "left"_a.noconvert(),
        "lines"_a.noconvert(), "numeric"_a.noconvert(), "l2"_a, "n_threads"_a);
  m.def("add_leaf_lines", &py_add_leaf_lines, "scores"_a.noconvert(), "leaf_of_row"_a.noconvert(), "X"_a.noconvert(),
        "start"_a.noconvert(), "column"_a.noconvert(), "slope"_a.noconvert(), "centre"_a.noconvert(),
        "low"_a.noconvert(), "high"_a.noconvert(), "output"_a, "step"_a, "n_threads"_a);
  nb::class_<PyLineTrees> trees(m, "LineTrees");
  takes_forest<In2<double>, In1<std::int64_t>, In1<std::int32_t>, In2<double>, In2<double>, In1<double>, In1<double>,
               std::int64_t>(trees, "value"_a.noconvert(), "start"_a.noconvert(), "column"_a.noconvert(),
                             "slope"_a.noconvert(), "centre"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
                             "trees_per_voter"_a);
  trees.def("tally", &PyLineTrees::tally, "X"_a.noconvert(), "weights"_a.noconvert(), "n_threads"_a)
      .def("shares", &PyLineTrees::shares, "X"_a.noconvert(), "weights"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
