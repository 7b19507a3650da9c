// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of groups of rows, columns or inner elements, as layers of experts call them: group i
// ends before offs[i] and begins where the one before it ends.
#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// What is after the last group is zero.
Tensor padded(Tensor t, int64_t dim, int64_t size) {
  if (t.size(dim) == size) return t;
  std::vector<int64_t> rest(t.sizes().begin(), t.sizes().end());
  rest[static_cast<std::size_t>(dim)] = size - t.size(dim);
  return tenon::cat({t, t.new_zeros(rest)}, dim);
}

Tensor grouped_mm(const Tensor& a, const Tensor& b, const std::optional<Tensor>& offs,
                  const std::optional<Tensor>& bias, std::optional<ScalarType> dtype) {
  TENON_CHECK(!bias, NotImplementedError, "_grouped_mm: bias is not supported");
  TENON_CHECK((a.dim() == 2 || a.dim() == 3) && (b.dim() == 2 || b.dim() == 3), ValueError,
              "_grouped_mm: expected matrices or batches of them, got ", a.sizes(), " and ",
              b.sizes());
  if (!offs) return tenon::matmul(a, b).to(dtype.value_or(a.scalar_type()));
  const Tensor ends = offs->to(Device(kCPU)).to(kLong);
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (int64_t i = 0; i < ends.numel(); ++i) {
    const int64_t to = ends[i].item<int64_t>(), n = to - from;
    const Tensor x = a.dim() == 3 ? a[i] : a.narrow(b.dim() == 3 ? 0 : 1, from, n);
    const Tensor y = b.dim() == 3 ? b[i] : b.narrow(a.dim() == 3 ? 1 : 0, from, n);
    parts.push_back(tenon::matmul(x, y));
    from = to;
  }
  const Tensor out = a.dim() == b.dim() ? tenon::stack(parts)
                     : a.dim() == 2     ? padded(tenon::cat(parts, 0), 0, a.size(0))
                                        : padded(tenon::cat(parts, 1), 1, b.size(1));
  return out.to(dtype.value_or(a.scalar_type()));
}
Tensor grouped_mm_of_experts(const Tensor& a, const Tensor& b, const Tensor& offs) {
  return grouped_mm(a, b, offs, std::nullopt, std::nullopt);
}

const HostOperator list[] = {
    {"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
     "ScalarType? out_dtype=None) -> Tensor",
     unboxed<grouped_mm>},
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     unboxed<grouped_mm_of_experts>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
