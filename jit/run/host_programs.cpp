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
  const auto kind = [](ScalarType t) { return isFloatingType(t) ? 2 : t == kBool ? 0 : 1; };
  const bool unsigned_only = kind(from) == 1 && from != kUInt8 && to == kUInt8;
  return kind(from) <= kind(to) && !unsigned_only;
}

template <Tensor (*F)(const Tensor&)>
std::vector<Tensor> each(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(F(t));
  return out;
}

// Copies, as the library's unsafe_split gives: writing one of them leaves the others as they were.
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, const Ints& sizes, int64_t dim) {
  std::vector<Tensor> parts = self.split_with_sizes(sizes, dim);
  for (Tensor& part : parts) part = part.clone(MemoryFormat::Contiguous);
  return parts;
}

Tensor isin_scalar(const Tensor& elements, const Scalar& test, bool, bool invert) {
  return invert ? elements.ne(test) : elements.eq(test);
}
Tensor scalar_isin(const Scalar& element, const Tensor& tests, bool, bool invert) {
  const Tensor found = tests.eq(element).any();
  return invert ? found.logical_not() : found;
}
std::tuple<Tensor, Tensor> unique(const Tensor& self, bool sorted, bool return_inverse) {
  const auto [values, inverse, counts] = tenon::_unique2(self, sorted, return_inverse);
  return {values, inverse};
}
Tensor all_true(const Tensor& t) { return t.all(); }
Tensor any_true(const Tensor& t) { return t.any(); }

// softmax over what a mask leaves; True is left out. mask_type 1: padding [batch, keys].
Tensor masked_softmax(const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                      std::optional<int64_t> type) {
  const Tensor m = type.value_or(2) == 1 && mask.dim() == 2 && self.dim() == 4
                       ? mask.unsqueeze(1).unsqueeze(1)
                       : mask;
  return self.masked_fill(m.to(kBool), -std::numeric_limits<double>::infinity())
      .softmax(dim.value_or(-1));
}

using Indices = std::vector<std::optional<Tensor>>;
// index(self, indices) where mask is true; indices elsewhere may be out of range.
Tensor masked_index(const Tensor& self, const Tensor& mask, const Indices& indices,
                    const Scalar& fill) {
  Indices held = indices;
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i])
      held[i] = held[i]->clamp(0, std::max<int64_t>(self.size(static_cast<int64_t>(i)) - 1, 0));
  return self.index(held).masked_fill(mask.logical_not(), fill);
}
Tensor masked_index_add(const Tensor& self, const Tensor& mask, const Indices& indices,
                        const Tensor& values) {
  Indices held = indices;
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i])
      held[i] = held[i]->clamp(0, std::max<int64_t>(self.size(static_cast<int64_t>(i)) - 1, 0));
  return self.index_put(held, values.masked_fill(mask.logical_not(), 0), true);
}

Tensor shape_as_tensor(const Tensor& t) {
  return tenon::tensor(t.sizes().vec(), TensorOptions(kLong));
}
Tensor list_to_tensor(const Ints& v) { return tenon::tensor(v, TensorOptions(kLong)); }
Ints tensor_to_list(const Tensor& t) {
  const Tensor host = t.detach().to(kCPU).to(kLong).reshape({-1}).contiguous();
  return {host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + host.numel()};
}
Tensor reshape_from_tensor(const Tensor& self, const Tensor& shape) {
  return self.reshape(tensor_to_list(shape));
}
Tensor dim_arange(const Tensor& like, int64_t dim) {
  return tenon::arange(like.size(dim), TensorOptions(kLong).device(like.device()));
}
template <ScalarType T>
Tensor cast(const Tensor& self, bool) {
  return self.to(T);
}
Tensor resize_as_(Tensor self, const Tensor& like, std::optional<int64_t>) {
  return self.resize_(like.sizes());
}
Tensor set_from_(Tensor self, const Tensor& source) {
  self.set_data(source.detach());
  return self;
}
Tensor unchanged(const Tensor& self) { return self; }
Tensor view(const Tensor& self, const Ints& size) { return self.reshape(size); }
Tensor pinned(const Tensor& self, std::optional<Device>) { return self; }
bool is_pinned(const Tensor&, std::optional<Device>) { return false; }
bool is_same_size(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const Ints& size,
                          const Ints& stride, std::optional<int64_t> offset) {
  const Tensor places = tenon::arange(self.numel(), TensorOptions(kLong).device(self.device()));
  const Tensor at = places.as_strided(size, stride, offset).reshape({-1});
  return self.reshape({-1}).scatter(0, at, src.reshape({-1})).view(self.sizes());
}
Tensor fill_diagonal_(Tensor self, const Scalar& value, bool wrap) {
  TENON_CHECK(self.dim() >= 2, ValueError, "dimensions must larger than 1");
  const IntArrayRef sizes = self.sizes(), strides = self.strides();
  int64_t least = sizes[0], step = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    TENON_CHECK(sizes.size() == 2 || sizes[d] == sizes[0], ValueError,
                "all dimensions of input must be of equal length");
    least = std::min(least, sizes[d]), step += strides[d];
  }
  self.as_strided({least}, {step}, self.storage_offset()).fill_(value);
  // The diagonal of a tall matrix goes on below, a line free between.
  const int64_t below = least + 1;
  if (wrap && sizes.size() == 2 && sizes[0] > below)
    fill_diagonal_(self.narrow(0, below, sizes[0] - below), value, true);
  return self;
}
Tensor cdist_forward(const Tensor& a, const Tensor& b, double p, std::optional<int64_t>) {
  return tenon::linalg_vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, {-1});
}
Tensor prelu_kernel(const Tensor& x, const Tensor& weight) {
  return tenon::where(x.gt(0), x, x * weight);
}
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& x) {
  return {tenon::log_sigmoid(x), x.new_zeros({0})};
}
Tensor add_relu(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return tenon::add(a, b, alpha).relu();
}
Tensor int_mm(const Tensor& a, const Tensor& b) { return a.to(kInt).mm(b.to(kInt)); }
Tensor frobenius_norm(const Tensor& self, const Ints& dim, bool keepdim) {
  return self.norm(2, dim, keepdim);
}
std::tuple<Tensor, Tensor> aminmax_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return tenon::aminmax(self, dim, keepdim);
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& self) { return tenon::aminmax(self); }
std::tuple<Tensor, Tensor, Tensor> split_qkv(const Tensor& qkv, const Tensor& bias, int64_t heads) {
  TENON_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0, ValueError,
              "_transform_bias_rescale_qkv: ", qkv.sizes(), " cannot be split for ", heads,
              " heads");
  const int64_t width = qkv.size(2) / 3 / heads;
  const std::vector<Tensor> parts = (qkv + bias)
                                        .view({qkv.size(0), qkv.size(1), 3, heads, width})
                                        .permute({2, 0, 3, 1, 4})
                                        .unbind(0);
  return {parts[0] / std::sqrt(static_cast<double>(width)), parts[1], parts[2]};
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
    {"aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", unboxed<each<tenon::atleast_1d>>},
    {"aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", unboxed<each<tenon::atleast_2d>>},
    {"aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", unboxed<each<tenon::atleast_3d>>},
    {"aten::unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
     unboxed<unsafe_split_with_sizes>},
    {"aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     unboxed<isin_scalar>},
    {"aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     unboxed<scalar_isin>},
    {"aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
     unboxed<unique>},
    {"aten::_is_all_true(Tensor self) -> Tensor", unboxed<all_true>},
    {"aten::_is_any_true(Tensor self) -> Tensor", unboxed<any_true>},
    {"aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> "
     "Tensor",
     unboxed<masked_softmax>},
    {"aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> "
     "Tensor",
     unboxed<masked_index>},
    {"aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, "
     "Tensor values) -> Tensor",
     unboxed<masked_index_add>},
    {"aten::_shape_as_tensor(Tensor self) -> Tensor", unboxed<shape_as_tensor>},
    {"aten::_list_to_tensor(int[] self) -> Tensor", unboxed<list_to_tensor>},
    {"aten::_tensor_to_list(Tensor self) -> int[]", unboxed<tensor_to_list>},
    {"aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor",
     unboxed<reshape_from_tensor>},
    {"aten::_dim_arange(Tensor like, int dim) -> Tensor", unboxed<dim_arange>},
    {"aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kFloat>>},
    {"aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kDouble>>},
    {"aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kHalf>>},
    {"aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kInt>>},
    {"aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kLong>>},
    {"aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", unboxed<cast<kUInt8>>},
    {"aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? "
     "memory_format=None) -> Tensor(a!)",
     unboxed<resize_as_>, nullptr, true},
    {"aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", unboxed<set_from_>,
     nullptr, true},
    {"aten::set_data(Tensor(a!) self, Tensor new_data) -> ()",
     [](Stack& s) {
       const Tensor source = pop(s).toTensor();
       set_from_(pop(s).toTensor(), source);
     },
     nullptr, true},
    {"aten::conj_physical(Tensor self) -> Tensor", unboxed<unchanged>},
    {"aten::lift(Tensor self) -> Tensor", unboxed<unchanged>},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", unboxed<unchanged>},
    {"aten::detach_(Tensor(a!) self) -> Tensor(a!)",
     [](Stack& s) { s.back().toTensor().detach_(); }, nullptr, true},
    {"aten::_unsafe_view(Tensor self, int[] size) -> Tensor", unboxed<view>},
    {"aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", unboxed<pinned>},
    {"aten::is_pinned(Tensor self, Device? device=None) -> bool", unboxed<is_pinned>},
    {"aten::is_same_size(Tensor self, Tensor other) -> bool", unboxed<is_same_size>},
    {"aten::as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? "
     "storage_offset=None) -> Tensor",
     unboxed<as_strided_scatter>},
    {"aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
     unboxed<fill_diagonal_>, nullptr, true},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     unboxed<cdist_forward>},
    {"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", unboxed<prelu_kernel>},
    {"aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     unboxed<log_sigmoid_forward>},
    {"aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     unboxed<add_relu>},
    {"aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", unboxed<int_mm>},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     unboxed<frobenius_norm>},
    {"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", unboxed<aminmax>},
    {"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
     unboxed<aminmax_dim>},
    {"aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, "
     "Tensor, Tensor)",
     unboxed<split_qkv>},
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
