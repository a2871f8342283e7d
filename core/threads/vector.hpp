// A std::vector that is counted and indexed as everything else is, so that no index needs a conversion.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

namespace committee {

// Two kinds of integers, and every conversion between them.
//
// Rows, bins, nodes and places in memory are counted in std::int64_t: a difference may be negative, and a product of
// two counts does not wrap. A word is 64 bits that hold packed sums, std::uint64_t, so that adding and shifting wrap as
// the packing means them to.

constexpr std::int64_t count_of(std::size_t n) { return static_cast<std::int64_t>(n); }
constexpr std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }  // for the standard library

// The same 64 bits, read the other way.
constexpr std::uint64_t word_of(std::int64_t n) { return static_cast<std::uint64_t>(n); }
constexpr std::int64_t signed_of(std::uint64_t word) { return static_cast<std::int64_t>(word); }

// How many bits hold every count up to n.
constexpr int bits_for(std::int64_t n) { return static_cast<int>(std::bit_width(word_of(n))); }

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
  static constexpr std::size_t kLine = 64;
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  CacheLines() = default;
  template <class Other>
  CacheLines(const CacheLines<Other>&) {}
  // Within a larger piece of plain memory, whose start stands before the line: the C library keeps freed pieces of
  // plain memory for the next one, and splits and joins aligned ones each time.
  T* allocate(std::size_t n) {
    void* const piece = ::operator new(n * sizeof(T) + kLine);
    auto* const line = static_cast<std::byte*>(piece) + (kLine - reinterpret_cast<std::uintptr_t>(piece) % kLine);
    std::memcpy(line - sizeof piece, &piece, sizeof piece);
    return reinterpret_cast<T*>(line);
  }
  void deallocate(T* memory, std::size_t) {
    void* piece;
    std::memcpy(&piece, reinterpret_cast<std::byte*>(memory) - sizeof piece, sizeof piece);
    ::operator delete(piece);
  }
  bool operator==(const CacheLines&) const = default;
};

template <class T>
using LaneVector = Vector<T, CacheLines<T>>;

}  // namespace committee
