// What the bindings share: plain arrays, checks, Ctrl-C, the digest of the sources, and classes
// whose objects Python cannot have half made.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <stdexcept>

#include "_common.hpp"

#ifndef REJO_SOURCES  // the first digits of the sources' digest; `setup.py` has the rest
#define REJO_SOURCES unknown
#endif
#define REJO_QUOTED(x) #x
#define REJO_TEXT(x) REJO_QUOTED(x)

namespace rejo {

namespace py = pybind11;

// Copied if they are of another type or order, or do not start where a number may.  What is not
// copied stays in Python's hands: another thread may write to it whenever the GIL is released.
template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast |
                                 py::detail::npy_api::NPY_ARRAY_ALIGNED_>;

inline void require(bool holds, const char* problem) {
  if (!holds) throw std::invalid_argument(problem);
}

template <class T>
std::vector<T> copied(const Array<T>& a) {
  return std::vector<T>(a.data(), a.data() + a.size());
}

inline bool carry_on() {
  py::gil_scoped_acquire hold;
  return PyErr_CheckSignals() == 0;
}

// Runs `work` without the GIL; a signal's exception comes out as itself.
template <class Work>
void unlocked(Work work) {
  try {
    py::gil_scoped_release release;
    Watch watch(carry_on);
    work(watch);
  } catch (const Interrupted&) {
    throw py::error_already_set();
  }
}

template <class T, class... Arguments>
std::unique_ptr<T> make(Arguments... arguments) {
  return std::make_unique<T>(arguments...);
}

// A class whose objects are complete or do not exist.  With py::init an object has memory first and
// a value later, and `__new__` alone would give methods memory that nobody wrote.  Here the static
// method `_make` builds the value before Python sees an object, and `__new__` calls it; there are
// no subclasses, and `seal` ends the definition: after it no object can change its class.
template <class T>
py::class_<T> complete_class(py::module_& module, const char* name) {
  return py::class_<T>(
      module, name, py::is_final(), py::custom_type_setup([](PyHeapTypeObject* heap) {
        heap->ht_type.tp_new = [](PyTypeObject* type, PyObject* args, PyObject* named) {
          PyObject* make = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_make");
          PyObject* made = make ? PyObject_Call(make, args, named) : nullptr;
          Py_XDECREF(make);
          return made;
        };
        heap->ht_type.tp_init = [](PyObject*, PyObject*, PyObject*) { return 0; };
      }));
}

inline void seal(const py::handle& type) {
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
}

}  // namespace rejo
