// Split criteria as policies. A criterion sees the summed statistics of a node (class weights, or moments) as
// doubles in the user's units, one per plane, and scores a node, or a pair of children. Growth maximises
//     gain = pair(left, right) - node(parent).
// The number of planes is an argument, so that it is a constant wherever the caller knows it.
// A new criterion is one struct of this form, its name at the end of this file and its case in feature_scan.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace committee {

// How categories are ordered before prefixes are tried: by one number per ordering (share of a class, mean
// target).
struct ByClassShare {
  static int orderings(int planes) { return planes == 2 ? 1 : planes; }
  static double share(const double* w, int planes, int ordering) {
    double sum = 0.0;
    for (int k = 0; k < planes; ++k) sum += w[k];
    return w[planes == 2 ? 1 : ordering] / sum;
  }
};

// sum_k w_k^2 / W: minus the weighted Gini impurity, up to a constant of the parent.
struct Gini : ByClassShare {
  static double node(const double* w, int planes) {
    double sum = 0.0, squares = 0.0;
    for (int k = 0; k < planes; ++k) {
      sum += w[k];
      squares += w[k] * w[k];
    }
    return sum > 0.0 ? squares / sum : 0.0;
  }
  static double pair(const double* left, const double* right, int planes) {
    return node(left, planes) + node(right, planes);
  }
};

// sum_k w_k ln w_k - W ln W: minus the weighted entropy.
struct Entropy : ByClassShare {
  static double xlogx(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }
  static double node(const double* w, int planes) {
    double sum = 0.0, logs = 0.0;
    for (int k = 0; k < planes; ++k) {
      sum += w[k];
      logs += xlogx(w[k]);
    }
    return logs - xlogx(sum);
  }
  static double pair(const double* left, const double* right, int planes) {
    return node(left, planes) + node(right, planes);
  }
};

// max_k w_k: what is right of the weight if the node votes for its heaviest class, so that gains are decreases of the
// weighted error. For stumps the best split is found whatever the columns: of categories, those that prefer one class
// of a pair to the other come first, and the best pair of votes has its own ordering.
struct Error {
  static int orderings(int planes) { return planes * (planes - 1) / 2; }
  static double share(const double* w, int planes, int ordering) {
    int first = 0;
    while (ordering >= planes - 1 - first) ordering -= planes - 1 - first++;
    const double one = w[first], other = w[first + 1 + ordering];
    return one + other > 0.0 ? other / (one + other) : 0.5;
  }
  static double node(const double* w, int planes) { return *std::max_element(w, w + planes); }
  static double pair(const double* left, const double* right, int planes) {
    return node(left, planes) + node(right, planes);
  }
};

// -Z = -2 sum_l sqrt(no_l yes_l) (Schapire & Singer 1999): planes come in pairs, one pair per output.
struct Confidence {
  static int orderings(int planes) { return planes / 2; }
  static double share(const double* w, int, int ordering) {
    const double no = w[2 * ordering], yes = w[2 * ordering + 1];
    return no + yes > 0.0 ? yes / (no + yes) : 0.0;
  }
  static double node(const double* w, int planes) {
    double roots = 0.0;
    for (int k = 0; k < planes; k += 2) roots += std::sqrt(w[k] * w[k + 1]);
    return -2.0 * roots;
  }
  static double pair(const double* left, const double* right, int planes) {
    return node(left, planes) + node(right, planes);
  }
};

// (sum w z)^2 / sum w: the decrease of the weighted squared error, up to a constant of the parent. Of several targets
// it is the sum over them; categories are ordered by the mean of each in turn.
struct SquaredError {
  static int orderings(int planes) { return planes - 1; }
  static double share(const double* m, int, int ordering) { return m[1 + ordering] / m[0]; }
  static double node(const double* m, int planes) {
    double squares = 0.0;
    for (int k = 1; k < planes; ++k) squares += m[k] * m[k];
    return m[0] > 0.0 ? squares / m[0] : 0.0;
  }
  static double pair(const double* left, const double* right, int planes) {
    return node(left, planes) + node(right, planes);
  }
};

// sum w y ln(mean y): minus half the Poisson deviance of the rows from their mean, up to a constant of the parent. Of
// several targets it is the sum over them. Targets are not centred, and a side on which one of them is 0 throughout is
// no side, as its mean allows no row above 0.
struct Poisson : SquaredError {
  static double node(const double* m, int planes) {
    double logs = 0.0;
    for (int k = 1; k < planes; ++k)
      if (m[k] > 0.0 && m[0] > 0.0) logs += m[k] * std::log(m[k] / m[0]);
    return logs;
  }
  static double pair(const double* left, const double* right, int planes) {
    for (int k = 1; k < planes; ++k)
      if (!(left[k] > 0.0 && right[k] > 0.0)) return -std::numeric_limits<double>::infinity();
    return node(left, planes) + node(right, planes);
  }
};

// -sum w |y - median|, which no sums of cells give: deep trees find it row by row (deep/median_scan.hpp).
struct AbsoluteError {};

// -Z of the best stump whose sides vote for a class or abstain. With shares P right, N wrong, A abstained,
//     Z = A + K P^(1/K) (N / (K - 1))^((K - 1)/K),   (K - 1) P > N;   K = 2: Z = 1 - (sqrt P - sqrt N)^2.
// A node alone abstains: Z = its weight.
struct Abstaining : ByClassShare {
  static double node(const double* w, int planes) {
    double sum = 0.0;
    for (int k = 0; k < planes; ++k) sum += w[k];
    return -sum;
  }
  static double decrease(double right, double wrong, int planes) {  // voting weight - its Z
    const double others = planes - 1;
    if (others * right <= wrong) return 0.0;
    if (planes == 2) return std::pow(std::sqrt(right) - std::sqrt(wrong), 2);
    return right + wrong - planes * std::pow(right, 1.0 / planes) * std::pow(wrong / others, others / planes);
  }
  static double pair(const double* left, const double* right, int planes) {
    const double l = -node(left, planes), r = -node(right, planes);
    const double l_right = *std::max_element(left, left + planes);
    const double r_right = *std::max_element(right, right + planes);
    const double both = decrease(l_right + r_right, l - l_right + r - r_right, planes);
    return std::max({both, decrease(l_right, l - l_right, planes), decrease(r_right, r - r_right, planes)}) - l - r;
  }
};

enum class CriterionName { gini, entropy, error, confidence, abstaining, squared_error, poisson, absolute_error };

// Does a criterion take numbers, and not classes?
inline bool is_of_targets(CriterionName name) { return name >= CriterionName::squared_error; }

inline CriterionName criterion_named(const std::string& name) {
  if (name == "gini") return CriterionName::gini;
  if (name == "entropy") return CriterionName::entropy;
  if (name == "error") return CriterionName::error;
  if (name == "confidence") return CriterionName::confidence;
  if (name == "abstaining") return CriterionName::abstaining;
  if (name == "squared_error") return CriterionName::squared_error;
  if (name == "poisson") return CriterionName::poisson;
  if (name == "absolute_error") return CriterionName::absolute_error;
  throw std::invalid_argument("criterion is '" + name +
                              "'; it must be 'gini', 'entropy', 'error', 'confidence', 'abstaining', "
                              "'squared_error', 'poisson' or 'absolute_error'");
}

}  // namespace committee
