#include "threads/threads.hpp"

#include <chrono>
#include <exception>
#include <mutex>

namespace committee {
namespace {

// A thread that waits for another looks for so long before it sleeps: to wake it takes some 10 us where nothing lies
// between it and the processor, and up to 50 in a virtual machine, whose processors stop when nothing runs on them.
constexpr std::chrono::microseconds kLook{100};

// Asked once: the answer is read from files.
int processors() {
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

// More than any machine this is for has processors; a wild number of threads asks for no more.
constexpr int kMostThreads = 256;

}  // namespace

ThreadTeam::ThreadTeam(int n_threads)
    : n_threads_(std::clamp(n_threads, 1, kMostThreads)), looks_(n_threads_ > 1 && n_threads_ <= processors()) {}

ThreadTeam::~ThreadTeam() {
  if (others_.empty()) return;
  stopping_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}  // ~jthread joins

void ThreadTeam::each(std::int64_t n_parts, std::int64_t work, PartBody body) {
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

void ThreadTeam::start() {
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

}  // namespace committee
