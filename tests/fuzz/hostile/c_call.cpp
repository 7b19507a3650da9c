// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tn_call_op of every schema: mostly the right kinds of values with odd ones among them, sometimes any kind for any
// argument, null pointers and wrong counts.
#include <cstring>
#include <deque>
#include <vector>

#include "hostile.h"
#include "tenon/abi/client.h"
#include "tenon/core/op.h"
#include "tenon/core/random.h"
#include "tenon/tenon.h"

namespace tenon::fuzz {
namespace {

using core::ArgInfo;
using core::ArgType;
using core::Op;

// The arguments of a call, and what they point to.
struct Arguments {
  Random& r;
  int ndim;          // of most tensors
  ScalarType dtype;  // of most tensors
  double odd;        // how often a value is odd
  std::deque<Tensor> tensors;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<double>> reals;
  std::deque<std::vector<uint8_t>> flags;
  std::deque<std::vector<tn_value>> numbers;
  std::deque<std::vector<const tn_tensor*>> lists;
  tn_generator range{1, 2, nullptr};

  explicit Arguments(Random& random)
      : r(random),
        ndim(static_cast<int>(r.below(6))),
        dtype(r.chance(0.6) ? kFloat : r.pick({kLong, kDouble, kBool, kInt, kHalf, kByte, kBFloat16, kChar})),
        odd(r.pick({0.05, 0.2, 0.5})) {}

  int64_t integer() { return r.chance(odd) ? odd_int(r) : r.between(-1, 3); }
  double real() { return r.chance(odd) ? odd_real(r) : r.real(0, 1); }
  Tensor make_tensor();
  const tn_tensor* tensor() { return &tensors.emplace_back(make_tensor()).unsafeGetTensorImpl()->view; }
  tn_value value(tn_tag tag, const ArgInfo* a);
  tn_value argument(const ArgInfo& a);
};

Tensor Arguments::make_tensor() {
  std::vector<int64_t> sizes;
  const int n = r.chance(0.9) ? ndim : static_cast<int>(r.below(7));
  for (int d = 0; d < n; ++d) sizes.push_back(r.chance(0.06) ? 0 : r.between(1, 4));
  const ScalarType t = r.chance(0.85) ? dtype : r.pick({kLong, kFloat, kDouble, kBool, kInt, kHalf, kByte});
  Tensor x = isFloatingType(t) ? (r.chance(0.5) ? tenon::rand(sizes) : tenon::randn(sizes) * 3).to(t)
             : t == kBool      ? tenon::randint(0, 2, sizes).to(t)
                               : tenon::randint(0, 3, sizes, TensorOptions(kLong)).to(t);
  if (x.numel() > 0 && r.chance(odd / 2)) {
    Tensor flat = x.view({-1});
    const int64_t at = r.between(0, x.numel() - 1);
    if (t == kLong) flat.data_ptr<int64_t>()[at] = odd_int(r);
    if (t == kFloat) flat.data_ptr<float>()[at] = static_cast<float>(odd_real(r));
    if (t == kDouble) flat.data_ptr<double>()[at] = odd_real(r);
  }
  if (x.dim() > 1 && r.chance(0.1)) x = x.transpose(0, -1);
  if (isFloatingType(t) && r.chance(0.15)) x.requires_grad_();
  return x;
}

tn_value tagged(tn_tag tag, const void* p = nullptr, std::size_t len = 0) {
  tn_value v{};
  v.tag = tag;
  v.len = static_cast<uint32_t>(len);
  v.u.ptr = const_cast<void*>(p);
  return v;
}

// A value of the kind that `a`, if there is one, names.
tn_value Arguments::value(tn_tag tag, const ArgInfo* a) {
  tn_value v = tagged(tag);
  const bool null = r.chance(odd / 10);
  std::size_t n = r.chance(0.5) && ndim > 0 ? static_cast<std::size_t>(ndim) : r.below(5);
  if (a && a->fixed && !r.chance(odd / 3)) n = a->fixed;
  switch (tag) {
    case TN_TAG_I64:
      v.u.i64 = integer();
      if (a && a->type == ArgType::MemoryFormat && !r.chance(odd)) v.u.i64 = r.between(0, 3);
      return v;
    case TN_TAG_F64:
      v.u.f64 = real();
      return v;
    case TN_TAG_BOOL:
      v.u.i64 = r.chance(odd / 4) ? odd_int(r) : r.between(0, 1);
      return v;
    case TN_TAG_DTYPE:
      v.u.dtype = core::abi_dtype(r.chance(0.7) ? dtype : r.pick({kFloat, kLong, kBool, kDouble, kHalf}));
      if (r.chance(odd / 3)) v.u.dtype = {static_cast<uint8_t>(r.below(256)), static_cast<uint8_t>(r.below(256)), 7};
      return v;
    case TN_TAG_DEVICE:
      v.u.device = {TN_CPU, 0};
      if (r.chance(odd / 3)) v.u.device = {static_cast<int32_t>(odd_int(r)), static_cast<int32_t>(odd_int(r))};
      return v;
    case TN_TAG_LAYOUT:
      v.u.i64 = r.chance(odd) ? odd_int(r) : 0;
      return v;
    case TN_TAG_STR: {
      const std::string& s = texts.emplace_back(odd_text(r));
      return tagged(tag, null ? nullptr : s.data(), s.size());
    }
    case TN_TAG_COMPLEX:
    case TN_TAG_F64_LIST: {
      auto& list = reals.emplace_back(std::max<std::size_t>(n, 2));
      for (double& x : list) x = real();
      return tagged(tag, null ? nullptr : list.data(), tag == TN_TAG_COMPLEX ? 0 : n);
    }
    case TN_TAG_I64_LIST: {
      auto& list = ints.emplace_back(r.chance(odd / 20) ? 70 : n);
      for (int64_t& x : list) x = integer();
      return tagged(tag, null ? nullptr : list.data(), list.size());
    }
    case TN_TAG_BOOL_LIST: {
      auto& list = flags.emplace_back(n);
      for (uint8_t& x : list) x = static_cast<uint8_t>(r.chance(odd / 4) ? r.below(256) : r.below(2));
      return tagged(tag, null ? nullptr : list.data(), n);
    }
    case TN_TAG_SCALAR_LIST: {
      auto& list = numbers.emplace_back();
      for (std::size_t i = 0; i < n; ++i) {
        list.push_back(value(r.chance(odd / 10) ? static_cast<tn_tag>(r.below(9)) : tn_tag{TN_TAG_F64}, nullptr));
      }
      return tagged(tag, null ? nullptr : list.data(), n);
    }
    case TN_TAG_TENSOR:
      return tagged(tag, null ? nullptr : tensor());
    case TN_TAG_TENSOR_LIST: {
      auto& list = lists.emplace_back();
      for (std::size_t i = 0; i < n; ++i) list.push_back(r.chance(odd / 5) ? nullptr : tensor());
      return tagged(tag, null ? nullptr : list.data(), n);
    }
    case TN_TAG_GENERATOR:
      return tagged(tag, null || r.chance(0.3) ? nullptr : &range);
    case TN_TAG_OPAQUE: {
      static core::GeneratorImpl& own = core::default_generator(Device(kCPU));
      return tagged(tag, null || r.chance(0.3) ? nullptr : static_cast<void*>(&own));
    }
    default:
      return v;
  }
}

tn_tag tag_of(ArgType t) {
  switch (t) {
    case ArgType::Tensor:
    case ArgType::OptTensor:
      return TN_TAG_TENSOR;
    case ArgType::TensorList:
    case ArgType::OptTensorList:
      return TN_TAG_TENSOR_LIST;
    case ArgType::ScalarList:
      return TN_TAG_SCALAR_LIST;
    case ArgType::Int:
    case ArgType::OptInt:
    case ArgType::MemoryFormat:
      return TN_TAG_I64;
    case ArgType::IntList:
    case ArgType::OptIntList:
      return TN_TAG_I64_LIST;
    case ArgType::Scalar:
    case ArgType::OptScalar:
    case ArgType::Float:
    case ArgType::OptFloat:
      return TN_TAG_F64;
    case ArgType::FloatList:
    case ArgType::OptFloatList:
      return TN_TAG_F64_LIST;
    case ArgType::Bool:
    case ArgType::OptBool:
      return TN_TAG_BOOL;
    case ArgType::BoolList:
      return TN_TAG_BOOL_LIST;
    case ArgType::Dtype:
    case ArgType::OptDtype:
      return TN_TAG_DTYPE;
    case ArgType::Layout:
      return TN_TAG_LAYOUT;
    case ArgType::Device:
      return TN_TAG_DEVICE;
    case ArgType::Str:
    case ArgType::OptStr:
      return TN_TAG_STR;
    case ArgType::Generator:
      return TN_TAG_OPAQUE;
  }
  return TN_TAG_NONE;
}

tn_value Arguments::argument(const ArgInfo& a) {
  if (r.chance(odd / 20)) {
    const auto tag = static_cast<tn_tag>(r.below(18));
    return r.chance(0.1) ? tagged(static_cast<tn_tag>(r.bits())) : value(tag, &a);
  }
  const bool text = a.type == ArgType::Str || a.type == ArgType::OptStr;
  if (a.has_default && !r.chance(text ? 0.3 : 0.6)) return a.value;
  const bool can_be_none = a.type == ArgType::Generator || a.type == ArgType::Device || a.type == ArgType::Layout;
  if (can_be_none && r.chance(0.8)) return tagged(TN_TAG_NONE);
  tn_tag tag = tag_of(a.type);
  if (tag == TN_TAG_F64 && (a.type == ArgType::Scalar || a.type == ArgType::OptScalar)) {
    tag = r.pick({TN_TAG_F64, TN_TAG_I64, TN_TAG_F64, TN_TAG_I64, TN_TAG_BOOL, TN_TAG_COMPLEX});
  }
  return value(tag, &a);
}

std::string described(const std::string& name, const std::vector<tn_value>& in) {
  std::string s = name + "(";
  for (const tn_value& v : in) {
    s += s.back() == '(' ? "" : ", ";
    if (v.tag == TN_TAG_TENSOR && v.u.tensor) {
      const auto* t = core::TensorImpl::from_view(v.u.tensor);
      s += core::join(dtype_name(t->dtype), core::text(t->sizes()));
    } else if (v.tag == TN_TAG_I64_LIST && v.u.ptr) {
      s += core::text(IntArrayRef(v.u.i64s, v.len));
    } else if (v.tag == TN_TAG_F64) {
      s += core::text(v.u.f64);
    } else if (v.tag == TN_TAG_STR && v.u.ptr) {
      s += "'" + std::string(v.u.str, std::min<uint32_t>(v.len, 20)) + "'";
    } else if (v.tag == TN_TAG_I64 || v.tag == TN_TAG_BOOL || v.tag == TN_TAG_LAYOUT) {
      s += core::text(static_cast<long long>(v.u.i64));
    } else {
      s += core::join("tag ", v.tag, " of length ", v.len, v.u.ptr || v.len == 0 ? "" : " and null");
    }
  }
  return s + ")";
}

struct State {
  std::vector<int64_t> sizes, strides;
  std::vector<char> bytes;
  bool operator==(const State& o) const { return sizes == o.sizes && strides == o.strides && bytes == o.bytes; }
};
State state_of(const Tensor& t) {
  State s{t.sizes().vec(), t.strides().vec(), {}};
  const core::Storage& storage = *t.unsafeGetTensorImpl()->storage;
  const char* data = static_cast<const char*>(storage.data);
  s.bytes.assign(data, data + storage.bytes);
  return s;
}

// Whether every element of a strided result lies in its storage.
std::string outside(const tn_tensor* view) {
  const core::TensorImpl& t = *core::TensorImpl::from_view(view);
  if (!t.storage) return "";
  for (int64_t size : t.sizes()) {
    if (size == 0) return t.numel == 0 ? "" : "a result counts its elements wrong";
  }
  __int128 numel = 1, last = 0;
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) < 0) return core::join("a result has the negative size ", t.size(d));
    numel *= t.size(d);
    if (numel > INT64_MAX) return core::join("a result has sizes ", core::text(t.sizes()), ", whose product wraps");
    last += static_cast<__int128>(t.size(d) - 1) * t.stride(d);
  }
  if (numel != t.numel) return "a result counts its elements wrong";
  const __int128 end = t.byte_offset() + (last + 1) * t.itemsize();
  return end > static_cast<__int128>(t.storage->bytes) ? "a result reaches beyond its storage" : "";
}

std::string judge_results(std::vector<tn_value>& out) {
  std::string wrong;
  for (tn_value& v : out) {
    if (v.tag == TN_TAG_TENSOR) wrong = outside(v.u.tensor);
    for (uint32_t k = 0; v.tag == TN_TAG_TENSOR_LIST && k < v.len && k < 100; ++k) {
      if (v.u.tensors[k] && wrong.empty()) wrong = outside(v.u.tensors[k]);
    }
    tn_release_value(&v);
  }
  return wrong;
}

// "add" of "add.Tensor" and "add_.Tensor".
std::string base_name(const Op& op) {
  const std::string name = op.name;
  return name.substr(0, name.find('.'));
}

std::string judge_error(tn_status status, const std::string& text, const Op& op, const std::vector<tn_value>& out) {
  for (const tn_value& v : out) {
    if (v.tag != TN_TAG_NONE) return "a result is not NONE after an error";
  }
  if (status < TN_ERROR || text.empty()) return core::join("status ", status, " with the text '", text, "'");
  // Operators of one name differ in arguments: which of them it is stands in the error only if it matters.
  if (text.compare(0, base_name(op).size(), base_name(op)) != 0) return "the error does not name the operator: " + text;
  return "";
}

}  // namespace

std::string call_c(Random& r) {
  const Op& op = core::op_at(static_cast<int>(r.below(static_cast<uint64_t>(core::op_count()))));
  Arguments args(r);
  std::vector<tn_value> in;
  for (int i = 0; i < op.n_args; ++i) in.push_back(args.argument(op.args[i]));
  std::string name = op.name;
  if ((op.flags & core::kOpInplace) && r.chance(0.25)) name.insert(std::min(name.find('.'), name.size()), "_");
  if (r.chance(0.02)) in.resize(in.size() - std::min<std::size_t>(in.size(), 1 + r.below(2)));
  if (r.chance(0.01)) in.push_back(tagged(TN_TAG_NONE));
  std::vector<tn_value> out(op.n_results + 1);
  show(described(name, in));
  std::vector<State> before;
  for (const Tensor& t : args.tensors) before.push_back(state_of(t));
  const auto n_out = static_cast<uint32_t>(r.chance(0.01) ? 0 : out.size());
  const tn_status status =
      tn_call_op(tn_str{name.data(), name.size()}, in.data(), static_cast<uint32_t>(in.size()), out.data(), n_out);
  std::string wrong;
  if (status == TN_OK) {
    tally("C calls served");
    wrong = judge_results(out);
  } else {
    tally("C calls refused");
    wrong = judge_error(status, tn_last_error(), op, out);
    std::size_t k = 0;
    for (const Tensor& t : args.tensors) {
      if (wrong.empty() && !(state_of(t) == before[k])) wrong = core::join("tensor ", k, " changed in a refused call");
      ++k;
    }
    if (!wrong.empty()) wrong += std::string("; ") + tn_last_error();
  }
  return wrong.empty() ? "" : described(name, in) + ": " + wrong;
}

}  // namespace tenon::fuzz
