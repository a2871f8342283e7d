#include <memory>
#include <mutex>

#include "bindings/gradient_round.hpp"
#include "bindings/tree_grower.hpp"
#include "trees/gradient/shard.hpp"

namespace committee {
namespace {

template <class Run>
auto without_lock(Run&& run) {
  nb::gil_scoped_release release;
  return run();
}

class PyGradientShard {
 public:
  PyGradientShard(Codes codes, In1<std::int32_t> n_bins, int n_outputs, int n_threads)
      : codes_(codes), n_bins_(n_bins.data(), n_bins.data() + length(n_bins)), n_outputs_(n_outputs) {
    require_codes(codes, n_bins);
    require(extent(codes, 0) >= 1, "codes needs at least one row");
    require(n_outputs >= 1, "n_outputs must be at least 1");
    with_code_type(codes, [&]<class Code>(Code) {
      BinnedTable<Code> table = table_of<Code>(codes, n_bins, nullptr);
      nb::gil_scoped_release release;
      shard_ = std::make_unique<TableGradientShard<BinnedTable<Code>>>(std::move(table), n_outputs, n_threads);
    });
  }

  // A tree begins. Of its rows: how many they are, the largest gradient and hessian, whether all are sound; the largest
  // by units of weight, how many units there are (0: weights are no whole numbers), the most of one row, the heaviest.
  using Begun = std::tuple<std::int64_t, double, double, bool, double, double, std::int64_t, std::int64_t, double>;
  Begun begin(In<double> gradient, In<double> hessian, std::optional<In1<double>> weights,
              std::optional<In1<std::int32_t>> rows, std::optional<In1<std::int32_t>> features) {
    const std::scoped_lock one_at_a_time(working_);
    round_ = gradient_round(gradient, hessian, weights, rows, features, shard_->n_rows(), shard_->n_features(),
                            n_outputs_, 0, 0);
    // kept while the tree grows
    gradient_ = gradient, hessian_ = hessian, weights_ = weights, rows_ = rows, features_ = features;
    packed_ = false;
    nb::gil_scoped_release release;
    shard_->begin(round_);
    const std::int64_t n = round_.n_in_use;
    const GradientRange range = shard_->range(round_, false);
    if (!round_.weights) return {n, range.largest_gradient, range.largest_hessian, range.sound, 0.0, 0.0, 0, 0, 0.0};
    const WeightUnits units = weight_units(round_.weights, round_.rows, n);
    const GradientRange of_units = units.usable() ? shard_->range(round_, true) : range;
    return {n,
            range.largest_gradient,
            range.largest_hessian,
            range.sound,
            of_units.largest_gradient,
            of_units.largest_hessian,
            units.usable() ? units.all : 0,
            units.largest,
            largest_weight(round_.weights, round_.rows, n)};
  }

  std::tuple<std::int64_t, std::int64_t> pack(const LayoutNumbers& numbers, bool by_units) {
    const std::scoped_lock one_at_a_time(working_);
    require_begun();
    require(!by_units || round_.weights, "there are no units without weights");
    const WordLayout layout = layout_of(numbers);
    nb::gil_scoped_release release;
    const WordTotals totals = shard_->pack(round_, layout, by_units);
    packed_ = true;
    return {totals.gradients, totals.hessians};
  }

  nb::object root(bool narrow) {
    const std::scoped_lock one_at_a_time(working_);
    require(packed_, "the words of the tree's rows are to be packed first");
    return array_of(without_lock([&] { return shard_->root(round_, narrow); }));
  }

  nb::object part(In1<std::int32_t> place, In1<std::int32_t> left, In1<std::int32_t> feature, In1<std::uint8_t> flags,
                  In1<std::uint8_t> is_left) {
    const std::scoped_lock one_at_a_time(working_);
    require(packed_, "the words of the tree's rows are to be packed first");
    const std::int64_t n = length(place);
    require(length(left) == n && length(feature) == n && length(flags) == n, "orders are of one length");
    Vector<PartOrder> orders;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t size = n_bins_of(feature(i)) + 1;
      require(at + size <= length(is_left), "is_left needs a flag for each bin");
      orders.push_back({place(i),
                        left(i),
                        feature(i),
                        {is_left.data() + at, is_left.data() + at + size},
                        (flags(i) & 1) != 0,
                        (flags(i) & 2) != 0,
                        (flags(i) & 4) != 0});
      at += size;
    }
    return array_of(without_lock([&] { return shard_->part(orders); }));
  }

  // `largest`: gradient, hessian, and weight or None.
  nb::object leaf_sums(In1<std::int32_t> places, In1<std::int32_t> ids, std::int64_t n_nodes, double largest_gradient,
                       double largest_hessian, std::optional<double> largest_weight) {
    const std::scoped_lock one_at_a_time(working_);
    require_begun();
    require(length(places) == length(ids) && n_nodes >= 1, "leaves need a place and a number each");
    require(!largest_weight || round_.weights, "there are no sums of weights without weights");
    const LeafUnits units(largest_gradient, largest_hessian, largest_weight.value_or(0.0), n_outputs_,
                          largest_weight.has_value());
    const Vector<std::int32_t> place(places.data(), places.data() + length(places)),
        id(ids.data(), ids.data() + length(ids));
    return limbs_of(without_lock([&] { return shard_->leaf_sums(place, id, n_nodes, round_, units); }), units.width());
  }

  nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>> leaf_of_row() const {
    const Vector<std::int32_t>& leaf = shard_->leaf_of_row();
    return {leaf.data(), {size_of(leaf.size())}, nb::find(this)};
  }

 private:
  void require_begun() const { require(round_.gradient != nullptr, "no tree has begun"); }
  std::int64_t n_bins_of(std::int32_t j) const {
    require(j >= 0 && j < round_.n_features, "a node cannot be parted by a column that the tree does not have");
    return n_bins_[round_.features ? round_.features[j] : j];
  }

  Codes codes_;  // keeps the table's memory, and the arrays of the tree that grows
  Vector<std::int32_t> n_bins_;
  int n_outputs_;
  std::mutex working_;
  std::unique_ptr<GradientShard> shard_;
  GradientRound round_{};
  In<double> gradient_, hessian_;
  std::optional<In1<double>> weights_;
  std::optional<In1<std::int32_t>> rows_, features_;
  bool packed_ = false;
};

// Sums over the rows of each node of terms (n,) or (k, n), order-free; rows of node -1 count nowhere.
nb::object py_node_sums(In2<double> terms, In1<std::int32_t> node, std::int64_t n_nodes, In1<double> largest) {
  const std::int64_t k = extent(terms, 0), n = extent(terms, 1);
  require(length(node) == n && length(largest) == k && n_nodes >= 1, "terms need a node each, and a largest term");
  Vector<Multiples> sums(n_nodes * k, 0);
  {
    nb::gil_scoped_release release;
    for (std::int64_t d = 0; d < k; ++d) {
      const SumUnit unit(largest.data()[d]);
      const double* const term = terms.data() + d * n;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t at = node.data()[i];
        require(at >= -1 && at < n_nodes, "a row is in a node that the tree does not have");
        if (at >= 0) sums[at * k + d] += unit.halves(term[i]).multiples();
      }
    }
  }
  return limbs_of(sums, k);
}

nb::object py_sums_of_limbs(In3<std::int64_t> limbs, In1<double> largest) {
  const std::int64_t n = extent(limbs, 0), k = extent(limbs, 1);
  require(length(largest) == k, "sums need a largest term each");
  const Vector<Multiples> sums = multiples_of(limbs, n, k);
  Vector<double> values;
  for (std::int64_t i = 0; i < n * k; ++i) values.push_back(SumUnit(largest.data()[i % k]).value(sums[i]));
  return array_of(std::move(values), {n, k});
}

}  // namespace

void register_gradient_shard(nb::module_& m) {
  nb::class_<PyGradientShard>(m, "GradientShard")
      .def(nb::init<Codes, In1<std::int32_t>, int, int>(), "codes"_a.noconvert(), "n_bins"_a.noconvert(), nb::kw_only(),
           "n_outputs"_a, "n_threads"_a)
      .def("begin", &PyGradientShard::begin, "gradient"_a.noconvert(), "hessian"_a.noconvert(),
           "weights"_a.noconvert().none(), "rows"_a.noconvert().none(), "features"_a.noconvert().none())
      .def("pack", &PyGradientShard::pack, "layout"_a, "by_units"_a)
      .def("root", &PyGradientShard::root, "narrow"_a)
      .def("part", &PyGradientShard::part, "place"_a.noconvert(), "left"_a.noconvert(), "feature"_a.noconvert(),
           "flags"_a.noconvert(), "is_left"_a.noconvert())
      .def("leaf_sums", &PyGradientShard::leaf_sums, "places"_a.noconvert(), "ids"_a.noconvert(), "n_nodes"_a,
           "largest_gradient"_a, "largest_hessian"_a, "largest_weight"_a.none())
      .def_prop_ro("leaf_of_row", &PyGradientShard::leaf_of_row, nb::rv_policy::reference_internal);
  nb::class_<RoundScale>(m, "RoundScale")
      .def(
          "__init__",
          [](RoundScale* scale, double largest_gradient, double largest_hessian, bool sound, std::int64_t units,
             std::int64_t most_units, std::int64_t n_rows, std::int64_t n_outputs) {
            require(n_rows >= 1 && n_outputs >= 1, "a round has rows, and scores");
            require(units == 0 || (most_units >= 1 && most_units <= units), "a row has too many or too few units");
            const GradientRange range{largest_gradient, largest_hessian, sound};
            require_sound(range);
            new (scale) RoundScale{range, {units, most_units}, n_rows, n_outputs};
          },
          "largest_gradient"_a, "largest_hessian"_a, "sound"_a, "units"_a, "most_units"_a, "n_rows"_a, "n_outputs"_a)
      .def("layout", [](const RoundScale& scale) { return numbers_of(scale.layout()); })
      .def("wide", [](const RoundScale& scale) { return numbers_of(scale.wide()); })
      .def(
          "fine_enough",
          [](const RoundScale& scale, const LayoutNumbers& layout, std::int64_t gradients, std::int64_t hessians) {
            return !layout_of(layout).of_words || scale.fine_enough({gradients, hessians});
          },
          "layout"_a, "gradients"_a, "hessians"_a)
      .def(
          "is_narrow",
          [](const RoundScale& scale, const LayoutNumbers& numbers) {
            const WordLayout layout = layout_of(numbers);
            return layout.packed && scale.n_rows <= layout.block;
          },
          "layout"_a)
      .def_prop_ro("by_units", &RoundScale::by_units)
      .def_prop_ro("largest_gradient", &RoundScale::largest_gradient)
      .def_prop_ro("largest_hessian", &RoundScale::largest_hessian);
  m.def("node_sums", &py_node_sums, "terms"_a.noconvert(), "node"_a.noconvert(), "n_nodes"_a, "largest"_a.noconvert());
  m.def("sums_of_limbs", &py_sums_of_limbs, "limbs"_a.noconvert(), "largest"_a.noconvert());
}

}  // namespace committee
