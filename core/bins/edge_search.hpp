// Codes of eight columns side by side that have few edges each: how many edges are less than a value, by comparing it
// with all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "threads/lane_types.hpp"
#include "threads/lanes.hpp"
#include "threads/vector.hpp"

namespace committee {

struct EdgeRows {
  const double* edge;  // n_edges rows of kLanes, infinity where a column has no more edges
  std::int64_t n_edges;
  const std::int64_t* missing;  // kLanes: codes of missing values
};

// Of n rows of x and of codes, p apart.
template <class V, class Code>
COMMITTEE_INLINE void few_edge_codes_in(const EdgeRows& rows, const double* x, std::int64_t p, std::int64_t n,
                                        Code* codes) {
  const auto missing = load_as<BitsOf<V>>(rows.missing);
  for (std::int64_t i = 0; i < n; ++i, x += p, codes += p) {
    const V value = load<V>(x);
    BitsOf<V> below{};
    for (std::int64_t e = 0; e < rows.n_edges; ++e) below = below - (load<V>(rows.edge + e * kLanes) < value);
    std::int64_t found[kLanes];
    store(found, select_bits(value == value, below, missing));
    for (std::int64_t k = 0; k < kLanes; ++k) codes[k] = static_cast<Code>(found[k]);
  }
}
COMMITTEE_ON_LANES(void, few_edge_codes,
                   (const EdgeRows& rows, const double* x, std::int64_t p, std::int64_t n, std::uint8_t* codes),
                   (rows, x, p, n, codes))
COMMITTEE_ON_LANES(void, few_edge_codes,
                   (const EdgeRows& rows, const double* x, std::int64_t p, std::int64_t n, std::uint16_t* codes),
                   (rows, x, p, n, codes))

class FewEdges {
 public:
  // More of them are searched in less time.
  static constexpr std::int64_t kMost = 32;

  // The columns first..first + kLanes - 1, column j having edges[offset[j]..offset[j + 1] - 1].
  FewEdges(const double* edges, const std::int64_t* offset, std::int64_t first) : first_(first), missing_(kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const std::span of(edges + offset[first + k], edges + offset[first + k + 1]);
      const std::int64_t n = count_of(of.size());
      if (n > n_edges_) {
        n_edges_ = n;
        edge_.resize(n * kLanes, std::numeric_limits<double>::infinity());
      }
      for (std::int64_t e = 0; e < n; ++e) edge_[e * kLanes + k] = of[size_of(e)];
      missing_[k] = n + 1;
    }
  }

  // Of the rows X and codes, which have p columns.
  template <class Code>
  void operator()(const double* X, std::int64_t p, std::int64_t n, Code* codes) const {
    few_edge_codes({edge_.data(), n_edges_, missing_.data()}, X + first_, p, n, codes + first_);
  }

 private:
  std::int64_t first_, n_edges_ = 0;
  Vector<double> edge_;
  Vector<std::int64_t> missing_;
};

}  // namespace committee
