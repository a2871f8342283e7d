// Interruption of long calls. Loops check between parts of their work, where every structure that outlives the call is
// consistent: the calling thread runs the registered check, the other threads read its result.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

namespace committee {

// Throws to give the call up. Set once, by the bindings, as the kernels do not handle signals.
using InterruptCheck = void (*)();
inline std::atomic<InterruptCheck> interrupt_check{nullptr};

// Least time between two checks by the calling thread.
inline constexpr std::chrono::milliseconds kInterruptPeriod{50};

// Loops of small steps look after every so many elementary operations (some 30 us).
inline constexpr std::int64_t kWorthALook = 100'000;

// Ends a part of a call that has failed elsewhere.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped, as another part of the call has failed"; }
};

// Of a team's own threads: whether the call has failed. Null on threads that make calls.
inline thread_local const std::atomic<bool>* call_has_failed = nullptr;
inline thread_local std::chrono::steady_clock::time_point next_check{};

inline void look_for_interrupt() {
  if (call_has_failed) {
    if (call_has_failed->load(std::memory_order_relaxed)) throw Stopped{};
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_check) return;
  next_check = now + kInterruptPeriod;
  if (const InterruptCheck check = interrupt_check.load(std::memory_order_relaxed)) check();
}

// For loops of small steps.
class InterruptWatch {
 public:
  void after(std::int64_t work) {
    if ((work_ += work) < kWorthALook) return;
    work_ = 0;
    look_for_interrupt();
  }

 private:
  std::int64_t work_ = 0;
};

}  // namespace committee
