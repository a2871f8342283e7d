#include "bindings/forest_arrays.hpp"

namespace committee {
namespace {

// Adds a tree with one number per leaf to one of n_outputs sums.
auto adds(const double* value, double weight, double* F, std::int64_t n_outputs) {
  return [=](std::int64_t i, std::int32_t at) { F[i * n_outputs] += weight * value[at]; };
}

class PyTrees {
 public:
  PyTrees(std::int64_t n_features, In1<std::int64_t> offset, In1<std::int32_t> feature, In1<double> threshold,
          In1<std::int32_t> left, In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
          In1<std::uint32_t> category_bits)
      : trees_(forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset,
                             category_bits)) {}

  nb::object apply(In2<double> X, int n_threads) const {
    const std::int64_t n = rows_of(X), T = trees_.n_trees();
    Vector<std::int32_t> leaves(n * T);
    unlocked(n_threads, [&](ThreadTeam& team) {
      trees_.walk(X.data(), n, team, [&](std::int64_t t) {
        return [&leaves, T, t](std::int64_t i, std::int32_t at) { leaves[i * T + t] = at; };
      });
    });
    return array_of(std::move(leaves), {n, T});
  }

  nb::object tally_labels(In2<double> X, In1<std::int32_t> label, In1<double> weights, std::int64_t n_classes,
                          int n_threads) const {
    const std::int64_t n = rows_of(X);
    require(n_classes >= 1, "n_classes must be positive");
    require(length(label) == trees_.n_nodes(), "label needs one number per node");
    require(length(weights) == trees_.n_trees(), "weights needs one number per tree");
    for (std::int64_t i = 0; i < length(label); ++i)
      require(label(i) >= -1 && label(i) < n_classes, "a label is out of range");
    Vector<double> F(n * n_classes, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) {
      trees_.walk(X.data(), n, team, [&](std::int64_t t) {
        return [label_of = label.data() + trees_.offset(t), w = weights.data()[t], F = F.data(), n_classes](
                   std::int64_t i, std::int32_t at) {
          if (label_of[at] >= 0) F[i * n_classes + label_of[at]] += w;
        };
      });
    });
    return array_of(std::move(F), {n, n_classes});
  }

  nb::object sum_values(In2<double> X, In2<double> value, In1<double> weights, int n_threads) const {
    const std::int64_t n = rows_of(X), D = extent(value, 1);
    require(extent(value, 0) == trees_.n_nodes(), "value needs one row per node");
    require(length(weights) == trees_.n_trees(), "weights needs one number per tree");
    Vector<double> F(n * D, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) {
      if (D == 1)
        trees_.walk(X.data(), n, team, [&](std::int64_t t) {
          return adds(value.data() + trees_.offset(t), weights.data()[t], F.data(), 1);
        });
      else
        trees_.walk(X.data(), n, team, [&](std::int64_t t) {
          return [v = value.data() + trees_.offset(t) * D, w = weights.data()[t], F = F.data(), D](std::int64_t i,
                                                                                                   std::int32_t at) {
            for (std::int64_t d = 0; d < D; ++d) F[i * D + d] += w * v[at * D + d];
          };
        });
    });
    return array_of(std::move(F), {n, D});
  }

  nb::object sum_shares(In2<double> X, In1<std::int64_t> offset, In1<std::uint16_t> label, In1<double> share,
                        In1<double> weights, std::int64_t n_classes, int n_threads) const {
    const std::int64_t n = rows_of(X), n_shares = length(share);
    require(n_classes >= 1, "n_classes must be positive");
    require(length(weights) == trees_.n_trees(), "weights needs one number per tree");
    require(length(offset) == trees_.n_nodes() + 1 && length(label) == n_shares && offset(0) == 0 &&
                offset(trees_.n_nodes()) == n_shares,
            "offset does not part the shares into those of the nodes");
    for (std::int64_t i = 0; i < trees_.n_nodes(); ++i)
      require(offset(i) <= offset(i + 1), "offset does not part the shares into those of the nodes");
    for (std::int64_t i = 0; i < n_shares; ++i) require(label(i) < n_classes, "a label is out of range");
    Vector<double> F(n * n_classes, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) {
      trees_.walk(X.data(), n, team, [&](std::int64_t t) {
        return [from = offset.data() + trees_.offset(t), k = label.data(), v = share.data(), w = weights.data()[t],
                F = F.data(), n_classes](std::int64_t i, std::int32_t at) {
          for (std::int64_t s = from[at]; s < from[at + 1]; ++s) F[i * n_classes + k[s]] += w * v[s];
        };
      });
    });
    return array_of(std::move(F), {n, n_classes});
  }

  nb::object sum_outputs(In2<double> X, In1<double> value, In1<double> weights, std::int64_t n_outputs,
                         int n_threads) const {
    const std::int64_t n = rows_of(X);
    require(n_outputs >= 1, "n_outputs must be positive");
    require(length(value) == trees_.n_nodes(), "value needs one number per node");
    require(trees_.n_trees() % n_outputs == 0, "there must be one tree per output and round");
    require(length(weights) == trees_.n_trees() / n_outputs, "weights needs one number per round");
    Vector<double> F(n * n_outputs, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) {
      trees_.walk(X.data(), n, team, [&](std::int64_t t) {
        return adds(value.data() + trees_.offset(t), weights.data()[t / n_outputs], F.data() + t % n_outputs,
                    n_outputs);
      });
    });
    return array_of(std::move(F), {n, n_outputs});
  }

 private:
  std::int64_t rows_of(const In2<double>& X) const {
    require(extent(X, 1) == trees_.n_features(), "X has another number of columns than the trees");
    return extent(X, 0);
  }
  Trees trees_;
};

}  // namespace

void register_traverse(nb::module_& m) {
  nb::class_<PyTrees> trees(m, "Trees");
  takes_forest(trees);
  trees.def("apply", &PyTrees::apply, "X"_a.noconvert(), "n_threads"_a)
      .def("tally_labels", &PyTrees::tally_labels, "X"_a.noconvert(), "label"_a.noconvert(), "weights"_a.noconvert(),
           "n_classes"_a, "n_threads"_a)
      .def("sum_values", &PyTrees::sum_values, "X"_a.noconvert(), "value"_a.noconvert(), "weights"_a.noconvert(),
           "n_threads"_a)
      .def("sum_shares", &PyTrees::sum_shares, "X"_a.noconvert(), "offset"_a.noconvert(), "label"_a.noconvert(),
           "share"_a.noconvert(), "weights"_a.noconvert(), "n_classes"_a, "n_threads"_a)
      .def("sum_outputs", &PyTrees::sum_outputs, "X"_a.noconvert(), "value"_a.noconvert(), "weights"_a.noconvert(),
           "n_outputs"_a, "n_threads"_a);
}

}  // namespace committee
