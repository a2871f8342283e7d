// Digests of what the kernels compute of made numbers, a line for each: the same on every processor.
// tests/same_bits.py builds and runs this here and for ARM.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "bins/edge_search.hpp"
#include "boosting/loss_gradients.hpp"
#include "linear/joint_boost.hpp"
#include "linear/lasso_path.hpp"
#include "linear/linear_boost.hpp"
#include "trees/gradient/grower.hpp"
#include "votes/disagreement.hpp"

namespace committee {
namespace {

// Whole numbers by a linear congruence, so that nothing depends on a library.
class Made {
 public:
  explicit Made(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % n;
  }
  double uniform() { return static_cast<double>(below(1u << 30)) * 0x1p-30; }

 private:
  std::uint64_t state_;
};

// FNV-1a over the bytes of numbers.
template <class T>
std::uint64_t digest(const T* x, std::int64_t n) {
  std::uint64_t found = 14695981039346656037ULL;
  for (std::int64_t i = 0; i < n; ++i) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, x + i, sizeof(T));
    for (const unsigned char byte : bytes) found = (found ^ byte) * 1099511628211ULL;
  }
  return found;
}

template <class T>
void say(const char* what, const Vector<T>& x) {
  std::printf("%s %lld %016llx\n", what, static_cast<long long>(x.size()),
              static_cast<unsigned long long>(digest(x.data(), x.size())));
}

struct Table {
  static constexpr std::int64_t kRows = 3001, kColumns = 7, kBins = 40;
  Vector<std::uint8_t> codes = Vector<std::uint8_t>(kRows * kColumns);
  Vector<std::uint16_t> label = Vector<std::uint16_t>(kRows);
  Vector<double> target = Vector<double>(kRows), weights = Vector<double>(kRows);

  explicit Table(std::int64_t n_classes) {
    Made made(static_cast<std::uint64_t>(n_classes));
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kColumns; ++j)
        codes[i * kColumns + j] = static_cast<std::uint8_t>(made.below(kBins + 1));  // the last one is missing
      const std::uint8_t* const row = codes.data() + i * kColumns;
      const bool noise = made.below(10) == 0;
      target[i] = 0.1 * row[0] - 0.03 * row[1] * (row[2] > 20) + 0.3 * made.uniform();
      label[i] = static_cast<std::uint16_t>(noise ? made.below(static_cast<std::uint64_t>(n_classes))
                                                  : (row[0] + 2 * row[3]) / 7 % n_classes);
      weights[i] = 0.25 + made.uniform();
    }
  }

  BinnedTable<std::uint8_t> binned() const {
    BinnedTable<std::uint8_t> made{codes.data(), kRows, kColumns, {0}, Vector<std::uint8_t>(kColumns, 0)};
    made.categorical[3] = 1;
    for (std::int64_t j = 0; j < kColumns; ++j) made.cell.push_back(made.cell.back() + kBins + 1);
    return made;
  }
};

// Rounds of boosting: losses, histograms, scans, sums over leaves, what leaves weigh.
void boost(const char* name, std::int64_t n_outputs, bool weighted, bool leaf_wise) {
  const std::int64_t n = Table::kRows;
  const bool squared = n_outputs == 0;
  const std::int64_t K = std::max<std::int64_t>(1, n_outputs);
  const Table table(K > 1 ? K : 2);
  GradientGrowth growth;
  growth.max_depth = 6;
  growth.max_leaf_nodes = 31;
  growth.min_samples_leaf = 5;
  growth.leaf_wise = leaf_wise;
  growth.penalty.l2 = 1.0;
  TableGradientGrower<BinnedTable<std::uint8_t>> grower(table.binned(), growth, 1, 1);
  Vector<double> F(K * n, 0.0), gradient(K * n), hessian(K * n), spare(3 * K * kLanes);
  const double* const weights = weighted ? table.weights.data() : nullptr;
  for (int round = 0; round < 8; ++round) {
    const RowSpan rows{F.data(), weights, gradient.data(), hessian.data(), n, 0, n};
    if (squared)
      squared_rows(rows, table.target.data());
    else if (K == 1)
      logistic_rows(rows, table.label.data());
    else
      softmax_rows(rows, table.label.data(), K, spare.data());
    for (std::int64_t k = 0; k < K; ++k) {
      const GradientTree tree = grower.grow({gradient.data() + k * n, hessian.data() + k * n, weights, nullptr, n,
                                             nullptr, Table::kColumns, static_cast<std::uint64_t>(round), k});
      for (std::int64_t i = 0; i < n; ++i) F[k * n + i] += 0.3 * tree.value[grower.leaf_of_row()[i]];
      if (round == 7 && k + 1 == K) {
        say((std::string(name) + " columns").c_str(), tree.feature);
        say((std::string(name) + " weights").c_str(), tree.value);
      }
    }
  }
  say((std::string(name) + " gradients").c_str(), gradient);
  say((std::string(name) + " scores").c_str(), F);
}

COMMITTEE_CLONES void curves(const double* x, double* e, double* l, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    store(e + i, exp_negative(-load(x + i)));
    store(l + i, log_positive(load(x + i)));
  }
}

void lanes() {
  const std::int64_t n = 1 << 16;
  Made made(3);
  Vector<double> x(n), e(n), l(n), folded(n / kLanes), eight;
  for (std::int64_t i = 0; i < n; ++i) x[i] = (1e-9 + made.uniform()) * static_cast<double>(1u << made.below(11));
  curves(x.data(), e.data(), l.data(), n);
  say("exponentials", e);
  say("logarithms", l);
  for (std::int64_t i = 0; i < folded.size(); ++i) folded[i] = fold(load(x.data() + i * kLanes));
  say("folded", folded);
  for (std::int64_t i = 0; i + 64 <= n; i += 64) {
    Lanes block[8];
    for (int k = 0; k < 8; ++k) block[k] = load(x.data() + i + k * kLanes);
    const Lanes sums = fold_each(block);
    for (int k = 0; k < kLanes; ++k) eight.push_back(sums[k]);
  }
  say("folded by eight", eight);
}

// Lines in a short leaf and in two long ones, chosen in all ways, of one score and of each class.
void leaves(const char* name, LossName loss, std::int64_t n_outputs) {
  const std::int64_t n = 1900, p = 9;
  Made made(5);
  Vector<double> D(n * p), weights(n);
  Vector<std::int32_t> rows(n);
  Vector<std::uint16_t> label(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < p; ++j) D[i * p + j] = made.uniform() + (j > 0 ? 0.5 * D[i * p] : 0.0);
    rows[i] = static_cast<std::int32_t>(i);
    weights[i] = 0.1 + made.uniform();
    const double sum = D[i * p + 1] - D[i * p + 2] + 0.4 * made.uniform();
    label[i] = static_cast<std::uint16_t>(n_outputs == 1 ? sum > 0.2 : (sum > 0.0) + (sum > 0.3));
  }
  const Vector<std::int64_t> start{0, 45, 400, n};
  const RowsByLeaf data{D.data(),       p,        rows.data(), start.data(), start.size() - 1, label.data(),
                        weights.data(), n_outputs};
  ThreadTeam team(1);
  for (const bool by_likelihood : {false, true}) {
    const BoostSettings settings{loss, 60, 0.0, 20.0, by_likelihood};
    const LeafModels models = linear_boost(data, settings, false, team);
    say((std::string(name) + (by_likelihood ? " lines of most likelihood" : " lines of least error")).c_str(),
        models.score);
    say((std::string(name) + " risks").c_str(), models.risk);
  }
  BoostSettings rough{loss, 20, 0.0, 20.0};
  rough.rough = true;
  say((std::string(name) + " lines of rough terms").c_str(), linear_boost(data, rough, false, team).score);
  say((std::string(name) + " lines along the gradient").c_str(),
      joint_boost(data, BoostSettings{loss, 60, 0.0, 20.0}, team).models.score);
}

// A table by few edges, the stumps at all of them, on how many rows two of them differ, and the LASSO's path over them.
void stumps() {
  const std::int64_t n = 2000, p = kLanes, most = 10;
  Made made(7);
  Vector<double> X(n * p), edges, mean, b;
  Vector<std::int64_t> offset{0}, first, missing, low, high;
  Vector<std::int8_t> vote;
  Vector<std::uint8_t> codes(n * p);
  BinnedTable<std::uint8_t> table{codes.data(), n, p, {0}, Vector<std::uint8_t>(p, 0)};
  for (double& x : X)
    x = made.below(20) == 0   ? std::numeric_limits<double>::quiet_NaN()
        : made.below(50) == 0 ? std::numeric_limits<double>::infinity() * (made.below(2) == 0 ? 1.0 : -1.0)
                              : made.uniform();
  for (std::int64_t j = 0; j < p; ++j) {
    const std::int64_t n_edges = most - j;
    const std::int64_t cell = table.cell.back(), last = cell + n_edges + 1;
    for (std::int64_t e = 0; e < n_edges; ++e) {
      edges.push_back(static_cast<double>(e + 1) / static_cast<double>(n_edges + 1));
      first.push_back(cell);
      missing.push_back(last);
      low.push_back(cell + e + 1);
      high.push_back(last);
      vote.push_back(made.below(2) == 0 ? -1 : 1);
    }
    offset.push_back(edges.size());
    table.cell.push_back(last + 1);
  }
  const FewEdges few(edges.data(), offset.data(), 0);
  few(X.data(), p, n, codes.data());
  say("codes of few edges", codes);
  Vector<std::uint16_t> wide(n * p);
  few(X.data(), p, n, wide.data());
  say("wide codes of few edges", wide);
  const StumpCells stumps{first.data(), missing.data(), low.data(), high.data(), vote.data(), first.size()};
  const std::int64_t N = stumps.n;
  double largest = 0.0;
  for (std::int64_t j = 0, f = 0; j < N; ++j) {
    while (table.cell[f + 1] <= low[j]) ++f;
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool says = votes_minus(stumps, j, table.cell[f] + codes[i * p + f]);
      const bool is = codes[i * p] + codes[i * p + 1] > 11;
      sum += says == is ? -1.0 : 1.0;
    }
    b.push_back(sum / static_cast<double>(n));
    mean.push_back(0.125 * b[j]);
    largest = std::max(largest, std::abs(b[j]));
  }
  Vector<double> lambdas;
  for (int i = 0; i < 30; ++i) lambdas.push_back(i == 0 ? largest : 0.85 * lambdas.back());
  const std::int64_t S = lambdas.size();
  ThreadTeam team(1);
  const auto path = [&]<class Count>(Vector<Count> apart) {
    votes_apart(table, stumps, apart.data(), team);
    say("votes apart", apart);
    Vector<double> c = b, alpha(N, 0.0), weights(S * N), gaps(S), risks(S);
    const CountedProducts<Count> products{apart.data(), mean.data(), 1.0 / static_cast<double>(n), 1.0, N};
    lasso_path(
        LassoProblem<CountedProducts<Count>>{products, c.data(), alpha.data(), N, b.data(), 1.0, offset.data(), p},
        LassoPath{lambdas.data(), S, 1e-8, 1000, weights.data(), gaps.data(), risks.data()});
    say("weights of a path", weights);
    say("gaps of a path", gaps);
    say("risks of a path", risks);
  };
  path(Vector<std::uint16_t>(N * N));
  path(Vector<std::uint32_t>(N * N));
}

}  // namespace
}  // namespace committee

int main() {
  committee::stumps();
  for (const std::int64_t n_outputs : {1, 3}) {
    committee::leaves("probit", committee::LossName::probit, n_outputs);
    committee::leaves("logistic", committee::LossName::logistic, n_outputs);
  }
  committee::lanes();
  committee::boost("squared", 0, false, true);
  committee::boost("squared, weighted", 0, true, false);
  committee::boost("logistic", 1, false, true);
  committee::boost("logistic, weighted", 1, true, true);
  committee::boost("softmax", 3, false, false);
  committee::boost("softmax, weighted", 3, true, true);
}
