#include "linear/leaf_lines.hpp"

#include "bindings/checked_lines.hpp"
#include "bindings/forest_arrays.hpp"
#include "linear/line_fit.hpp"

namespace committee {
namespace {

void require_leaves(const In1<std::int32_t>& leaf, std::int64_t n_nodes) {
  for (std::int64_t i = 0; i < length(leaf); ++i)
    require(leaf(i) >= 0 && leaf(i) < n_nodes, "leaf_of_row holds a number that is no node");
}

// Paths to the leaves of a tree of a table of so many columns, as they come from Python.
TreePaths checked_paths(const In1<std::int32_t>& feature, const In1<std::int32_t>& left, const In1<std::uint8_t>& lines,
                        const In1<std::uint8_t>& numeric) {
  const std::int64_t n_nodes = length(feature), p = length(numeric);
  require(length(left) == n_nodes && length(lines) == n_nodes, "left and lines need one number per node");
  for (std::int64_t i = 0; i < n_nodes; ++i)
    require(left(i) < 0 || (left(i) > i && left(i) + std::int64_t{1} < n_nodes && feature(i) >= 0 && feature(i) < p),
            "a node splits on no column, or has its children before it");
  return {feature.data(), left.data(), lines.data(), numeric.data(), n_nodes};
}

void require_l2(double l2) { require(l2 >= 0.0 && std::isfinite(l2), "l2 must be finite, and not negative"); }

// Sums over rows whose arrays it keeps.
class PyLineSums {
 public:
  PyLineSums(In2<double> X, In1<std::int32_t> leaf_of_row, std::optional<In1<std::int32_t>> rows, In2<double> gradient,
             In2<double> hessian, In1<std::int32_t> feature, In1<std::int32_t> left, In1<std::uint8_t> lines,
             In1<std::uint8_t> numeric, std::int64_t n_rows, int n_threads)
      : X_(X),
        leaf_(leaf_of_row),
        seen_(rows),
        gradient_(gradient),
        hessian_(hessian),
        n_threads_(n_threads),
        sums_(rows_of(feature, numeric, n_rows), checked_paths(feature, left, lines, numeric), line_bits(n_rows)) {}

  nb::object largest() const {
    Vector<double> found;
    unlocked(n_threads_, [&](ThreadTeam& team) { found = sums_.largest(team); });
    return array_of(std::move(found));
  }

  nb::object weights(In1<double> largest) const {
    require(length(largest) == sums_.shape().n_largest(), "largest is of other lines");
    Vector<std::int64_t> found;
    unlocked(n_threads_, [&](ThreadTeam& team) { found = sums_.weights(largest.data(), team); });
    return array_of(std::move(found));
  }

  nb::object products(In1<double> largest, In1<std::int64_t> weights) const {
    require(length(largest) == sums_.shape().n_largest() && length(weights) == sums_.shape().n_weights(),
            "largest or weights are of other lines");
    Vector<std::int64_t> found;
    unlocked(n_threads_, [&](ThreadTeam& team) { found = sums_.products(largest.data(), weights.data(), team); });
    return array_of(std::move(found));
  }

  nb::tuple lines(double l2) const {
    require_l2(l2);
    LeafLines found;
    unlocked(n_threads_, [&](ThreadTeam& team) { found = sums_.lines(l2, team); });
    return arrays_of(std::move(found), extent(gradient_, 0));
  }

 private:
  LineRows rows_of(const In1<std::int32_t>& feature, const In1<std::uint8_t>& numeric, std::int64_t n_rows) const {
    const std::int64_t n = extent(X_, 0), p = extent(X_, 1), D = extent(gradient_, 0);
    require(length(leaf_) == n, "leaf_of_row needs one number per row");
    require(D >= 1 && extent(gradient_, 1) == n && extent(hessian_, 0) == D && extent(hessian_, 1) == n,
            "gradient and hessian must be (n_outputs, n)");
    require(length(numeric) == p, "numeric needs one number per column");
    require_leaves(leaf_, length(feature));
    if (seen_)
      for (std::int64_t i = 0; i < length(*seen_); ++i)
        require((*seen_)(i) >= 0 && (*seen_)(i) < n, "rows holds a number outside the table");
    const std::int64_t count = seen_ ? length(*seen_) : n;
    require(n_rows >= count && n_rows < std::int64_t{1} << 50, "n_rows must be at least the number of rows here");
    return {X_.data(), p, leaf_.data(), data_or_null(seen_), count, gradient_.data(), hessian_.data(), D, n};
  }

  In2<double> X_;
  In1<std::int32_t> leaf_;
  std::optional<In1<std::int32_t>> seen_;
  In2<double> gradient_, hessian_;
  int n_threads_;
  LineSums sums_;
};

nb::tuple py_lines_of_sums(In1<std::int32_t> feature, In1<std::int32_t> left, In1<std::uint8_t> lines,
                           In1<std::uint8_t> numeric, std::int64_t n_outputs, std::int64_t n_rows, double l2,
                           In1<double> largest, In1<std::int64_t> weights, In1<std::int64_t> products) {
  require(n_outputs >= 1 && n_rows >= 0, "there must be an output, and no negative number of rows");
  require_l2(l2);
  LineShape shape{path_columns(checked_paths(feature, left, lines, numeric)), n_outputs};
  require(length(largest) == shape.n_largest() && length(weights) == shape.n_weights() &&
              length(products) == shape.product_starts().back(),
          "the sums are of other lines");
  return arrays_of(
      lines_of_sums(std::move(shape), largest.data(), weights.data(), products.data(), line_bits(n_rows), l2),
      n_outputs);
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
  unlocked(n_threads, [&](ThreadTeam& team) {
    add_lines(lines, output, step, X.data(), n, p, leaf_of_row.data(), scores.data(), team);
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
  nb::class_<PyLineSums>(m, "LineSums")
      .def(nb::init<In2<double>, In1<std::int32_t>, std::optional<In1<std::int32_t>>, In2<double>, In2<double>,
                    In1<std::int32_t>, In1<std::int32_t>, In1<std::uint8_t>, In1<std::uint8_t>, std::int64_t, int>(),
           "X"_a.noconvert(), "leaf_of_row"_a.noconvert(), "rows"_a.noconvert().none(), "gradient"_a.noconvert(),
           "hessian"_a.noconvert(), "feature"_a.noconvert(), "left"_a.noconvert(), "lines"_a.noconvert(),
           "numeric"_a.noconvert(), "n_rows"_a, "n_threads"_a)
      .def("largest", &PyLineSums::largest)
      .def("weights", &PyLineSums::weights, "largest"_a.noconvert())
      .def("products", &PyLineSums::products, "largest"_a.noconvert(), "weights"_a.noconvert())
      .def("lines", &PyLineSums::lines, "l2"_a);
  m.def("lines_of_sums", &py_lines_of_sums, "feature"_a.noconvert(), "left"_a.noconvert(), "lines"_a.noconvert(),
        "numeric"_a.noconvert(), "n_outputs"_a, "n_rows"_a, "l2"_a, "largest"_a.noconvert(), "weights"_a.noconvert(),
        "products"_a.noconvert());
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
