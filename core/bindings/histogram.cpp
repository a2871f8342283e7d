#include "histogram/histogram.hpp"

#include <chrono>

#include "bindings/arrays.hpp"
#include "trees/gradient/first_splits.hpp"

namespace committee {
namespace {

// One histogram's inputs, checked, with the weights packed.
template <class Code>
struct Packed {
  BinnedTable<Code> table;
  const std::int32_t* rows;
  std::int64_t n_in_use;
  FixedPoint fixed;
  Vector<std::uint64_t> packed;

  Packed(const Codes& codes, const In1<std::int32_t>& n_bins, const In1<std::uint16_t>& labels, int n_classes,
         const In1<double>& weights, const std::optional<In1<std::int32_t>>& in_use)
      : table(table_of<Code>(codes, n_bins, nullptr)),
        rows(data_or_null(in_use)),
        n_in_use(in_use ? length(*in_use) : extent(codes, 0)),
        packed(extent(codes, 0), 0) {
    double total = 0.0;
    for (std::int64_t i = 0; i < n_in_use; ++i) {
      const std::int64_t row = rows ? rows[i] : i;
      require(row >= 0 && row < table.n_rows, "rows holds a number outside the table");
      require(labels(row) < n_classes, "a label is not below the number of classes");
      require(weights(row) >= 0.0, "weights must not be negative");
      total += weights(row);
      for (std::int64_t j = 0; j < table.n_features; ++j)
        require(table.codes[row * table.n_features + j] <= table.missing_bin(j), "a code exceeds its number of bins");
    }
    require(total > 0.0 && std::isfinite(total), "weights must be finite and sum to more than zero");
    fixed = FixedPoint::for_total(n_in_use, total);
    require(std::isfinite(fixed.unit), "weights are too small to be told apart; rescale them");
    for (std::int64_t i = 0; i < n_in_use; ++i) {
      const std::int64_t row = rows ? rows[i] : i;
      packed[row] = fixed.pack(weights(row));
    }
  }
};

void require_sizes(const Codes& codes, const In1<std::int32_t>& n_bins, const In1<std::uint16_t>& labels, int n_classes,
                   const In1<double>& weights) {
  require_codes(codes, n_bins);
  require(length(labels) == extent(codes, 0) && length(weights) == extent(codes, 0),
          "labels and weights need one number per row");
  require(n_classes >= 1 && n_classes <= 65535, "n_classes must lie in [1, 65535]");
}

nb::tuple py_class_histogram(Codes codes, In1<std::int32_t> n_bins, In1<std::uint16_t> labels, int n_classes,
                             In1<double> weights, std::optional<In1<std::int32_t>> rows, int n_threads) {
  require_sizes(codes, n_bins, labels, n_classes, weights);
  Vector<double> weight;
  Vector<std::int64_t> count;
  with_code_type(codes, [&]<class Code>(Code) {
    nb::gil_scoped_release release;
    const Packed<Code> in(codes, n_bins, labels, n_classes, weights, rows);
    const std::int64_t size = in.table.n_cells() * n_classes;
    Vector<std::uint64_t> histogram(size, 0), scratch;
    ThreadTeam team(n_threads);
    build_histogram(in.table, in.rows, in.n_in_use, ClassPlanes{in.packed.data(), labels.data()}, histogram.data(),
                    n_classes, scratch, team);
    weight.resize(size);
    count.resize(size);
    for (std::int64_t c = 0; c < size; ++c) {
      weight[c] = in.fixed.weight(histogram[c]);
      count[c] = in.fixed.count(histogram[c]);
    }
  });
  const std::int64_t n_cells = weight.size() / n_classes;
  return nb::make_tuple(array_of(std::move(weight), {n_classes, n_cells}),
                        array_of(std::move(count), {n_classes, n_cells}));
}

nb::object py_histogram_seconds(Codes codes, In1<std::int32_t> n_bins, In1<std::uint16_t> labels, int n_classes,
                                In1<double> weights, std::optional<In1<std::int32_t>> rows, int repeats,
                                int n_threads) {
  require_sizes(codes, n_bins, labels, n_classes, weights);
  require(repeats >= 1, "repeats must be positive");
  Vector<double> seconds;
  with_code_type(codes, [&]<class Code>(Code) {
    nb::gil_scoped_release release;
    const Packed<Code> in(codes, n_bins, labels, n_classes, weights, rows);
    Vector<std::uint64_t> histogram(in.table.n_cells() * n_classes), scratch;
    ThreadTeam team(n_threads);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      std::ranges::fill(histogram, 0);
      build_histogram(in.table, in.rows, in.n_in_use, ClassPlanes{in.packed.data(), labels.data()}, histogram.data(),
                      n_classes, scratch, team);
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  });
  return array_of(std::move(seconds));
}

nb::object py_first_split_gains(AnyCodes codes, In1<std::int32_t> n_bins, In1<std::uint8_t> categorical,
                                In<double> gradient, In<double> hessian, std::optional<In1<std::int32_t>> rows,
                                std::int64_t least, double l2, int n_threads) {
  require_codes(codes, n_bins);
  const std::int64_t n = extent(codes, 0), n_used = rows ? length(*rows) : n;
  require(n >= 1, "codes needs at least one row");
  require(length(categorical) == length(n_bins), "categorical needs one number per column");
  require(length(gradient) >= n && length(gradient) % n == 0 && length(hessian) == length(gradient),
          "gradient and hessian need one number per row and output");
  for (std::int64_t i = 0; rows && i < n_used; ++i)
    require((*rows)(i) >= 0 && (*rows)(i) < n, "rows holds a number outside the table");
  for (std::int64_t i = 0; i < length(gradient); ++i)
    require(std::abs(gradient.data()[i]) <= 1e150 && hessian.data()[i] >= 0.0 && hessian.data()[i] <= 1e150,
            "gradients and hessians must be at most 1e150, hessians not negative; rescale the target or the weights");
  require(least >= 1 && l2 >= 0.0, "least must be at least 1, and l2 not negative");
  Vector<double> gains;
  with_table(codes, n_bins, categorical.data(), [&](const auto& table) {
    unlocked(n_threads, [&](ThreadTeam& team) {
      require_codes_in_range(table, team);
      gains = first_split_gains(table, gradient.data(), hessian.data(), length(gradient) / n, data_or_null(rows),
                                n_used, least, l2, team);
    });
  });
  return array_of(std::move(gains));
}

}  // namespace

void register_histogram(nb::module_& m) {
  m.def("class_histogram", &py_class_histogram, "codes"_a.noconvert(), "n_bins"_a.noconvert(), "labels"_a.noconvert(),
        "n_classes"_a, "weights"_a.noconvert(), "rows"_a.noconvert().none(), "n_threads"_a);
  m.def("histogram_seconds", &py_histogram_seconds, "codes"_a.noconvert(), "n_bins"_a.noconvert(),
        "labels"_a.noconvert(), "n_classes"_a, "weights"_a.noconvert(), "rows"_a.noconvert().none(), "repeats"_a,
        "n_threads"_a);
  m.def("first_split_gains", &py_first_split_gains, "codes"_a.noconvert(), "n_bins"_a.noconvert(),
        "categorical"_a.noconvert(), "gradient"_a.noconvert(), "hessian"_a.noconvert(), "rows"_a.noconvert().none(),
        "least"_a, "l2"_a, "n_threads"_a);
}

}  // namespace committee
