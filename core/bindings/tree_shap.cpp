#include "shap/tree_shap.hpp"

#include "bindings/checked_lines.hpp"
#include "bindings/forest_arrays.hpp"
#include "shap/interactions.hpp"
#include "shap/interventional.hpp"

namespace committee {
namespace {

void check_cover(const In1<double>& cover, const Trees& trees) {
  require(length(cover) == trees.n_nodes(), "cover needs one number per node");
  for (std::int64_t i = 0; i < length(cover); ++i)
    require(cover(i) >= 0.0 && std::isfinite(cover(i)), "cover must be finite and not negative");
}

TreeScores scores_of(const Trees& trees, const In2<double>& value, const In1<double>& weights, std::int64_t n_outputs) {
  const std::int64_t D = extent(value, 1);
  require(extent(value, 0) == trees.n_nodes(), "value needs one row per node");
  require(n_outputs >= 1 && (D == n_outputs || D == 1), "value needs one column, or one for every output");
  const std::int64_t per_round = n_outputs / D;
  require(trees.n_trees() % per_round == 0, "there must be one tree per output and round");
  require(length(weights) == trees.n_trees() / per_round, "weights needs one number per round");
  return {value.data(), D, n_outputs, weights.data()};
}

nb::object tree_contributions(In2<double> X, std::int64_t n_features, In1<std::int64_t> offset,
                              In1<std::int32_t> feature, In1<double> threshold, In1<std::int32_t> left,
                              In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
                              In1<std::uint32_t> category_bits, In1<double> cover, In2<double> value,
                              In1<double> weights, std::int64_t n_outputs, int n_threads) {
  const Trees trees(
      forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits));
  require(extent(X, 1) == n_features, "X has another number of columns than the trees");
  check_cover(cover, trees);
  const TreeScores scores = scores_of(trees, value, weights, n_outputs);
  const std::int64_t n = extent(X, 0), places = n_features + 1;
  Vector<double> out(n * places * n_outputs);
  unlocked(n_threads, [&](ThreadTeam& team) {
    TreeShap(trees, cover.data(), scores).contributions(X.data(), n, out.data(), team);
  });
  return array_of(std::move(out), {n, places, n_outputs});
}

nb::object interventional_contributions(In2<double> X, In2<double> Z, std::int64_t n_features, In1<std::int64_t> offset,
                                        In1<std::int32_t> feature, In1<double> threshold, In1<std::int32_t> left,
                                        In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
                                        In1<std::uint32_t> category_bits, In2<double> value, In1<double> weights,
                                        std::int64_t n_outputs, In1<std::int64_t> line_start,
                                        In1<std::int32_t> line_column, In2<double> line_slope, In2<double> line_centre,
                                        In1<double> line_low, In1<double> line_high, int n_threads) {
  const Trees trees(
      forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits));
  require(extent(X, 1) == n_features, "X has another number of columns than the trees");
  require(extent(Z, 1) == n_features, "Z has another number of columns than the trees");
  require(extent(Z, 0) >= 1, "Z needs at least one row");
  const TreeScores scores = scores_of(trees, value, weights, n_outputs);
  const bool has_lines = length(line_start) > 0;
  const Lines lines = has_lines ? checked_lines(trees.n_nodes(), n_features, line_start, line_column, line_slope,
                                                line_centre, line_low, line_high)
                                : Lines{};
  require(!has_lines || lines.n_outputs == scores.D, "the lines have other outputs than value");
  const std::int64_t n = extent(X, 0), m = extent(Z, 0), places = n_features + 1;
  Vector<double> out(n * places * n_outputs);
  unlocked(n_threads, [&](ThreadTeam& team) {
    InterventionalShap(trees, scores, has_lines ? &lines : nullptr)
        .contributions(X.data(), n, Z.data(), m, out.data(), team);
  });
  return array_of(std::move(out), {n, places, n_outputs});
}

nb::object tree_interactions(In2<double> X, std::int64_t n_features, In1<std::int64_t> offset,
                             In1<std::int32_t> feature, In1<double> threshold, In1<std::int32_t> left,
                             In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
                             In1<std::uint32_t> category_bits, In1<double> cover, In2<double> value,
                             In1<double> weights, std::int64_t n_outputs, int n_threads) {
  const Trees trees(
      forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits));
  require(extent(X, 1) == n_features, "X has another number of columns than the trees");
  check_cover(cover, trees);
  const TreeScores scores = scores_of(trees, value, weights, n_outputs);
  const std::int64_t n = extent(X, 0);
  Vector<double> out(n * n_features * n_features * n_outputs);
  unlocked(n_threads, [&](ThreadTeam& team) {
    ShapInteractions(trees, cover.data(), scores).interactions(X.data(), n, out.data(), team);
  });
  return array_of(std::move(out), {n, n_features, n_features, n_outputs});
}

}  // namespace

void register_tree_shap(nb::module_& m) {
  m.def("tree_contributions", &tree_contributions, "X"_a.noconvert(), "n_features"_a, "offset"_a.noconvert(),
        "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(), "missing_left"_a.noconvert(),
        "category_offset"_a.noconvert(), "category_bits"_a.noconvert(), "cover"_a.noconvert(), "value"_a.noconvert(),
        "weights"_a.noconvert(), "n_outputs"_a, "n_threads"_a);
  m.def("interventional_contributions", &interventional_contributions, "X"_a.noconvert(), "Z"_a.noconvert(),
        "n_features"_a, "offset"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(),
        "left"_a.noconvert(), "missing_left"_a.noconvert(), "category_offset"_a.noconvert(),
        "category_bits"_a.noconvert(), "value"_a.noconvert(), "weights"_a.noconvert(), "n_outputs"_a,
        "line_start"_a.noconvert(), "line_column"_a.noconvert(), "line_slope"_a.noconvert(),
        "line_centre"_a.noconvert(), "line_low"_a.noconvert(), "line_high"_a.noconvert(), "n_threads"_a);
  m.def("tree_interactions", &tree_interactions, "X"_a.noconvert(), "n_features"_a, "offset"_a.noconvert(),
        "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(), "missing_left"_a.noconvert(),
        "category_offset"_a.noconvert(), "category_bits"_a.noconvert(), "cover"_a.noconvert(), "value"_a.noconvert(),
        "weights"_a.noconvert(), "n_outputs"_a, "n_threads"_a);
}

}  // namespace committee
