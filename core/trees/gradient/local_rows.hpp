// Row storage of a growing tree in this process: rows are partitioned and histograms counted on request.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "trees/gradient/children.hpp"
#include "trees/gradient/rows.hpp"

namespace committee {

template <class Table_>
class LocalRows {
 public:
  using Table = Table_;
  using Columns = typename TableColumns<Table>::Columns;
  static constexpr bool kAsked = false;

  // `columns`: the histograms' table again, column by column; `all_rows`: the root has all rows of the table.
  LocalRows(GradientHistograms<Table>& histograms, const Columns& columns, std::int32_t* rows, std::int32_t* room,
            std::int64_t n_in_use, bool all_rows)
      : histograms_(histograms),
        columns_(columns),
        rows_(rows),
        room_(room),
        n_in_use_(n_in_use),
        all_rows_(all_rows) {}

  GradientHistograms<Table>& histograms() { return histograms_; }

  GradientHistogram root() { return histograms_.build(all_rows_ ? nullptr : rows_, n_in_use_); }
  GradientHistogram build(const NodeRange& node) { return histograms_.build(rows_ + node.begin, node.size()); }
  GradientHistogram without(GradientHistogram parent, const NodeRange& child) {
    return histograms_.without(std::move(parent), rows_ + child.begin, child.size());
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
  std::int32_t *const rows_, *const room_;
  const std::int64_t n_in_use_;
  const bool all_rows_;
};

}  // namespace committee
