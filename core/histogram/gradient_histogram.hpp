// Histograms of gradients: for every output and cell the sums of gradient, hessian and count over a node's rows.
//
// A narrow histogram has one word per output and cell (gradient_words.hpp), a wide one two planes per output:
// gradients, and hessians with counts. Nodes of few rows are narrow: half the bytes to clear, subtract and scan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

#include "histogram/column_histogram.hpp"
#include "histogram/columns.hpp"
#include "histogram/gathered_histogram.hpp"
#include "histogram/gradient_words.hpp"
#include "histogram/histogram.hpp"
#include "threads/vector.hpp"

namespace committee {

struct GradientHistogram {
  bool narrow = false;
  Vector<std::uint64_t> sums;  // and eight cells to spare, as they are read eight at a time
};

struct WordPlanes {  // one word per output: plane d
  const std::uint64_t* words;
  std::int64_t n_rows, n_outputs;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    for (std::int64_t d = 0; d < n_outputs; ++d) add(d, words[d * n_rows + row]);
  }
  void prefetch(std::int64_t row) const {
    for (std::int64_t d = 0; d < n_outputs; ++d) __builtin_prefetch(words + d * n_rows + row);
  }
};

template <class Planes>
struct Removed {  // takes rows out again
  Planes planes;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    planes(row, [&](auto plane, std::uint64_t value) { add(plane, -value); });
  }
  void prefetch(std::int64_t row) const { planes.prefetch(row); }
};

struct OneWord {  // the same for one output, known to the compiler
  const std::uint64_t* words;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    add(0, words[row]);
  }
  void prefetch(std::int64_t row) const { __builtin_prefetch(words + row); }
};

// Adds a histogram of words to a wide one, and clears it: the gradient's sign fills its 64 bits, hessian and count are
// moved apart.
COMMITTEE_CLONES inline void empty_words(std::uint64_t* words, std::int64_t n_cells, const WordLayout& layout,
                                         std::uint64_t* gradients, std::uint64_t* pairs) {
  const int g_shift = layout.gradient_shift(), h_shift = layout.count_bits, wide_shift = layout.wide_count_bits;
  const std::uint64_t h_mask = (std::uint64_t{1} << layout.hessian_bits) - 1;
  const std::uint64_t c_mask = (std::uint64_t{1} << layout.count_bits) - 1;
  for (std::int64_t c = 0; c < n_cells; ++c) {
    const std::uint64_t w = words[c];
    gradients[c] += word_of(signed_of(w) >> g_shift);
    pairs[c] += (((w >> h_shift) & h_mask) << wide_shift) + (w & c_mask);
    words[c] = 0;
  }
}

COMMITTEE_CLONES inline void subtract(std::uint64_t* from, const std::uint64_t* what, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) from[i] -= what[i];
}

// Memory that the trees of a run share, and those who count the nodes of one tree.
class IdleHistograms {
 public:
  Vector<std::uint64_t> take(bool narrow) {
    const std::scoped_lock lock(taking_);
    auto& idle = narrow ? narrow_ : wide_;
    if (idle.empty()) return {};
    Vector<std::uint64_t> sums = std::move(idle.back());
    idle.pop_back();
    return sums;
  }
  void give_back(bool narrow, Vector<std::uint64_t> sums) {
    const std::scoped_lock lock(taking_);
    (narrow ? narrow_ : wide_).push_back(std::move(sums));
  }

 private:
  std::mutex taking_;
  Vector<Vector<std::uint64_t>> narrow_, wide_;
};

// What one of them needs while it counts, for each of its threads.
struct CountingRoom {
  struct OfThread {
    Vector<std::uint64_t> words, wide;
  };
  Vector<OfThread> threads;
};

// Histograms of the nodes of one tree, over words (or wide pairs) of one round.
template <class Table>
class GradientHistograms {
 public:
  using Columns = typename TableColumns<Table>::Columns;

  // `columns`: the table's, by which dense nodes are counted; null where its rows are elsewhere.
  GradientHistograms(const Table& table, const Columns* columns, std::int64_t n_outputs, ThreadTeam& team,
                     IdleHistograms& memory, CountingRoom& room)
      : table_(table), columns_(columns), n_outputs_(n_outputs), team_(team), memory_(memory), room_(room) {}

  // The statistics of a round: layout, and n_outputs planes of words, or 2 n_outputs wide planes.
  GradientHistograms& use(const WordLayout& layout, const std::uint64_t* planes) {
    layout_ = layout;
    planes_ = planes;
    return *this;
  }

  GradientHistogram build(const std::int32_t* rows, std::int64_t n) { return build(rows, n, is_narrow(n)); }

  // Is the histogram of so many rows narrow?
  bool is_narrow(std::int64_t n) const { return layout_.packed && n <= layout_.block; }
  std::int64_t size_of(bool narrow) const { return (narrow ? 1 : 2) * n_outputs_ * table_.n_cells(); }

  // Of some of a node's rows, as wide as the node's.
  GradientHistogram build(const std::int32_t* rows, std::int64_t n, bool narrow) {
    if (narrow) {
      GradientHistogram h = take(true);
      add_words(rows, 0, n, by_column(rows, n), h.sums.data());
      complete(table_, h.sums.data(), n_outputs_);
      return h;
    }
    GradientHistogram h = take(false);
    const std::int64_t size = h.sums.size(), work = table_.cells_of(n) * n_outputs_;
    // a private histogram must be worth zeroing and merging
    const std::int64_t parts = std::clamp<std::int64_t>(work / (8 * size + 1), 1, team_.wanted(work));
    if (room_.threads.size() < parts) room_.threads.resize(parts);
    team_.each(parts, work, [&](std::int64_t part) {
      auto& [words, private_sums] = room_.threads[part];
      Vector<std::uint64_t>& wide = part == 0 ? h.sums : private_sums;
      if (part > 0) wide.assign(size, 0);
      add_wide(rows, n * part / parts, n * (part + 1) / parts, by_column(rows, n), wide.data(), words);
    });
    constexpr std::int64_t kTogether = 1024;
    team_.blocks_of(kTogether, size, (parts - 1) * size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = 1; part < parts; ++part) {
        const Vector<std::uint64_t>& other = room_.threads[part].wide;
        for (std::int64_t i = begin; i < end; ++i) h.sums[i] += other[i];
      }
    });
    complete(table_, h.sums.data(), 2 * n_outputs_);
    return h;
  }

  // What the smaller child leaves of its parent; n rows.
  GradientHistogram rest(GradientHistogram parent, const GradientHistogram& smaller, std::int64_t n) {
    const std::int64_t size = smaller.sums.size();
    if (parent.narrow == smaller.narrow) {
      subtract(parent.sums.data(), smaller.sums.data(), size);
      return layout_.packed && !parent.narrow && n <= layout_.block ? narrowed(std::move(parent)) : std::move(parent);
    }
    const std::int64_t cells = table_.n_cells();  // a wide parent, a narrow child
    for (std::int64_t d = 0; d < n_outputs_; ++d)
      for (std::int64_t c = 0; c < cells; ++c) {
        const std::uint64_t w = smaller.sums[d * cells + c];
        parent.sums[2 * d * cells + c] -= word_of(layout_.gradient(w));
        parent.sums[(2 * d + 1) * cells + c] -= layout_.wide_pair(layout_.hessian(w), layout_.count(w));
      }
    return n <= layout_.block ? narrowed(std::move(parent)) : std::move(parent);
  }

  // The same without the child's histogram, when nobody needs that: a narrow parent loses the child's few rows.
  GradientHistogram without(GradientHistogram parent, const std::int32_t* rows, std::int64_t n) const {
    if (n_outputs_ == 1)
      add_rows(table_, rows, 0, n, Removed<OneWord>{{planes_}}, parent.sums.data());
    else
      add_rows(table_, rows, 0, n, Removed<WordPlanes>{{planes_, table_.n_rows, n_outputs_}}, parent.sums.data());
    complete(table_, parent.sums.data(), n_outputs_);
    return parent;
  }

  // A histogram that was added up elsewhere.
  GradientHistogram taken(const std::uint64_t* sums, bool narrow) {
    GradientHistogram h = take(narrow, false);
    std::fill(std::copy_n(sums, size_of(narrow), h.sums.begin()), h.sums.end(), 0);
    return h;
  }

  void give_back(GradientHistogram h) { memory_.give_back(h.narrow, std::move(h.sums)); }

  // Rows in a cell of a histogram of so many cells.
  std::int64_t rows_in(const GradientHistogram& h, std::int64_t cell, std::int64_t n_cells) const {
    return h.narrow ? layout_.count(h.sums[cell]) : layout_.wide_count(h.sums[n_cells + cell]);
  }

  const Table& table() const { return table_; }
  std::int64_t n_outputs() const { return n_outputs_; }
  ThreadTeam& team() const { return team_; }
  const WordLayout& layout() const { return layout_; }
  const std::uint64_t* planes() const { return planes_; }
  std::int64_t n_planes() const { return (layout_.packed ? 1 : 2) * n_outputs_; }

 private:
  GradientHistogram take(bool narrow, bool cleared = true) {
    GradientHistogram h{narrow, memory_.take(narrow)};
    const auto size = size_of(narrow) + kLanes;
    cleared ? h.sums.assign(size, 0) : h.sums.resize(size);
    return h;
  }

  bool by_column(const std::int32_t* rows, std::int64_t n) const {
    return columns_ && n_outputs_ == 1 && layout_.packed && counts_by_column(table_, *columns_, rows, n);
  }

  void add_words(const std::int32_t* rows, std::int64_t begin, std::int64_t end, bool by_column,
                 std::uint64_t* words) const {
    if constexpr (std::is_same_v<Table, SparseTable>) {
      if (n_outputs_ == 1) return add_rows(table_, rows, begin, end, OneWord{planes_}, words);
    } else {
      if (by_column) return add_by_column(table_, *columns_, rows, begin, end, planes_, words);
      if (n_outputs_ == 1) return add_gathered(table_, rows, begin, end, planes_, words);
    }
    add_rows(table_, rows, begin, end, WordPlanes{planes_, table_.n_rows, n_outputs_}, words);
  }

  void add_wide(const std::int32_t* rows, std::int64_t begin, std::int64_t end, bool by_column, std::uint64_t* wide,
                Vector<std::uint64_t>& words) const {
    if (!layout_.packed)
      return add_rows(table_, rows, begin, end, WordPlanes{planes_, table_.n_rows, 2 * n_outputs_}, wide);
    const std::int64_t cells = table_.n_cells();
    words.assign(n_outputs_ * cells, 0);
    for (std::int64_t i = begin; i < end; i += layout_.block) {
      add_words(rows, i, std::min(end, i + layout_.block), by_column, words.data());
      for (std::int64_t d = 0; d < n_outputs_; ++d)
        empty_words(words.data() + d * cells, cells, layout_, wide + 2 * d * cells, wide + (2 * d + 1) * cells);
    }
  }

  GradientHistogram narrowed(GradientHistogram wide) {
    GradientHistogram h = take(true, false);
    const std::int64_t cells = table_.n_cells();
    for (std::int64_t d = 0; d < n_outputs_; ++d) {
      const std::uint64_t* const g = wide.sums.data() + 2 * d * cells;
      const std::uint64_t* const pairs = g + cells;
      std::uint64_t* const words = h.sums.data() + d * cells;
      for (std::int64_t c = 0; c < cells; ++c)
        words[c] = layout_.word(signed_of(g[c]), layout_.wide_hessian(pairs[c]), layout_.wide_count(pairs[c]));
    }
    give_back(std::move(wide));
    return h;
  }

  const Table& table_;
  const Columns* const columns_;
  const std::int64_t n_outputs_;
  ThreadTeam& team_;
  IdleHistograms& memory_;
  CountingRoom& room_;
  WordLayout layout_;
  const std::uint64_t* planes_ = nullptr;
};

}  // namespace committee
