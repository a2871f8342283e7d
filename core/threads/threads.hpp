// threads/: what every kernel rests on.
//   threads     ThreadTeam, blocks of rows, sums with a fixed order of blocks
//   interrupt   Ctrl-C and exceptions of other threads stop a long call
//   lanes       eight doubles per operation; lane_types: one type per instruction set; singles: single precision
//   vector      std::vector with signed sizes; conversions between counts and packed words
//
// Threads that live for one call. Work is cut into parts whose number does not depend on the number of
// threads, so every result has the same bits for any number of them; small work never starts a thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <semaphore>
#include <thread>
#include <type_traits>

#include "threads/interrupt.hpp"
#include "threads/vector.hpp"

namespace committee {

// Threads are started by two times so many elementary operations (some 200 us each); less costs more than it saves.
// Threads that are already there pay for a sixth of it. The tests set fewer, so that small tables start threads.
inline constexpr std::int64_t kWorkPerThread = 600'000;
inline std::atomic<std::int64_t> work_per_thread{kWorkPerThread};
inline std::int64_t work_per_wake() { return work_per_thread.load(std::memory_order_relaxed) / 6; }

// Rows are cut into blocks of this many wherever a sum over rows must not depend on the number of threads.
inline constexpr std::int64_t kRowBlock = 8192;

inline std::int64_t n_blocks(std::int64_t n, std::int64_t block = kRowBlock) { return (n + block - 1) / block; }

// Body of a loop over parts: a reference to a callable, which has to outlive the loop.
class PartBody {
 public:
  template <class Body>
    requires(!std::is_same_v<std::remove_cvref_t<Body>, PartBody>)
  PartBody(Body&& body)
      : body_(const_cast<void*>(static_cast<const void*>(&body))),
        call_([](void* of, std::int64_t part) { (*static_cast<std::remove_reference_t<Body>*>(of))(part); }) {}
  void operator()(std::int64_t part) const { call_(body_, part); }

 private:
  void* body_;
  void (*call_)(void*, std::int64_t);
};

class ThreadTeam {
 public:
  explicit ThreadTeam(int n_threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  int size() const { return n_threads_; }

  // Number of threads that `work` elementary operations deserve.
  int wanted(std::int64_t work) const {
    const std::int64_t worth = others_.empty() ? work_per_thread.load(std::memory_order_relaxed) : work_per_wake();
    return static_cast<int>(std::clamp<std::int64_t>(work / worth, 1, n_threads_));
  }

  // Starts all threads if so much work to come deserves two or more, though it comes in parts too small to start any.
  // Returns how many it deserves.
  int start_for(std::int64_t work) {
    const int threads = wanted(work);
    if (threads > 1) start();
    return threads;
  }

  // Calls body(begin, end) for every block of n rows, as `each` does for parts.
  template <class Body>
  void blocks(std::int64_t n, std::int64_t work, Body&& body) {
    blocks_of(kRowBlock, n, work, body);
  }
  template <class Body>
  void blocks_of(std::int64_t block, std::int64_t n, std::int64_t work, Body&& body) {
    each(n_blocks(n, block), work, [&](std::int64_t b) { body(b * block, std::min(n, (b + 1) * block)); });
  }

  // Calls body(part) for every part in [0, n_parts), in any order, on any thread; returns when all are done. The
  // first exception, an interrupt among them, ends the run and is thrown here, on the caller's thread. One function
  // for all bodies: as a template it was a third of the compile time.
  void each(std::int64_t n_parts, std::int64_t work, PartBody body);

 private:
  void start();

  int n_threads_;
  // as many processors as threads, or those that spin keep others from their work
  bool looks_;
  InterruptWatch watch_;  // of the caller
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> stopping_{false}, failed_{false};
  std::binary_semaphore all_done_{0};
  std::function<void()> job_;
  Vector<std::jthread> others_;
};

// sum of value(i) over [0, n): within blocks, then over blocks in order.
template <class Value>
double block_sum(ThreadTeam& team, std::int64_t n, Value&& value) {
  Vector<double> partial(n_blocks(n));
  team.blocks(n, 2 * n, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0.0;
    for (std::int64_t i = begin; i < end; ++i) sum += value(i);
    partial[begin / kRowBlock] = sum;
  });
  double total = 0.0;
  for (double s : partial) total += s;
  return total;
}

// Cells of a table that another thread may write to while they are read: X belongs to the caller. What becomes a place
// in memory is read once, so that the value that was checked is the one that is used.

inline double read_once(const double* cell) { return *static_cast<const volatile double*>(cell); }

}  // namespace committee
