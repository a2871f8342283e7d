// Interaction constraints: columns that may occur together on a path of a tree, by groups or by a maximum number.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads/vector.hpp"

namespace committee {

using ColumnSet = Vector<std::int32_t>;  // rising

struct Interactions {
  std::int64_t most = 0;       // columns of one path; 0: any number
  Vector<ColumnSet> groups{};  // of which one holds all columns of a path; empty: no matter which

  bool limited() const { return most > 0 || !groups.empty(); }

  // Marks the columns that may stand below splits on `used`, and counts them.
  std::int64_t allow(const ColumnSet& used, Vector<std::uint8_t>& allowed) const {
    const bool full = most > 0 && used.size() >= most;
    std::fill(allowed.begin(), allowed.end(), static_cast<std::uint8_t>(groups.empty() && !full));
    if (full)
      for (const std::int32_t j : used) allowed[j] = 1;
    else
      for (const ColumnSet& group : groups)
        if (std::includes(group.begin(), group.end(), used.begin(), used.end()))
          for (const std::int32_t j : group) allowed[j] = 1;
    return std::count(allowed.begin(), allowed.end(), 1);
  }

  // The same of some of the columns, numbered anew.
  Interactions among(const std::int32_t* features, std::int64_t n) const {
    Interactions some{most, {}};
    for (const ColumnSet& group : groups) {
      ColumnSet members;
      for (std::int64_t i = 0; i < n; ++i)
        if (std::binary_search(group.begin(), group.end(), features[i]))
          members.push_back(static_cast<std::int32_t>(i));
      some.groups.push_back(std::move(members));
    }
    return some;
  }
};

inline ColumnSet with_column(ColumnSet set, std::int32_t j) {
  const auto place = std::lower_bound(set.begin(), set.end(), j);
  if (place == set.end() || *place != j) set.insert(place, j);
  return set;
}

}  // namespace committee
