// Histograms of a few columns of a node of few rows, counted when they are scanned and kept nowhere: their cells stay
// in the first-level cache, while a histogram of all columns of a wide table is written to memory and read again. The
// sums are those of GradientHistograms to the bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "histogram/column_histogram.hpp"
#include "histogram/gradient_histogram.hpp"
#include "threads/vector.hpp"

namespace committee {

template <class Code>
class FewRows {
 public:
  // Rows of a node, in `n_planes` statistics of all rows of the table; `most_cells` of a column.
  FewRows(const BinnedTable<Code>& table, const CodeColumns<Code>& columns, const std::int32_t* rows, std::int64_t n,
          const std::uint64_t* planes, std::int64_t n_planes, std::int64_t most_cells)
      : table_(table), columns_(columns), rows_(rows), n_(n), n_planes_(n_planes), most_cells_(most_cells) {
    words_.reserve(n_planes * n);
    for (std::int64_t d = 0; d < n_planes; ++d)
      for (std::int64_t i = 0; i < n; ++i) words_.push_back(planes[d * table.n_rows + rows[i]]);
  }

  // Cells of a plane, and of all planes with those to spare (GradientHistogram).
  std::int64_t n_cells() const { return kColumnsTogether * most_cells_; }
  std::int64_t size() const { return n_planes_ * n_cells() + kLanes; }

  // Begins to fetch a column, as columns that are drawn lie anywhere in memory.
  void prefetch(std::int32_t feature) const {
    const Code *const codes = columns_.of_feature[feature], *const end = codes + rows_[n_ - 1] + 1;
    constexpr std::int64_t kLine = 64 / sizeof(Code);
    const Code* at = codes + rows_[0];
    for (std::int64_t line = 0; line < kMostLines && at < end; ++line, at += kLine) __builtin_prefetch(at);
  }

  // Counts at most kColumnsTogether columns; their first cells are written to `first`.
  void count(const std::int32_t* features, std::int64_t n_features, std::uint64_t* cells, std::int64_t* first) const {
    std::array<const Code*, kColumnsTogether> codes{};
    std::int64_t end = 0;
    for (std::int64_t c = 0; c < n_features; ++c) {
      const std::int32_t j = features[c];
      codes[size_of(c)] = columns_.of_feature[j];
      first[c] = end;
      end += table_.missing_bin(j) + 1;
    }
    for (std::int64_t d = 0; d < n_planes_; ++d) {
      std::uint64_t* const plane = cells + d * n_cells();
      std::fill_n(plane, end, 0);
      std::int64_t c = 0;
      const auto add = [&]<int n_columns>() {
        for (; c + n_columns <= n_features; c += n_columns)
          add_columns<n_columns>(codes.data() + c, first + c, rows_, words_.data() + d * n_, n_, 0, plane);
      };
      add.template operator()<kColumnsTogether>();
      add.template operator()<1>();
    }
  }

 private:
  static constexpr std::int64_t kMostLines = 16;  // of a column

  const BinnedTable<Code>& table_;
  const CodeColumns<Code>& columns_;
  const std::int32_t* const rows_;
  const std::int64_t n_, n_planes_, most_cells_;
  Vector<std::uint64_t> words_;
};

}  // namespace committee
