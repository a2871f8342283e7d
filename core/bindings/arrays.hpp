// What all bindings share: NumPy arrays in and out, and the checks of sizes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "histogram/histogram.hpp"
#include "histogram/sparse_bins.hpp"
#include "threads/vector.hpp"

namespace committee {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyCodes = std::variant<Codes, const SparseCodes*>;

// run(team) without the interpreter lock.
template <class Run>
void unlocked(int n_threads, Run&& run) {
  nb::gil_scoped_release release;
  ThreadTeam team(n_threads);
  run(team);
}

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// Sizes as signed integers.
template <class... Args>
std::int64_t length(const nb::ndarray<Args...>& array) {
  return count_of(array.size());
}
template <class... Args>
std::int64_t extent(const nb::ndarray<Args...>& array, std::int64_t axis) {
  return array.shape_ptr()[axis];
}

// A vector becomes a NumPy array that owns it.
template <class T>
nb::object array_of(Vector<T>&& values, std::initializer_list<std::int64_t> shape) {
  auto* owned = new Vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector<T>*>(p); });
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), sizes.size(), sizes.data(), owner));
}
template <class T>
nb::object array_of(Vector<T>&& values) {
  return array_of(std::move(values), {values.size()});
}

// A read-only array of what its owner keeps, whole or as n rows.
template <class T>
nb::object view_of(const Vector<T>& values, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), {size_of(values.size())}, owner));
}
template <class T>
nb::object rows_view_of(const Vector<T>& values, std::int64_t n, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), {size_of(n), size_of(values.size() / n)}, owner));
}

inline void require_weights(const In1<double>& weights) {
  double total = 0.0;
  bool fine = true;
  for (std::int64_t i = 0; i < length(weights); ++i) {
    fine &= weights(i) >= 0.0;
    total += weights(i);
  }
  require(fine && total > 0.0 && std::isfinite(total),
          "weights must be finite, not negative, and sum to more than zero");
}

template <class T>
const T* data_or_null(const std::optional<In1<T>>& a) {
  return a ? a->data() : nullptr;
}

template <class Code>
BinnedTable<Code> table_of(const Codes& codes, const In1<std::int32_t>& n_bins, const std::uint8_t* categorical) {
  BinnedTable<Code> table{static_cast<const Code*>(codes.data()), extent(codes, 0), extent(codes, 1), {0}, {}};
  for (std::int64_t j = 0; j < extent(codes, 1); ++j) {
    require(n_bins(j) >= 1 && n_bins(j) <= 65535, "n_bins must lie in [1, 65535]");
    table.cell.push_back(table.cell.back() + n_bins(j) + 1);
    table.categorical.push_back(categorical ? categorical[j] : 0);
  }
  return table;
}

inline bool is_wide(const Codes& codes) {
  if (codes.dtype() == nb::dtype<std::uint16_t>()) return true;
  if (codes.dtype() == nb::dtype<std::uint8_t>()) return false;
  throw nb::type_error("codes must be uint8 or uint16");
}

// The size of a table along an axis.
inline std::int64_t extent(const AnyCodes& codes, std::int64_t axis) {
  if (const auto* const all = std::get_if<Codes>(&codes)) return extent(*all, axis);
  const SparseCodes* const sparse = std::get<const SparseCodes*>(codes);
  require(sparse != nullptr, "codes must be an array or SparseCodes");
  return axis == 0 ? sparse->n_rows() : sparse->n_features();
}

template <class Table>
void require_codes(const Table& codes, const In1<std::int32_t>& n_bins) {
  require(extent(codes, 1) >= 1, "codes needs at least one column");
  require(extent(codes, 0) < std::numeric_limits<std::int32_t>::max(), "too many rows");
  require(length(n_bins) == extent(codes, 1), "n_bins needs one number per column");
}

// body(Code{}) with the type of the codes.
template <class Body>
decltype(auto) with_code_type(const Codes& codes, Body&& body) {
  return is_wide(codes) ? body(std::uint16_t{}) : body(std::uint8_t{});
}

// body(table) with the table of these codes, which does not own their memory.
template <class Body>
decltype(auto) with_table(const AnyCodes& codes, const In1<std::int32_t>& n_bins, const std::uint8_t* categorical,
                          Body&& body) {
  if (const auto* const all = std::get_if<Codes>(&codes))
    return with_code_type(*all, [&]<class Code>(Code) { return body(table_of<Code>(*all, n_bins, categorical)); });
  SparseTable table = std::get<const SparseCodes*>(codes)->table();
  for (std::int64_t j = 0; j < table.n_features; ++j) {
    require(n_bins(j) == table.missing_bin(j), "n_bins are not those of the sparse codes");
    require(categorical == nullptr || categorical[j] == 0, "a sparse table has no categories");
  }
  return body(std::move(table));
}

void register_bins(nb::module_& m);
void register_put_together(nb::module_& m);
void register_sparse_bins(nb::module_& m);
void register_histogram(nb::module_& m);
void register_grow(nb::module_& m);
void register_deep_grow(nb::module_& m);
void register_gradient_grow(nb::module_& m);
void register_gradient_shard(nb::module_& m);
void register_loss_gradients(nb::module_& m);
void register_traverse(nb::module_& m);
void register_tree_shap(nb::module_& m);
void register_emphasis(nb::module_& m);
void register_row_digests(nb::module_& m);
void register_linear_boost(nb::module_& m);
void register_leaf_models(nb::module_& m);
void register_leaf_lines(nb::module_& m);
void register_leaf_places(nb::module_& m);
void register_cells(nb::module_& m);
void register_coordinate_descent(nb::module_& m);
void register_soft_stumps(nb::module_& m);
void register_listed_rounds(nb::module_& m);
void register_vote_graph(nb::module_& m);
void register_interrupt(nb::module_& m);
void register_lane_types(nb::module_& m);

}  // namespace committee
