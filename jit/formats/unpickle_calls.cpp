// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The functions and classes that a pickle may call.
#include <algorithm>
#include <array>
#include <map>

#include "jit/formats/conform.h"
#include "jit/formats/unpickler.h"
#include "tenon/quantized.h"

namespace tenon::jit::formats {
namespace {

constexpr std::pair<const char*, ScalarType> kStorages[] = {
    {"FloatStorage", kFloat},
    {"DoubleStorage", kDouble},
    {"HalfStorage", kHalf},
    {"BFloat16Storage", kBFloat16},
    {"LongStorage", kLong},
    {"IntStorage", kInt},
    {"ShortStorage", kShort},
    {"CharStorage", kChar},
    {"ByteStorage", kByte},
    {"BoolStorage", kBool},
    {"ComplexFloatStorage", kComplexFloat},
    {"ComplexDoubleStorage", kComplexDouble},
    {"UntypedStorage", kByte},
    {"QInt8Storage", kChar},
    {"QUInt8Storage", kByte},
    {"QInt32Storage", kInt}};

// Known, and not what Tenon can hold.
const char* refusal(const std::string& name) {
  static const std::map<std::string, const char*> kRefused = {
      {"torch._utils._rebuild_sparse_csr_tensor",
       "compressed sparse tensors in archives are not supported"},
      {"torch._utils._rebuild_nested_tensor", "nested tensors are not supported"},
      {"torch._utils._rebuild_meta_tensor_no_storage", "tensors without data are not supported"},
      {"torch._utils._rebuild_wrapper_subclass", "subclasses of tensors are not supported"},
      {"torch._tensor._rebuild_from_type_v2", "subclasses of tensors are not supported"},
      {"torch.jit._pickle.build_tensor_from_id", "an archive without a table of tensors"},
      {"builtins.set", "sets are not supported"},
      {"__builtin__.set", "sets are not supported"}};
  const auto it = kRefused.find(name);
  return it == kRefused.end() ? nullptr : it->second;
}

}  // namespace

ScalarType storage_dtype(const std::string& storage_type) {
  for (const auto& [name, dtype] : kStorages) {
    if (storage_type == name) return dtype;
  }
  for (const ScalarType dtype : core::kStorageDtypes) {
    if (storage_type == core::join(toString(dtype), "Storage")) return dtype;
  }
  TENON_CHECK(storage_type.rfind("QU", 0) != 0, NotImplementedError,
              "quantized tensors of 4 and 2 bits are not supported");
  throw NotImplementedError(
      core::join("a storage of kind ", storage_type.substr(0, 80), " is not supported"));
}

std::string storage_type(ScalarType dtype) {
  for (const auto& [name, of] : kStorages) {
    if (of == dtype) return name;
  }
  for (const ScalarType known : core::kStorageDtypes)
    if (known == dtype) return core::join(toString(dtype), "Storage");
  throw NotImplementedError(
      core::join("archives of programs have no storages of dtype ", dtype_name(dtype)));
}

Tensor tensor_over(const Tensor& memory, ScalarType dtype, int64_t offset, IntArrayRef sizes,
                   IntArrayRef strides) {
  TENON_CHECK(memory.has_storage(), ValueError, "a tensor over what has no storage");
  TENON_CHECK(sizes.size() == strides.size() && sizes.size() <= core::kMaxDims, ValueError,
              "a tensor of ", sizes.size(), " sizes and ", strides.size(), " strides");
  const auto& storage = memory.unsafeGetTensorImpl()->storage;
  const int64_t item = core::dtype_info(dtype).size;
  const auto held = static_cast<int64_t>(storage->bytes / static_cast<uint64_t>(item));
  bool ok = offset >= 0 && offset <= held, empty = false;
  int64_t last = offset, numel = 1;
  for (std::size_t d = 0; d < sizes.size() && ok; ++d) empty |= sizes[d] == 0;
  for (std::size_t d = 0; d < sizes.size() && ok; ++d) {
    int64_t reach = 0;
    ok = sizes[d] >= 0 && strides[d] >= 0;
    if (!ok || empty) continue;
    ok = !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
         !__builtin_add_overflow(last, reach, &last) &&
         !__builtin_mul_overflow(numel, sizes[d], &numel);
  }
  ok = ok && (empty || last < held) && numel <= INT64_MAX / item;
  TENON_CHECK(ok, ValueError, "a tensor of sizes ", sizes, " and strides ", strides, " at offset ",
              offset, " reaches outside of its storage of ", held, " elements");
  return Tensor(core::TensorImpl::make(dtype, storage, static_cast<uint64_t>(offset * item),
                                       static_cast<int>(sizes.size()), sizes.data(),
                                       strides.data()));
}

const IValue& Unpickler::argument(Arguments args, std::size_t i, IValue::Tag tag) const {
  check(i < args.size(), "argument ", i, " is missing");
  check(args[i].tag() == tag, "argument ", i, " is ", args[i].tagKind());
  return args[i];
}

std::vector<int64_t> Unpickler::integers(const IValue& v, const char* what) const {
  check(v.isTuple() || v.isList(), what, " is ", v.tagKind());
  const std::vector<IValue>& items = v.isTuple() ? v.toTupleRef().items : v.toListRef().items;
  std::vector<int64_t> out;
  for (const IValue& i : items) {
    check(i.isInt(), what, " has an element of kind ", i.tagKind());
    out.push_back(i.toInt());
  }
  return out;
}

Tensor Unpickler::grad_mode(Tensor t, const IValue& requires_grad) const {
  check(requires_grad.isBool(), "requires_grad is ", requires_grad.tagKind());
  if (!requires_grad.toBool()) return t;
  check(isFloatingType(t.scalar_type()) || isComplexType(t.scalar_type()), "a tensor of dtype ",
        dtype_name(t.scalar_type()), " cannot require gradients");
  t.set_requires_grad(true);
  return t;
}

// (storage, offset, sizes, strides[, requires_grad, hooks[, metadata]])
IValue Unpickler::rebuild_tensor(Arguments args) {
  const Tensor& memory = argument(args, 0, IValue::Tag::Tensor).toTensor();
  check(args.size() >= 4 && args.size() <= 7, "a tensor of ", args.size(), " parts");
  const auto sizes = integers(args[2], "the size of a tensor"),
             strides = integers(args[3], "the strides of a tensor");
  Tensor t = tensor_over(memory, memory.scalar_type(), argument(args, 1, IValue::Tag::Int).toInt(),
                         sizes, strides);
  return args.size() > 4 ? grad_mode(std::move(t), args[4]) : t;
}

// (storage, offset, sizes, strides, requires_grad, hooks, dtype[, metadata])
IValue Unpickler::rebuild_tensor_typed(Arguments args) {
  const Tensor& memory = argument(args, 0, IValue::Tag::Tensor).toTensor();
  const auto dtype = static_cast<ScalarType>(argument(args, 6, IValue::Tag::Int).toInt());
  check(core::dtype_known(dtype), "an unknown dtype");
  const auto sizes = integers(args[2], "the size of a tensor"),
             strides = integers(args[3], "the strides of a tensor");
  return grad_mode(
      tensor_over(memory, dtype, argument(args, 1, IValue::Tag::Int).toInt(), sizes, strides),
      args[4]);
}

// torch.jit: (layout, size, requires_grad, indices, values); torch.save: (layout, (indices, values,
// size[, is_coalesced])).
IValue Unpickler::rebuild_sparse(Arguments args) {
  const bool of_program = args.size() >= 5;
  if (!of_program) argument(args, 1, IValue::Tag::Tuple);
  const std::vector<IValue>& parts = of_program ? args : args[1].toTupleRef().items;
  const std::size_t first = of_program ? 3 : 0, size = of_program ? 1 : 2;
  check(argument(args, 0, IValue::Tag::Int).toInt() == static_cast<int64_t>(kSparse),
        "a sparse tensor of another layout than COO");
  const Tensor& indices = argument(parts, first, IValue::Tag::Tensor).toTensor();
  const Tensor& values = argument(parts, first + 1, IValue::Tag::Tensor).toTensor();
  check(parts.size() > size, "argument ", size, " is missing");
  Tensor t = sparse_coo_tensor(indices, values, integers(parts[size], "the size of a tensor"),
                               values.options());
  if (!of_program && parts.size() > 3 && parts[3].isBool() && parts[3].toBool()) t = t.coalesce();
  return of_program ? grad_mode(std::move(t), args[2]) : t;
}

// (storage, offset, sizes, strides, (scheme, scale, zero_point) or (scheme, scales, zero_points,
// axis), requires_grad, hooks)
IValue Unpickler::rebuild_quantized(Arguments args) {
  const Tensor integers = rebuild_tensor({args.begin(), args.begin() + 4}).toTensor();
  const auto& parts = argument(args, 4, IValue::Tag::Tuple).toTupleRef().items;
  const int64_t scheme = argument(parts, 0, IValue::Tag::Int).toInt();
  if (scheme == 0)
    return _make_per_tensor_quantized_tensor(integers,
                                             argument(parts, 1, IValue::Tag::Double).toDouble(),
                                             argument(parts, 2, IValue::Tag::Int).toInt());
  check(scheme == 1 || scheme == kFloatScheme, "a quantized tensor has the scheme ", scheme);
  return _make_per_channel_quantized_tensor(integers,
                                            argument(parts, 1, IValue::Tag::Tensor).toTensor(),
                                            argument(parts, 2, IValue::Tag::Tensor).toTensor(),
                                            argument(parts, 3, IValue::Tag::Int).toInt());
}

// (data, requires_grad, hooks[, state])
IValue Unpickler::rebuild_parameter(Arguments args) {
  check(args.size() == 3 || args.size() == 4, "a parameter of ", args.size(), " parts");
  return grad_mode(argument(args, 0, IValue::Tag::Tensor).toTensor().detach(), args[1]);
}

// () or (list of pairs)
IValue Unpickler::ordered_dict(Arguments args) {
  IValue dict = make_dict();
  if (args.empty()) return dict;
  std::vector<IValue> items;
  for (const IValue& pair : argument(args, 0, IValue::Tag::List).toListRef().items) {
    const bool is_list = pair.isList() && pair.toListRef().items.size() == 2;
    check(is_list || (pair.isTuple() && pair.toTupleRef().size() == 2),
          "an item of a dictionary is not a pair");
    const auto& parts = is_list ? pair.toListRef().items : pair.toTupleRef().items;
    items.insert(items.end(), parts.begin(), parts.end());
  }
  set_items(dict, std::move(items));
  return dict;
}

IValue Unpickler::typed_list(Arguments args, const TypePtr& element, IValue::Tag tag) {
  const IValue& list = argument(args, 0, IValue::Tag::List);
  for (const IValue& v : list.toListRef().items) {
    check(v.tag() == tag, "a list of ", element->str(), " has an element of kind ", v.tagKind());
  }
  list.toListRef().element = element;
  return list;
}
IValue Unpickler::int_list(Arguments args) {
  return typed_list(args, Type::integer(), IValue::Tag::Int);
}
IValue Unpickler::double_list(Arguments args) {
  return typed_list(args, Type::floating(), IValue::Tag::Double);
}
IValue Unpickler::bool_list(Arguments args) {
  return typed_list(args, Type::boolean(), IValue::Tag::Bool);
}
IValue Unpickler::complex_list(Arguments args) {
  return typed_list(args, Type::complex(), IValue::Tag::ComplexDouble);
}
// (real, imaginary)
IValue Unpickler::complex_number(Arguments args) {
  return std::complex<double>(argument(args, 0, IValue::Tag::Double).toDouble(),
                              argument(args, 1, IValue::Tag::Double).toDouble());
}
IValue Unpickler::tensor_list(Arguments args) {
  return typed_list(args, Type::tensor(), IValue::Tag::Tensor);
}

// (value, "Dict[str, int]")
IValue Unpickler::tagged(Arguments args) {
  const std::string& annotation = argument(args, 1, IValue::Tag::String).toStringRef();
  check(static_cast<bool>(hooks_.type_of), "types of values are not expected here");
  const TypePtr type = hooks_.type_of(annotation);
  const IValue& v = args[0];
  spend(v);
  // torch may write the name of another class here: it knows names by the addresses of types, which
  // are used again. What the value is for has a type of its own, which is checked.
  (void)conform(v, type);
  return v;
}

IValue Unpickler::device(Arguments args) {
  std::string text = argument(args, 0, IValue::Tag::String).toStringRef();
  if (args.size() == 2) text += ":" + std::to_string(argument(args, 1, IValue::Tag::Int).toInt());
  return Device(text);
}

// As torch.jit writes layouts.
IValue Unpickler::layout(Arguments args) {
  const std::string& name = argument(args, 0, IValue::Tag::String).toStringRef();
  check(name == "torch.sparse_coo", "the layout ", name.substr(0, 80));
  return static_cast<int64_t>(kSparse);
}

IValue Unpickler::size(Arguments args) {
  check(args.size() == 1, "a size of ", args.size(), " parts");
  std::vector<IValue> items;
  for (int64_t n : integers(args[0], "a size")) items.emplace_back(n);
  return make_tuple(std::move(items));
}

// (text, "latin1"): bytes, as protocol 2 writes them.
IValue Unpickler::encoded(Arguments args) {
  const std::string& text = argument(args, 0, IValue::Tag::String).toStringRef();
  const std::string& code = argument(args, 1, IValue::Tag::String).toStringRef();
  check(code == "latin1" || code == "latin-1", "an encoding ", code.substr(0, 80));
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    const bool two = (c & 0xfc) == 0xc0 && i + 1 < text.size();
    check(c < 0x80 || two, "bytes are damaged");
    out += two ? static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f)) : text[i];
  }
  return out;
}

Unpickler::Call Unpickler::find_call(const std::string& name) {
  static const std::map<std::string, Call> kCalls = {
      {"torch._utils._rebuild_tensor", &Unpickler::rebuild_tensor},
      {"torch._utils._rebuild_tensor_v2", &Unpickler::rebuild_tensor},
      {"torch._utils._rebuild_tensor_v3", &Unpickler::rebuild_tensor_typed},
      {"torch._utils._rebuild_qtensor", &Unpickler::rebuild_quantized},
      {"torch._utils._rebuild_sparse_tensor", &Unpickler::rebuild_sparse},
      {"torch._utils._rebuild_parameter", &Unpickler::rebuild_parameter},
      {"torch._utils._rebuild_parameter_with_state", &Unpickler::rebuild_parameter},
      {"collections.OrderedDict", &Unpickler::ordered_dict},
      {"torch.jit._pickle.build_intlist", &Unpickler::int_list},
      {"torch.jit._pickle.build_doublelist", &Unpickler::double_list},
      {"torch.jit._pickle.build_boollist", &Unpickler::bool_list},
      {"torch.jit._pickle.build_complexlist", &Unpickler::complex_list},
      {"builtins.complex", &Unpickler::complex_number},
      {"__builtin__.complex", &Unpickler::complex_number},
      {"torch.jit._pickle.build_tensorlist", &Unpickler::tensor_list},
      {"torch.jit._pickle.restore_type_tag", &Unpickler::tagged},
      {"torch.device", &Unpickler::device},
      {"torch.serialization._get_layout", &Unpickler::layout},
      {"torch.Size", &Unpickler::size},
      {"_codecs.encode", &Unpickler::encoded}};
  const auto it = kCalls.find(name);
  return it == kCalls.end() ? nullptr : it->second;
}

IValue Unpickler::call(const std::string& name, Arguments args) {
  const char* refused = refusal(name);
  TENON_CHECK(!refused, NotImplementedError, where(), name, ": ", refused);
  if (const Call known = find_call(name)) {
    try {
      return (this->*known)(args);
    } catch (const ValueError& e) {
      const std::string text = e.what();
      if (text.rfind("opcode ", 0) == 0) throw;
      fail(name, ": ", text);
    }
  }
  check(static_cast<bool>(hooks_.call_global), "calls ", name.substr(0, 200),
        ", which is not one of the functions that archives use");
  for (const IValue& v : args) finish_value(v);
  return hooks_.call_global(name, args);
}

}  // namespace tenon::jit::formats
