// Binds the kernels, and nothing else: sizes are checked here, arrays are wrapped, the GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bins.hpp"
#include "emphasis.hpp"
#include "grower.hpp"
#include "histogram.hpp"
#include "threads.hpp"
#include "traverse.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace committee {
namespace {

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// A vector becomes a NumPy array that owns it.
template <class T>
nb::object array_of(std::vector<T>&& values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}
template <class T>
nb::object array_of(std::vector<T>&& values) {
  const std::size_t n = values.size();
  return array_of(std::move(values), {n});
}

template <class T>
const T* data_or_null(const std::optional<In1<T>>& a) { return a ? a->data() : nullptr; }

// --- bins

nb::tuple py_bin_edges(In2<double> X, std::optional<In1<double>> weights, In1<std::int32_t> n_categories, int max_bins,
                       std::int64_t max_sample, int n_threads) {
  require(n_categories.size() == X.shape(1), "n_categories needs one number per column");
  require(!weights || weights->size() == X.shape(0), "weights needs one number per row");
  require(max_bins >= 2 && max_bins <= 65535, "max_bins must lie in [2, 65535]");
  require(max_sample >= 1, "max_sample must be positive");
  std::vector<double> edges;
  std::vector<std::int64_t> offset{0};
  {
    nb::gil_scoped_release release;
    Crew crew(n_threads);
    const auto learn = weights ? bin_edges<Weighed> : bin_edges<std::uint64_t>;
    for (const auto& column : learn(X.data(), X.shape(0), X.shape(1), data_or_null(weights), n_categories.data(),
                                    max_bins, max_sample, crew)) {
      edges.insert(edges.end(), column.begin(), column.end());
      offset.push_back(static_cast<std::int64_t>(edges.size()));
    }
  }
  return nb::make_tuple(array_of(std::move(edges)), array_of(std::move(offset)));
}

nb::object py_bin_codes(In2<double> X, In1<double> edges, In1<std::int64_t> offset, In1<std::int32_t> n_categories,
                        bool wide, int n_threads) {
  const std::size_t n = X.shape(0), p = X.shape(1);
  require(n_categories.size() == p && offset.size() == p + 1, "offset and n_categories must fit the columns");
  require(offset(0) == 0 && offset(p) == static_cast<std::int64_t>(edges.size()), "offset must span the edges");
  for (std::size_t j = 0; j < p; ++j) {
    require(offset(j) <= offset(j + 1), "offset must not fall");
    require(offset(j + 1) - offset(j) + 1 <= (wide ? 65535 : 255) && n_categories(j) <= (wide ? 65535 : 255),
            "a column has more bins than its codes can hold");
  }
  const auto make = [&]<class Code>(Code) {
    std::vector<Code> codes(n * p);
    {
      nb::gil_scoped_release release;
      Crew crew(n_threads);
      bin_codes(X.data(), n, p, edges.data(), offset.data(), n_categories.data(), codes.data(), crew);
    }
    return array_of(std::move(codes), {n, p});
  };
  return wide ? make(std::uint16_t{}) : make(std::uint8_t{});
}

template <class Code>
BinnedTable<Code> table_of(const Codes& codes, const In1<std::int32_t>& n_bins, const std::uint8_t* categorical) {
  BinnedTable<Code> table{static_cast<const Code*>(codes.data()), static_cast<std::int64_t>(codes.shape(0)),
                          static_cast<std::int64_t>(codes.shape(1)), {0}, {}};
  for (std::size_t j = 0; j < codes.shape(1); ++j) {
    require(n_bins(j) >= 1 && n_bins(j) <= 65535, "n_bins must lie in [1, 65535]");
    table.cell.push_back(table.cell.back() + n_bins(j) + 1);
    table.categorical.push_back(categorical ? categorical[j] : 0);
  }
  return table;
}

bool is_wide(const Codes& codes) {
  if (codes.dtype() == nb::dtype<std::uint16_t>()) return true;
  if (codes.dtype() == nb::dtype<std::uint8_t>()) return false;
  throw nb::type_error("codes must be uint8 or uint16");
}

void require_codes(const Codes& codes, const In1<std::int32_t>& n_bins) {
  require(codes.shape(1) >= 1, "codes needs at least one column");
  require(codes.shape(0) < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "too many rows");
  require(n_bins.size() == codes.shape(1), "n_bins needs one number per column");
}

// --- histogram

nb::tuple py_class_histogram(Codes codes, In1<std::int32_t> n_bins, In1<std::uint16_t> labels, int n_classes,
                             In1<double> weights, std::optional<In1<std::int32_t>> rows, int n_threads) {
  require_codes(codes, n_bins);
  const std::size_t n = codes.shape(0);
  require(labels.size() == n && weights.size() == n, "labels and weights need one number per row");
  require(n_classes >= 1, "n_classes must be positive");
  std::vector<double> weight;
  std::vector<std::int64_t> count;
  std::size_t n_cells = 0;
  const auto run = [&]<class Code>(Code) {
    const BinnedTable<Code> table = table_of<Code>(codes, n_bins, nullptr);
    n_cells = static_cast<std::size_t>(table.n_cells());
    const std::size_t size = n_cells * static_cast<std::size_t>(n_classes);
    nb::gil_scoped_release release;
    Crew crew(n_threads);
    const std::int64_t m = rows ? rows->size() : n;
    double total = 0.0;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t row = rows ? (*rows)(i) : i;
      require(row >= 0 && row < static_cast<std::int64_t>(n), "rows holds a number outside the table");
      require(labels(row) < n_classes, "a label is not below the number of classes");
      require(weights(row) >= 0.0, "weights must not be negative");
      total += weights(row);
      for (std::int64_t j = 0; j < table.n_features; ++j)
        require(table.codes[row * table.n_features + j] <= table.missing_bin(j), "a code exceeds its number of bins");
    }
    require(total > 0.0 && std::isfinite(total), "weights must be finite and sum to more than zero");
    const FixedPoint fixed = FixedPoint::for_total(m, total);
    std::vector<std::uint64_t> packed(n, 0), histogram(size, 0), scratch;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t row = rows ? (*rows)(i) : i;
      packed[static_cast<std::size_t>(row)] = fixed.pack(weights(row));
    }
    build_histogram(table, data_or_null(rows), m, ClassPlanes{packed.data(), labels.data()}, histogram.data(),
                    n_classes, scratch, crew);
    weight.resize(size);
    count.resize(size);
    for (std::size_t c = 0; c < size; ++c) {
      weight[c] = fixed.weight(histogram[c]);
      count[c] = fixed.count(histogram[c]);
    }
  };
  is_wide(codes) ? run(std::uint16_t{}) : run(std::uint8_t{});
  const std::vector<std::size_t> shape{static_cast<std::size_t>(n_classes), n_cells};
  return nb::make_tuple(array_of(std::move(weight), shape), array_of(std::move(count), shape));
}

// --- grow

struct GrownTree {
  nb::object feature, bin, left, missing_left, category_offset, category_bits, gain, count, sums, leaf_of_row;

  explicit GrownTree(FlatTree&& t) {
    const std::size_t n = t.feature.size();
    const std::size_t n_planes = t.sums.size() / n;
    std::vector<std::int64_t> offset{0};
    std::vector<std::uint32_t> bits;
    for (const auto& words : t.category_bits) {
      bits.insert(bits.end(), words.begin(), words.end());
      offset.push_back(static_cast<std::int64_t>(bits.size()));
    }
    feature = array_of(std::move(t.feature));
    bin = array_of(std::move(t.bin));
    left = array_of(std::move(t.left));
    missing_left = array_of(std::move(t.missing_left));
    category_offset = array_of(std::move(offset));
    category_bits = array_of(std::move(bits));
    gain = array_of(std::move(t.gain));
    count = array_of(std::move(t.count));
    sums = array_of(std::move(t.sums), {n, n_planes});
    leaf_of_row = array_of(std::move(t.leaf_of_row));
  }
};

class PyGrower {
 public:
  PyGrower(Codes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical, const std::string& criterion,
           int n_classes, int max_depth, std::int64_t max_leaf_nodes, std::int64_t min_samples_leaf,
           double min_weight_leaf, double min_gain, std::int64_t max_features, int n_threads)
      : codes_(codes), n_classes_(n_classes) {
    require_codes(codes, n_bins);
    require(codes.shape(0) >= 1, "codes needs at least one row");
    require(categorical.size() == codes.shape(1), "categorical needs one flag per column");
    require(n_classes >= 1 && n_classes <= 65535, "n_classes must lie in [1, 65535]");
    require(max_depth >= 0 && max_leaf_nodes >= 0 && max_features >= 0, "limits must not be negative");
    require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
    require(min_weight_leaf >= 0.0 && min_gain >= 0.0, "min_weight_leaf and min_gain must not be negative");
    const CriterionName name = criterion_named(criterion);
    require(name != CriterionName::abstaining || max_depth == 1, "criterion 'abstaining' grows stumps: max_depth must be 1");
    const GrowthLimits limits{max_depth, max_leaf_nodes, min_samples_leaf, min_weight_leaf, min_gain, max_features};
    if (is_wide(codes))
      grower_ = std::make_unique<TableGrower<std::uint16_t>>(table_of<std::uint16_t>(codes, n_bins, categorical.data()), name, n_classes, limits, n_threads);
    else
      grower_ = std::make_unique<TableGrower<std::uint8_t>>(table_of<std::uint8_t>(codes, n_bins, categorical.data()), name, n_classes, limits, n_threads);
  }

  GrownTree grow_classes(In1<std::uint16_t> labels, In<double> weights, std::optional<In1<std::int32_t>> rows, std::uint64_t seed) {
    const std::int64_t n = grower_->n_rows();
    require(static_cast<std::int64_t>(labels.size()) == n, "labels needs one number per row");
    require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
    require(static_cast<std::int64_t>(weights.shape(0)) == n, "weights needs one number per row");
    require(weights.ndim() == 1 || static_cast<int>(weights.shape(1)) == n_classes_, "weights must be (n,) or (n, n_classes)");
    const std::int64_t n_outputs = weights.ndim() == 1 ? 1 : static_cast<std::int64_t>(weights.shape(1));
    return grown([&] { return grower_->grow_classes(labels.data(), weights.data(), n_outputs, data_or_null(rows), rows ? rows->size() : n, seed); });
  }

  GrownTree grow_targets(In1<double> targets, In1<double> weights, std::optional<In1<std::int32_t>> rows, std::uint64_t seed) {
    const std::int64_t n = grower_->n_rows();
    require(static_cast<std::int64_t>(targets.size()) == n && static_cast<std::int64_t>(weights.size()) == n, "targets and weights need one number per row");
    return grown([&] { return grower_->grow_targets(targets.data(), weights.data(), data_or_null(rows), rows ? rows->size() : n, seed); });
  }

 private:
  template <class Run>
  static GrownTree grown(Run&& run) {
    FlatTree tree;
    {
      nb::gil_scoped_release release;
      tree = run();
    }
    return GrownTree(std::move(tree));
  }

  Codes codes_;  // keeps the table's memory
  int n_classes_;
  std::unique_ptr<Grower> grower_;
};

// --- traverse

class PyTrees {
 public:
  PyTrees(std::int64_t n_features, In1<std::int64_t> offset, In1<std::int32_t> feature, In1<double> threshold,
          In1<std::int32_t> left, In1<std::uint8_t> missing_left, In1<std::int64_t> category_offset,
          In1<std::uint32_t> category_bits)
      : trees_(checked(n_features, offset, feature, threshold, left, missing_left, category_offset, category_bits)) {}

  nb::object apply(In2<double> X, int n_threads) const {
    const std::size_t n = rows_of(X), T = static_cast<std::size_t>(trees_.n_trees());
    std::vector<std::int32_t> leaves(n * T);
    {
      nb::gil_scoped_release release;
      Crew crew(n_threads);
      trees_.walk(X.data(), n, crew, [&](std::int64_t t) {
        return [&leaves, T, t](std::int64_t i, std::int32_t at) { leaves[static_cast<std::size_t>(i) * T + t] = at; };
      });
    }
    return array_of(std::move(leaves), {n, T});
  }

  nb::object tally_labels(In2<double> X, In1<std::int32_t> label, In1<double> weights, std::int64_t n_classes, int n_threads) const {
    const std::size_t n = rows_of(X);
    require(n_classes >= 1, "n_classes must be positive");
    require(static_cast<std::int64_t>(label.size()) == trees_.n_nodes(), "label needs one number per node");
    require(static_cast<std::int64_t>(weights.size()) == trees_.n_trees(), "weights needs one number per tree");
    for (std::size_t i = 0; i < label.size(); ++i) require(label(i) >= -1 && label(i) < n_classes, "a label is out of range");
    std::vector<double> F(n * static_cast<std::size_t>(n_classes), 0.0);
    {
      nb::gil_scoped_release release;
      Crew crew(n_threads);
      trees_.walk(X.data(), n, crew, [&](std::int64_t t) {
        return [label_of = label.data() + trees_.offset(t), w = weights.data()[t], F = F.data(), n_classes](
                   std::int64_t i, std::int32_t at) {
          if (label_of[at] >= 0) F[i * n_classes + label_of[at]] += w;
        };
      });
    }
    return array_of(std::move(F), {n, static_cast<std::size_t>(n_classes)});
  }

  nb::object sum_values(In2<double> X, In2<double> value, In1<double> weights, int n_threads) const {
    const std::size_t n = rows_of(X), D = value.shape(1);
    require(static_cast<std::int64_t>(value.shape(0)) == trees_.n_nodes(), "value needs one row per node");
    require(static_cast<std::int64_t>(weights.size()) == trees_.n_trees(), "weights needs one number per tree");
    std::vector<double> F(n * D, 0.0);
    {
      nb::gil_scoped_release release;
      Crew crew(n_threads);
      trees_.walk(X.data(), n, crew, [&](std::int64_t t) {
        return [v = value.data() + trees_.offset(t) * D, w = weights.data()[t], F = F.data(), D](std::int64_t i,
                                                                                                 std::int32_t at) {
          for (std::size_t d = 0; d < D; ++d) F[i * D + d] += w * v[at * D + d];
        };
      });
    }
    return array_of(std::move(F), {n, D});
  }

 private:
  static ForestArrays checked(std::int64_t n_features, const In1<std::int64_t>& offset, const In1<std::int32_t>& feature,
                              const In1<double>& threshold, const In1<std::int32_t>& left, const In1<std::uint8_t>& missing_left,
                              const In1<std::int64_t>& category_offset, const In1<std::uint32_t>& category_bits) {
    const std::size_t n = feature.size();
    require(offset.size() >= 1, "trees: offset needs at least one number");
    require(threshold.size() == n && left.size() == n && missing_left.size() == n && category_offset.size() == n + 1,
            "trees: the node arrays differ in length");
    return {n_features, static_cast<std::int64_t>(offset.size()) - 1, static_cast<std::int64_t>(n),
            static_cast<std::int64_t>(category_bits.size()), offset.data(), feature.data(), threshold.data(),
            left.data(), missing_left.data(), category_offset.data(), category_bits.data()};
  }
  std::size_t rows_of(const In2<double>& X) const {
    require(static_cast<std::int64_t>(X.shape(1)) == trees_.n_features(), "X has another number of columns than the trees");
    return X.shape(0);
  }
  Trees trees_;
};

// --- emphasis

double py_scale_rows(nb::ndarray<double, nb::c_contig, nb::device::cpu> weights, In1<std::int32_t> leaf_of_row,
                     In1<std::uint16_t> labels, In2<double> factor, int n_threads) {
  require(weights.ndim() == 1 || weights.ndim() == 2, "weights must be (n,) or (n, n_classes)");
  const std::size_t n = weights.shape(0), n_outputs = weights.ndim() == 2 ? weights.shape(1) : 1;
  require(leaf_of_row.size() == n && labels.size() == n, "leaf_of_row and labels need one number per row");
  require(weights.ndim() == 1 || factor.shape(1) == 2 * n_outputs, "factor needs two columns per class");
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    require(leaf_of_row(i) >= -1 && leaf_of_row(i) < static_cast<std::int64_t>(factor.shape(0)), "a leaf has no factor");
    require(weights.ndim() == 2 || labels(i) < factor.shape(1), "a label has no factor");
  }
  Crew crew(n_threads);
  return scale_rows(weights.data(), n_outputs, leaf_of_row.data(), labels.data(), n, factor.data(), factor.shape(1), crew);
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Native kernels: loops over rows, bins and nodes.";
  m.def("bin_edges", &py_bin_edges, "X"_a, "weights"_a.none(), "n_categories"_a, "max_bins"_a, "max_sample"_a, "n_threads"_a);
  m.def("bin_codes", &py_bin_codes, "X"_a, "edges"_a, "offset"_a, "n_categories"_a, "wide"_a, "n_threads"_a);
  m.def("class_histogram", &py_class_histogram, "codes"_a, "n_bins"_a, "labels"_a, "n_classes"_a, "weights"_a,
        "rows"_a.none(), "n_threads"_a);
  nb::class_<GrownTree>(m, "GrownTree")
      .def_ro("feature", &GrownTree::feature)
      .def_ro("bin", &GrownTree::bin)
      .def_ro("left", &GrownTree::left)
      .def_ro("missing_left", &GrownTree::missing_left)
      .def_ro("category_offset", &GrownTree::category_offset)
      .def_ro("category_bits", &GrownTree::category_bits)
      .def_ro("gain", &GrownTree::gain)
      .def_ro("count", &GrownTree::count)
      .def_ro("sums", &GrownTree::sums)
      .def_ro("leaf_of_row", &GrownTree::leaf_of_row);
  nb::class_<PyGrower>(m, "Grower")
      .def(nb::init<Codes, In1<std::int32_t>, In1<std::uint8_t>, const std::string&, int, int, std::int64_t,
                    std::int64_t, double, double, std::int64_t, int>(),
           "codes"_a, "n_bins"_a, "categorical"_a, "criterion"_a, "n_classes"_a, nb::kw_only(), "max_depth"_a,
           "max_leaf_nodes"_a, "min_samples_leaf"_a, "min_weight_leaf"_a, "min_gain"_a, "max_features"_a, "n_threads"_a)
      .def("grow_classes", &PyGrower::grow_classes, "labels"_a, "weights"_a, "rows"_a.none(), "seed"_a)
      .def("grow_targets", &PyGrower::grow_targets, "targets"_a, "weights"_a, "rows"_a.none(), "seed"_a);
  nb::class_<PyTrees>(m, "Trees")
      .def(nb::init<std::int64_t, In1<std::int64_t>, In1<std::int32_t>, In1<double>, In1<std::int32_t>,
                    In1<std::uint8_t>, In1<std::int64_t>, In1<std::uint32_t>>(),
           "n_features"_a, "offset"_a, "feature"_a, "threshold"_a, "left"_a, "missing_left"_a, "category_offset"_a,
           "category_bits"_a)
      .def("apply", &PyTrees::apply, "X"_a, "n_threads"_a)
      .def("tally_labels", &PyTrees::tally_labels, "X"_a, "label"_a, "weights"_a, "n_classes"_a, "n_threads"_a)
      .def("sum_values", &PyTrees::sum_values, "X"_a, "value"_a, "weights"_a, "n_threads"_a);
  m.def("scale_rows", &py_scale_rows, "weights"_a, "leaf_of_row"_a, "labels"_a, "factor"_a, "n_threads"_a);
}

}  // namespace committee
