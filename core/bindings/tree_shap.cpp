#include "../tree_shap.hpp"

#include "forest_arrays.hpp"

namespace committee {
namespace {

nb::object tree_contributions(In2<double> X, std::int64_t n_features, In1<std::int64_t> offset,
                              In1<std::int32_t> feature, In1<double> threshold, In1<std::int32_t> left,
                              In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
                              In1<std::uint32_t> category_bits, In1<double> cover, In2<double> value,
                              In1<double> weights, std::int64_t n_outputs, int n_threads) {
  const Trees trees(
      forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits));
  const std::int64_t n_trees = trees.n_trees(), D = extent(value, 1);
  require(extent(X, 1) == n_features, "X has another number of columns than the trees");
  require(length(cover) == trees.n_nodes(), "cover needs one number per node");
  require(extent(value, 0) == trees.n_nodes(), "value needs one row per node");
  require(n_outputs >= 1 && (D == n_outputs || D == 1), "value needs one column, or one for every output");
  const std::int64_t per_round = n_outputs / D;
  require(n_trees % per_round == 0, "there must be one tree per output and round");
  require(length(weights) == n_trees / per_round, "weights needs one number per round");
  for (std::int64_t i = 0; i < length(cover); ++i)
    require(cover(i) >= 0.0 && std::isfinite(cover(i)), "cover must be finite and not negative");
  const std::int64_t n = extent(X, 0), places = n_features + 1;
  Vector<double> out(n * places * n_outputs);
  unlocked(n_threads, [&](ThreadTeam& team) {
    TreeShap(trees, cover.data(), {value.data(), D, n_outputs, weights.data()})
        .contributions(X.data(), n, out.data(), team);
  });
  return array_of(std::move(out), {n, places, n_outputs});
}

}  // namespace

void register_tree_shap(nb::module_& m) {
  m.def("tree_contributions", &tree_contributions, "X"_a.noconvert(), "n_features"_a, "offset"_a.noconvert(),
        "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(), "missing_left"_a.noconvert(),
        "category_offset"_a.noconvert(), "category_bits"_a.noconvert(), "cover"_a.noconvert(), "value"_a.noconvert(),
        "weights"_a.noconvert(), "n_outputs"_a, "n_threads"_a);
}

}  // namespace committee
