// A std::vector that is counted and indexed as everything else is, so that no index needs a conversion.
#pragma once

#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

#include "integers.hpp"

namespace committee {

template <class T, class Allocator = std::allocator<T>>
class Vector : public std::vector<T, Allocator> {
  using Base = std::vector<T, Allocator>;

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

// Memory that begins with a cache line, so that eight doubles of whole lanes are one line and never parts of two.
template <class T>
struct CacheLines {
  using value_type = T;
  static_assert(alignof(T) <= 64);
  static constexpr std::align_val_t kLine{64};
  CacheLines() = default;
  template <class Other>
  CacheLines(const CacheLines<Other>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const CacheLines&) const = default;
};

template <class T>
using LaneVector = Vector<T, CacheLines<T>>;

}  // namespace committee
