// Newton terms of a margin loss Q(x), x = y f: for each row the weight Q''(x), the gradient -Q'(x) and the loss.
//
// Probit, Q = -ln Phi(x). With lambda(x) = phi(x) / Phi(x): -Q' = lambda and Q'' = lambda (x + lambda). For x < 0 both
// come from r(a) = lambda(-a) - a, a = |x|, a smooth positive function that is fitted directly, so that neither is a
// difference of large numbers: lambda = a + r and x + lambda = r. For x > 0, phi is an exponential and
// Phi = 1 - phi / (a + r).
// Logistic, Q = ln(1 + exp(-x)): -Q' = s(-x), Q'' = s(x) s(-x).
//
// Equation: newton-terms (docs/theory.md).
#pragma once

#include "threads/lanes.hpp"

namespace committee {

enum class LossName { probit, logistic };

// r(a) (a + 2) as a polynomial in u = (a - 4) / (a + 4): interpolated at Chebyshev nodes with 60 digits; relative error
// of r below 2e-14 on [0, 1e6].
inline constexpr double kMillsRest[24] = {
    0x1.5a8856c3f5112p+0,   -0x1.bde3be7b049fbp-2, 0x1.83bcc327e4b39p-8,   0x1.3582660c71063p-3,
    -0x1.637cbe6824bebp-4,  -0x1.3008a06bf5406p-7, 0x1.0785d9204cf7fp-5,   -0x1.f7b92ffb44f84p-8,
    -0x1.18b5c2c4d0e1dp-7,  0x1.3dc73cf1bab44p-8,  0x1.c05c1d51683f6p-10,  -0x1.009b0bc5f1e07p-9,
    -0x1.7124fabab986fp-13, 0x1.53a9ff70689adp-11, -0x1.99ab61d0314cap-15, -0x1.844205333d1b4p-13,
    0x1.401438f4d75f4p-15,  0x1.7e1bf779594ddp-15, -0x1.d8879a9379b0ap-17, -0x1.34c037074d320p-17,
    0x1.b40a4c5e31cb6p-19,  0x1.6be6e66e3fa52p-20, -0x1.8d06b3f9a215fp-22, -0x1.cdb086e4ca6bcp-24};

template <class Lanes>
struct NewtonTerms {
  Lanes gradient, curvature, loss;
};

struct Probit {
  template <class Lanes>
  static COMMITTEE_INLINE Lanes size(const Lanes& x) {        // a = |x|
    const Lanes a = absolute(x), furthest = Lanes{} + 1e150;  // whose square is still a number
    return select(a < furthest, a, furthest);
  }
  template <class Lanes>
  static COMMITTEE_INLINE Lanes mills_rest(const Lanes& a) {  // r(a)
    const Lanes fraction = 1.0 / ((a + 4.0) * (a + 2.0));     // one division for both
    const Lanes u = (a - 4.0) * (a + 2.0) * fraction, u2 = u * u, u4 = u2 * u2;
    Lanes chain[4];  // the powers 4k, 4k + 1, 4k + 2, 4k + 3 side by side
    for (int c = 0; c < 4; ++c) {
      chain[c] = Lanes{} + kMillsRest[20 + c];
      for (int k = 16; k >= 0; k -= 4) chain[c] = chain[c] * u4 + kMillsRest[k + c];
    }
    return ((chain[0] + u * chain[1]) + u2 * (chain[2] + u * chain[3])) * (a + 4.0) * fraction;
  }
  template <class Lanes>
  static COMMITTEE_INLINE Lanes density_at(const Lanes& a) {  // phi
    return 0x1.9884533d43651p-2 * exp_negative(-0.5 * (a * a));
  }

  // Phi(-|x|): the probability of the class that the score is against.
  template <class Lanes>
  static COMMITTEE_INLINE Lanes smaller(const Lanes& x) {
    const Lanes a = size(x);
    return density_at(a) / (a + mills_rest(a));
  }

  template <class Lanes>
  static COMMITTEE_INLINE NewtonTerms<Lanes> terms(const Lanes& x) {
    const Lanes a = size(x), r = mills_rest(a);
    const Lanes upper = a + r;            // lambda(-a)
    const Lanes density = density_at(a);  // phi(a)
    const Lanes rest = upper - density;   // Phi(a) = rest / upper
    const Lanes inverse = 1.0 / (upper * rest);
    const Lanes below = rest * rest * inverse;
    const Lanes lambda_right = density * upper * (upper * inverse);
    const auto left = x < 0.0;
    const Lanes lambda = select(left, upper, lambda_right);
    const Lanes slack = select(left, r, x + lambda_right);
    const Lanes logarithm =
        log_positive(select(left, upper * 0x1.40d931ff62706p1, below));  // sqrt(2 pi) lambda, or Phi
    return {lambda, lambda * slack, select(left, 0.5 * (a * a) + logarithm, -logarithm)};
  }
};

struct Logistic {
  template <class Lanes>
  static COMMITTEE_INLINE Lanes smaller(const Lanes& x) {  // s(-|x|)
    const Lanes e = exp_negative(-absolute(x));
    return e / (1.0 + e);
  }

  template <class Lanes>
  static COMMITTEE_INLINE NewtonTerms<Lanes> terms(const Lanes& x) {
    const Lanes a = absolute(x), e = exp_negative(-a), total = 1.0 + e;
    const Lanes larger = 1.0 / total, smaller = e / total;
    const auto left = x < 0.0;
    return {select(left, larger, smaller), larger * smaller, select(left, a, Lanes{}) + log_positive(total)};
  }
};

// run(Probit{}) or run(Logistic{}), compiled for either; inlined, so that it is what its caller is cloned for.
template <class Run>
COMMITTEE_INLINE void with_loss(LossName loss, const Run& run) {
  loss == LossName::probit ? run(Probit{}) : run(Logistic{});
}

}  // namespace committee
