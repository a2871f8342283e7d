// Losses with kernels by name, and their targets, as they come from Python.
#pragma once

#include <string>

#include "bindings/arrays.hpp"
#include "boosting/loss_gradients.hpp"

namespace committee {

using LossTargets = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline NativeLoss native_loss(const std::string& name, const LossTargets& y) {
  const bool squared = name == "squared";
  require(squared || name == "softmax" || name == "logistic", "name must be 'logistic', 'softmax' or 'squared'");
  if (y.dtype() != (squared ? nb::dtype<double>() : nb::dtype<std::uint16_t>()))
    throw nb::type_error(squared ? "y must be float64" : "y must be uint16");
  return squared ? NativeLoss::squared : name == "softmax" ? NativeLoss::softmax : NativeLoss::logistic;
}

}  // namespace committee
