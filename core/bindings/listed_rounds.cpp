#include "boosting/listed_rounds.hpp"

#include <utility>

#include "bindings/arrays.hpp"
#include "threads/interrupt.hpp"

namespace committee {
namespace {

nb::tuple py_listed_rounds(In2<std::int8_t> votes, In1<std::int8_t> signs, In1<double> weights,
                           In1<std::int64_t> rounds) {
  const std::int64_t n = extent(votes, 0), n_voters = extent(votes, 1), n_counts = length(rounds);
  require(length(signs) == n && length(weights) == n, "each row needs a sign and a weight");
  for (std::int64_t k = 0; k < n_counts; ++k)
    require(rounds(k) > (k == 0 ? 0 : rounds(k - 1)), "rounds must be positive and ascend");
  Vector<double> alphas;
  std::int64_t n_rounds = 0;
  {
    nb::gil_scoped_release release;
    const auto all_are_signs = [](const std::int8_t* values, std::int64_t count) {
      return std::all_of(values, values + count, [](std::int8_t v) { return v == 1 || v == -1; });
    };
    require(all_are_signs(signs.data(), n) && all_are_signs(votes.data(), n * n_voters),
            "signs and votes must be -1 or +1");
    double total = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      require(weights(i) >= 0.0, "weights must not be negative");
      total += weights(i);
    }
    require(total > 0.0 && total <= std::numeric_limits<double>::max(), "weights must have a finite, positive sum");
    ListedRounds run(votes.data(), signs.data(), weights.data(), n, n_voters);
    Vector<double> alpha(n_voters, 0.0);
    alphas.reserve(n_counts * n_voters);
    InterruptWatch watch;
    for (std::int64_t k = 0; k < n_counts; ++k) {
      for (bool going = true; going && n_rounds < rounds(k); n_rounds += going) {
        watch.after(n * n_voters / kLanes + n);
        going = run.next(alpha.data());
      }
      alphas.insert(alphas.end(), alpha.begin(), alpha.end());
    }
  }
  return nb::make_tuple(array_of(std::move(alphas), {n_counts, n_voters}), n_rounds);
}

}  // namespace

void register_listed_rounds(nb::module_& m) {
  m.def("listed_rounds", &py_listed_rounds, "votes"_a.noconvert(), "signs"_a.noconvert(), "weights"_a.noconvert(),
        "rounds"_a.noconvert());
}

}  // namespace committee
