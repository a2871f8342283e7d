// The native module: one line per kernel, bound in bindings/.
#include "bindings/arrays.hpp"

NB_MODULE(_core, m) {
#ifndef COMMITTEE_SANITIZE
  // models that are alive when the interpreter ends are no leaks, and nothing is printed unasked
  nanobind::set_leak_warnings(false);
#endif
  m.doc() = "Native kernels: loops over rows, bins and nodes.";
  m.attr("source_digest") = COMMITTEE_SOURCE_DIGEST;
  committee::register_bins(m);
  committee::register_put_together(m);
  committee::register_sparse_bins(m);
  committee::register_histogram(m);
  committee::register_grow(m);
  committee::register_deep_grow(m);
  committee::register_gradient_grow(m);
  committee::register_gradient_shard(m);
  committee::register_loss_gradients(m);
  committee::register_traverse(m);
  committee::register_tree_shap(m);
  committee::register_emphasis(m);
  committee::register_row_digests(m);
  committee::register_linear_boost(m);
  committee::register_leaf_models(m);
  committee::register_leaf_lines(m);
  committee::register_leaf_places(m);
  committee::register_cells(m);
  committee::register_coordinate_descent(m);
  committee::register_listed_rounds(m);
  committee::register_soft_stumps(m);
  committee::register_vote_graph(m);
  committee::register_interrupt(m);
  committee::register_lane_types(m);
}
