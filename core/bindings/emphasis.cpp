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
  ThreadTeam team(n_threads);
  const std::size_t n_labels = weights.ndim() == 2 ? n_outputs : factor.shape(1);
  const std::int32_t n_leaves = static_cast<std::int32_t>(factor.shape(0));
  team.each(n_blocks(static_cast<std::int64_t>(n)), static_cast<std::int64_t>(n), [&](std::int64_t b) {
    bool leaves = true, known = true;
    for (std::size_t i = static_cast<std::size_t>(b * kRowBlock); i < std::min<std::size_t>(n, (b + 1) * kRowBlock);
         ++i) {
      leaves &= leaf_of_row.data()[i] >= -1 && leaf_of_row.data()[i] < n_leaves;
      known &= labels.data()[i] < n_labels;
    }
    require(leaves, "a leaf has no factor");
    require(known, "a label has no factor");
  });
  return scale_rows(weights.data(), n_outputs, leaf_of_row.data(), labels.data(), n, factor.data(), factor.shape(1),
                    team);
}

}  // namespace

void register_emphasis(nb::module_& m) {
  m.def("scale_rows", &py_scale_rows, "weights"_a.noconvert(), "leaf_of_row"_a.noconvert(), "labels"_a.noconvert(),
        "factor"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
