#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bins/column_assembly.hpp"

namespace committee {
namespace {

template <class Number>
using Column = nb::ndarray<const Number, nb::ndim<1>, nb::device::cpu>;
using GivenColumn = std::variant<Column<double>, Column<float>>;

bool py_put_together(const std::vector<GivenColumn>& columns,
                     nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> matrix, std::int64_t first,
                     int n_threads) {
  const std::int64_t n = extent(matrix, 0), p = extent(matrix, 1);
  require(first >= 0 && first + count_of(columns.size()) <= p, "the columns must lie within the matrix");
  Vector<AnyColumn> strided;
  for (const GivenColumn& given : columns)
    std::visit(
        [&](const auto& column) {
          require(length(column) == n, "columns need one number per row");
          strided.push_back(StridedColumn{column.data(), column.stride(0)});
        },
        given);
  bool infinite = false;
  unlocked(n_threads, [&](ThreadTeam& team) { infinite = put_together(strided, matrix.data(), n, p, first, team); });
  return infinite;
}

}  // namespace

void register_put_together(nb::module_& m) {
  m.def("put_together", &py_put_together, "columns"_a, "matrix"_a.noconvert(), "first"_a, "n_threads"_a);
}

}  // namespace committee
