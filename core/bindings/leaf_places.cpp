#include <algorithm>

#include "bindings/arrays.hpp"
#include "trees/leaf_index.hpp"

namespace committee {
namespace {

// body(Code{}) with the type of the codes; trees of a large table have more leaves than 16 bits can count.
template <class Body>
void with_leaf_code(const Codes& codes, Body&& body) {
  if (codes.dtype() == nb::dtype<std::uint16_t>()) return body(std::uint16_t{});
  if (codes.dtype() == nb::dtype<std::uint32_t>()) return body(std::uint32_t{});
  throw nb::type_error("codes must be uint16 or uint32");
}

// Places of rows in leaves, whose arrays it keeps.
class PyLeafPlaces {
 public:
  PyLeafPlaces(Codes codes, In1<std::int64_t> start) : codes_(codes), start_(start) {
    const std::int64_t T = extent(codes_, 0), n = extent(codes_, 1);
    require(T >= 1 && n >= 1, "codes needs at least one tree and one row");
    require(length(start_) == T + 1 && start_(0) == 0, "start needs one more number than there are trees, from 0 on");
    for (std::int64_t t = 0; t < T; ++t) require(start_(t) < start_(t + 1), "start must rise");
    with_leaf_code(codes_, [&]<class Code>(Code) {
      const Code* const code = static_cast<const Code*>(codes_.data());
      for (std::int64_t t = 0; t < T; ++t)
        require(*std::max_element(code + t * n, code + (t + 1) * n) < start_(t + 1) - start_(t),
                "codes holds a number that is no leaf of its tree");
    });
  }

  nb::object scores(In2<double> value, int n_threads) const {
    const std::int64_t D = extent(value, 1), n = extent(codes_, 1);
    require(extent(value, 0) == start_(extent(codes_, 0)) && D >= 1, "value needs one row per leaf");
    Vector<double> out(n * D);
    with_places(n_threads,
                [&](const auto& places, ThreadTeam& team) { places.scores(value.data(), D, out.data(), team); });
    return array_of(std::move(out), {n, D});
  }

  nb::object sums(In2<double> value, int n_threads) const {
    const std::int64_t D = extent(value, 1), N = start_(extent(codes_, 0));
    require(extent(value, 0) == extent(codes_, 1) && D >= 1, "value needs one row per row of the table");
    Vector<double> out(N * D);
    with_places(n_threads,
                [&](const auto& places, ThreadTeam& team) { places.sums(value.data(), D, out.data(), team); });
    return array_of(std::move(out), {N, D});
  }

 private:
  template <class Run>
  void with_places(int n_threads, Run&& run) const {
    with_leaf_code(codes_, [&]<class Code>(Code) {
      const LeafPlaces<Code> places{static_cast<const Code*>(codes_.data()), start_.data(), extent(codes_, 0),
                                    extent(codes_, 1)};
      unlocked(n_threads, [&](ThreadTeam& team) { run(places, team); });
    });
  }

  Codes codes_;
  In1<std::int64_t> start_;
};

}  // namespace

void register_leaf_places(nb::module_& m) {
  nb::class_<PyLeafPlaces>(m, "LeafPlaces")
      .def(nb::init<Codes, In1<std::int64_t>>(), "codes"_a.noconvert(), "start"_a.noconvert())
      .def("scores", &PyLeafPlaces::scores, "value"_a.noconvert(), "n_threads"_a)
      .def("sums", &PyLeafPlaces::sums, "value"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
