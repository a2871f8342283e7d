// What the tests change about all kernels: the length of vectors, and the work that starts a thread.
#include "threads/lane_types.hpp"

#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "threads/threads.hpp"

namespace committee {

void register_lane_types(nb::module_& m) {
  m.def("lane_bytes", [] { return lane_bytes.load(); }, "Bytes of the vectors that kernels use: 64, 32 or 16.");
  m.def(
      "use_lane_bytes",
      [](int bytes) {
        const bool made = bytes == 16 || bytes == 32 || bytes == 64;
        if (!made || bytes > bytes_of_processor())
          throw std::invalid_argument("lane_bytes=" + std::to_string(bytes) +
                                      ": kernels are for 16, 32 or 64, and this processor has vectors of " +
                                      std::to_string(bytes_of_processor()));
        lane_bytes = bytes;
      },
      nb::arg("bytes"), "For all threads; every result has the same bits.");
  m.def("work_per_thread", [] { return work_per_thread.load(); }, "Elementary operations that start a thread.");
  m.def(
      "use_work_per_thread",
      [](std::int64_t work) {
        require(work >= 6, "work must be at least 6");
        work_per_thread = work;
      },
      nb::arg("work"), "For all calls; every result has the same bits.");
}

}  // namespace committee
