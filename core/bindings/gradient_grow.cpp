#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "bindings/checked_lines.hpp"
#include "bindings/gradient_round.hpp"
#include "bindings/native_loss.hpp"
#include "bindings/tree_grower.hpp"
#include "boosting/gradient_round.hpp"
#include "trees/gradient/grower.hpp"
#include "trees/gradient/sharded_grower.hpp"

namespace committee {
namespace {

struct GrownGradientTree : TreeNodes {
  Vector<double> value, bounds, weight;  // value: nodes x outputs; bounds: nodes x 2; no weight: rows have none

  explicit GrownGradientTree(GradientTree&& t)
      : TreeNodes(std::move(t)), value(std::move(t.value)), weight(std::move(t.weight)) {
    bounds.reserve(2 * n_nodes());
    for (const Bounds& b : t.bounds) bounds.insert(bounds.end(), {b.lower, b.upper});
  }

  GrownGradientTree(const nb::tuple& nodes, const nb::object& value, const nb::object& bounds, const nb::object& weight)
      : TreeNodes(nodes), value(copied<In2<double>>(value)), bounds(copied<In2<double>>(bounds)) {
    const auto values = exactly<In2<double>>(value), limits = exactly<In2<double>>(bounds);
    require(extent(values, 0) == n_nodes() && extent(values, 1) >= 1 && extent(limits, 0) == n_nodes() &&
                extent(limits, 1) == 2,
            kOtherLengths);
    if (weight.is_none()) return;
    this->weight = copied<In1<double>>(weight);
    require(this->weight.size() == n_nodes(), kOtherLengths);
  }

  template <auto member>
  static nb::object matrix(nb::pointer_and_handle<GrownGradientTree> tree) {
    return rows_view_of(tree.p->*member, tree.p->n_nodes(), tree.h);
  }
  static nb::object weight_array(nb::pointer_and_handle<GrownGradientTree> tree) {
    return tree.p->weight.empty() ? nb::none() : view_of(tree.p->weight, tree.h);
  }
};

class PyGradientGrower {
 public:
  PyGradientGrower(std::optional<AnyCodes> codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical,
                   int n_outputs, int max_depth, std::int64_t max_leaf_nodes, std::int64_t min_samples_leaf,
                   double min_hessian_leaf, double leaf_l0, double leaf_l1, double leaf_l2, bool l0_per_leaf,
                   double min_gain, std::int64_t max_features, const std::string& growth,
                   std::optional<In2<std::int8_t>> monotone, std::int64_t max_interaction,
                   const std::vector<In1<std::int32_t>>& interaction_groups, double draw_thresholds, double max_weight,
                   std::optional<In1<std::uint32_t>> feature_weights, int n_threads)
      : codes_(codes), n_outputs_(n_outputs), n_threads_(n_threads) {
    const std::int64_t p = length(n_bins);
    if (codes) require_table(*codes, n_bins, categorical);
    require(p >= 1 && length(categorical) == p, "n_bins and categorical need one number per column");
    require(n_outputs >= 1, "n_outputs must be at least 1");
    require(min_hessian_leaf >= 0.0 && min_gain >= 0.0, "min_hessian_leaf and min_gain must not be negative");
    require(leaf_l0 >= 0.0 && leaf_l1 >= 0.0 && leaf_l2 >= 0.0, "leaf penalties must not be negative");
    require(growth == "leaf" || growth == "depth", "growth must be 'leaf' or 'depth'");
    GradientGrowth limits{{max_depth, max_leaf_nodes, min_samples_leaf, max_features},
                          min_hessian_leaf,
                          min_gain,
                          {leaf_l0, leaf_l1, leaf_l2, l0_per_leaf},
                          growth == "leaf",
                          {},
                          interactions(max_interaction, interaction_groups, p),
                          draw_thresholds,
                          max_weight};
    require_limits(limits);
    require(max_weight > 0.0, "max_weight must be above 0");
    require(draw_thresholds >= 0.0 && draw_thresholds <= 1.0, "draw_thresholds must lie in [0, 1]");
    limits.feature_weights = feature_weights_of(feature_weights, p);
    if (monotone) {
      require(extent(*monotone, 1) == p, "monotone needs one sign per column");
      require(n_outputs == 1, "monotone constraints need one output");
      for (std::int64_t k = 0; k < extent(*monotone, 0); ++k)
        limits.monotone.push_back(directions(monotone->data() + k * extent(*monotone, 1), categorical));
    }
    if (!codes) {
      no_rows_ = {nullptr, 0, p, {0}, {categorical.data(), categorical.data() + p}};
      for (std::int64_t j = 0; j < p; ++j) {
        require(n_bins(j) >= 1 && n_bins(j) <= 65535, "n_bins must lie in [1, 65535]");
        no_rows_.cell.push_back(no_rows_.cell.back() + n_bins(j) + 1);
      }
      growth_ = limits;
      return;
    }
    with_table(*codes, n_bins, categorical.data(), [&]<class Table>(Table table) {
      nb::gil_scoped_release release;
      grower_ = std::make_unique<TableGradientGrower<Table>>(std::move(table), limits, n_outputs, n_threads);
    });
  }

  GrownGradientTree grow(In<double> gradient, In<double> hessian, std::optional<In1<std::int32_t>> rows,
                         std::optional<In1<std::int32_t>> features, std::uint64_t seed, std::int64_t score,
                         std::optional<In1<double>> weights) {
    require(grower_ != nullptr, "a grower without codes grows on shards");
    require(!rows || length(*rows) >= 1, "rows must name at least one row");
    require_score(score, grower_->n_directions());
    const GradientRound round = gradient_round(gradient, hessian, weights, rows, features, grower_->n_rows(),
                                               grower_->n_features(), n_outputs_, seed, score);
    GradientTree tree;
    {
      nb::gil_scoped_release release;
      const std::scoped_lock one_at_a_time(growing_);  // the buffers are shared
      tree = grower_->grow(round);
    }
    return GrownGradientTree(std::move(tree));
  }

  // `part` is called with orders as PartOrders::arrays, `leaf_sums` with places, ids and the number of nodes.
  GrownGradientTree grow_on_shards(const RoundScale& scale, const LayoutNumbers& layout, In1<std::uint64_t> root,
                                   std::optional<In1<std::int32_t>> features, std::uint64_t seed, std::int64_t score,
                                   std::optional<double> largest_weight, const nb::callable& part,
                                   const nb::callable& leaf_sums) {
    require(grower_ == nullptr, "a grower with codes grows on these");
    require(scale.n_outputs == n_outputs_ && scale.n_rows >= 1, "the round is one of other scores, or of no rows");
    require(!features || length(*features) >= 1, "features must name at least one column");
    require_score(score, growth_.monotone.size());
    const Vector<std::uint64_t> sums(root.data(), root.data() + length(root));
    const ShardsRound round{scale,
                            layout_of(layout),
                            sums,
                            largest_weight.value_or(0.0),
                            largest_weight.has_value(),
                            data_or_null(features),
                            features ? length(*features) : no_rows_.n_features,
                            seed,
                            score};
    const auto ask = [&](const Vector<PartOrder>& orders, const ShardedRows::Read& read) {
      nb::gil_scoped_acquire acquire;
      const auto found = nb::cast<In1<std::uint64_t>>(nb::object(part(*order_arrays(orders))));
      read(found.data(), length(found));
    };
    const std::int64_t width = 2 * n_outputs_ + round.weighted;
    const auto sums_of_leaves = [&](const Vector<std::int32_t>& places, const Vector<std::int32_t>& ids,
                                    std::int64_t n_nodes) {
      nb::gil_scoped_acquire acquire;
      const auto found = nb::cast<In3<std::int64_t>>(
          nb::object(leaf_sums(array_of(Vector<std::int32_t>(places)), array_of(Vector<std::int32_t>(ids)), n_nodes)));
      return multiples_of(found, n_nodes, width);
    };
    GradientTree tree;
    {
      nb::gil_scoped_release release;
      tree = committee::grow_on_shards(no_rows_, growth_, round, ask, sums_of_leaves, n_threads_);
    }
    return GrownGradientTree(std::move(tree));
  }

  // body(grower) while no other tree is grown.
  template <class Body>
  void growing(Body&& body) {
    const std::scoped_lock one_at_a_time(growing_);
    body(*grower_);
  }

  int n_outputs() const { return n_outputs_; }
  int n_threads() const { return n_threads_; }
  bool has_rows(std::int64_t n) const { return grower_ != nullptr && grower_->n_rows() == n; }

  nb::object leaf_of_row() const {
    require(grower_ != nullptr, "a grower without codes has no rows");
    return view_of(grower_->leaf_of_row(), nb::find(this));
  }

 private:
  static Directions directions(const std::int8_t* signs, const In1<std::uint8_t>& categorical) {
    Directions found(signs, signs + length(categorical));
    for (std::int64_t j = 0; j < found.size(); ++j) {
      require(found[j] >= -1 && found[j] <= 1, "monotone signs must be -1, 0 or 1");
      require(found[j] == 0 || categorical(j) == 0, "a categorical column cannot be monotone");
    }
    return found == Directions(found.size(), 0) ? Directions{} : found;
  }

  static Interactions interactions(std::int64_t most, const std::vector<In1<std::int32_t>>& groups,
                                   std::int64_t n_features) {
    require(most >= 0, "max_interaction must not be negative");
    Interactions limits{most, {}};
    for (const In1<std::int32_t>& group : groups) {
      std::int32_t last = -1;
      for (std::int64_t i = 0; i < length(group); last = group(i++))
        require(group(i) > last && group(i) < n_features, "interaction_groups must rise and stay within the columns");
      limits.groups.emplace_back(group.data(), group.data() + length(group));
    }
    return limits;
  }

  static void require_score(std::int64_t score, std::int64_t n_directions) {
    require(score >= 0 && (n_directions <= 1 || score < n_directions), "score is none of those with monotone signs");
  }

  std::optional<AnyCodes> codes_;  // keeps the table's memory; that of a sparse one is kept beside this object
  int n_outputs_, n_threads_;
  BinnedTable<std::uint8_t> no_rows_{};  // without codes: the table's columns, and how trees grow on its shards
  GradientGrowth growth_{};
  std::mutex growing_;
  std::unique_ptr<GradientGrower> grower_;
};

// The rounds of a run, whose arrays it keeps.
class PyBoostingRounds {
 public:
  PyBoostingRounds(PyGradientGrower* grower, const std::string& loss, LossTargets y,
                   nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> F, double step,
                   std::optional<In1<std::int32_t>> rows, std::optional<In1<double>> place, std::uint64_t bound,
                   std::optional<In1<std::uint8_t>> among, std::optional<In2<double>> X, In1<std::uint8_t> numeric,
                   double l2)
      : grower_(*grower), y_(y), F_(F), rows_(rows), place_(place), among_(among), X_(X), numeric_(numeric) {
    const std::int64_t n = extent(F, 1), n_scores = extent(F, 0), n_outputs = grower_.n_outputs();
    require(grower_.has_rows(n) && length(y) == n, "the grower, y and F are of other rows");
    require(n_outputs == 1 || n_outputs == n_scores, "F needs a line for each output of the grower");
    require(!place || length(*place) == n, "place needs one number per row");
    require(!among || length(*among) == n, "among needs one number per row");
    require(!X || (extent(*X, 0) == n && extent(*X, 1) == length(numeric)),
            "X needs the rows of F, and numeric columns");
    const NativeLoss named = native_loss(loss, y);
    require(named == NativeLoss::softmax || n_scores == 1, "the loss is one of a single score");
    const RowDraw draw{data_or_null(rows), rows ? length(*rows) : n, data_or_null(place), bound, data_or_null(among)};
    BoostedRows boosted{named, y.data(), F.data(), n, n_scores, n_scores / n_outputs, draw};
    if (X) boosted.X = X->data();
    boosted.n_features = length(numeric);
    boosted.numeric = numeric.data();
    boosted.l2 = l2;
    boosted.step = step;
    grower_.growing([&](GradientGrower& growing) {
      rounds_ = std::make_unique<BoostingRounds>(boosted, growing, grower_.n_threads());
      require(growing.n_directions() <= 1 || boosted.n_trees <= growing.n_directions(),
              "a score has no monotone signs");
    });
  }

  nb::tuple advance(std::uint64_t row_seed, std::uint64_t tree_seed) {
    std::pair<Vector<BoostedTree>, double> found;
    {
      nb::gil_scoped_release release;
      grower_.growing([&](GradientGrower&) { found = rounds_->advance(row_seed, tree_seed); });
    }
    nb::list trees, lines;
    for (BoostedTree& one : found.first) {
      if (X_) lines.append(arrays_of(std::move(one.lines), grower_.n_outputs()));
      trees.append(GrownGradientTree(std::move(one.tree)));
    }
    return nb::make_tuple(trees, lines, found.second);
  }

 private:
  PyGradientGrower& grower_;
  LossTargets y_;
  nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> F_;
  std::optional<In1<std::int32_t>> rows_;
  std::optional<In1<double>> place_;
  std::optional<In1<std::uint8_t>> among_;
  std::optional<In2<double>> X_;
  In1<std::uint8_t> numeric_;
  std::unique_ptr<BoostingRounds> rounds_;
};

void py_add_leaf_values(nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores,
                        In1<std::int32_t> leaf_of_row, In1<double> value, int n_threads) {
  const auto n = length(scores);
  require(length(leaf_of_row) == length(scores), "leaf_of_row needs one leaf per score");
  const auto n_values = static_cast<std::uint32_t>(length(value));
  nb::gil_scoped_release release;
  ThreadTeam team(n_threads);
  team.blocks(n, n, [&](std::int64_t begin, std::int64_t end) {
    double* const score = scores.data();
    const std::int32_t* const leaf = leaf_of_row.data();
    const double* const of_leaf = value.data();
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::uint32_t>(leaf[i]);  // no leaf, -1, is beyond all of them
      if (at < n_values)
        score[i] += of_leaf[at];
      else
        require(leaf[i] == -1, "leaf_of_row names a leaf without a value");
    }
  });
}

double largest_size(In<double> values) {
  double largest = 0.0;
  for (std::int64_t i = 0; i < length(values); ++i) {
    const double size = std::abs(values.data()[i]);
    if (!(size <= largest)) largest = size;  // NaN is taken, and stays
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace

void register_gradient_grow(nb::module_& m) {
  nb::class_<GrownGradientTree, TreeNodes>(m, "GradientTree")
      .def(nb::init<nb::tuple, nb::object, nb::object, nb::object>(), "nodes"_a, "value"_a, "bounds"_a,
           "weight"_a = nb::none())
      .def_prop_ro("value", &GrownGradientTree::matrix<&GrownGradientTree::value>)
      .def_prop_ro("weight", &GrownGradientTree::weight_array)
      .def_prop_ro("bounds", &GrownGradientTree::matrix<&GrownGradientTree::bounds>);
  nb::class_<PyGradientGrower>(m, "GradientGrower")
      .def(nb::init<std::optional<AnyCodes>, In1<std::int32_t>, In1<std::uint8_t>, int, int, std::int64_t, std::int64_t,
                    double, double, double, double, bool, double, std::int64_t, const std::string&,
                    std::optional<In2<std::int8_t>>, std::int64_t, const std::vector<In1<std::int32_t>>&, double,
                    double, std::optional<In1<std::uint32_t>>, int>(),
           "codes"_a.noconvert().none(), "n_bins"_a.noconvert(), "categorical"_a.noconvert(), nb::kw_only(),
           "n_outputs"_a, "max_depth"_a, "max_leaf_nodes"_a, "min_samples_leaf"_a, "min_hessian_leaf"_a, "leaf_l0"_a,
           "leaf_l1"_a, "leaf_l2"_a, "l0_per_leaf"_a, "min_gain"_a, "max_features"_a, "growth"_a,
           "monotone"_a.noconvert().none(), "max_interaction"_a, "interaction_groups"_a.noconvert(),
           "draw_thresholds"_a, "max_weight"_a = std::numeric_limits<double>::infinity(),
           "feature_weights"_a.noconvert() = nb::none(), "n_threads"_a, nb::keep_alive<1, 2>())
      .def("grow", &PyGradientGrower::grow, "gradient"_a.noconvert(), "hessian"_a.noconvert(),
           "rows"_a.noconvert().none(), "features"_a.noconvert().none(), "seed"_a, "score"_a = 0,
           "weights"_a.noconvert() = nb::none())
      .def("grow_on_shards", &PyGradientGrower::grow_on_shards, "scale"_a, "layout"_a, "root"_a.noconvert(),
           "features"_a.noconvert().none(), "seed"_a, "score"_a, "largest_weight"_a.none(), "part"_a, "leaf_sums"_a)
      .def_prop_ro("n_outputs", &PyGradientGrower::n_outputs)
      .def_prop_ro("leaf_of_row", &PyGradientGrower::leaf_of_row);
  nb::class_<PyBoostingRounds>(m, "BoostingRounds")
      .def(nb::init<PyGradientGrower*, const std::string&, LossTargets,
                    nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>, double,
                    std::optional<In1<std::int32_t>>, std::optional<In1<double>>, std::uint64_t,
                    std::optional<In1<std::uint8_t>>, std::optional<In2<double>>, In1<std::uint8_t>, double>(),
           "grower"_a, "loss"_a, "y"_a.noconvert(), "F"_a.noconvert(), "step"_a, "rows"_a.noconvert().none(),
           "place"_a.noconvert().none(), "bound"_a, "among"_a.noconvert().none(), "X"_a.noconvert().none(),
           "numeric"_a.noconvert(), "l2"_a, nb::keep_alive<1, 2>())
      .def("advance", &PyBoostingRounds::advance, "row_seed"_a, "tree_seed"_a);
  m.def("largest_size", &largest_size, "values"_a);
  m.def("add_leaf_values", &py_add_leaf_values, "scores"_a.noconvert(), "leaf_of_row"_a.noconvert(),
        "value"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
