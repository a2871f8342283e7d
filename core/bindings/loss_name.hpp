// Links by name.
#pragma once

#include <string>

#include "bindings/arrays.hpp"
#include "linear/newton.hpp"

namespace committee {

inline LossName loss_named(const std::string& name) {
  require(name == "probit" || name == "logit", "link must be 'probit' or 'logit'");
  return name == "probit" ? LossName::probit : LossName::logistic;
}

}  // namespace committee
