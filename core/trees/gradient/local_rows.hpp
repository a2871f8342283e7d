// Row storage of a growing tree in this process: rows are partitioned and histograms counted on request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "histogram/few_rows.hpp"
#include "trees/gradient/children.hpp"
#include "trees/gradient/rows.hpp"

namespace committee {

template <class Table_>
class LocalRows {
 public:
  using Table = Table_;
  using Columns = typename TableColumns<Table>::Columns;
  static constexpr bool kAsked = false;
  static constexpr bool kScansRows = !std::is_same_v<Table, SparseTable>;  // nodes of few rows have no histogram

  // `columns`: the histograms' table again, column by column; `all_rows`: the root has all rows of the table.
  LocalRows(GradientHistograms<Table>& histograms, const Columns& columns, std::int32_t* rows, std::int32_t* room,
            std::int64_t n_in_use, bool all_rows)
      : histograms_(histograms), columns_(columns), rows_(rows), room_(room), n_in_use_(n_in_use), all_rows_(all_rows) {
    for (std::int64_t j = 0; j < table().n_features; ++j) widest_ = std::max(widest_, table().missing_bin(j) + 1);
  }

  GradientHistograms<Table>& histograms() { return histograms_; }

  GradientHistogram root() { return histograms_.build(all_rows_ ? nullptr : rows_, n_in_use_); }
  GradientHistogram build(const NodeRange& node) { return histograms_.build(rows_ + node.begin, node.size()); }
  GradientHistogram without(GradientHistogram parent, const NodeRange& child) {
    return histograms_.without(std::move(parent), rows_ + child.begin, child.size());
  }

  // The most rows of a node whose columns, so many of them, are counted when they are scanned: where a histogram of all
  // columns leaves the second-level cache, that takes less time than to clear, subtract and read it.
  std::int64_t most_scanned(std::int64_t n_columns) const {
    if constexpr (kScansRows) {
      const std::int64_t n_cells = histograms_.size_of(true);
      if (columns_.stride != 1 || n_cells < kManyCells) return 0;
      const std::int64_t most = kRowsPerCell * n_cells / n_columns;
      return histograms_.layout().packed ? std::min(most, histograms_.layout().block) : most;
    }
    return 0;
  }
  auto few(const NodeRange& node) const {
    return FewRows(table(), columns_, rows_ + node.begin, node.size(), histograms_.planes(), histograms_.n_planes(),
                   widest_);
  }

  // The rows that go left come first, up to `middle`, which growth has read off the histogram.
  void part(const NodeRange& node, const NodeSplit& split, std::int64_t middle) {
    const std::int64_t j = split.feature;
    const Vector<std::uint8_t> is_left = split.left_bins(histograms_.table().missing_bin(j));
    const std::int64_t n_left =
        columns_.part(j, is_left, rows_ + node.begin, room_ + node.begin, node.size(), histograms_.team());
    if (n_left != middle - node.begin)
      throw std::runtime_error("the codes have changed while a tree was grown on them");
  }

 private:
  GradientHistograms<Table>& histograms_;
  const Columns& columns_;
  const Table& table() const { return histograms_.table(); }
  static constexpr std::int64_t kManyCells = std::int64_t{1} << 16, kRowsPerCell = 4;

  std::int32_t *const rows_, *const room_;
  const std::int64_t n_in_use_;
  std::int64_t widest_ = 0;  // cells of the column that has most
  const bool all_rows_;
};

}  // namespace committee
