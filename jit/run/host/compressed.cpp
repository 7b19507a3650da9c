// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Compressed sparse layouts (CSR, CSC and their blocks), which no tensor has here:
// torch_geometric's code names them in branches that dense and COO adjacencies do not take.
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// How many of the row numbers, which are sorted, are less than 0, 1, ... size.
void coo_to_csr(Stack& s) {
  const bool narrow = pop_as<bool>(s);
  const int64_t size = pop_as<int64_t>(s);
  const Tensor rows = pop(s).toTensor();
  TENON_CHECK(rows.dim() == 1 && size >= 0, ValueError,
              "_convert_indices_from_coo_to_csr: expected one dimension and a size of at least 0, ",
              "got ", rows.sizes(), " and ", size);
  const NoGradGuard values_only;
  const Tensor starts = arange(size + 1, rows.options());
  s.emplace_back(searchsorted(rows.contiguous(), starts).to(narrow ? kInt : kLong));
}

// Back: `repeats` times each row; its number, and the column, as COO has them.
void csr_to_coo(Stack& s) {
  const bool transpose = pop_as<bool>(s), narrow = pop_as<bool>(s);
  const Tensor columns = pop(s).toTensor(), starts = pop(s).toTensor();
  TENON_CHECK(starts.dim() == 1 && columns.dim() == 1 && starts.size(0) > 0, ValueError,
              "_convert_indices_from_csr_to_coo: expected one dimension, got ", starts.sizes(),
              " and ", columns.sizes());
  const NoGradGuard values_only;
  const Tensor counts = starts.slice(0, 1) - starts.slice(0, 0, -1);
  const Tensor rows = repeat_interleave(arange(counts.size(0), starts.options()), counts.to(kLong));
  const Tensor both = transpose ? stack({columns, rows}) : stack({rows, columns});
  s.emplace_back(both.to(narrow ? kInt : kLong));
}

[[noreturn]] void missing(const char* name) {
  throw NotImplementedError(
      core::join(name, ": tensors of compressed sparse layouts (CSR, CSC) are not supported"));
}
#define MISSING(name, schema)                                 \
  {                                                           \
    name schema, [](Stack&) { missing(name); }, nullptr, true \
  }
#define CONSTRUCTOR(name, overload, compressed, plain)                                           \
  MISSING(name, overload "_size(Tensor " compressed ", Tensor " plain                            \
                         ", Tensor values, int[] size, *, ScalarType? dtype=None, Layout? "      \
                         "layout=None, Device? device=None, bool? pin_memory=False) -> Tensor"), \
      MISSING(name, overload "(Tensor " compressed ", Tensor " plain                             \
                             ", Tensor values, *, ScalarType? dtype=None, Layout? "              \
                             "layout=None, Device? device=None, bool? pin_memory=False) -> "     \
                             "Tensor")

const HostOperator list[] = {
    {"aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> "
     "Tensor",
     coo_to_csr},
    {"aten::_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool "
     "out_int32=False, bool transpose=False) -> Tensor",
     csr_to_coo},
    MISSING("aten::_sparse_mm", ".reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor"),
    MISSING("aten::crow_indices", "(Tensor(a) self) -> Tensor(a)"),
    MISSING("aten::col_indices", "(Tensor(a) self) -> Tensor(a)"),
    MISSING("aten::ccol_indices", "(Tensor(a) self) -> Tensor(a)"),
    MISSING("aten::row_indices", "(Tensor(a) self) -> Tensor(a)"),
    MISSING("aten::to_sparse_csr", "(Tensor self, int? dense_dim=None) -> Tensor"),
    MISSING("aten::to_sparse_csc", "(Tensor self, int? dense_dim=None) -> Tensor"),
    MISSING("aten::to_sparse_bsr",
            "(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor"),
    MISSING("aten::to_sparse_bsc",
            "(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor"),
    CONSTRUCTOR("aten::sparse_csr_tensor", ".crow_col_value", "crow_indices", "col_indices"),
    CONSTRUCTOR("aten::sparse_csc_tensor", ".ccol_row_value", "ccol_indices", "row_indices"),
    CONSTRUCTOR("aten::sparse_bsr_tensor", ".crow_col_value", "crow_indices", "col_indices"),
    CONSTRUCTOR("aten::sparse_bsc_tensor", ".ccol_row_value", "ccol_indices", "row_indices"),
    CONSTRUCTOR("aten::sparse_compressed_tensor", ".comp_plain_value", "compressed_indices",
                "plain_indices"),
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
