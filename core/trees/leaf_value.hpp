// The weight of a leaf under L0, L1 and L2 penalties, and what it gains. A leaf with summed gradient G and hessian H
// that weighs w lowers the second-order objective by
//     decrease(w) = -(G w + (H + l2) w^2 / 2 + l1 |w| + l0 [w != 0]);
// soft-thresholding gives the best weight other than 0, which is taken where it gains more than l0.
#pragma once

#include <algorithm>
#include <cmath>

namespace committee {

struct LeafPenalty {
  double l0 = 0.0, l1 = 0.0, l2 = 0.0;
  bool l0_per_leaf = false;  // l0 is the price of every leaf (XGBoost's gamma), not of a weight that is not zero

  double excess(double G) const { return std::max(0.0, std::abs(G) - l1); }

  // What the best weight gains before l0 is paid.
  double gross(double G, double H) const {
    const double a = excess(G), curvature = H + l2;
    return a > 0.0 && curvature > 0.0 ? a * a / (2.0 * curvature) : 0.0;
  }
  // What a node is worth as one leaf.
  double worth(double G, double H) const {
    const double s = gross(G, H) - l0;
    return l0_per_leaf ? s : std::max(0.0, s);
  }
  double weight(double G, double H) const {
    const double s = gross(G, H);
    if (!(s > 0.0) || (!l0_per_leaf && s <= l0)) return 0.0;
    return std::copysign(excess(G) / (H + l2), -G);
  }
  // The same with the weight kept within limits: 0 is chosen where it may be and is better.
  double weight_within(double G, double H, double lower, double upper) const {
    const double best = std::clamp(gross(G, H) > 0.0 ? std::copysign(excess(G) / (H + l2), -G) : 0.0, lower, upper);
    const bool may_abstain = !l0_per_leaf && lower <= 0.0 && 0.0 <= upper;
    return may_abstain && decrease(G, H, best) <= 0.0 ? 0.0 : best;
  }
  double decrease(double G, double H, double w) const {
    return -(G * w + 0.5 * (H + l2) * w * w + l1 * std::abs(w) + (w != 0.0 || l0_per_leaf ? l0 : 0.0));
  }
};

}  // namespace committee
