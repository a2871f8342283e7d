#include "linear/leaf_models.hpp"

#include "bindings/forest_arrays.hpp"
#include "bindings/loss_name.hpp"

namespace committee {
namespace {

class PyLeafModelTrees {
 public:
  PyLeafModelTrees(std::int64_t n_features, In1<std::int64_t> offset, In1<std::int32_t> feature, In1<double> threshold,
                   In1<std::int32_t> left, In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
                   In1<std::uint32_t> category_bits, In1<std::int32_t> model, In2<double> intercept,
                   In3<double> coefficient)
      : trees_(
            forest_arrays(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits),
            checked(model, feature, intercept, coefficient), extent(intercept, 0), extent(intercept, 1),
            extent(coefficient, 2), intercept.data(), coefficient.data()) {}

  nb::object scores(In2<double> X, In2<double> D, int n_threads) const {
    const std::int64_t n = rows_of(X, D), T = trees_.trees().n_trees();
    const std::int64_t K = trees_.n_outputs();
    Vector<double> out(n * T * K);
    unlocked(n_threads, [&](ThreadTeam& team) {
      trees_.walk({X.data(), D.data(), n}, team, [&] {
        return [&](std::int64_t begin, std::int64_t size, std::int64_t t, const double* scores) {
          for (std::int64_t i = 0; i < size; ++i)
            std::copy_n(scores + i * K, K, out.data() + ((begin + i) * T + t) * K);
        };
      });
    });
    return array_of(std::move(out), {n, T, K});
  }

  nb::object votes(In2<double> X, In2<double> D, int n_threads) const {
    const std::int64_t n = rows_of(X, D), T = trees_.trees().n_trees();
    return array_of(elections(X, D, n, n_threads), {n, T});
  }

  nb::object tally_probabilities(In2<double> X, In2<double> D, In1<double> weights, const std::string& link,
                                 int n_threads) const {
    const std::int64_t n = rows_of(X, D), K = std::max<std::int64_t>(2, trees_.n_outputs());
    require(length(weights) == trees_.trees().n_trees(), "weights needs one number per tree");
    const LossName loss = loss_named(link);
    Vector<double> tally(n * K, 0.0);
    unlocked(n_threads, [&](ThreadTeam& team) {
      committee::tally_probabilities(trees_, {X.data(), D.data(), n}, weights.data(), loss, tally.data(), team);
    });
    return array_of(std::move(tally), {n, K});
  }

  nb::object tally_committees(In2<double> X, In2<double> D, In1<double> weights, In1<std::int64_t> start,
                              std::int64_t n_classes, bool hard, int n_threads) const {
    const std::int64_t n = rows_of(X, D);
    const std::int64_t T = trees_.trees().n_trees();
    require(length(weights) == T, "weights needs one number per tree");
    require(n_classes >= std::max<std::int64_t>(2, trees_.n_outputs()),
            "n_classes must be 2, or the number of outputs");
    require(length(start) >= 2 && start(0) == 0 && start(length(start) - 1) == T,
            "start must run from 0 to the number of trees");
    for (std::int64_t c = 0; c + 1 < length(start); ++c) require(start(c) < start(c + 1), "a committee has no trees");
    for (std::int64_t t = 0; t < length(weights); ++t)
      require(weights(t) > 0.0 && std::isfinite(weights(t)), "weights must be positive and finite");
    Vector<double> tally(n * n_classes, 0.0);
    const Vector<std::int16_t> votes = elections(X, D, n, n_threads);
    unlocked(n_threads, [&](ThreadTeam& team) {
      committee::tally_committees(
          votes.data(), n, {weights.data(), start.data(), T, length(start) - 1, n_classes, hard}, tally.data(), team);
    });
    return array_of(std::move(tally), {n, n_classes});
  }

 private:
  Vector<std::int16_t> elections(const In2<double>& X, const In2<double>& D, std::int64_t n, int n_threads) const {
    const std::int64_t T = trees_.trees().n_trees();
    Vector<std::int16_t> votes(n * T);
    nb::gil_scoped_release release;
    ThreadTeam team(n_threads);
    trees_.walk({X.data(), D.data(), n}, team, [&] {
      return [&](std::int64_t begin, std::int64_t size, std::int64_t t, const double* scores) {
        for (std::int64_t i = 0; i < size; ++i)
          votes[(begin + i) * T + t] = elected(scores + i * trees_.n_outputs(), trees_.n_outputs());
      };
    });
    return votes;
  }

  static const std::int32_t* checked(const In1<std::int32_t>& model, const In1<std::int32_t>& feature,
                                     const In2<double>& intercept, const In3<double>& coefficient) {
    require(length(model) == length(feature), "model needs one number per node");
    require(extent(intercept, 0) == extent(coefficient, 0) && extent(intercept, 1) == extent(coefficient, 1),
            "intercept and coefficient must be for the same models and outputs");
    require(extent(intercept, 1) >= 1 && extent(intercept, 1) <= 32767, "a model needs 1 to 32767 outputs");
    return model.data();
  }

  std::int64_t rows_of(const In2<double>& X, const In2<double>& D) const {
    require(extent(X, 1) == trees_.trees().n_features(), "X has another number of columns than the trees");
    require(extent(D, 1) == trees_.n_features(), "D has another number of columns than the models");
    require(extent(X, 0) == extent(D, 0), "X and D need the same rows");
    return extent(X, 0);
  }

  LeafModelTrees trees_;
};

}  // namespace

void register_leaf_models(nb::module_& m) {
  nb::class_<PyLeafModelTrees> trees(m, "LeafModelTrees");
  takes_forest<In1<std::int32_t>, In2<double>, In3<double>>(trees, "model"_a.noconvert(), "intercept"_a.noconvert(),
                                                            "coefficient"_a.noconvert());
  trees.def("scores", &PyLeafModelTrees::scores, "X"_a.noconvert(), "D"_a.noconvert(), "n_threads"_a)
      .def("votes", &PyLeafModelTrees::votes, "X"_a.noconvert(), "D"_a.noconvert(), "n_threads"_a)
      .def("tally_probabilities", &PyLeafModelTrees::tally_probabilities, "X"_a.noconvert(), "D"_a.noconvert(),
           "weights"_a.noconvert(), "link"_a, "n_threads"_a)
      .def("tally_committees", &PyLeafModelTrees::tally_committees, "X"_a.noconvert(), "D"_a.noconvert(),
           "weights"_a.noconvert(), "start"_a.noconvert(), "n_classes"_a, "hard"_a, "n_threads"_a);
}

}  // namespace committee
