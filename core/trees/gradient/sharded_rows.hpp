// Row storage of a growing tree over shards: growth requests the partitions of several nodes at a time and receives the
// histograms of their smaller children, summed over the shards.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

#include "threads/vector.hpp"
#include "trees/gradient/children.hpp"

namespace committee {

// A node is to be parted, and perhaps one of its children to be counted. Children have the places left and left + 1.
struct PartOrder {
  std::int32_t place, left;
  std::int32_t feature;
  Vector<std::uint8_t> is_left;  // of each bin, "missing" the last of them
  bool counted, left_side, narrow;
};

class ShardedRows {
 public:
  using Table = BinnedTable<std::uint8_t>;  // of no rows
  static constexpr bool kAsked = true, kScansRows = false;
  // Nodes of so many rows are parted and counted ahead of time: that takes less time than asking.
  static constexpr std::int64_t kFewRows = std::int64_t{1} << 16;

  struct Order {
    std::int32_t place;
    const NodeSplit& split;
    bool counted, left_side;
    std::int64_t n_counted;
  };
  // Carries the orders out, and lets the histograms that were asked for be read, one after the other, where they are.
  using Read = std::function<void(const std::uint64_t*, std::int64_t)>;
  using Ask = std::function<void(const Vector<PartOrder>&, const Read&)>;

  ShardedRows(GradientHistograms<Table>& histograms, const Vector<std::uint64_t>& root, std::int64_t n, Ask ask)
      : histograms_(histograms), root_(root), n_(n), ask_(std::move(ask)) {}

  GradientHistograms<Table>& histograms() { return histograms_; }
  GradientHistogram root() {
    const bool narrow = histograms_.is_narrow(n_);
    if (root_.size() != histograms_.size_of(narrow))
      throw std::invalid_argument("the root's histogram has another size");
    return histograms_.taken(root_.data(), narrow);
  }
  void part(const NodeRange&, const NodeSplit&, std::int64_t) {}  // done when it was asked for

  template <class Receive>
  void ask(const Vector<Order>& orders, Receive&& receive) {
    Vector<PartOrder> parts;
    std::int64_t size = 0;
    for (const Order& order : orders) {
      const std::int32_t j = order.split.feature;
      const bool narrow = histograms_.is_narrow(order.n_counted);
      parts.push_back({order.place, n_places_, j, order.split.left_bins(histograms_.table().missing_bin(j)),
                       order.counted, order.left_side, narrow});
      n_places_ += 2;
      if (order.counted) size += histograms_.size_of(narrow);
    }
    ask_(parts, [&](const std::uint64_t* sums, std::int64_t n) {
      if (n != size) throw std::invalid_argument("the histograms have another size than was asked for");
      for (std::int64_t i = 0; i < parts.size(); ++i) {
        GradientHistogram histogram;
        if (parts[i].counted) {
          histogram = histograms_.taken(sums, parts[i].narrow);
          sums += histograms_.size_of(parts[i].narrow);
        }
        receive(i, parts[i].left, std::move(histogram));
      }
    });
  }

 private:
  GradientHistograms<Table>& histograms_;
  const Vector<std::uint64_t>& root_;
  const std::int64_t n_;
  Ask ask_;
  std::int32_t n_places_ = 1;
};

}  // namespace committee
