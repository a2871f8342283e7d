// boosting/: one round of a boosting algorithm.
//   row_weights    weights in single or double precision; emphasis: their update after a round
//   loss_gradients gradients and hessians of log loss and squared error
//   gradient_round a round of gradient boosting in one call
//   stump_search   the stump of least Z; branch_weights: weights of the rows below a soft or hard stump
//   listed_rounds  AdaBoost over listed voters; best_stump: the listed stump that lowers a penalised risk most
//
// The stump of least Z for a node's row weights, over all columns of a binned table. With W by answer and label,
//
//     Z = 2 sqrt(W++ W+-) + 2 sqrt(W-+ W--).
//
// One histogram has the weight of each label in every cell. A stump gives a cell's weight to both answers, q to + and
// 1 - q to -, so that all its sums follow from the cells of its column. Z is concave in what a missing value is given,
// hence least where that is 0 or 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "boosting/row_weights.hpp"
#include "histogram/histogram.hpp"
#include "threads/vector.hpp"
#include "votes/soft_stump.hpp"

namespace committee {

inline constexpr std::int64_t kMostSoftEdges = 128;  // thresholds that a soft stump tries on a column
inline constexpr double kSameZ = 1e-12;              // the relative difference that rounding makes

template <class Weight>
struct LabelPlanes {  // plane = label; weights become integers as they are read
  const Weight* weights;
  const std::uint8_t* labels;
  double unit;
  template <class Add>
  void operator()(std::int64_t row, Add&& add) const {
    const double scaled = static_cast<double>(weights[row]) * unit + 0.5;
    add(std::int64_t{labels[row]}, word_of(static_cast<std::int64_t>(scaled)));
  }
  void prefetch(std::int64_t row) const {
    __builtin_prefetch(weights + row);
    __builtin_prefetch(labels + row);
  }
};

struct SideSums {  // weight by label, in the histogram's units
  double yes = 0.0, no = 0.0;
  double all() const { return yes + no; }
  SideSums operator+(const SideSums& other) const { return {yes + other.yes, no + other.no}; }
};
inline double root_of(const SideSums& side) { return std::sqrt(side.yes * side.no); }

struct Candidate {  // a split of a column's weight, the missing values apart
  SideSums upper, lower;
};

struct StumpColumn {  // where a column's representative values and edges are; positions begin at its first bin
  const double* positions;
  const double* edges;
  double softness;
};

struct StumpChoice {
  std::int32_t feature = -1, edge = -1;  // edge: -1 for categories
  bool ascending = true;
  double missing = 0.0, z = 0.0;
  Vector<std::uint32_t> categories;  // 32 each; set: +
};

// The thresholds that a soft stump tries: all edges, or the middle ones of so many equal shares of them.
inline Vector<std::int32_t> soft_edges(std::int64_t n_edges) {
  Vector<std::int32_t> chosen(std::min(n_edges, kMostSoftEdges));
  const auto n = chosen.size();
  for (std::int64_t k = 0; k < n; ++k) chosen[k] = static_cast<std::int32_t>((2 * k + 1) * n_edges / (2 * n));
  return chosen;
}

inline constexpr std::int64_t kTogether = 2 * kLanes;  // thresholds that share each bin's weight

// How far a soft stump is from the hard one of the same edge, at every position: q on the bins below the edge, minus
// 1 - q on those above, neither of which loses digits.
COMMITTEE_CLONES inline void soft_table(const StumpColumn& column, const Vector<std::int32_t>& edges,
                                        std::int64_t n_bins, double* table) {
  const auto n_edges = edges.size();
  for (std::int64_t first = 0; first < n_edges; first += kLanes) {
    double* cell = table + first / kTogether * kTogether * n_bins + first % kTogether;
    Lanes c;
    LaneBits edge;
    for (std::int64_t r = 0; r < kLanes; ++r) {
      edge[r] = edges[std::min(first + r, n_edges - 1)];
      c[r] = column.edges[edge[r]];
    }
    for (std::int64_t b = 0; b < n_bins; ++b, cell += kTogether) {
      const Lanes z = (column.positions[b] - c) / column.softness, p = smaller_side(z);
      const Lanes q = z > Lanes{} ? 1.0 - p : p, rest = z > Lanes{} ? p : 1.0 - p;
      store(cell, LaneBits{} + b > edge ? -rest : q);
    }
  }
}

// The table's sums against the weights of either label, bin after bin; n_edges is a multiple of kTogether.
COMMITTEE_CLONES inline void soft_sums(const double* table, std::int64_t n_edges, std::int64_t n_bins,
                                       const double* yes, const double* no, double* of_yes, double* of_no) {
  for (std::int64_t first = 0; first < n_edges; first += kTogether) {
    Lanes sum_yes[2]{}, sum_no[2]{};
    for (std::int64_t b = 0; b < n_bins; ++b, table += kTogether)
      for (int half = 0; half < 2; ++half) {
        const Lanes p = load(table + half * kLanes);
        sum_yes[half] += p * yes[b];
        sum_no[half] += p * no[b];
      }
    for (int half = 0; half < 2; ++half) {
      store(of_yes + first + half * kLanes, sum_yes[half]);
      store(of_no + first + half * kLanes, sum_no[half]);
    }
  }
}

// What was found on one column: its first candidate of least Z, and where that sends missing values.
struct ColumnBest {
  double z = std::numeric_limits<double>::infinity();
  std::int64_t candidate = -1;
  bool missing_above = false;
  Candidate split;
};

inline ColumnBest best_of(const Vector<Candidate>& candidates, const SideSums& missing) {
  const bool gaps = missing.all() > 0.0;
  const auto z_of = [&](const Candidate& c, bool above) {
    return above ? root_of(c.upper + missing) + root_of(c.lower) : root_of(c.upper) + root_of(c.lower + missing);
  };
  Vector<double> above(candidates.size()), below(candidates.size());
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < candidates.size(); ++k) {
    above[k] = z_of(candidates[k], true);
    below[k] = gaps ? z_of(candidates[k], false) : above[k];
    least = std::min({least, above[k], below[k]});
  }
  ColumnBest best;
  for (std::int64_t k = 0; k < candidates.size(); ++k) {
    const double z = std::min(above[k], below[k]);
    if (z > least * (1.0 + kSameZ)) continue;
    best = {z, k, above[k] <= z * (1.0 + kSameZ), candidates[k]};
    break;
  }
  return best;
}

template <class Code>
class StumpSearch {
 public:
  // softness has one number per column; labels are 0 or 1.
  StumpSearch(BinnedTable<Code> table, Vector<std::uint8_t> labels, const double* positions, const double* edges,
              const std::int64_t* edge_offset, const double* softness, ThreadTeam& team)
      : table_(std::move(table)), labels_(std::move(labels)), edges_(table_.n_features), tables_(edges_.size()) {
    team.each(table_.n_features, 20 * table_.n_cells() * kMostSoftEdges, [&](std::int64_t j) {
      const std::int64_t n_bins = table_.missing_bin(j);
      if (table_.categorical[j] || softness[j] == 0.0 || n_bins < 2) return;
      const StumpColumn column{positions + table_.cell[j] - j, edges + edge_offset[j], softness[j]};
      edges_[j] = soft_edges(n_bins - 1);
      tables_[j].resize(padded(edges_[j]) * n_bins);
      soft_table(column, edges_[j], n_bins, tables_[j].data());
    });
  }

  const BinnedTable<Code>& table() const { return table_; }

  // total: the sum of the weights.
  template <class Weight>
  StumpChoice best(const Weight* weights, double total, ThreadTeam& team) const {
    const std::int64_t n = table_.n_rows, n_cells = table_.n_cells();
    const double unit = exact_unit(total), inverse = 1.0 / unit;
    Vector<std::uint64_t> histogram(2 * n_cells, 0), scratch;
    build_histogram(table_, nullptr, n, LabelPlanes<Weight>{weights, labels_.data(), unit}, histogram.data(), 2,
                    scratch, team);
    // every column holds all rows
    const SideSums every = sums_of(histogram.data(), 0, table_.cell[1]);
    StumpChoice choice;
    choice.z = 2.0 * root_of(every) * inverse;
    Vector<ColumnBest> found(table_.n_features);
    team.each(table_.n_features, 10 * n_soft_cells() + 10 * n_cells, [&](std::int64_t j) {
      // of categories "missing" is one more; of numbers it is tried on both sides
      const SideSums missing = table_.categorical[j] ? SideSums{} : sums_of_missing(histogram.data(), j);
      found[j] = best_of(candidates(histogram.data(), j), missing);
    });
    double least = std::numeric_limits<double>::infinity();
    for (const ColumnBest& best : found) least = std::min(least, best.z);
    if (!(least < root_of(every) * (1.0 - kSameZ))) return choice;
    for (std::int64_t j = 0; choice.feature < 0; ++j)
      if (found[j].z <= least * (1.0 + kSameZ)) choose(histogram.data(), j, found[j], inverse, choice);
    return choice;
  }

 private:
  std::int64_t n_soft_cells() const {
    return std::accumulate(tables_.begin(), tables_.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& t) { return sum + t.size(); });
  }

  // Of cells [begin, end), exact.
  SideSums sums_of(const std::uint64_t* histogram, std::int64_t begin, std::int64_t end) const {
    std::uint64_t yes = 0, no = 0;
    for (std::int64_t c = begin; c < end; ++c) {
      no += histogram[c];
      yes += histogram[table_.n_cells() + c];
    }
    return {static_cast<double>(yes), static_cast<double>(no)};
  }

  SideSums sums_of_missing(const std::uint64_t* histogram, std::int64_t j) const {
    return sums_of(histogram, table_.cell[j + 1] - 1, table_.cell[j + 1]);
  }

  static std::int64_t padded(const Vector<std::int32_t>& edges) {
    return n_blocks(edges.size(), kTogether) * kTogether;
  }

  Vector<Candidate> candidates(const std::uint64_t* histogram, std::int64_t j) const {
    if (table_.categorical[j]) {
      const Vector<std::int64_t> order = in_order(histogram, j);
      return cuts(histogram, order.size(), [&](std::int64_t k) { return table_.cell[j] + order[k]; });
    }
    const Vector<Candidate> hard =
        cuts(histogram, table_.missing_bin(j), [&](std::int64_t b) { return table_.cell[j] + b; });
    return tables_[j].empty() ? hard : softened(histogram, j, hard);
  }

  // The hard splits of a column's edges, less what soft stumps take from either side and give to the other. At most
  // half of a bin's weight changes sides, so that no sum is a small difference of large ones.
  Vector<Candidate> softened(const std::uint64_t* histogram, std::int64_t j, const Vector<Candidate>& hard) const {
    const std::int64_t n_bins = table_.missing_bin(j), n_edges = padded(edges_[j]);
    Vector<double> numbers(2 * (n_bins + n_edges));
    double* const yes = numbers.data();
    double* const no = yes + n_bins;
    double* const of_yes = no + n_bins;
    double* const of_no = of_yes + n_edges;
    for (std::int64_t b = 0; b < n_bins; ++b) {
      no[b] = static_cast<double>(histogram[table_.cell[j] + b]);
      yes[b] = static_cast<double>(histogram[table_.n_cells() + table_.cell[j] + b]);
    }
    soft_sums(tables_[j].data(), n_edges, n_bins, yes, no, of_yes, of_no);
    Vector<Candidate> found(edges_[j].size());
    const auto moved = [](double weight, double more) { return std::max(0.0, weight + more); };
    for (std::int64_t k = 0; k < found.size(); ++k) {
      const auto& [upper, lower] = hard[edges_[j][k]];
      found[k] = {{moved(upper.yes, of_yes[k]), moved(upper.no, of_no[k])},
                  {moved(lower.yes, -of_yes[k]), moved(lower.no, -of_no[k])}};
    }
    return found;
  }

  // Hard splits of n cells in order: after each but the last, of which the later ones are above.
  template <class CellOf>
  Vector<Candidate> cuts(const std::uint64_t* histogram, std::int64_t n, const CellOf& cell_of) const {
    Vector<Candidate> found(n > 0 ? n - 1 : 0);
    std::uint64_t all_yes = 0, all_no = 0, yes = 0, no = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      all_no += histogram[cell_of(k)];
      all_yes += histogram[table_.n_cells() + cell_of(k)];
    }
    for (std::int64_t k = 0; k < found.size(); ++k) {
      no += histogram[cell_of(k)];
      yes += histogram[table_.n_cells() + cell_of(k)];
      found[k] = {{static_cast<double>(all_yes - yes), static_cast<double>(all_no - no)},
                  {static_cast<double>(yes), static_cast<double>(no)}};
    }
    return found;
  }

  // The categories with weight, "missing" the last of them, by the share of their weight that is +.
  Vector<std::int64_t> in_order(const std::uint64_t* histogram, std::int64_t j) const {
    const std::int64_t n_own = table_.cell[j + 1] - table_.cell[j];
    Vector<double> share(n_own);
    Vector<std::int64_t> order;
    for (std::int64_t b = 0; b < n_own; ++b) {
      const SideSums own = sums_of(histogram, table_.cell[j] + b, table_.cell[j] + b + 1);
      if (own.all() == 0.0) continue;
      share[b] = own.yes / own.all();
      order.push_back(b);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return share[a] < share[b]; });
    return order;
  }

  void choose(const std::uint64_t* histogram, std::int64_t j, const ColumnBest& best, double inverse,
              StumpChoice& choice) const {
    choice.feature = static_cast<std::int32_t>(j);
    choice.z = 2.0 * best.z * inverse;
    if (table_.categorical[j]) return choose_set(histogram, j, best, choice);
    const auto k = best.candidate;
    choice.edge = tables_[j].empty() ? static_cast<std::int32_t>(k) : edges_[j][k];
    const SideSums missing = sums_of_missing(histogram, j);
    Candidate split = best.split;
    SideSums& with_missing = best.missing_above ? split.upper : split.lower;
    with_missing = with_missing + missing;
    choice.ascending = split.upper.yes * split.lower.no >= split.upper.no * split.lower.yes;
    if (missing.all() > 0.0)
      choice.missing = best.missing_above == choice.ascending ? 1.0 : 0.0;
    else
      choice.missing = (choice.ascending ? split.upper : split.lower).all() / (split.upper + split.lower).all();
  }

  // Categories are sorted by their share of +, so that + is always what comes after the cut.
  void choose_set(const std::uint64_t* histogram, std::int64_t j, const ColumnBest& best, StumpChoice& choice) const {
    const Vector<std::int64_t> order = in_order(histogram, j);
    const std::int64_t n_bins = table_.missing_bin(j), first_plus = best.candidate + 1;
    const double plus = best.split.upper.all(), minus = best.split.lower.all();
    const bool gaps = sums_of_missing(histogram, j).all() > 0.0;
    Vector<std::uint8_t> in_set(n_bins + 1, plus > minus);
    for (std::int64_t k = 0; k < order.size(); ++k) in_set[order[k]] = k >= first_plus;
    choice.missing = gaps ? in_set[n_bins] : plus / (plus + minus);
    choice.categories.assign((n_bins + 31) / 32, 0);
    for (std::int64_t c = 0; c < n_bins; ++c)
      choice.categories[c / 32] |= static_cast<std::uint32_t>(in_set[c]) << (c % 32);
  }

  BinnedTable<Code> table_;
  Vector<std::uint8_t> labels_;
  Vector<Vector<std::int32_t>> edges_;  // of soft columns: the thresholds tried
  Vector<Vector<double>> tables_;       // and their soft_table
};

}  // namespace committee
