// A std::vector that is counted and indexed as everything else is, so that no index needs a conversion.
#pragma once

#include <initializer_list>
#include <iterator>
#include <vector>

#include "integers.hpp"

namespace committee {

template <class T>
class Vector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  Vector() = default;
  explicit Vector(std::int64_t n) : Base(size_of(n)) {}
  Vector(std::int64_t n, const T& value) : Base(size_of(n), value) {}
  Vector(std::initializer_list<T> values) : Base(values) {}
  template <std::input_iterator Iterator>
  Vector(Iterator first, Iterator last) : Base(first, last) {}

  std::int64_t size() const { return count_of(Base::size()); }
  typename Base::reference operator[](std::int64_t i) { return Base::operator[](size_of(i)); }
  typename Base::const_reference operator[](std::int64_t i) const { return Base::operator[](size_of(i)); }

  void resize(std::int64_t n) { Base::resize(size_of(n)); }
  void resize(std::int64_t n, const T& value) { Base::resize(size_of(n), value); }
  void reserve(std::int64_t n) { Base::reserve(size_of(n)); }
  void assign(std::int64_t n, const T& value) { Base::assign(size_of(n), value); }
  void assign(std::initializer_list<T> values) { Base::assign(values); }
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    Base::assign(first, last);
  }
};

}  // namespace committee
