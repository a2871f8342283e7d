// What this processor can do, measured by itself: `python -m benchmarks floor` builds this file and reads what it
// prints.
//
// Lines "name value": nanoseconds an operation, or gigabytes a second. First the floor of a histogram - additions to
// cells that stay in cache, with no table to read - then ways to add the rows of a table to its histogram, each beside
// that of the library (core/histogram/histogram.hpp). All give the same sums; a way whose sums differ ends the run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "histogram/column_histogram.hpp"
#include "histogram/gradient_histogram.hpp"
#include "trees/gradient/threshold_scan.hpp"

namespace {

using committee::BinnedTable;
using committee::CodeColumns;
using committee::OneWord;
using Word = std::uint64_t;
using Code = std::uint8_t;

constexpr std::int64_t kColumns = 28, kBins = 256;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double seconds() {  // of the processor, on this thread: what others run meanwhile does not count
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
};

struct Data {
  std::vector<Code> codes, by_column;
  std::vector<Word> words;
  BinnedTable<Code> table{};
  CodeColumns<Code> columns{{}, 1};
  std::vector<std::int32_t> tenth;

  // `skewed`: as in a real table, some columns hold few values and most have a value that many rows share.
  Data(std::int64_t n, bool skewed) {
    Random random{1};
    codes.resize(n * kColumns);
    by_column.resize(n * kColumns);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const std::uint64_t r = random.next();
        const std::uint64_t values = skewed && j % 7 == 0 ? 3 : 255;
        const bool common = skewed && j % 3 == 0 && (r >> 60) < 4;
        codes[i * kColumns + j] = by_column[j * n + i] = static_cast<Code>(common ? 1 : (r >> 8) % values);
      }
    words.resize(n);
    for (Word& word : words) word = random.next() >> 20;
    table.codes = codes.data();
    table.n_rows = n;
    table.n_features = kColumns;
    for (std::int64_t j = 0; j <= kColumns; ++j) table.cell.push_back(j * kBins);
    for (std::int64_t j = 0; j < kColumns; ++j) columns.of_feature.push_back(by_column.data() + j * n);
    for (std::int64_t i = 0; i < n; ++i)
      if (random.next() % 10 == 0) tenth.push_back(static_cast<std::int32_t>(i));
  }
};

// --- ways to add rows to a histogram; `rows` null: all n ----------------------------------------------------------

using Way = std::function<void(const Data&, const std::int32_t* rows, std::int64_t n, Word* histogram)>;

void by_row(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  add_rows(data.table, rows, 0, n, OneWord{data.words.data()}, histogram);
}

void gathered(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  add_gathered(data.table, rows, 0, n, data.words.data(), histogram);
}

void as_in_the_library(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  if (!counts_by_column(data.table, data.columns, rows, n)) return gathered(data, rows, n, histogram);
  add_by_column(data.table, data.columns, rows, 0, n, data.words.data(), histogram);
}

// Some rows of a list, or of the table: where their codes begin, and their words. The row kAhead places on is fetched
// to a level of the caches, 0: not at all. Inlined by force: GCC takes a function of prefetches alone for one that does
// nothing.
template <int together>
struct Together {
  const Code* code[together];
  Word word[together];

  template <int level>
  __attribute__((always_inline)) static Together of(const Data& data, const std::int32_t* rows, std::int64_t i,
                                                    std::int64_t n) {
    Together some;
    for (int k = 0; k < together; ++k) {
      if (level > 0 && rows != nullptr && i + k + committee::kAhead < n) {
        constexpr int locality = level == 1 ? 3 : 2;
        const std::int64_t next = rows[i + k + committee::kAhead];
        __builtin_prefetch(data.words.data() + next, 0, locality);
        __builtin_prefetch(data.codes.data() + next * kColumns, 0, locality);
        __builtin_prefetch(data.codes.data() + next * kColumns + kColumns - 1, 0, locality);
      }
      const std::int64_t row = rows ? rows[i + k] : i + k;
      some.code[k] = data.codes.data() + row * kColumns;
      some.word[k] = data.words[row];
    }
    return some;
  }
  void add(std::int64_t j, Word* cells) const {
    for (int k = 0; k < together; ++k) cells[code[k][j]] += word[k];
  }
};

// The base of a column's cells is read once for `together` rows.
template <int together, int level = 1>
void rows_together(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  const std::int64_t* const cell = data.table.cell.data();
  std::int64_t i = 0;
  for (; i + together <= n; i += together) {
    const auto some = Together<together>::template of<level>(data, rows, i, n);
    const std::int64_t p = data.table.n_features;
    for (std::int64_t j = 0; j < p; ++j) some.add(j, histogram + cell[j]);
  }
  add_rows(data.table, rows, i, n, OneWord{data.words.data()}, histogram);
}

// Eight codes are read as one word.
template <int together>
void codes_by_eight(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  const std::int64_t* const cell = data.table.cell.data();
  const std::int64_t p = data.table.n_features;
  std::int64_t i = 0;
  for (; i + together <= n; i += together) {
    const auto some = Together<together>::template of<1>(data, rows, i, n);
    std::int64_t j = 0;
    for (; j + 8 <= p; j += 8) {
      std::uint64_t eight[together];
      for (int k = 0; k < together; ++k) __builtin_memcpy(&eight[k], some.code[k] + j, 8);
#pragma GCC unroll 8
      for (int b = 0; b < 8; ++b) {
        Word* const h = histogram + cell[j + b];
        for (int k = 0; k < together; ++k) h[(eight[k] >> (8 * b)) & 255] += some.word[k];
      }
    }
    for (; j < p; ++j) some.add(j, histogram + cell[j]);
  }
  add_rows(data.table, rows, i, n, OneWord{data.words.data()}, histogram);
}

// Columns in blocks whose cells fit the first-level cache, chunk of rows by chunk.
template <int columns, int chunk, int together>
void column_blocks(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  const std::int64_t* const cell = data.table.cell.data();
  const std::int64_t p = data.table.n_features;
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t end = std::min<std::int64_t>(n, begin + chunk);
    for (std::int64_t first = 0; first < p; first += columns) {
      const std::int64_t last = std::min<std::int64_t>(p, first + columns);
      std::int64_t i = begin;
      for (; i + together <= end; i += together) {
        const auto some = first == 0 ? Together<together>::template of<1>(data, rows, i, n)
                                     : Together<together>::template of<0>(data, rows, i, n);
        for (std::int64_t j = first; j < last; ++j) some.add(j, histogram + cell[j]);
      }
      for (; i < end; ++i) {
        const std::int64_t row = rows ? rows[i] : i;
        for (std::int64_t j = first; j < last; ++j)
          histogram[cell[j] + data.codes[row * kColumns + j]] += data.words[row];
      }
    }
  }
}

// Columns are read in their own order, `columns` of them at a time, words of a chunk of rows first.
template <int columns, int chunk>
void by_column(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  static_assert(kColumns % columns == 0);
  Word words[chunk];
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t size = std::min<std::int64_t>(n - begin, chunk);
    for (std::int64_t i = 0; i < size; ++i) words[i] = data.words[rows ? rows[begin + i] : begin + i];
    for (std::int64_t first = 0; first < kColumns; first += columns)
      committee::add_columns<columns>(data.columns.of_feature.data() + first, data.table.cell.data() + first,
                                      rows ? rows + begin : nullptr, words, size, begin, histogram);
  }
}

// Several copies of the histogram, rows in turn, so that equal codes of neighbours do not wait for each other.
template <int copies>
void interleaved(const Data& data, const std::int32_t* rows, std::int64_t n, Word* histogram) {
  const std::int64_t p = data.table.n_features, size = kColumns * kBins;
  const std::int64_t* const cell = data.table.cell.data();
  static std::vector<Word> scratch;
  scratch.assign((copies - 1) * size, 0);
  Word* copy[copies];
  for (int k = 0; k < copies; ++k) copy[k] = k == 0 ? histogram : scratch.data() + (k - 1) * size;
  std::int64_t i = 0;
  for (; i + copies <= n; i += copies)
    for (int k = 0; k < copies; ++k) {
      const auto one = Together<1>::of<1>(data, rows, i + k, n);
      for (std::int64_t j = 0; j < p; ++j) one.add(j, copy[k] + cell[j]);
    }
  for (int k = 1; k < copies; ++k)
    for (std::int64_t c = 0; c < size; ++c) histogram[c] += copy[k][c];
  add_rows(data.table, rows, i, n, OneWord{data.words.data()}, histogram);
}

#if defined(__x86_64__)
// Eight columns of a row at a time: their cells never meet, so that gather and scatter need no detection of conflicts.
__attribute__((target("avx512f,avx512vl,avx512bw"))) void scattered(const Data& data, const std::int32_t* rows,
                                                                    std::int64_t n, Word* histogram) {
  const std::int64_t p = data.table.n_features;
  const std::int64_t* const cell = data.table.cell.data();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto one = Together<1>::of<1>(data, rows, i, n);
    const __m512i word = _mm512_set1_epi64(static_cast<long long>(one.word[0]));
    std::int64_t j = 0;
    for (; j + 8 <= p; j += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(one.code[0] + j));
      const __m512i at = _mm512_add_epi64(_mm512_loadu_si512(cell + j), _mm512_cvtepu8_epi64(bytes));
      const __m512i sums = _mm512_add_epi64(_mm512_i64gather_epi64(at, histogram, 8), word);
      _mm512_i64scatter_epi64(histogram, at, sums, 8);
    }
    for (; j < p; ++j) one.add(j, histogram + cell[j]);
  }
}
#endif

// --- what a histogram cannot go below -----------------------------------------------------------------------------

// Nanoseconds of an addition to one of `n_cells` cells, at places that are known: two loads, an addition and a store.
double addition(std::int64_t n_cells) {
  std::vector<Word> cells(n_cells);
  std::vector<std::uint16_t> at(1 << 13);
  Random random{2};
  for (auto& place : at) place = static_cast<std::uint16_t>(random.next() % n_cells);
  double best = 1e9;
  for (int pass = 0; pass < 400; ++pass) {
    const double start = seconds();
    for (const auto place : at) cells[place] += pass;
    best = std::min(best, seconds() - start);
  }
  volatile Word kept = cells[n_cells / 2];
  (void)kept;
  return best / at.size() * 1e9;
}

// Nanoseconds of an addition that waits for the one before: to the same cell, through memory.
double chained_addition() {
  volatile Word cell = 0;
  double best = 1e9;
  for (int pass = 0; pass < 50; ++pass) {
    const double start = seconds();
    for (int i = 0; i < 10'000; ++i) cell = cell + 1;
    best = std::min(best, seconds() - start);
  }
  return best / 10'000 * 1e9;
}

// Gigabytes a second that threads read of their own 64 MB together, eight bytes at a time.
double reading(int n_threads) {
  const std::int64_t n = std::int64_t{1} << 23;
  std::vector<std::vector<Word>> memory(n_threads, std::vector<Word>(n, 1));
  std::vector<Word> sums(n_threads * 16);
  double best = 1e9;
  for (int pass = 0; pass < 5; ++pass) {
    const double start = wall_seconds();
    std::vector<std::thread> threads;
    for (int t = 0; t < n_threads; ++t)
      threads.emplace_back([&, t] {
        Word sum = 0;
        for (const Word word : memory[t]) sum += word;
        sums[16 * t] = sum;
      });
    for (auto& thread : threads) thread.join();
    best = std::min(best, wall_seconds() - start);
  }
  return n_threads * n * 8 / best * 1e-9;
}

// Nanoseconds until a team of two has met over nothing, when its second thread is asleep and when it looks for work.
double meeting(bool asleep) {
  committee::ThreadTeam team(2);
  std::vector<double> times;
  for (int pass = 0; pass < 100; ++pass) {
    if (asleep) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const double start = wall_seconds();
    team.each(2, 10 * committee::kWorkPerThread, [](std::int64_t) {});
    times.push_back(wall_seconds() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e9;
}

// Nanoseconds of the best of 255 thresholds of a column in a node of so many rows, whose sides need 20, by vectors of
// so many bytes. Every column is new: a processor learns by heart where the thresholds of those begin and end that come
// back.
double scan(int bytes, int rows) {
  constexpr int kColumns = 256;
  committee::GradientRange range{1.0, 0.25};
  const committee::WordLayout layout = committee::word_layout(range, rows);
  committee::lane_bytes = bytes;
  Random random{3};
  std::vector<double> times;
  for (int pass = 0; pass < 40; ++pass) {
    std::vector<Word> cells(kColumns * kBins + 8);
    std::vector<committee::Vector<committee::OutputTotals>> totals;
    for (int column = 0; column < kColumns; ++column) {
      committee::OutputTotals total{0.0, 0.0};
      for (int i = 0; i < rows; ++i) {
        const auto g = static_cast<std::int64_t>((random.next() % 2'000 / 1'000.0 - 1.0) * layout.gradient_unit);
        const auto h = static_cast<std::int64_t>(random.next() % 250 / 1'000.0 * layout.hessian_unit);
        cells[column * kBins + random.next() % 255] += layout.word(g, h, 1);
        total.gradient += static_cast<double>(g);
        total.hessian += static_cast<double>(h);
      }
      totals.push_back({total});
    }
    const double start = seconds();
    for (int column = 0; column < kColumns; ++column) {
      const committee::Thresholds thresholds{
          cells.data() + column * kBins, kBins, 255, true, false, totals[column], rows, 20,
          totals[column][0].hessian,     1.0};
      double gain = committee::kNever;
      volatile std::int64_t found = best_threshold(thresholds, {}, layout, gain);
      (void)found;
    }
    times.push_back((seconds() - start) / kColumns);
  }
  committee::lane_bytes = committee::bytes_of_processor();
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e9;
}

int tell_floor() {
  std::printf("addition, 16 kB of cells|%.4f\n", addition(2048));
  std::printf("addition, 57 kB of cells|%.4f\n", addition(7168));
  std::printf("addition, 512 kB of cells|%.4f\n", addition(65535));
  std::printf("addition to the cell before|%.4f\n", chained_addition());
  std::printf("reading, 1 thread|%.2f\n", reading(1));
  std::printf("reading, 2 threads|%.2f\n", reading(2));
  std::printf("two threads meet, awake|%.0f\n", meeting(false));
  std::printf("two threads meet, one asleep|%.0f\n", meeting(true));
  for (const int bytes : {16, 32, 64})
    for (const int rows : {5'000, 60})
      if (bytes <= committee::bytes_of_processor())
        std::printf("255 thresholds of %d rows, vectors of %d bytes|%.1f\n", rows, bytes, scan(bytes, rows));
  return 0;
}

int tell_ways(std::int64_t n) {
  std::vector<std::pair<std::string, Way>> ways{
      {"the library's", as_in_the_library},
      {"row by row", by_row},
      {"two rows together", rows_together<2>},
      {"three rows together", rows_together<3>},
      {"four rows together", rows_together<4>},
      {"two rows together, nothing fetched ahead", rows_together<2, 0>},
      {"two rows together, fetched to the second level", rows_together<2, 2>},
      {"codes by eight", codes_by_eight<1>},
      {"codes by eight, two rows together", codes_by_eight<2>},
      {"blocks of 7 columns, 1,024 rows, two together", column_blocks<7, 1024, 2>},
      {"blocks of 14 columns, 1,024 rows, two together", column_blocks<14, 1024, 2>},
      {"blocks of 14 columns, 4,096 rows, four together", column_blocks<14, 4096, 4>},
      {"by column, two at a time", by_column<2, 2048>},
      {"by column, four at a time", by_column<4, 2048>},
      {"by column, seven at a time", by_column<7, 2048>},
      {"put side by side, four columns at a time", gathered},
      {"two copies", interleaved<2>},
      {"four copies", interleaved<4>},
  };
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) ways.emplace_back("gather and scatter, eight columns", scattered);
#endif
  for (const bool skewed : {false, true}) {
    const Data data(n, skewed);
    std::vector<Word> truth(kColumns * kBins + 8), found(truth.size());
    struct Rows {
      const char* name;
      const std::int32_t* rows;
      std::int64_t n;
    };
    std::vector<std::int32_t> small(data.tenth.begin(),
                                    data.tenth.begin() + std::min<std::int64_t>(4'000, data.tenth.size()));
    const Rows sets[] = {{"all rows", nullptr, n},
                         {"a tenth", data.tenth.data(), static_cast<std::int64_t>(data.tenth.size())},
                         {"4,000 rows", small.data(), static_cast<std::int64_t>(small.size())}};
    for (const Rows& set : sets) {
      std::vector<std::vector<double>> times(ways.size());
      const int passes = set.n > 100'000 ? 15 : 60;
      for (int pass = 0; pass < passes; ++pass)
        for (std::size_t w = 0; w < ways.size(); ++w) {
          std::fill(found.begin(), found.end(), 0);
          const double start = seconds();
          ways[w].second(data, set.rows, set.n, found.data());
          times[w].push_back(seconds() - start);
          if (w == 0)
            truth = found;
          else if (found != truth) {
            std::fprintf(stderr, "%s: other sums\n", ways[w].first.c_str());
            return 1;
          }
        }
      for (std::size_t w = 0; w < ways.size(); ++w) {
        std::sort(times[w].begin(), times[w].end());
        std::printf("%s, %s: %s|%.4f\n", skewed ? "as of a real table" : "even", set.name, ways[w].first.c_str(),
                    times[w][times[w].size() / 2] / (set.n * kColumns) * 1e9);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--floor") return tell_floor();
  if (argc == 3 && std::string(argv[1]) == "--ways") return tell_ways(std::atoll(argv[2]));
  std::fprintf(stderr, "floor --floor | --ways ROWS\n");
  return 2;
}
