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

// Gradients of outputs, where given; an undefined tensor for None.
std::vector<Tensor> given_gradients(const IValue& given) {
  std::vector<Tensor> from;
  if (given.isNone()) return from;
  for (const auto& g : FromStack<std::vector<std::optional<Tensor>>>::get(given))
    from.push_back(g.value_or(Tensor()));
  return from;
}
// grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)
void grad(Stack& s) {
  const bool allow_unused = pop_as<bool>(s), create_graph = pop_as<bool>(s);
  const IValue retain = pop(s), given = pop(s);
  const std::vector<Tensor> inputs = pop(s).toTensorVector(), outputs = pop(s).toTensorVector();
  const std::vector<Tensor> from = given_gradients(given);
  const std::vector<Tensor> made =
      autograd::grad(outputs, inputs, from, retain.isNone() ? create_graph : retain.toBool(),
                     create_graph, allow_unused);
  s.emplace_back(made);
}

// backward(tensors, grad_tensors, retain_graph, create_graph)
void backward_of_list(Stack& s) {
  const bool create_graph = pop_as<bool>(s);
  const IValue retain = pop(s), given = pop(s);
  const std::vector<Tensor> tensors = pop(s).toTensorVector();
  autograd::backward(tensors, given_gradients(given),
                     retain.isNone() ? create_graph : retain.toBool(), create_graph);
}

// einsum(a, [0, 1], b, [1, 2], [0, 2]): lists of numbers in place of letters, the result's last.
void einsum_by_lists(Stack& s, std::size_t n) {
  std::string equation;
  std::vector<Tensor> tensors;
  const auto add = [&](const IValue& list) {
    for (const int64_t i : list.toIntVector()) {
      TENON_CHECK(i >= 0 && i < 52, ValueError, "einsum(): expected subscripts from 0 to 51, got ",
                  i);
      equation += static_cast<char>(i < 26 ? 'A' + i : 'a' + (i - 26));
    }
  };
  for (std::size_t k = 0; k + 1 < n; k += 2) {
    if (k > 0) equation += ',';
    tensors.push_back(peek(s, k, n).toTensor());
    add(peek(s, k + 1, n));
  }
  if (n % 2 == 1) {
    equation += "->";
    add(peek(s, n - 1, n));
  }
  drop(s, n);
  s.emplace_back(tenon::einsum(equation, tensors));
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
Tensor pinned(const Tensor& self, std::optional<Device>) { return self.pin_memory(); }
bool is_pinned(const Tensor& self, std::optional<Device>) { return self.is_pinned(); }
const HostOperator list[] = {
    {"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? "
     "retain_graph=None, bool create_graph=False, bool allow_unused=False) -> Tensor?[]",
     grad, nullptr, true},
    {"aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? "
     "retain_graph=None, bool create_graph=False) -> ()",
     backward_of_list, nullptr, true},
    {"aten::einsum.sublist(Tensor a, ...) -> Tensor", nullptr, einsum_by_lists},
    {"aten::broadcast_shapes(int[] a, int[] b) -> int[]", unboxed<broadcast_shapes>},
    {"aten::_infer_size(int[] a, int[] b) -> int[]", unboxed<broadcast_shapes>},
    {"aten::_list_to_tensor(int[] self) -> Tensor", unboxed<list_to_tensor>},
    {"aten::_tensor_to_list(Tensor self) -> int[]", unboxed<tensor_to_list>},
    {"aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor",
     unboxed<reshape_from_tensor>},
    {"aten::set_data(Tensor(a!) self, Tensor new_data) -> ()",
     [](Stack& s) {
       const Tensor source = pop(s).toTensor();
       set_from_(pop(s).toTensor(), source);
     },
     nullptr, true},
    {"aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", unboxed<pinned>},
    {"aten::is_pinned(Tensor self, Device? device=None) -> bool", unboxed<is_pinned>},
    {"aten::manual_seed(int seed) -> ()",
     [](Stack& s) { manual_seed(static_cast<uint64_t>(pop_as<int64_t>(s))); }, nullptr, true},
    {"aten::_get_tracing_state() -> bool", [](Stack& s) { s.emplace_back(false); }},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
