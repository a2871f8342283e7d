// Newton terms of a margin loss Q(x), x = y f: for each row the weight Q''(x), the gradient -Q'(x) and the loss.
//
// Probit, Q = -ln Phi(x). With lambda(x) = phi(x) / Phi(x): -Q' = lambda and Q'' = lambda (x + lambda). For x < 0 both
// come from r(a) = lambda(-a) - a, a = |x|, a smooth positive function that is fitted directly, so that neither is a
// difference of large numbers: lambda = a + r and x + lambda = r. For x > 0, phi is an exponential and
// Phi = 1 - phi / (a + r).
// Logistic, Q = ln(1 + exp(-x)): -Q' = s(-x), Q'' = s(x) s(-x).
#pragma once

#include "lanes.hpp"

namespace committee {

// r(a) (a + 2) as a polynomial in u = (a - 4) / (a + 4): interpolated at Chebyshev nodes with 60 digits; relative error
// of r below 2e-15 on [0, 1e6].
inline constexpr double kMillsRest[] = {
    0x1.5a8856c3f514dp+0,   -0x1.bde3be7b049e7p-2, 0x1.83bcc323bf530p-8,   0x1.3582660c707f3p-3,
    -0x1.637cbe5be4f48p-4,  -0x1.3008a06b8da61p-7, 0x1.0785d75a39f98p-5,   -0x1.f7b92ffbf97f1p-8,
    -0x1.18b57ec50e72fp-7,  0x1.3dc73cc3cba84p-8,  0x1.c05016fe8e0ebp-10,  -0x1.009b08ef44d0cp-9,
    -0x1.6fcbb2f93b887p-13, 0x1.53a9d54984cd3p-11, -0x1.a66c235521a78p-15, -0x1.84409991ca820p-13,
    0x1.54326b87847d7p-15,  0x1.7e14781943cd3p-15, -0x1.1633ecabe1698p-16, -0x1.34a84f785fbfdp-17,
    0x1.48ef5752eb734p-18,  0x1.6b923b1ee68f8p-20, -0x1.0bd02c1925aebp-20, -0x1.ccb079e56f5e7p-24,
    0x1.c060d567cd78ap-24};

struct NewtonTerms {
  Lanes gradient, curvature, loss;
};

struct Probit {
  static COMMITTEE_INLINE NewtonTerms terms(const Lanes& x) {
    const Lanes a = absolute(x);
    const Lanes u = (a - 4.0) / (a + 4.0), u2 = u * u;
    Lanes even = Lanes{} + kMillsRest[24], odd = Lanes{} + kMillsRest[23];  // two chains, to run side by side
    for (int k = 22; k > 0; k -= 2) {
      even = even * u2 + kMillsRest[k];
      odd = odd * u2 + kMillsRest[k - 1];
    }
    even = even * u2 + kMillsRest[0];
    const Lanes r = (even + u * odd) / (a + 2.0);
    const Lanes upper = a + r;                                                // lambda(-a)
    const Lanes density = 0x1.9884533d43651p-2 * exp_negative(-0.5 * a * a);  // phi(a)
    const Lanes below = 1.0 - density / upper;                                // Phi(a)
    const Lanes lambda_right = density / below;
    const auto left = x < 0.0;
    const Lanes lambda = left ? upper : lambda_right;
    const Lanes slack = left ? r : x + lambda_right;
    const Lanes logarithm = log_positive(left ? upper * 0x1.40d931ff62706p1 : below);  // sqrt(2 pi) lambda, or Phi
    return {lambda, lambda * slack, left ? 0.5 * a * a + logarithm : -logarithm};
  }
};

struct Logistic {
  static COMMITTEE_INLINE NewtonTerms terms(const Lanes& x) {
    const Lanes a = absolute(x), e = exp_negative(-a), total = 1.0 + e;
    const Lanes larger = 1.0 / total, smaller = e / total;
    const auto left = x < 0.0;
    return {left ? larger : smaller, larger * smaller, (left ? a : Lanes{}) + log_positive(total)};
  }
};

}  // namespace committee
