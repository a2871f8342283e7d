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
#include "threads/singles.hpp"

namespace committee {

enum class LossName { probit, logistic };

// r(a) = rest(a) / below(a), by polynomials in a with positive coefficients, which lose no digits: fitted at Chebyshev
// nodes in (a - 4.4) / (a + 4.4) with 80 digits; relative error below 2e-14 for all a >= 0. r(0) is exact, so that
// Phi(0) = 1/2.
inline constexpr double kRest[10] = {
    0x1.9884533d43651p-1, 0x1.06818c12c1e7bp+0, 0x1.55ca7a15b3053p-1,  0x1.1fe65ab373801p-2,  0x1.5535f5aabb10ap-4,
    0x1.24f347c78b007p-6, 0x1.6b494d1cdabdbp-9, 0x1.39b548c968b29p-12, 0x1.571e2f7a7ea4dp-16, 0x1.6abde63a8ed56p-21};
inline constexpr double kBelow[11] = {0x1.0000000000000p+0,  0x1.bd97ae8c9b33dp+0, 0x1.7e25a4b523e0cp+0,
                                      0x1.a3048c07b883ep-1,  0x1.42b5aa2351cadp-2, 0x1.6b69de7c8dfb1p-4,
                                      0x1.2eaff133e76edp-6,  0x1.70a5c5d9a5e57p-9, 0x1.3b2006afafdf6p-12,
                                      0x1.571e2f7a7e3a5p-16, 0x1.6abde63a8ed68p-21};

template <class Lanes>
struct NewtonTerms {
  Lanes gradient, curvature, loss;
};

struct Probit {
  // r = rest / below and lambda(-a) = a + r = upper / below.
  template <class Lanes>
  struct Mills {
    Lanes rest, below, upper;
  };
  template <class Lanes>
  static COMMITTEE_INLINE Lanes size(const Lanes& x) {       // a = |x|
    const Lanes a = absolute(x), furthest = Lanes{} + 1e25;  // whose powers are still numbers
    return select(a < furthest, a, furthest);
  }
  template <class Lanes>
  static COMMITTEE_INLINE Mills<Lanes> mills(const Lanes& a) {
    const Lanes a2 = a * a;  // odd and even powers side by side
    Lanes odd = Lanes{} + kRest[9], even = Lanes{} + kRest[8];
    Lanes below_odd = Lanes{} + kBelow[9], below_even = Lanes{} + kBelow[10];
    for (int k = 7; k > 0; k -= 2) {
      odd = odd * a2 + kRest[k];
      even = even * a2 + kRest[k - 1];
      below_odd = below_odd * a2 + kBelow[k];
      below_even = below_even * a2 + kBelow[k + 1];
    }
    below_even = below_even * a2 + kBelow[0];
    const Lanes rest = even + a * odd, below = below_even + a * below_odd;
    return {rest, below, a * below + rest};
  }
  // phi; 0 beyond 37.6, where it is no normal number. As `exp_negative`, but of -a^2 / 2, with the factor in its
  // polynomials.
  template <class Lanes>
  static COMMITTEE_INLINE Lanes density_at(const Lanes& a) {
    constexpr double c = 0x1.9884533d43651p-2;  // 1 / sqrt(2 pi); r is twice the argument that is left
    const Lanes square = a * a, magic = Lanes{} + 0x1.8p52;
    const auto normal = square < 1416.0;
    const Lanes a2 = select(normal, square, Lanes{});  // an exponent beyond the bits of a number would overflow them
    const Lanes shifted = a2 * -0x1.71547652b82fep-1 + magic, whole = shifted - magic;
    const Lanes r = (-a2 - whole * 0x1.62e42fefa3800p0) - whole * 0x1.ef35793c76730p-44, r2 = r * r;
    const Lanes even = polynomial(r2, c / 3715891200.0, c / 10321920.0, c / 46080.0, c / 384.0, c / 8.0, c);
    const Lanes odd = polynomial(r2, c / 81749606400.0, c / 185794560.0, c / 645120.0, c / 3840.0, c / 48.0, c / 2.0);
    const Lanes scaled = lanes_of<Lanes>(bits_of(even + r * odd) + ((bits_of(shifted) - bits_of(magic)) << 52));
    return select(normal, scaled, Lanes{});
  }

  // Phi(-|x|): the probability of the class that the score is against.
  template <class Lanes>
  static COMMITTEE_INLINE Lanes smaller(const Lanes& x) {
    const Lanes a = size(x);
    const Mills<Lanes> m = mills(a);
    return density_at(a) * m.below / m.upper;
  }

  template <class Lanes>
  static COMMITTEE_INLINE NewtonTerms<Lanes> terms(const Lanes& x) {
    const Lanes a = size(x);
    const Mills<Lanes> m = mills(a);
    const Lanes density = density_at(a);               // phi(a)
    const Lanes larger = m.upper - density * m.below;  // Phi(a) = larger / upper
    const auto left = x < 0.0;
    const Lanes divisor = select(left, m.below, larger), inverse = 1.0 / divisor;
    const Lanes lambda = select(left, m.upper, density * m.upper) * inverse;
    const Lanes slack = select(left, m.rest * inverse, x + lambda);
    // sqrt(2 pi) lambda, or Phi
    const Lanes logarithm =
        log_positive(select(left, 0x1.40d931ff62706p1 * m.upper, larger) / select(left, m.below, m.upper));
    return {lambda, lambda * slack, select(left, 0.5 * (a * a) + logarithm, -logarithm)};
  }
};

// The gradient and curvature of probit in single precision, to 2e-5 for -1e6 < x < 13; beyond 13 they are 0.
struct RoughProbit {
  // exp(-a^2 / 2) / sqrt(2 pi); 0 beyond 13, where it is hardly a normal number.
  template <class Singles>
  static COMMITTEE_INLINE Singles density_at(const Singles& a) {
    const Singles square = a * a, magic = Singles{} + 0x1.8p23f;
    const auto normal = square < 169.0f;
    const Singles exponent = select(normal, square * -0.5f, Singles{});
    const Singles shifted = exponent * 0x1.715476p0f + magic, whole = shifted - magic;
    const Singles r = (exponent - whole * 0x1.62e4p-1f) - whole * 0x1.7f7d1cp-20f;
    const Singles p = polynomial(r, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f);
    const auto scaled = bits_of(p * 0.398942280f) + ((bits_of(shifted) - bits_of(magic)) << 23);
    return select(normal, lanes_of<Singles>(scaled), Singles{});
  }

  template <class Lanes>
  static COMMITTEE_INLINE NewtonTerms<Lanes> terms(const Lanes& x) {
    using Singles = EightSingles<Lanes>;
    const Singles v = rounded(x), furthest = Singles{} + 1e6f;  // whose powers are still numbers
    const auto left = v < 0.0f;
    const Singles size = select(left, -v, v), a = select(size < furthest, size, furthest);
    // r(a) as above, by polynomials of less degree: relative error about 1e-7, before rounding
    const Singles rest = polynomial(a, 0.00452246005f, 0.0450458005f, 0.219853163f, 0.595750868f, 0.797884643f);
    const Singles below = polynomial(a, 0.00452245958f, 0.0450459979f, 0.228881478f, 0.686365247f, 1.20209658f, 1.0f);
    const Singles upper = a * below + rest, density = density_at(a), larger = upper - density * below;
    const Singles inverse = 1.0f / select(left, below, larger);
    const Singles lambda = select(left, upper, density * upper) * inverse;
    const Singles slack = select(left, rest * inverse, a + lambda);
    return {exact<Lanes>(lambda), exact<Lanes>(lambda * slack), Lanes{}};
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
