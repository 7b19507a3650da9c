// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include "tenon/runtime/random.h"

namespace tenon::fuzz {

using core::ArgInfo;
using core::ArgType;

Tensor Arguments::make_tensor() {
  std::vector<int64_t> sizes;
  const int n = r.chance(0.9) ? ndim : static_cast<int>(r.below(7));
  sizes.reserve(static_cast<std::size_t>(n));
  for (int d = 0; d < n; ++d) sizes.push_back(r.chance(0.06) ? 0 : r.between(1, 4));
  const ScalarType t =
      r.chance(0.85) ? dtype : r.pick({kLong, kFloat, kDouble, kBool, kInt, kHalf, kByte});
  Tensor x = isFloatingType(t)
                 ? (r.chance(0.5) ? tenon::rand(sizes) : tenon::randn(sizes) * 3).to(t)
             : t == kBool ? tenon::randint(0, 2, sizes).to(t)
                          : tenon::randint(0, 3, sizes, TensorOptions(kLong)).to(t);
  if (x.numel() > 0 && r.chance(odd / 2)) {
    Tensor flat = x.view({-1});
    const int64_t at = r.between(0, x.numel() - 1);
    if (t == kLong) flat.data_ptr<int64_t>()[at] = odd_int(r);
    if (t == kFloat) flat.data_ptr<float>()[at] = static_cast<float>(odd_real(r));
    if (t == kDouble) flat.data_ptr<double>()[at] = odd_real(r);
  }
  if (x.dim() > 1 && r.chance(0.1)) x = x.transpose(0, -1);
  if (x.dim() > 0 && r.chance(0.03)) x = x.to_sparse();
  if (isFloatingType(t) && r.chance(0.15)) x.requires_grad_();
  return x;
}

tn_value tagged(tn_tag tag, const void* p, std::size_t len) {
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
      v.u.dtype =
          core::abi_dtype(r.chance(0.7) ? dtype : r.pick({kFloat, kLong, kBool, kDouble, kHalf}));
      if (r.chance(odd / 3))
        v.u.dtype = {static_cast<uint8_t>(r.below(256)), static_cast<uint8_t>(r.below(256)), 7};
      return v;
    case TN_TAG_DEVICE:
      v.u.device = {TN_CPU, 0};
      if (r.chance(odd / 3))
        v.u.device = {static_cast<int32_t>(odd_int(r)), static_cast<int32_t>(odd_int(r))};
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
      for (uint8_t& x : list)
        x = static_cast<uint8_t>(r.chance(odd / 4) ? r.below(256) : r.below(2));
      return tagged(tag, null ? nullptr : list.data(), n);
    }
    case TN_TAG_SCALAR_LIST: {
      auto& list = numbers.emplace_back();
      for (std::size_t i = 0; i < n; ++i) {
        list.push_back(value(
            r.chance(odd / 10) ? static_cast<tn_tag>(r.below(9)) : tn_tag{TN_TAG_F64}, nullptr));
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

namespace {

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

}  // namespace

tn_value Arguments::argument(const ArgInfo& a) {
  if (r.chance(odd / 20)) {
    const auto tag = static_cast<tn_tag>(r.below(18));
    return r.chance(0.1) ? tagged(static_cast<tn_tag>(r.bits())) : value(tag, &a);
  }
  const bool text = a.type == ArgType::Str || a.type == ArgType::OptStr;
  if (a.has_default && !r.chance(text ? 0.3 : 0.6)) return a.value;
  const bool can_be_none =
      a.type == ArgType::Generator || a.type == ArgType::Device || a.type == ArgType::Layout;
  if (can_be_none && r.chance(0.8)) return tagged(TN_TAG_NONE);
  tn_tag tag = tag_of(a.type);
  if (tag == TN_TAG_F64 && (a.type == ArgType::Scalar || a.type == ArgType::OptScalar)) {
    tag = r.pick({TN_TAG_F64, TN_TAG_I64, TN_TAG_F64, TN_TAG_I64, TN_TAG_BOOL, TN_TAG_COMPLEX});
  }
  return value(tag, &a);
}

tn_value Arguments::changed(const ArgInfo& a, const tn_value& v) {
  // Changed once already.
  const bool null = (v.tag == TN_TAG_TENSOR || v.tag == TN_TAG_I64_LIST) && !v.u.ptr;
  if (null || r.chance(0.3)) return argument(a);
  switch (v.tag) {
    case TN_TAG_I64_LIST: {
      auto& list = ints.emplace_back(v.u.i64s, v.u.i64s + v.len);
      if (list.empty() || r.chance(0.2)) {
        r.chance(0.5) || list.empty() ? list.push_back(integer()) : list.pop_back();
      } else {
        for (std::size_t k = 1 + r.below(2); k-- > 0;) list[r.below(list.size())] = odd_int(r);
      }
      return tagged(v.tag, list.data(), list.size());
    }
    case TN_TAG_I64:
      return value(v.tag, nullptr);
    case TN_TAG_F64: {
      tn_value other = v;
      other.u.f64 = odd_real(r);
      return other;
    }
    case TN_TAG_TENSOR: {
      // Another view, or other numbers, of a tensor of its shape.
      const core::TensorImpl& given = *core::TensorImpl::from_view(v.u.tensor);
      Tensor t = tenon::empty(given.sizes(), TensorOptions(given.dtype)).zero_();
      if (r.chance(0.5) && t.dim() > 0) t = t.narrow(r.between(0, t.dim() - 1), 0, 0);
      if (r.chance(0.3)) t = t.unsqueeze(0);
      if (r.chance(0.3)) t = t.expand_as(t.unsqueeze(0)).squeeze(0);
      if (t.scalar_type() == kLong && t.is_contiguous()) t.fill_(odd_int(r));
      if (t.scalar_type() == kDouble && t.is_contiguous()) t.fill_(odd_real(r));
      return tagged(v.tag, &tensors.emplace_back(std::move(t)).unsafeGetTensorImpl()->view);
    }
    default:
      return argument(a);
  }
}

}  // namespace tenon::fuzz
