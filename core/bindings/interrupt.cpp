// The check of long calls for the user's interrupt, and for what another thread raises in this one: Python handles both
// on entering a function.
#include "threads/interrupt.hpp"

#include <nanobind/eval.h>

#include "bindings/arrays.hpp"

namespace committee {
namespace {

PyObject* nothing = nullptr;  // a function of Python's that does nothing; never freed, as calls may outlive the module

void raise_what_waits() {
  nb::gil_scoped_acquire lock;
  PyObject* const result = PyObject_CallNoArgs(nothing);
  if (!result) throw nb::python_error();
  Py_DECREF(result);
}

}  // namespace

void register_interrupt(nb::module_&) {
  nothing = nb::eval("lambda: None", nb::dict()).release().ptr();
  interrupt_check = raise_what_waits;
}

}  // namespace committee
