// Newton terms of a margin loss Q(x), x = y f: for each row the weight Q''(x), the gradient -Q'(x) and the loss.
//
// Probit, Q = -ln Phi(x). With lambda(x) = phi(x) / Phi(x): -Q' = lambda and Q'' = lambda (x + lambda). For x < 0 both
// come from r(a) = lambda(-a) - a, a = |x|, a smooth positive function that is fitted directly as a quotient R / N of
// polynomials of a, so that neither is a difference of large numbers: with D = a N + R, lambda = D / N and
// x + lambda = R / N. For x > 0, phi is an exponential, Phi = (D - phi N) / D and lambda = phi D / (D - phi N). Either
// way it takes one division.
// Logistic, Q = ln(1 + exp(-x)): -Q' = s(-x), Q'' = s(x) s(-x).
//
// Equation: newton-terms (docs/theory.md).
#pragma once

#include "lanes.hpp"

namespace committee {

enum class LossName { probit, logistic };

// Coefficients of R and N, from the constant up: interpolated at 20 Chebyshev nodes in (a - 4) / (a + 4) with 60
// digits; the relative error of R / N is below 3e-15 for all a >= 0. All are positive, so that no sum loses digits.
inline constexpr double kMillsOver[10] = {
    0x1.6a3f4b894e165p+19, 0x1.e236f116116d0p+19, 0x1.44355a309a75bp+19, 0x1.1a385ebbf67bdp+18, 0x1.5a9275a06c2f0p+16,
    0x1.35b431e26fbdap+14, 0x1.9281bbe54c5a7p+11, 0x1.702307c73a8c3p+8,  0x1.b1ed494f385bcp+4,  1.0};
inline constexpr double kMillsUnder[11] = {0x1.c60274d226cbep+19,
                                           0x1.959161aca7d1ap+20,
                                           0x1.64dc9c6d63950p+20,
                                           0x1.91f92a2ec2ca1p+19,
                                           0x1.3ed1334795ad7p+18,
                                           0x1.7317d81406c71p+16,
                                           0x1.411d4a26498fap+14,
                                           0x1.9949710a0fb88p+11,
                                           0x1.722307c73fc39p+8,
                                           0x1.b1ed494f38307p+4,
                                           1.0};

// Coefficients of exp(-q / 2) / sqrt(2 pi) for |q| <= ln 2: interpolated likewise; relative error below 4e-16.
inline constexpr double kDensity[11] = {0x1.9884533d43651p-2,   -0x1.9884533d43681p-3,  0x1.9884533d43659p-5,
                                        -0x1.1058377e250d1p-7,  0x1.1058377e2a4dep-10,  -0x1.b3c058f7cafefp-14,
                                        0x1.22803b408db85p-17,  -0x1.4bffd6756b1c7p-21, 0x1.4bfffadfafaccp-25,
                                        -0x1.27ffd85f3c9d6p-29, 0x1.d95cb76973811p-34};

struct NewtonTerms {
  Lanes gradient, curvature, loss;
};

struct Probit {
  struct Mills {
    Lanes a, square;           // |x| and its square
    Lanes over, under, upper;  // R, N and D = a N + R
  };
  static COMMITTEE_INLINE Mills mills(const Lanes& x) {
    const Lanes size = absolute(x), furthest = Lanes{} + 1e27;  // of which D is still a number
    const Lanes a = size < furthest ? size : furthest, t = a * a;
    const double *const R = in_place(kMillsOver), *const N = in_place(kMillsUnder);
    const Lanes over = polynomial(t, R[8], R[6], R[4], R[2], R[0]) + a * monic(t, R[7], R[5], R[3], R[1]);
    const Lanes under = monic(t, N[8], N[6], N[4], N[2], N[0]) + a * polynomial(t, N[9], N[7], N[5], N[3], N[1]);
    return {a, t, over, under, a * under + over};
  }

  // phi(a) of t = a^2: a polynomial of t less a whole number of 2 ln 2, and that number as an exponent.
  static COMMITTEE_INLINE Lanes density(const Lanes& t) {
    const Lanes magic = Lanes{} + 0x1.8p52;
    const Lanes shifted = t * -0x1.71547652b82fep-1 + magic;  // the whole number, in the low bits
    const Lanes q = t + (shifted - magic) * 0x1.62e42fefa39efp0;
    const Lanes q2 = q * q;  // odd and even powers side by side
    const double* const c = in_place(kDensity);
    const Lanes p =
        polynomial(q2, c[10], c[8], c[6], c[4], c[2], c[0]) + q * polynomial(q2, c[9], c[7], c[5], c[3], c[1]);
    const Lanes furthest = Lanes{} + 1416.0;  // beyond, phi is no normal number
    return t > furthest ? Lanes{} : lanes_of(bits_of(p) + (bits_of(shifted) << 52));
  }

  // Phi(-|x|): the probability of the class that the score is against.
  static COMMITTEE_INLINE Lanes smaller(const Lanes& x) {
    const Mills m = mills(x);
    return density(m.square) * m.under / m.upper;
  }

  static COMMITTEE_INLINE NewtonTerms terms(const Lanes& x) {
    const auto [a, square, over, under, upper] = mills(x);
    const Lanes phi = density(square);
    const Lanes rest = upper - phi * under;  // Phi(a) = rest / upper
    const auto left = x < 0.0;
    const Lanes inverse = 1.0 / (left ? under : rest);
    const Lanes lambda = (left ? upper : phi * upper) * inverse;
    const Lanes slack = left ? over * inverse : a + lambda;
    // sqrt(2 pi) lambda, or Phi
    const Lanes logarithm = log_positive((left ? upper * 0x1.40d931ff62706p1 : rest) / (left ? under : upper));
    return {lambda, lambda * slack, left ? 0.5 * square + logarithm : -logarithm};
  }

 private:
  // x^k + ..., of the coefficients from that of x^(k - 1) down.
  template <class... Others>
  static COMMITTEE_INLINE Lanes monic(const Lanes& x, double next, Others... others) {
    Lanes sum = x + next;
    ((sum = sum * x + others), ...);
    return sum;
  }
};

struct Logistic {
  static COMMITTEE_INLINE Lanes smaller(const Lanes& x) {  // s(-|x|)
    const Lanes e = exp_negative(-absolute(x));
    return e / (1.0 + e);
  }

  static COMMITTEE_INLINE NewtonTerms terms(const Lanes& x) {
    const Lanes a = absolute(x), e = exp_negative(-a), total = 1.0 + e;
    const Lanes larger = 1.0 / total, smaller = e * larger;
    const auto left = x < 0.0;
    return {left ? larger : smaller, larger * smaller, (left ? a : Lanes{}) + log_positive(total)};
  }
};

// run(Probit{}) or run(Logistic{}), compiled for either; inlined, so that it is what its caller is cloned for.
template <class Run>
COMMITTEE_INLINE void with_loss(LossName loss, const Run& run) {
  loss == LossName::probit ? run(Probit{}) : run(Logistic{});
}

}  // namespace committee
