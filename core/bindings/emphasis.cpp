#include "boosting/emphasis.hpp"

#include "bindings/arrays.hpp"

namespace committee {
namespace {

double py_scale_rows(nb::ndarray<double, nb::c_contig, nb::device::cpu> weights, In1<std::int32_t> leaf_of_row,
                     In1<std::uint16_t> labels, In2<double> factor, int n_threads) {
  require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
  const std::int64_t n = extent(weights, 0), n_outputs = weights.ndim() == 2 ? extent(weights, 1) : 1;
  require(length(leaf_of_row) == n && length(labels) == n, "leaf_of_row and labels need one number per row");
  require(weights.ndim() == 1 || extent(factor, 1) == 2 * n_outputs, "factor needs two columns per class");
  nb::gil_scoped_release release;
  ThreadTeam team(n_threads);
  const std::int64_t n_labels = weights.ndim() == 2 ? n_outputs : extent(factor, 1);
  const std::int32_t n_leaves = static_cast<std::int32_t>(extent(factor, 0));
  const RowsInLeaves rows{leaf_of_row.data(), labels.data(), n};
  team.blocks(n, n, [=](std::int64_t begin, std::int64_t end) {
    bool leaves = true, known = true;
    for (std::int64_t i = begin; i < end; ++i) {
      leaves &= rows.leaf_of_row[i] >= -1 && rows.leaf_of_row[i] < n_leaves;
      known &= rows.labels[i] < n_labels;
    }
    require(leaves, "a leaf has no factor");
    require(known, "a label has no factor");
  });
  return scale_rows(weights.data(), n_outputs, rows, factor.data(), extent(factor, 1), team);
}

}  // namespace

void register_emphasis(nb::module_& m) {
  m.def("scale_rows", &py_scale_rows, "weights"_a.noconvert(), "leaf_of_row"_a.noconvert(), "labels"_a.noconvert(),
        "factor"_a.noconvert(), "n_threads"_a);
}

}  // namespace committee
