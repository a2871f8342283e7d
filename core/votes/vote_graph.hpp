// votes/: votes of stumps and of graphs of voters.
//   vote_graph    expected scores and sampled paths; likely_path: the most likely path; path_draws: its random numbers
//   soft_stump    stumps that vote at random
//   cells         sums per bin and pair of bins for voters on one column
//   row_votes     votes of all stumps of a dictionary as bits; disagreement: rows on which two stumps differ
//
// Graphs of voters that answer at random. A node is a voter: + and - each add a vote and lead to a later node, or out.
// Several graphs may stand one behind the other, each with a score of its own. What a row is worth is the expectation
// over all paths, or one path: the likeliest answers, or answers that are drawn.
//
// Equation: expected-score (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "threads/interrupt.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"
#include "votes/path_draws.hpp"
#include "votes/soft_stump.hpp"

namespace committee {

struct GraphArrays {  // as they come from Python, unchecked
  std::int64_t n_nodes, n_graphs;
  const std::int32_t* next;  // n_nodes x 2: where + and - lead, -1: out
  const double* vote;        // n_nodes x 2
  const std::int64_t* start;
};

class VoteGraph {
 public:
  struct Node {
    double vote[2];        // of +, of -
    std::int32_t next[2];  // n_nodes: out
  };

  explicit VoteGraph(const GraphArrays& a) : start_(a.start, a.start + a.n_graphs + 1) {
    check(a);
    for (std::int64_t t = 0; t < a.n_nodes; ++t) {
      const auto to = [&](std::int32_t next) { return next < 0 ? static_cast<std::int32_t>(a.n_nodes) : next; };
      nodes_.push_back({{a.vote[2 * t], a.vote[2 * t + 1]}, {to(a.next[2 * t]), to(a.next[2 * t + 1])}});
    }
  }

  std::int64_t size() const { return nodes_.size(); }
  std::int64_t n_graphs() const { return start_.size() - 1; }
  std::int64_t start(std::int64_t d) const { return start_[d]; }
  const Node& operator[](std::int64_t t) const { return nodes_[t]; }

 private:
  static void check(const GraphArrays& a) {
    const auto fail = [](const std::string& what) { throw std::invalid_argument("graph: " + what); };
    if (a.n_nodes >= std::numeric_limits<std::int32_t>::max()) fail("there are too many nodes");
    if (a.n_graphs < 1 || a.start[0] != 0 || a.start[a.n_graphs] != a.n_nodes)
      fail("start must run from 0 to the number of nodes");
    for (std::int64_t d = 0; d < a.n_graphs; ++d)
      if (a.start[d] >= a.start[d + 1] || a.start[d + 1] > a.n_nodes)
        fail("score " + std::to_string(d) + " has no nodes");
    for (std::int64_t d = 0; d < a.n_graphs; ++d)
      for (std::int64_t e = 2 * a.start[d]; e < 2 * a.start[d + 1]; ++e) {
        const std::string at = " at node " + std::to_string(e / 2);
        if (a.next[e] != -1 && (a.next[e] <= e / 2 || a.next[e] >= a.start[d + 1]))
          fail("next is no later node of the same score" + at);
        if (!std::isfinite(a.vote[e])) fail("vote is not finite" + at);
      }
  }

  Vector<std::int64_t> start_;
  Vector<Node> nodes_;
};

// Where the probabilities of eight rows come from: a matrix with a column for each node, or stumps and the rows'
// values.
struct MatrixSource {
  const double* q;
  std::int64_t n_nodes;

  std::int64_t width() const { return n_nodes; }
  const double* rows() const { return q; }
  COMMITTEE_INLINE Lanes answers(std::int64_t t, const double* const* row) const {
    Lanes found;
    for (int r = 0; r < kLanes; ++r) found[r] = row[r][t];
    return found;
  }
  COMMITTEE_INLINE Lanes answers(const std::int32_t* t, const double* const* row) const {
    Lanes found;
    for (int r = 0; r < kLanes; ++r) found[r] = row[r][t[r]];
    return found;
  }
};

struct StumpSource {
  const double* X;
  const SoftStumps& stumps;

  std::int64_t width() const { return stumps.n_features(); }
  const double* rows() const { return X; }
  COMMITTEE_INLINE Lanes answers(std::int64_t t, const double* const* row) const {
    return stumps.answers(stumps[t], row);
  }
  COMMITTEE_INLINE Lanes answers(const std::int32_t* t, const double* const* row) const {
    const SoftStump* stump[kLanes];
    for (int r = 0; r < kLanes; ++r) stump[r] = &stumps[t[r]];
    return stumps.answers(stump, row);
  }
};

struct Expectations {  // null: not wanted
  double* scores;      // n x n_graphs
  double* cost;        // n: how many voters a row meets
  double* reach;       // n x n_nodes
};

// Eight rows at a time go through all nodes in order: a node's reach is known before it passes any on.
template <class Source>
COMMITTEE_INLINE void expect_block_of(const VoteGraph& graph, const Source& source, std::int64_t begin,
                                      std::int64_t end, double* reach, const Expectations& out) {
  const std::int64_t T = graph.size(), D = graph.n_graphs();
  const double* row[kLanes];
  for (std::int64_t i = begin; i < end; i += kLanes) {
    const std::int64_t n = std::min(kLanes, end - i);
    rows_from(source.rows(), source.width(), i, end, row);
    std::fill(reach, reach + (T + 1) * kLanes, 0.0);
    Lanes cost{};
    for (std::int64_t d = 0; d < D; ++d) {
      Lanes score{};
      store(reach + graph.start(d) * kLanes, Lanes{} + 1.0);
      for (std::int64_t t = graph.start(d); t < graph.start(d + 1); ++t) {
        const Lanes here = load(reach + t * kLanes);
        if (fold(here) == 0.0) continue;  // no row meets this voter
        const VoteGraph::Node& node = graph[t];
        const Lanes q = source.answers(t, row), plus = here * q, minus = here * (1.0 - q);
        score += plus * node.vote[0] + minus * node.vote[1];
        cost += here;
        double* const to_plus = reach + node.next[0] * kLanes;
        double* const to_minus = reach + node.next[1] * kLanes;
        store(to_plus, load(to_plus) + plus);
        store(to_minus, load(to_minus) + minus);
      }
      for (std::int64_t r = 0; out.scores && r < n; ++r) out.scores[(i + r) * D + d] = score[r];
    }
    for (std::int64_t r = 0; out.cost && r < n; ++r) out.cost[i + r] = cost[r];
    for (std::int64_t r = 0; out.reach && r < n; ++r)
      for (std::int64_t t = 0; t < T; ++t) out.reach[(i + r) * T + t] = reach[t * kLanes + r];
  }
}
COMMITTEE_CLONES inline void expect_block(const VoteGraph& graph, const MatrixSource& source, std::int64_t begin,
                                          std::int64_t end, double* reach, const Expectations& out) {
  expect_block_of(graph, source, begin, end, reach, out);
}
COMMITTEE_CLONES inline void expect_block(const VoteGraph& graph, const StumpSource& source, std::int64_t begin,
                                          std::int64_t end, double* reach, const Expectations& out) {
  expect_block_of(graph, source, begin, end, reach, out);
}

inline constexpr std::int64_t kGraphBlock = 256;  // rows that a thread takes at a time

template <class Source>
void expect(const VoteGraph& graph, const Source& source, std::int64_t n, const Expectations& out, ThreadTeam& team) {
  team.blocks_of(kGraphBlock, n, 8 * n * graph.size(), [&](std::int64_t begin, std::int64_t end) {
    Vector<double> reach((graph.size() + 1) * kLanes);
    expect_block(graph, source, begin, end, reach.data(), out);
  });
}

struct Draws {
  const std::uint64_t* keys;  // n
  std::int64_t n_paths;
  double* scores;          // n x n_graphs, of the last path
  std::int64_t* positive;  // n x n_graphs: how many paths have a score above zero
  double* steps;           // n: how many voters a path meets in the mean
};

// Eight rows walk abreast, each by itself: one that is out begins its next graph, or its next path.
struct Walk {
  std::int64_t first, n, walking;  // rows first .. first + n, how many of which have paths left
  const double* row[kLanes];
  std::int32_t at[kLanes]{};
  std::int64_t path[kLanes]{}, of_graph[kLanes]{}, steps[kLanes]{};
  std::uint64_t key[kLanes]{};
  double score[kLanes]{};

  template <class Source>
  Walk(const Source& source, std::int64_t begin, std::int64_t end, const std::uint64_t* keys)
      : first(begin), n(std::min(kLanes, end - begin)), walking(n) {
    rows_from(source.rows(), source.width(), begin, end, row);
    for (std::int64_t r = 0; r < n; ++r) key[r] = path_key(keys[begin + r], 0);
  }
};

// Whoever called may be interrupted after so many steps of eight rows. Clones do not look themselves: GCC takes them
// not to throw.
inline constexpr std::int64_t kStepsAtOnce = 4096;

template <class Source>
COMMITTEE_INLINE void walk_on(const VoteGraph& graph, const Source& source, const Draws& draws, Walk& walk) {
  const std::int64_t D = graph.n_graphs();
  const auto out = static_cast<std::int32_t>(graph.size());
  Walk w = walk;
  const auto leave = [&](std::int64_t r) {
    const std::int64_t cell = (w.first + r) * D + w.of_graph[r];
    draws.positive[cell] += w.score[r] > 0.0;
    draws.scores[cell] = w.score[r];
    w.score[r] = 0.0;
    if (++w.of_graph[r] == D) {
      w.of_graph[r] = 0;
      if (++w.path[r] < draws.n_paths) w.key[r] = path_key(draws.keys[w.first + r], w.path[r]);
    }
    w.at[r] = static_cast<std::int32_t>(graph.start(w.of_graph[r]));
  };
  for (std::int64_t step = 0; step < kStepsAtOnce && w.walking > 0; ++step) {
    const Lanes q = source.answers(w.at, w.row);
    for (std::int64_t r = 0; r < w.n; ++r) {
      if (w.path[r] == draws.n_paths) continue;
      const VoteGraph::Node& node = graph[w.at[r]];
      const bool minus = !(draw_at(w.key[r], w.at[r]) < q[r]);
      w.score[r] += node.vote[minus];
      ++w.steps[r];
      w.at[r] = node.next[minus];
      if (w.at[r] != out) continue;
      leave(r);
      w.walking -= w.path[r] == draws.n_paths;
    }
  }
  walk = w;
}
COMMITTEE_CLONES inline void some_steps(const VoteGraph& graph, const MatrixSource& source, const Draws& draws,
                                        Walk& walk) {
  walk_on(graph, source, draws, walk);
}
COMMITTEE_CLONES inline void some_steps(const VoteGraph& graph, const StumpSource& source, const Draws& draws,
                                        Walk& walk) {
  walk_on(graph, source, draws, walk);
}

template <class Source>
void draw_paths(const VoteGraph& graph, const Source& source, std::int64_t n, const Draws& draws, ThreadTeam& team) {
  team.blocks_of(kGraphBlock, n, 20 * n * draws.n_paths * graph.n_graphs(), [&](std::int64_t begin, std::int64_t end) {
    InterruptWatch watch;
    for (std::int64_t i = begin; i < end; i += kLanes) {
      Walk walk(source, i, end, draws.keys);
      while (walk.walking > 0) {
        some_steps(graph, source, draws, walk);
        watch.after(20 * kStepsAtOnce);
      }
      for (std::int64_t r = 0; r < walk.n; ++r)
        draws.steps[i + r] = static_cast<double>(walk.steps[r]) / static_cast<double>(draws.n_paths);
    }
  });
}

}  // namespace committee
