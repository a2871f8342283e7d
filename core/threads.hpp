// Threads that live for one call. Work is cut into parts whose number does not depend on the number of
// threads, so every result has the same bits for any number of them; small work never starts a thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>

#include "interrupt.hpp"
#include "vector.hpp"

namespace committee {

// A thread for every so many elementary operations (some 200 us), or starting it costs more than it saves; threads
// that are already there pay for a sixth of it. The tests set fewer, so that small tables start threads.
inline constexpr std::int64_t kWorkPerThread = 600'000;
inline std::atomic<std::int64_t> work_per_thread{kWorkPerThread};
inline std::int64_t work_per_wake() { return work_per_thread.load(std::memory_order_relaxed) / 6; }

// A thread that waits for another looks for so long before it sleeps: to wake it takes some 10 us where nothing lies
// between it and the processor, and up to 50 in a virtual machine, whose processors stop when nothing runs on them.
inline constexpr std::chrono::microseconds kLook{100};

// Asked once: the answer is read from files.
inline int processors() {
  static const int n = static_cast<int>(std::thread::hardware_concurrency());
  return n;
}

// Looks until ready() holds, or the time is up.
template <class Ready>
void look_for(Ready&& ready) {
  constexpr int kLooksPerClock = 64;
  const auto end = std::chrono::steady_clock::now() + kLook;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (ready()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
    std::this_thread::yield();  // to the one it waits for, if both are on one processor
  } while (std::chrono::steady_clock::now() < end);
}

// Rows are cut into blocks of this many wherever a sum over rows must not depend on the number of threads.
inline constexpr std::int64_t kRowBlock = 8192;

inline std::int64_t n_blocks(std::int64_t n, std::int64_t block = kRowBlock) { return (n + block - 1) / block; }

// More than any machine this is for has processors; a wild number of threads asks for no more.
inline constexpr int kMostThreads = 256;

class ThreadTeam {
 public:
  explicit ThreadTeam(int n_threads) : n_threads_(std::clamp(n_threads, 1, kMostThreads)) {}
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  ~ThreadTeam() {
    if (others_.empty()) return;
    stopping_.store(true, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }  // ~jthread joins

  int size() const { return n_threads_; }

  // How many threads `work` elementary operations deserve.
  int wanted(std::int64_t work) const {
    const std::int64_t each = others_.empty() ? work_per_thread.load(std::memory_order_relaxed) : work_per_wake();
    return static_cast<int>(std::clamp<std::int64_t>(work / each, 1, n_threads_));
  }

  // Starts the threads that so much work to come deserves, though it comes in parts too small to start any. Says how
  // many threads there are for it.
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
  // first exception, an interrupt among them, ends the run and is thrown here, on the caller's thread.
  template <class Body>
  void each(std::int64_t n_parts, std::int64_t work, Body&& body) {
    if (n_parts <= 1 || wanted(work) == 1) {
      for (std::int64_t part = 0; part < n_parts; ++part) {
        body(part);
        watch_.after(work / n_parts);  // a look at the clock takes as long as a small part
      }
      return;
    }
    start();
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto note_failure = [&](auto&& run) noexcept {
      try {
        run();
      } catch (...) {
        next.store(n_parts, std::memory_order_relaxed);
        const std::scoped_lock lock(failing);
        if (!failure) failure = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
      }
    };
    job_ = [&] {
      note_failure([&] {
        for (std::int64_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < n_parts;) {
          look_for_interrupt();
          body(part);
        }
      });
    };
    failed_.store(false, std::memory_order_relaxed);
    busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    job_();
    if (looks_) look_for([&] { return busy_.load(std::memory_order_acquire) == 0; });
    while (!all_done_.try_acquire_for(kInterruptPeriod)) note_failure(look_for_interrupt);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void start() {
    while (static_cast<int>(others_.size()) + 1 < n_threads_)
      others_.emplace_back([this, seen = round_.load()]() mutable {
        call_has_failed = &failed_;
        for (;;) {
          if (looks_) look_for([&] { return round_.load(std::memory_order_acquire) != seen; });
          round_.wait(seen, std::memory_order_acquire);
          seen = round_.load(std::memory_order_acquire);
          if (stopping_.load(std::memory_order_relaxed)) return;
          job_();
          if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) all_done_.release();
        }
      });
  }

  int n_threads_;
  // as many processors as threads, or those who look keep others from their work
  bool looks_ = n_threads_ > 1 && n_threads_ <= processors();
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

}  // namespace committee
