// Digests of what the kernels compute of made numbers, a line for each: the same on every processor.
// tests/same_bits.py builds and runs this here and for ARM.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "../../core/gradient_grower.hpp"
#include "../../core/joint_boost.hpp"
#include "../../core/linear_boost.hpp"
#include "../../core/loss_gradients.hpp"

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
  say((std::string(name) + " lines along the gradient").c_str(),
      joint_boost(data, BoostSettings{loss, 60, 0.0, 20.0}, team).models.score);
}

}  // namespace
}  // namespace committee

int main() {
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
