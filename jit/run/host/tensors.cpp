// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What programs ask of tensors that the dispatcher has no operator for: sizes, flags, numbers, and
// tensors from numbers and lists.
#include <algorithm>

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

Tensor pop_tensor(Stack& s) { return pop(s).toTensor(); }
template <class F>
void of_tensor(Stack& s, const F& f) {
  IValue& a = s.back();
  a = IValue(f(a.toTensor()));
}

void sizes(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.sizes(); });
}
void size(Stack& s) {
  const int64_t dim = pop_as<int64_t>(s);
  of_tensor(s, [dim](const Tensor& t) { return t.size(dim); });
}
void strides(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.strides(); });
}
void stride(Stack& s) {
  const int64_t dim = pop_as<int64_t>(s);
  of_tensor(s, [dim](const Tensor& t) { return t.stride(dim); });
}
// Whether set_data would take it: an archive of torch's code asks this of layouts.
void has_compatible_shallow_copy_type(Stack& s) {
  const Tensor from = pop(s).toTensor(), self = pop(s).toTensor();
  s.emplace_back(self.layout() == from.layout() && self.device().type() == from.device().type());
}
void storage_offset(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.storage_offset(); });
}
void dim(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.dim(); });
}
void numel(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.numel(); });
}
void length(Stack& s) {
  of_tensor(s, [](const Tensor& t) {
    TENON_CHECK(t.dim() > 0, TypeError, "len() of a 0-d tensor");
    return t.size(0);
  });
}
void element_size(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return int64_t{core::item_size(t.scalar_type())}; });
}
void is_contiguous(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_contiguous(); });
}
void is_contiguous_in(Stack& s) {
  const MemoryFormat format = pop(s).toMemoryFormat();
  of_tensor(s, [format](const Tensor& t) { return t.is_contiguous(format); });
}
void dtype(Stack& s) {
  of_tensor(s,
            [](const Tensor& t) { return is_quantized(t) ? quantized_dtype(t) : t.scalar_type(); });
}
void device(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device(); });
}
void layout(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return int64_t{t.layout() == kStrided ? 0 : 1}; });
}
void is_cuda(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device().is_cuda(); });
}
void is_cpu(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device().is_cpu(); });
}
void is_sparse(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.layout() != kStrided; });
}
void is_meta(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.device().is_meta(); });
}
void no(Stack& s) { s.back() = false; }  // what no tensor of this library is
void is_complex(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_complex(); });
}
void is_floating(Stack& s) {
  of_tensor(s, [](const Tensor& t) {
    return core::dtype_class(t.scalar_type()) == core::DtypeClass::Floating;
  });
}
void requires_grad(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.requires_grad(); });
}
void set_requires_grad(Stack& s) {
  const bool on = pop_as<bool>(s);
  s.back().toTensor().set_requires_grad(on);
}
void is_leaf(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.is_leaf(); });
}
void retain_grad(Stack& s) { pop_tensor(s).retain_grad(); }
void retains_grad(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.retains_grad(); });
}
void grad(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.grad(); });
}
void data(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.detach(); });
}
void get_device(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return int64_t{t.device().index()}; });
}
void cpu(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.to(kCPU); });
}
void cuda(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.to(kCUDA); });
}
void transposed(Stack& s) {  // x.T
  of_tensor(s, [](const Tensor& t) {
    std::vector<int64_t> order(static_cast<std::size_t>(t.dim()));
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(order.size() - 1 - i);
    return t.permute(order);
  });
}
void copy_into(Stack& s) {
  const bool non_blocking = pop_as<bool>(s);
  const Tensor from = pop_tensor(s);
  s.back().toTensor().copy_(from, non_blocking);
}
void copy_number_into(Stack& s) {
  const Scalar v = pop(s).toScalar();
  s.back().toTensor().fill_(v);
}
// Numbers of tensors with one element.
Scalar number_of(const Tensor& t, const char* as) {
  TENON_CHECK(t.numel() == 1, ValueError, "only one element tensors can be converted to a Python ",
              as, "; this one has ", t.numel());
  return t.item();
}
void to_int(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return number_of(t, "int").to<int64_t>(); });
}
void to_float(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return number_of(t, "float").to<double>(); });
}
void to_complex(Stack& s) {
  of_tensor(s, [](const Tensor& t) {
    return IValue(number_of(t, "complex").to<std::complex<double>>());
  });
}
void absolute(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return t.abs(); });
}
void to_bool(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return number_of(t, "bool").to<bool>(); });
}
void item(Stack& s) {
  of_tensor(s, [](const Tensor& t) { return number_of(t, "number"); });
}
// Where a number is expected and the program has a tensor.
void check_implicit(const Tensor& t, const char* to) {
  TENON_CHECK(t.dim() == 0, TypeError, "Cannot convert a tensor of dimension ", t.dim(),
              " to scalar");
  TENON_CHECK(!t.requires_grad(), TypeError, "Cannot input a tensor that requires grad as a ", to);
}
void implicit_int(Stack& s) {
  check_implicit(s.back().toTensor(), "scalar argument");
  TENON_CHECK(core::dtype_class(s.back().toTensor().scalar_type()) == core::DtypeClass::Integral,
              TypeError, "Cannot input a tensor of type ",
              core::dtype_info(s.back().toTensor().scalar_type()).name, " as an integral argument");
  to_int(s);
}
void implicit_float(Stack& s) {
  check_implicit(s.back().toTensor(), "scalar argument");
  to_float(s);
}
void implicit_complex(Stack& s) {
  check_implicit(s.back().toTensor(), "scalar argument");
  to_complex(s);
}
void implicit_scalar(Stack& s) {
  check_implicit(s.back().toTensor(), "scalar argument");
  item(s);
}

ScalarType complex_dtype() { return toComplexType(get_default_dtype()); }
ScalarType dtype_of(const IValue& v) {
  if (v.isInt()) return kInt64;
  if (v.isBool()) return kBool;
  if (v.isComplexDouble()) return complex_dtype();
  return get_default_dtype();
}
Tensor tensor_of(const IValue& v) {
  return tenon::full({}, v.toScalar(), TensorOptions().dtype(dtype_of(v)));
}
// In a program a tensor of a number has the number's widest dtype.
void number_to_tensor(Stack& s) {
  const IValue v = pop(s);
  const ScalarType dtype = v.isDouble() ? kFloat64 : dtype_of(v);
  s.emplace_back(tenon::full({}, v.toScalar(), TensorOptions().dtype(dtype)));
}

// The shape of nested lists, which must be regular, and their numbers in order.
struct Nested {
  std::vector<int64_t> shape;
  std::vector<IValue> numbers;
};
void walk(const IValue& v, std::size_t depth, Nested& out) {
  if (!v.isList()) {
    TENON_CHECK(depth == out.shape.size(), ValueError, "tensor(): lists of unequal depth");
    out.numbers.push_back(v.isTensor() ? IValue(v.toTensor().item()) : v);
    return;
  }
  const auto n = static_cast<int64_t>(v.toListRef().items.size());
  if (depth == out.shape.size()) {
    TENON_CHECK(out.numbers.empty(), ValueError, "tensor(): lists of unequal depth");
    out.shape.push_back(n);
  }
  TENON_CHECK(out.shape[depth] == n, ValueError, "tensor(): expected a list of length ",
              out.shape[depth], " at dim ", depth, ", got ", n);
  for (const IValue& item : v.toListRef().items) walk(item, depth + 1, out);
}
// What lists without elements are annotated with.
ScalarType dtype_of_empty(const ivalue::List& list) {
  TypePtr t = list.element;
  while (t && t->is(TypeKind::List)) t = t->element();
  if (!t) return get_default_dtype();
  return t->is(TypeKind::Int)       ? kLong
         : t->is(TypeKind::Bool)    ? kBool
         : t->is(TypeKind::Complex) ? complex_dtype()
                                    : get_default_dtype();
}
Tensor tensor_of_list(const IValue& v) {
  Nested nested;
  walk(v, 0, nested);
  if (nested.numbers.empty())
    return tenon::empty(nested.shape, TensorOptions().dtype(dtype_of_empty(v.toListRef())));
  bool real = false, integral = false, complex = false;
  for (const IValue& n : nested.numbers) {
    complex = complex || n.isComplexDouble();
    real = real || n.isDouble();
    integral = integral || n.isInt();
  }
  if (complex) {
    std::vector<Tensor> values;
    for (const IValue& n : nested.numbers)
      values.push_back(tenon::full({}, n.toScalar(), TensorOptions().dtype(complex_dtype())));
    return tenon::stack(values).reshape(nested.shape);
  }
  if (real) {
    std::vector<double> values;
    for (const IValue& n : nested.numbers) values.push_back(n.toScalar().to<double>());
    return tenon::tensor(values, TensorOptions().dtype(get_default_dtype())).reshape(nested.shape);
  }
  std::vector<int64_t> values;
  for (const IValue& n : nested.numbers) values.push_back(n.toScalar().to<int64_t>());
  const Tensor t = tenon::tensor(values, TensorOptions().dtype(kInt64)).reshape(nested.shape);
  return integral ? t : t.to(kBool);
}

Tensor placed(Tensor t, const IValue& dtype, const IValue& device) {
  if (!device.isNone()) t = t.to(device.toDevice());
  if (!dtype.isNone()) t = t.to(dtype.toScalarType());
  return t;
}
// tensor(data, *, dtype=None, device=None, requires_grad=False)
void tensor(Stack& s) {
  const bool grad = pop_as<bool>(s);
  const IValue device = pop(s), dtype = pop(s), data = pop(s);
  const NoGradGuard values_only;
  Tensor t = data.isTensor() ? data.toTensor().detach().clone()
             : data.isList() ? tensor_of_list(data)
                             : tensor_of(data);
  t = placed(std::move(t), dtype, device);
  if (grad) t.set_requires_grad(true);
  s.emplace_back(std::move(t));
}
// as_tensor(data, *, dtype=None, device=None)
void as_tensor(Stack& s) {
  const IValue device = pop(s), dtype = pop(s), data = pop(s);
  Tensor t = data.isTensor() ? data.toTensor()
             : data.isList() ? tensor_of_list(data)
                             : tensor_of(data);
  s.emplace_back(placed(std::move(t), dtype, device));
}

// to(device?, dtype?, non_blocking, copy)
void to_both(Stack& s) {
  const bool copy = pop_as<bool>(s), non_blocking = pop_as<bool>(s);
  const IValue dtype = pop(s), device = pop(s);
  const Tensor t = pop_tensor(s);
  s.emplace_back(t.to(device.isNone() ? t.device() : device.toDevice(),
                      dtype.isNone() ? t.scalar_type() : dtype.toScalarType(), non_blocking, copy));
}
void to_dtype(Stack& s) {
  const bool copy = pop_as<bool>(s), non_blocking = pop_as<bool>(s);
  const IValue dtype = pop(s);
  const Tensor t = pop_tensor(s);
  s.emplace_back(t.to(dtype.isNone() ? t.scalar_type() : dtype.toScalarType(), non_blocking, copy));
}
void to_other(Stack& s) {
  const bool copy = pop_as<bool>(s), non_blocking = pop_as<bool>(s);
  const Tensor t = pop_tensor(s);
  s.emplace_back(t.to(t.scalar_type(), non_blocking, copy));
}

IValue nested_list(const Tensor& t, int64_t depth, const TypePtr& type) {
  if (depth == 0) return t.item();
  std::vector<IValue> items;
  for (int64_t i = 0; i < t.size(0); ++i)
    items.push_back(nested_list(t.select(0, i), depth - 1, type->element()));
  return core::Ref<ivalue::List>::adopt(new ivalue::List(type->element(), std::move(items)));
}
// The number type that the annotation of tolist() names, by the code that its call was given.
TypePtr listed_number(int64_t code) {
  return code == 0   ? Type::integer()
         : code == 1 ? Type::floating()
         : code == 2 ? Type::boolean()
                     : Type::complex();
}
// Floats and complex numbers of every width fit their annotation; of integers only int64 does.
bool holds_number(const Tensor& t, const Type& number) {
  if (number.is(TypeKind::Float)) return t.is_floating_point();
  if (number.is(TypeKind::Complex)) return t.is_complex();
  return t.scalar_type() == (number.is(TypeKind::Int) ? kLong : kBool);
}
// tolist(data, dim, code of the number): the dims and the type were annotated.
void tolist(Stack& s) {
  const int64_t code = pop_as<int64_t>(s), dims = pop_as<int64_t>(s);
  const Tensor t = pop_tensor(s).to(kCPU);
  TypePtr type = listed_number(code);
  TENON_CHECK(holds_number(t, *type), TypeError,
              "Output annotation element type and runtime tensor element type must match for "
              "tolist(): ",
              type->annotation(), " vs ", toString(t.scalar_type()));
  TENON_CHECK(t.dim() == dims, ValueError,
              "Output annotation list dimension and runtime tensor "
              "dimension must match for tolist()");
  for (int64_t k = 0; k < dims; ++k) type = Type::list(type);
  s.push_back(nested_list(t, dims, type));
}

std::vector<int64_t> broadcast_sizes(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TENON_CHECK(x == y || x == 1 || y == 1, ValueError, "The size of tensor a (", x,
                ") must match the size of tensor b (", y, ") at non-singleton dimension ",
                out.size() - 1 - i);
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}
void infer_size(Stack& s) {
  const std::vector<int64_t> b = pop(s).toIntVector(), a = pop(s).toIntVector();
  s.emplace_back(broadcast_sizes(a, b));
}
void size_if_not_equal(Stack& s) {
  const IValue reduced = pop(s), self = pop(s);
  s.push_back(self == reduced ? IValue() : self);
}

void is_grad_enabled(Stack& s) { s.emplace_back(GradMode::is_enabled()); }
void set_grad_enabled(Stack& s) { GradMode::set_enabled(pop_as<bool>(s)); }
void is_nonzero(Stack& s) { to_bool(s); }
void backward(Stack& s) {
  const bool create_graph = pop_as<bool>(s);
  const IValue retain = pop(s), gradient = pop(s);
  const Tensor t = pop_tensor(s);
  t.backward(gradient.isNone() ? Tensor() : gradient.toTensor(),
             retain.isNone() ? std::nullopt : std::optional<bool>(retain.toBool()), create_graph);
}
void unchanged_shape(Stack&) {}

#define PLACED "*, int? dtype=None, Device? device=None"
#define ASKS(name, f) \
  { name "(Tensor a) -> bool", f }

const HostOperator list[] = {
    {"aten::size(Tensor self) -> int[]", sizes},
    {"aten::size.int(Tensor self, int dim) -> int", size},
    {"aten::sym_size.int(Tensor self, int dim) -> int", size},
    {"aten::stride(Tensor self) -> int[]", strides},
    {"aten::stride.int(Tensor self, int dim) -> int", stride},
    {"aten::sym_stride.int(Tensor self, int dim) -> int", stride},
    {"aten::_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool",
     has_compatible_shallow_copy_type},
    {"aten::storage_offset(Tensor self) -> int", storage_offset},
    {"aten::sym_storage_offset(Tensor self) -> int", storage_offset},
    {"aten::dim(Tensor self) -> int", dim},
    {"aten::numel(Tensor self) -> int", numel},
    {"aten::sym_numel(Tensor self) -> int", numel},
    {"aten::len.Tensor(Tensor t) -> int", length},
    {"aten::element_size(Tensor self) -> int", element_size},
    {"prim::itemsize(Tensor a) -> int", element_size},
    {"prim::nbytes(Tensor a) -> int",
     [](Stack& s) {
       of_tensor(s, [](const Tensor& t) { return t.numel() * core::item_size(t.scalar_type()); });
     }},
    {"aten::is_contiguous(Tensor self) -> bool", is_contiguous},
    {"aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
     is_contiguous_in},
    {"prim::dtype(Tensor a) -> int", dtype},
    {"prim::device(Tensor a) -> Device", device},
    {"prim::layout(Tensor a) -> int", layout},
    {"prim::shape(Tensor self) -> int[]", sizes},
    {"prim::ndim(Tensor a) -> int", dim},
    ASKS("prim::is_cuda", is_cuda),
    ASKS("prim::is_cpu", is_cpu),
    ASKS("prim::is_sparse", is_sparse),
    ASKS("prim::is_sparse_csr", no),
    ASKS("prim::is_mkldnn", no),
    ASKS("prim::is_vulkan", no),
    ASKS("prim::is_mps", no),
    ASKS("prim::is_xpu", no),
    ASKS("prim::is_xla", no),
    ASKS("prim::is_meta", is_meta),
    ASKS("prim::is_maia", no),
    ASKS("prim::is_ipu", no),
    ASKS("prim::is_nested", no),
    ASKS("prim::requires_grad", requires_grad),
    {"prim::is_leaf(Tensor a) -> bool", is_leaf},
    {"aten::is_leaf(Tensor self) -> bool", is_leaf},
    {"aten::retain_grad(Tensor(a!) self) -> ()", retain_grad, nullptr, true},
    {"aten::retains_grad(Tensor self) -> bool", retains_grad},
    {"prim::grad(Tensor a) -> Tensor(*)", grad},
    {"prim::data(Tensor(a) a) -> Tensor(a)", data},
    {"prim::T(Tensor(a) a) -> Tensor(a)", transposed},
    {"aten::get_device(Tensor self) -> int", get_device},
    {"aten::cpu(Tensor(a) self) -> Tensor(a|b)", cpu},
    {"aten::cuda(Tensor(a) self) -> Tensor(a|b)", cuda},
    {"aten::is_floating_point(Tensor self) -> bool", is_floating},
    {"aten::is_complex(Tensor self) -> bool", is_complex},
    {"aten::is_conj(Tensor self) -> bool", no},
    {"aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
     set_requires_grad, nullptr, true},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", copy_into,
     nullptr, true},
    {"aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     [](Stack& s) {
       s.emplace_back(false);
       copy_into(s);
     },
     nullptr, true},
    {"aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)", copy_number_into, nullptr, true},
    {"aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)", copy_number_into, nullptr,
     true},
    {"aten::Int.Tensor(Tensor a) -> int", to_int},
    {"aten::Float.Tensor(Tensor a) -> float", to_float},
    {"aten::Bool.Tensor(Tensor a) -> bool", to_bool},
    {"aten::is_nonzero(Tensor self) -> bool", is_nonzero},
    {"prim::abs(Tensor x) -> Tensor", absolute},
    {"aten::IntImplicit(Tensor a) -> int", implicit_int},
    {"aten::FloatImplicit(Tensor a) -> float", implicit_float},
    {"aten::ComplexImplicit(Tensor a) -> complex", implicit_complex},
    {"aten::Complex.Tensor(Tensor a) -> complex", to_complex},
    {"aten::ScalarImplicit(Tensor a) -> Scalar", implicit_scalar},
    {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", number_to_tensor},
    {"prim::NumToTensor.bool(bool a) -> Tensor", number_to_tensor},
    {"aten::tensor.float(float t, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::tensor.complex(complex t, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::tensor.int(int t, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::tensor.bool(bool t, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::tensor(t[] data, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::tensor.Tensor(Tensor data, " PLACED ", bool requires_grad=False) -> Tensor", tensor},
    {"aten::as_tensor.float(float t, " PLACED ") -> Tensor", as_tensor},
    {"aten::as_tensor.complex(complex t, " PLACED ") -> Tensor", as_tensor},
    {"aten::as_tensor.int(int t, " PLACED ") -> Tensor", as_tensor},
    {"aten::as_tensor.bool(bool t, " PLACED ") -> Tensor", as_tensor},
    {"aten::as_tensor(Tensor(a) data, " PLACED ") -> Tensor(b|a)", as_tensor},
    {"aten::as_tensor.list(t[] data, " PLACED ") -> Tensor", as_tensor},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool "
     "non_blocking=False, bool copy=False) -> Tensor(b|a)",
     to_both},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool "
     "copy=False) -> Tensor(b|a)",
     to_dtype},
    {"aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> "
     "Tensor(b|a)",
     to_other},
    {"prim::tolist(Tensor a, int dims, int code) -> t", tolist},
    {"aten::infer_size(int[] a, int[] b) -> int[]", infer_size},
    {"aten::_infer_size(int[] a, int[] b) -> int[]", infer_size},
    {"aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", size_if_not_equal},
    {"aten::is_grad_enabled() -> bool", is_grad_enabled, nullptr, true},
    {"aten::set_grad_enabled(bool val) -> ()", set_grad_enabled, nullptr, true},
    {"aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool "
     "create_graph=False) -> ()",
     backward, nullptr, true},
    {"aten::item.Tensor(Tensor self) -> Scalar", item},
    {"prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", unchanged_shape},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
