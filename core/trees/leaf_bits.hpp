// The leaf that a row reaches in a small tree, from all its splits at once instead of one after the other (QuickScorer:
// C. Lucchese et al. 2015). Leaves have a bit each, from left to right. A split that sends the row right takes out
// the bits of the leaves on its left; the lowest bit that stays belongs to the row's leaf. No step waits for the one
// before it, and rows share instructions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "threads/lanes.hpp"
#include "threads/threads.hpp"
#include "threads/vector.hpp"

namespace committee {

inline constexpr int kBitRows = 64;  // rows of one call

struct BitSplit {
  double threshold;
  std::int64_t keep;  // the leaves that stay when a row goes right
  std::int64_t feature;
};
struct BitCategories {
  std::uint64_t to_left;  // the codes that go left
  std::int64_t keep;
  std::int64_t column;  // of codes
};
struct BitTree {  // the first n_missing_right splits send missing values right, the others left
  const BitSplit* splits;
  std::int64_t n_missing_right, n_splits;
  const BitCategories* categories;
  std::int64_t n_categories;
};
struct BitColumns {  // kBitRows rows, column by column
  std::unique_ptr<double[]> values;
  std::unique_ptr<std::int64_t[]> codes;  // of columns of categories alone
  bool codes_fit = true;                  // no category has the code kNoCode
};
inline constexpr std::int64_t kNoCode = 63;  // stands for what is no category, and for those beyond a word

// As many doubles at a time as the processor has, and no more: GCC takes comparisons of wider vectors apart.
struct TwoWide {
  using Values = double __attribute__((vector_size(16)));
  using Bits = std::int64_t __attribute__((vector_size(16)));
  using Words = std::uint64_t __attribute__((vector_size(16)));
};
struct FourWide {
  using Values = double __attribute__((vector_size(32)));
  using Bits = std::int64_t __attribute__((vector_size(32)));
  using Words = std::uint64_t __attribute__((vector_size(32)));
};
struct EightWide {
  using Values = double __attribute__((vector_size(64)));
  using Bits = std::int64_t __attribute__((vector_size(64)));
  using Words = std::uint64_t __attribute__((vector_size(64)));
};

template <class Wide>
COMMITTEE_INLINE void leaf_bits_by(const BitColumns& columns, const BitTree& tree, std::int64_t* bits) {
  using Values = typename Wide::Values;
  using Bits = typename Wide::Bits;
  using Words = typename Wide::Words;
  constexpr int kWide = sizeof(Values) / sizeof(double), kAbreast = 8;
  for (int first = 0; first < kBitRows; first += kAbreast * kWide) {
    Bits left[kAbreast];
    for (int k = 0; k < kAbreast; ++k) left[k] = Bits{} - 1;
    const auto take = [&](std::int64_t begin, std::int64_t end, auto goes_left) __attribute__((always_inline)) {
      for (std::int64_t s = begin; s < end; ++s) {
        const Values threshold = Values{} + tree.splits[s].threshold;
        const Bits keep = Bits{} + tree.splits[s].keep;
        const double* const x = columns.values.get() + tree.splits[s].feature * kBitRows + first;
        for (int k = 0; k < kAbreast; ++k) {
          Values value;
          std::memcpy(&value, x + k * kWide, sizeof value);
          left[k] &= keep | goes_left(value, threshold);
        }
      }
    };
    take(0, tree.n_missing_right,
         [](const Values& x, const Values& t) __attribute__((always_inline)) { return x <= t; });
    take(tree.n_missing_right, tree.n_splits,
         [](const Values& x, const Values& t) __attribute__((always_inline)) { return ~(x > t); });
    for (std::int64_t s = 0; s < tree.n_categories; ++s) {
      const Words to_left = Words{} + tree.categories[s].to_left;
      const Bits keep = Bits{} + tree.categories[s].keep;
      const std::int64_t* const code = columns.codes.get() + tree.categories[s].column * kBitRows + first;
      for (int k = 0; k < kAbreast; ++k) {
        Words c;
        std::memcpy(&c, code + k * kWide, sizeof c);
        left[k] &= keep | -Bits((to_left >> c) & 1);
      }
    }
    for (int k = 0; k < kAbreast; ++k) std::memcpy(bits + first + k * kWide, &left[k], sizeof left[k]);
  }
}

// kBitRows words out.
using LeafBits = void (*)(const BitColumns& columns, const BitTree& tree, std::int64_t* bits);

inline void leaf_bits_baseline(const BitColumns& columns, const BitTree& tree, std::int64_t* bits) {
  leaf_bits_by<TwoWide>(columns, tree, bits);
}
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("avx2"))) inline void leaf_bits_avx2(const BitColumns& columns, const BitTree& tree,
                                                           std::int64_t* bits) {
  leaf_bits_by<FourWide>(columns, tree, bits);
}
__attribute__((target("avx512f,avx512dq"))) inline void leaf_bits_avx512(const BitColumns& columns, const BitTree& tree,
                                                                         std::int64_t* bits) {
  leaf_bits_by<EightWide>(columns, tree, bits);
}
inline LeafBits leaf_bits_here() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return leaf_bits_avx512;
  return __builtin_cpu_supports("avx2") ? leaf_bits_avx2 : leaf_bits_baseline;
}
#else
inline LeafBits leaf_bits_here() { return leaf_bits_baseline; }
#endif

// The trees of a forest that have bits: at least two leaves and no more than a word's, and no split on more categories
// than a word's.
class BitTrees {
 public:
  // The next tree, node by node; a leaf's feature is negative, children come after their parents.
  void add(std::int64_t size, const std::int32_t* feature, const double* threshold, const std::int32_t* left,
           const std::uint8_t* missing_left, const std::int64_t* category_offset, const std::uint32_t* category_bits) {
    Tree tree{splits_.size(),     splits_.size(), splits_.size(),         categories_.size(),
              categories_.size(), leaf_.size(),   size >= 3 && size < 128};
    for (std::int64_t i = 0; i < size; ++i) tree.has_bits &= category_offset[i + 1] - category_offset[i] <= 2;
    all_ &= tree.has_bits;
    if (tree.has_bits) {
      number_leaves(size, left, feature);
      leaf_.resize(leaf_.size() + n_below_[0]);
      for (const bool to_left : {false, true}) {
        for (std::int64_t i = 0; i < size; ++i) {
          const std::int64_t words = category_offset[i + 1] - category_offset[i];
          if (feature[i] < 0)
            leaf_[tree.leaf + first_[i]] = static_cast<std::int32_t>(i);
          else if (words == 0 && (missing_left[i] != 0) == to_left)
            splits_.push_back({threshold[i], kept(left[i], first_[i]), feature[i]});
          else if (words > 0 && to_left)
            categories_.push_back({word(missing_left[i] != 0, category_bits + category_offset[i], words),
                                   kept(left[i], first_[i]), column_of_codes(feature[i], words == 2)});
        }
        (to_left ? tree.end : tree.missing_left) = splits_.size();
      }
      tree.categories_end = categories_.size();
    }
    trees_.push_back(tree);
  }

  // Whether so many splits pay for turning rows into columns.
  bool worthwhile(std::int64_t n_features) const { return splits_.size() + categories_.size() >= 4 * n_features; }
  bool all() const { return all_; }
  bool has(std::int64_t t) const { return trees_[t].has_bits; }

  BitColumns columns_of(const double* rows, std::int64_t n_features) const {
    BitColumns columns{std::unique_ptr<double[]>(new double[n_features * kBitRows]),
                       std::unique_ptr<std::int64_t[]>(new std::int64_t[coded_.size() * kBitRows])};
    double* const values = columns.values.get();
    std::int64_t* const codes = columns.codes.get();
    for (std::int64_t j = 0; j < n_features; ++j)
      for (std::int64_t i = 0; i < kBitRows; ++i) values[j * kBitRows + i] = rows[i * n_features + j];
    for (std::int64_t c = 0; c < coded_.size(); ++c)
      for (std::int64_t i = 0; i < kBitRows; ++i) {
        const double x = read_once(rows + i * n_features + coded_[c].feature);
        const bool is_code = x >= 0.0 && x < kNoCode && x == std::floor(x);
        codes[c * kBitRows + i] = is_code ? static_cast<std::int64_t>(x) : kNoCode;
        columns.codes_fit &= !coded_[c].two_words || x != kNoCode;
      }
    return columns;
  }

  // Calls visit(row, leaf) for each of the kBitRows rows of columns.
  template <class Visit>
  void read(std::int64_t t, const BitColumns& columns, std::int64_t begin, const Visit& visit) const {
    const Tree& tree = trees_[t];
    std::int64_t bits[kBitRows];
    leaf_bits_(columns,
               {splits_.data() + tree.begin, tree.missing_left - tree.begin, tree.end - tree.begin,
                categories_.data() + tree.categories, tree.categories_end - tree.categories},
               bits);
    const std::int32_t* const leaf = leaf_.data() + tree.leaf;
    for (int r = 0; r < kBitRows; ++r) visit(begin + r, leaf[std::countr_zero(word_of(bits[r]))]);
  }

 private:
  struct Tree {  // its splits, and the leaf of its first bit
    std::int64_t begin, missing_left, end, categories, categories_end, leaf;
    bool has_bits;
  };
  struct Coded {  // a feature of categories, and whether kNoCode may be one of them
    std::int32_t feature;
    bool two_words;
  };

  // How many leaves lie below every node, and which is the first of them.
  void number_leaves(std::int64_t size, const std::int32_t* left, const std::int32_t* feature) {
    n_below_.assign(size, 1);
    first_.assign(size, 0);
    for (std::int64_t i = size; i-- > 0;)
      if (feature[i] >= 0) n_below_[i] = n_below_[left[i]] + n_below_[left[i] + 1];
    for (std::int64_t i = 0; i < size; ++i) {
      if (feature[i] < 0) continue;
      first_[left[i]] = first_[i];
      first_[left[i] + 1] = first_[i] + n_below_[left[i]];
    }
  }
  std::int64_t kept(std::int32_t left, int first) const {
    return signed_of(~(((std::uint64_t{1} << n_below_[left]) - 1) << first));
  }

  // The codes that go left: those of the split's own words, and with the missing ones kNoCode and any beyond.
  static std::uint64_t word(bool missing_left, const std::uint32_t* bits, std::int64_t words) {
    const std::uint64_t others = missing_left ? ~std::uint64_t{0} : 0, no_code = std::uint64_t{1} << kNoCode;
    const std::uint64_t own = words == 1 ? (others << 32 | bits[0]) : (std::uint64_t{bits[1]} << 32 | bits[0]);
    return (own & ~no_code) | (others & no_code);
  }
  std::int64_t column_of_codes(std::int32_t feature, bool two_words) {
    auto at = std::find_if(coded_.begin(), coded_.end(), [&](const Coded& c) { return c.feature == feature; });
    if (at == coded_.end()) at = coded_.insert(at, {feature, false});
    at->two_words |= two_words;
    return at - coded_.begin();
  }

  LeafBits leaf_bits_ = leaf_bits_here();
  Vector<Tree> trees_;
  Vector<BitSplit> splits_;
  Vector<BitCategories> categories_;
  Vector<Coded> coded_;
  Vector<std::int32_t> leaf_;
  Vector<int> n_below_, first_;
  bool all_ = true;
};

}  // namespace committee
