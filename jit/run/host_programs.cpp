// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What programs of Python ask of shapes, types and tensors as wholes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/run/unboxed.h"
#include "tenon/autograd.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using Ints = std::vector<int64_t>;

// grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)
void grad(Stack& s) {
  const bool allow_unused = pop_as<bool>(s), create_graph = pop_as<bool>(s);
  const IValue retain = pop(s), given = pop(s);
  const std::vector<Tensor> inputs = pop(s).toTensorVector(), outputs = pop(s).toTensorVector();
  std::vector<Tensor> from;
  if (!given.isNone()) {
    for (const auto& g : FromStack<std::vector<std::optional<Tensor>>>::get(given))
      from.push_back(g.value_or(Tensor()));
  }
  const std::vector<Tensor> made =
      autograd::grad(outputs, inputs, from, retain.isNone() ? create_graph : retain.toBool(),
                     create_graph, allow_unused);
  s.emplace_back(made);
}

Ints broadcast_shapes(const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1,
                  n = i < b.size() ? b[b.size() - 1 - i] : 1;
    TENON_CHECK(m == n || m == 1 || n == 1, ValueError,
                "Shape mismatch: objects cannot be broadcast to a single shape: ", IntArrayRef(a),
                " and ", IntArrayRef(b));
    out[out.size() - 1 - i] = m == 1 ? n : m;
  }
  return out;
}

// The dtype that an operator would give.
ScalarType result_type(const Tensor& a, const Tensor& b) {
  const Tensor x = tenon::empty(Ints(a.dim() ? 1 : 0, 0), TensorOptions(a.scalar_type())),
               y = tenon::empty(Ints(b.dim() ? 1 : 0, 0), TensorOptions(b.scalar_type()));
  return (x + y).scalar_type();
}
ScalarType result_type_scalar(const Tensor& a, const Scalar& b) {
  const Tensor x = tenon::empty(Ints(a.dim() ? 1 : 0, 0), TensorOptions(a.scalar_type()));
  return (x + b).scalar_type();
}
ScalarType scalar_result_type(const Scalar& a, const Tensor& b) { return result_type_scalar(b, a); }
ScalarType promote(ScalarType a, ScalarType b) { return promote_types(a, b); }
// Floats to integers, integers to bools and signed to unsigned lose what they hold.
bool can_cast(ScalarType from, ScalarType to) {
  const auto kind = [](ScalarType t) { return static_cast<int>(core::dtype_class(t)); };
  const bool unsigned_only = isIntegralType(from) && from != kUInt8 && to == kUInt8;
  return kind(from) <= kind(to) && !unsigned_only;
}

using Indices = std::vector<std::optional<Tensor>>;

Tensor list_to_tensor(const Ints& v) { return tenon::tensor(v, TensorOptions(kLong)); }
Ints tensor_to_list(const Tensor& t) {
  const Tensor host = t.detach().to(kCPU).to(kLong).reshape({-1}).contiguous();
  return {host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + host.numel()};
}
Tensor reshape_from_tensor(const Tensor& self, const Tensor& shape) {
  return self.reshape(tensor_to_list(shape));
}
Tensor set_from_(Tensor self, const Tensor& source) {
  self.set_data(source.detach());
  return self;
}
Tensor unchanged(const Tensor& self) { return self; }
Tensor pinned(const Tensor& self, std::optional<Device>) { return self; }
bool is_pinned(const Tensor&, std::optional<Device>) { return false; }
Tensor cdist_forward(const Tensor& a, const Tensor& b, double p, std::optional<int64_t>) {
  return tenon::linalg_vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, {-1});
}
Tensor frobenius_norm(const Tensor& self, const Ints& dim, bool keepdim) {
  return self.norm(2, dim, keepdim);
}

const HostOperator list[] = {
    {"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? "
     "retain_graph=None, bool create_graph=False, bool allow_unused=False) -> Tensor?[]",
     grad, nullptr, true},
    {"aten::broadcast_shapes(int[] a, int[] b) -> int[]", unboxed<broadcast_shapes>},
    {"aten::_infer_size(int[] a, int[] b) -> int[]", unboxed<broadcast_shapes>},
    {"aten::result_type.Tensor(Tensor tensor, Tensor other) -> int", unboxed<result_type>},
    {"aten::result_type.Scalar(Tensor tensor, Scalar other) -> int", unboxed<result_type_scalar>},
    {"aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> int",
     unboxed<scalar_result_type>},
    {"aten::promote_types(int type1, int type2) -> int", unboxed<promote>},
    {"aten::can_cast(int from_, int to) -> bool", unboxed<can_cast>},
    {"aten::_list_to_tensor(int[] self) -> Tensor", unboxed<list_to_tensor>},
    {"aten::_tensor_to_list(Tensor self) -> int[]", unboxed<tensor_to_list>},
    {"aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor",
     unboxed<reshape_from_tensor>},
    {"aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", unboxed<set_from_>,
     nullptr, true},
    {"aten::set_data(Tensor(a!) self, Tensor new_data) -> ()",
     [](Stack& s) {
       const Tensor source = pop(s).toTensor();
       set_from_(pop(s).toTensor(), source);
     },
     nullptr, true},
    {"aten::conj_physical(Tensor self) -> Tensor", unboxed<unchanged>},
    {"aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", unboxed<pinned>},
    {"aten::is_pinned(Tensor self, Device? device=None) -> bool", unboxed<is_pinned>},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     unboxed<cdist_forward>},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     unboxed<frobenius_norm>},
    {"aten::manual_seed(int seed) -> ()",
     [](Stack& s) { manual_seed(static_cast<uint64_t>(pop_as<int64_t>(s))); }, nullptr, true},
    // Nothing is cast: operators compute in the dtypes of what they are given.
    {"aten::get_autocast_dtype(str device_type) -> int",
     [](Stack& s) { s.back() = s.back().toStringRef() == "cpu" ? kBFloat16 : kHalf; }},
    {"aten::_get_tracing_state() -> bool", [](Stack& s) { s.emplace_back(false); }},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
