#include "boosting/loss_gradients.hpp"

#include <string>

#include "bindings/arrays.hpp"

namespace committee {
namespace {

// What a row costs, in elementary operations: an exponential is worth ten of them.
constexpr std::int64_t kSquaredWork = 2, kExponentialWork = 10;

void py_loss_gradients(const std::string& name, nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> y,
                       In<double> F, std::optional<In1<double>> weights,
                       nb::ndarray<double, nb::c_contig, nb::device::cpu> gradient,
                       nb::ndarray<double, nb::c_contig, nb::device::cpu> hessian, int n_threads) {
  const bool squared = name == "squared", softmax = name == "softmax";
  require(squared || softmax || name == "logistic", "name must be 'logistic', 'softmax' or 'squared'");
  if (y.dtype() != (squared ? nb::dtype<double>() : nb::dtype<std::uint16_t>()))
    throw nb::type_error(squared ? "y must be float64" : "y must be uint16");
  require(F.ndim() == (softmax ? 2 : 1), "F must be (n,), or (n_outputs, n) for softmax");
  for (const auto* out : {&gradient, &hessian}) {
    require(out->ndim() == F.ndim(), "gradient and hessian must have the shape of F");
    for (std::int64_t d = 0; d < count_of(F.ndim()); ++d)
      require(extent(*out, d) == extent(F, d), "gradient and hessian must have the shape of F");
  }
  const std::int64_t n = extent(F, softmax ? 1 : 0);
  const std::int64_t n_outputs = softmax ? extent(F, 0) : 1;
  require(n_outputs >= 1, "F needs at least one row of scores");
  require(length(y) == n, "y needs one number per row");
  require(!weights || length(*weights) == n, "weights needs one number per row");
  const double* const w = data_or_null(weights);
  nb::gil_scoped_release release;
  ThreadTeam team(n_threads);
  team.blocks(n, (squared ? kSquaredWork : kExponentialWork * n_outputs) * n,
              [&](std::int64_t begin, std::int64_t end) {
                const RowSpan rows{F.data(), w, gradient.data(), hessian.data(), n, begin, end};
                const auto* const label = static_cast<const std::uint16_t*>(y.data());
                if (squared) return squared_rows(rows, static_cast<const double*>(y.data()));
                Vector<double> spare(softmax ? 3 * n_outputs * kLanes : 0);
                require(softmax ? softmax_rows(rows, label, n_outputs, spare.data()) : logistic_rows(rows, label),
                        "a label has no score");
              });
}

}  // namespace

void register_loss_gradients(nb::module_& m) {
  m.def("loss_gradients", &py_loss_gradients, "name"_a, "y"_a.noconvert(), "F"_a.noconvert(),
        "weights"_a.noconvert().none(), "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
