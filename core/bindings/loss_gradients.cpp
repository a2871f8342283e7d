#include <string>

#include "bindings/native_loss.hpp"

namespace committee {
namespace {

void py_loss_gradients(const std::string& name, const LossTargets& y, In<double> F, std::optional<In1<double>> weights,
                       nb::ndarray<double, nb::c_contig, nb::device::cpu> gradient,
                       nb::ndarray<double, nb::c_contig, nb::device::cpu> hessian, int n_threads) {
  const NativeLoss loss = native_loss(name, y);
  const bool softmax = loss == NativeLoss::softmax;
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
  unlocked(n_threads, [&](ThreadTeam& team) {
    write_gradients(loss, y.data(), F.data(), data_or_null(weights), gradient.data(), hessian.data(), n, n_outputs,
                    team);
  });
}

}  // namespace

void register_loss_gradients(nb::module_& m) {
  m.def("loss_gradients", &py_loss_gradients, "name"_a, "y"_a.noconvert(), "F"_a.noconvert(),
        "weights"_a.noconvert().none(), "gradient"_a.noconvert(), "hessian"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
