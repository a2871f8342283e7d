// Cells of a table that another thread may write to while they are read: X belongs to the caller. What becomes a place
// in memory is read once, so that the value that was checked is the one that is used.
#pragma once

namespace committee {

inline double read_once(const double* cell) { return *static_cast<const volatile double*>(cell); }

}  // namespace committee
