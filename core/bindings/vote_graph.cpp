#include "votes/vote_graph.hpp"

#include "bindings/stump_arrays.hpp"
#include "votes/likely_path.hpp"
#include "votes/path_draws.hpp"

namespace committee {
namespace {

VoteGraph graph_of(const In2<std::int32_t>& next, const In2<double>& vote, const In1<std::int64_t>& start) {
  require(extent(next, 1) == 2 && extent(vote, 1) == 2 && extent(vote, 0) == extent(next, 0),
          "graph: next and vote must be (n_nodes, 2)");
  require(length(start) >= 2, "graph: start needs one number per score, and one more");
  return VoteGraph({extent(next, 0), length(start) - 1, next.data(), vote.data(), start.data()});
}

// The answers of a graph, for either source of probabilities.
class GraphAnswers {
 public:
  template <class Source>
  static nb::tuple expected(const VoteGraph& graph, const Source& source, std::int64_t n, int n_threads) {
    const auto D = graph.n_graphs();
    Vector<double> scores, cost;
    unlocked(n_threads, [&](ThreadTeam& team) {
      scores.resize(n * D);
      cost.resize(n);
      expect(graph, source, n, {scores.data(), cost.data(), nullptr}, team);
    });
    return nb::make_tuple(array_of(std::move(scores), {n, D}), array_of(std::move(cost)));
  }

  template <class Source>
  static nb::object reach(const VoteGraph& graph, const Source& source, std::int64_t n, int n_threads) {
    const auto T = graph.size();
    Vector<double> found;
    unlocked(n_threads, [&](ThreadTeam& team) {
      found.resize(n * T);
      expect(graph, source, n, {nullptr, nullptr, found.data()}, team);
    });
    return array_of(std::move(found), {n, T});
  }

  static nb::tuple likely(const VoteGraph& graph, const LikelySteps& path, const SoftStumps* stumps,
                          const In2<double>& rows, int n_threads) {
    const std::int64_t n = extent(rows, 0);
    const auto D = graph.n_graphs();
    Vector<double> scores;
    Vector<std::int32_t> steps;
    unlocked(n_threads, [&](ThreadTeam& team) {
      scores.resize(n * D);
      steps.resize(n);
      path.walk(stumps, rows.data(), extent(rows, 1), n, scores.data(), steps.data(), team);
    });
    return nb::make_tuple(array_of(std::move(scores), {n, D}), array_of(std::move(steps)));
  }

  template <class Source>
  static nb::tuple sampled(const VoteGraph& graph, const Source& source, std::int64_t n, const In1<std::uint64_t>& keys,
                           std::int64_t n_paths, int n_threads) {
    require(length(keys) == n, "keys needs one number per row");
    require(n_paths >= 1, "n_paths must be positive");
    const auto D = graph.n_graphs();
    Vector<double> scores, steps;
    Vector<std::int64_t> positive;
    unlocked(n_threads, [&](ThreadTeam& team) {
      scores.resize(n * D);
      positive.resize(n * D);
      steps.resize(n);
      draw_paths(graph, source, n, {keys.data(), n_paths, scores.data(), positive.data(), steps.data()}, team);
    });
    return nb::make_tuple(array_of(std::move(scores), {n, D}), array_of(std::move(positive), {n, D}),
                          array_of(std::move(steps)));
  }
};

class PyStumpGraph {
 public:
  PyStumpGraph(std::int64_t n_features, In1<std::int32_t> feature, In1<double> threshold, In1<double> softness,
               In1<std::uint8_t> ascending, In1<double> missing, In1<std::int64_t> category_offset,
               In1<std::uint32_t> category_bits, In2<std::int32_t> next, In2<double> vote, In1<std::int64_t> start)
      : stumps_(
            stump_arrays(n_features, feature, threshold, softness, ascending, missing, category_offset, category_bits)),
        graph_(graph_of(next, vote, start)),
        likely_(LikelySteps::of_stumps(graph_, same_size(stumps_, graph_))) {}

  nb::tuple expected(In2<double> X, int n_threads) const {
    return GraphAnswers::expected(graph_, source(X), extent(X, 0), n_threads);
  }
  nb::object reach(In2<double> X, int n_threads) const {
    return GraphAnswers::reach(graph_, source(X), extent(X, 0), n_threads);
  }
  nb::tuple likely(In2<double> X, int n_threads) const {
    source(X);
    return GraphAnswers::likely(graph_, likely_, &stumps_, X, n_threads);
  }
  nb::tuple sampled(In2<double> X, In1<std::uint64_t> keys, std::int64_t n_paths, int n_threads) const {
    return GraphAnswers::sampled(graph_, source(X), extent(X, 0), keys, n_paths, n_threads);
  }

 private:
  static const SoftStumps& same_size(const SoftStumps& stumps, const VoteGraph& graph) {
    require(stumps.size() == graph.size(), "graph: next needs one row per stump");
    return stumps;
  }
  StumpSource source(const In2<double>& X) const {
    require(extent(X, 1) == stumps_.n_features(), "X has a different number of columns");
    return {X.data(), stumps_};
  }

  SoftStumps stumps_;
  VoteGraph graph_;
  LikelySteps likely_;
};

class PyMatrixGraph {
 public:
  PyMatrixGraph(In2<std::int32_t> next, In2<double> vote, In1<std::int64_t> start)
      : graph_(graph_of(next, vote, start)), likely_(LikelySteps::of_columns(graph_)) {}

  nb::tuple expected(In2<double> q, int n_threads) const {
    return GraphAnswers::expected(graph_, source(q, n_threads), extent(q, 0), n_threads);
  }
  nb::object reach(In2<double> q, int n_threads) const {
    return GraphAnswers::reach(graph_, source(q, n_threads), extent(q, 0), n_threads);
  }
  nb::tuple likely(In2<double> q, int n_threads) const {
    source(q, n_threads);
    return GraphAnswers::likely(graph_, likely_, nullptr, q, n_threads);
  }
  nb::tuple sampled(In2<double> q, In1<std::uint64_t> keys, std::int64_t n_paths, int n_threads) const {
    return GraphAnswers::sampled(graph_, source(q, n_threads), extent(q, 0), keys, n_paths, n_threads);
  }

 private:
  MatrixSource source(const In2<double>& q, int n_threads) const {
    require(extent(q, 1) == graph_.size(), "q needs one column per node");
    const auto n = length(q);
    nb::gil_scoped_release release;
    ThreadTeam team(n_threads);
    team.blocks(n, n, [&](std::int64_t begin, std::int64_t end) {
      bool fine = true;
      for (std::int64_t i = begin; i < end; ++i) fine &= (q.data()[i] >= 0.0) & (q.data()[i] <= 1.0);
      require(fine, "q must lie in [0, 1]");
    });
    return {q.data(), graph_.size()};
  }

  VoteGraph graph_;
  LikelySteps likely_;
};

nb::object py_row_keys(In2<double> X, std::uint64_t seed, int n_threads) {
  Vector<std::uint64_t> keys;
  unlocked(n_threads, [&](ThreadTeam& team) {
    keys.resize(extent(X, 0));
    row_keys(X.data(), extent(X, 0), extent(X, 1), seed, keys.data(), team);
  });
  return array_of(std::move(keys));
}

nb::object py_rows_below(In1<double> place, std::uint64_t seed, std::uint64_t bound,
                         std::optional<In1<std::uint8_t>> among) {
  require(!among || length(*among) == length(place), "among needs one number per row");
  require(length(place) < std::numeric_limits<std::int32_t>::max(), "too many rows");
  Vector<std::int32_t> rows;
  unlocked(1, [&](ThreadTeam&) { rows = rows_below(place.data(), length(place), seed, bound, data_or_null(among)); });
  return array_of(std::move(rows));
}

}  // namespace

void register_vote_graph(nb::module_& m) {
  nb::class_<PyStumpGraph>(m, "StumpGraph")
      .def(nb::init<std::int64_t, In1<std::int32_t>, In1<double>, In1<double>, In1<std::uint8_t>, In1<double>,
                    In1<std::int64_t>, In1<std::uint32_t>, In2<std::int32_t>, In2<double>, In1<std::int64_t>>(),
           "n_features"_a, "feature"_a.noconvert(), "threshold"_a.noconvert(), "softness"_a.noconvert(),
           "ascending"_a.noconvert(), "missing"_a.noconvert(), "category_offset"_a.noconvert(),
           "category_bits"_a.noconvert(), "next"_a.noconvert(), "vote"_a.noconvert(), "start"_a.noconvert())
      .def("expected", &PyStumpGraph::expected, "X"_a.noconvert(), "n_threads"_a)
      .def("reach", &PyStumpGraph::reach, "X"_a.noconvert(), "n_threads"_a)
      .def("likely", &PyStumpGraph::likely, "X"_a.noconvert(), "n_threads"_a)
      .def("sampled", &PyStumpGraph::sampled, "X"_a.noconvert(), "keys"_a.noconvert(), "n_paths"_a, "n_threads"_a);
  nb::class_<PyMatrixGraph>(m, "MatrixGraph")
      .def(nb::init<In2<std::int32_t>, In2<double>, In1<std::int64_t>>(), "next"_a.noconvert(), "vote"_a.noconvert(),
           "start"_a.noconvert())
      .def("expected", &PyMatrixGraph::expected, "q"_a.noconvert(), "n_threads"_a)
      .def("reach", &PyMatrixGraph::reach, "q"_a.noconvert(), "n_threads"_a)
      .def("likely", &PyMatrixGraph::likely, "q"_a.noconvert(), "n_threads"_a)
      .def("sampled", &PyMatrixGraph::sampled, "q"_a.noconvert(), "keys"_a.noconvert(), "n_paths"_a, "n_threads"_a);
  m.def("row_keys", &py_row_keys, "X"_a.noconvert(), "seed"_a, "n_threads"_a);
  m.def("rows_below", &py_rows_below, "place"_a.noconvert(), "seed"_a, "bound"_a, "among"_a.noconvert().none());
}

}  // namespace committee
