// Which kernels are used: those for vectors of 64, 32 or 16 bytes. The tests try all that the processor has.
#include "../lane_types.hpp"

#include <stdexcept>
#include <string>

#include "arrays.hpp"

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
}

}  // namespace committee
