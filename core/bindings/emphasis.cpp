#include "../emphasis.hpp"

#include "arrays.hpp"

namespace committee {
namespace {

double py_scale_rows(nb::ndarray<double, nb::c_contig, nb::device::cpu> weights, In1<std::int32_t> leaf_of_row,
                     In1<std::uint16_t> labels, In2<double> factor, int n_threads) {
  require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
  const std::size_t n = weights.shape(0), n_outputs = weights.ndim() == 2 ? weights.shape(1) : 1;
  require(leaf_of_row.size() == n && labels.size() == n, "leaf_of_row and labels need one number per row");
  require(weights.ndim() == 1 || factor.shape(1) == 2 * n_outputs, "factor needs two columns per class");
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    require(leaf_of_row(i) >= -1 && leaf_of_row(i) < static_cast<std::int64_t>(factor.shape(0)),
            "a leaf has no factor");
    require(labels(i) < (weights.ndim() == 2 ? n_outputs : factor.shape(1)), "a label has no factor");
  }
  Crew crew(n_threads);
  return scale_rows(weights.data(), n_outputs, leaf_of_row.data(), labels.data(), n, factor.data(), factor.shape(1),
                    crew);
}

}  // namespace

void register_emphasis(nb::module_& m) {
  m.def("scale_rows", &py_scale_rows, "weights"_a.noconvert(), "leaf_of_row"_a.noconvert(), "labels"_a.noconvert(),
        "factor"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
