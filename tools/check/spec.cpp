// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "spec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

constexpr int64_t kMargin = 3;  // elements before an offset view
constexpr int kFiller = 92;     // what lies between and around the elements

void store(char* p, ScalarType dtype, double real, int64_t exact) {
  switch (dtype) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format)               \
  case ScalarType::Enum: {                                                           \
    ctype v;                                                                         \
    if constexpr (std::is_integral_v<ctype>)                                         \
      v = static_cast<ctype>(exact);                                                 \
    else                                                                             \
      v = static_cast<ctype>(                                                        \
          static_cast<std::conditional_t<sizeof(ctype) == 8, double, float>>(real)); \
    std::memcpy(p, &v, sizeof v);                                                    \
    return;                                                                          \
  }
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
    default:
      throw TypeError("check: dtype " + std::string(toString(dtype)));
  }
}

std::vector<int64_t> strides_for(const std::vector<int64_t>& sizes, Memory memory) {
  std::size_t n = sizes.size();
  std::vector<int64_t> strides(n);
  int64_t step = memory == Memory::Stepped ? 2 : 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t d = memory == Memory::Transposed ? k : n - 1 - k;
    strides[d] = step;
    step *= std::max<int64_t>(1, sizes[d]);
  }
  if (memory == Memory::Expanded) {
    for (std::size_t d = 0; d < n; ++d) {
      if (sizes[d] > 1) {
        strides[d] = 0;
        break;
      }
    }
  }
  return strides;
}

std::string with_dtype(const tn_value& text, ScalarType dtype) {
  std::string out(text.u.str, text.len);
  const std::string name(dtype_name(dtype));
  for (std::size_t at = 0; (at = out.find("$T", at)) != std::string::npos;)
    out.replace(at, 2, name);
  return out;
}

}  // namespace

const char* name(Memory m) {
  switch (m) {
    case Memory::Contiguous:
      return "contiguous";
    case Memory::Transposed:
      return "transposed";
    case Memory::Offset:
      return "offset";
    case Memory::Stepped:
      return "stepped";
    case Memory::Expanded:
      return "stride-0";
  }
  return "?";
}

double in_dtype(double v, ScalarType main, ScalarType dtype, bool keep_order) {
  if (dtype == main || isFloatingType(dtype) || !isFloatingType(main)) return v;
  if (dtype == kBool) return v > 0;
  double scaled = std::isfinite(v) ? std::clamp(std::round(v * 4), -100.0, 100.0) : 0;
  if (dtype != kUInt8) return scaled;
  return keep_order ? std::max(scaled, 0.0) : std::fabs(scaled);
}

core::Impl make_tensor(const Values& v, const Spec& spec, ScalarType dtype, Memory memory,
                       DeviceId place) {
  int ndim = static_cast<int>(v.sizes.size());
  std::vector<int64_t> strides = strides_for(v.sizes, memory);
  int64_t offset = memory == Memory::Offset ? kMargin : 0, extent = 1;
  for (int d = 0; d < ndim; ++d) extent += std::max<int64_t>(0, v.sizes[d] - 1) * strides[d];
  int64_t total = offset + extent + kMargin;
  core::Impl flat = core::new_tensor("check", dtype, core::kHost, 1, &total);
  for (int64_t e = 0; e < total; ++e)
    store(flat->host_data() + e * flat->itemsize(), dtype, kFiller, kFiller);
  std::vector<int64_t> at(v.sizes.size(), 0);
  for (std::size_t i = 0; i < v.real.size(); ++i) {
    int64_t e = offset;
    bool repeated = false;
    for (int d = 0; d < ndim; ++d) {
      e += at[d] * strides[d];
      repeated = repeated || (strides[d] == 0 && at[d] > 0);
    }
    double real = in_dtype(v.real[i], v.dtype, dtype, spec.ordered);
    int64_t exact =
        v.exact.empty() ? static_cast<int64_t>(std::isfinite(real) ? real : 0) : v.exact[i];
    if (spec.ordered && dtype == kUInt8) exact = std::max<int64_t>(exact, 0);
    if (!repeated) store(flat->host_data() + e * flat->itemsize(), dtype, real, exact);
    for (int d = ndim; d-- > 0;) {
      if (++at[d] < v.sizes[d]) break;
      at[d] = 0;
    }
  }
  if (!place.is_host()) {
    core::Impl there = core::new_tensor("check", dtype, place, 1, &total);
    core::copy(*there, *flat);
    flat = there;
  }
  return core::TensorImpl::make(dtype, flat->storage,
                                flat->byte_offset() + offset * flat->itemsize(), ndim,
                                v.sizes.data(), strides.data());
}

Built::Built(const Spec& spec, ScalarType dtype, Memory memory, DeviceId place) {
  lists_.reserve(spec.args.size());  // values point into the entries
  auto add = [&](const Values& v, int position) {
    ScalarType own =
        spec.args[static_cast<std::size_t>(position)].follows(v, spec.main) ? dtype : v.dtype;
    tensors_.push_back(make_tensor(v, spec, own, memory, place));
    positions_.push_back(position);
    return &tensors_.back()->view;
  };
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    const SpecArg& a = spec.args[i];
    tn_value value = a.plain;
    if (a.is_list) {
      auto& list = lists_.emplace_back();
      for (const auto& t : a.tensors) list.push_back(t ? add(*t, static_cast<int>(i)) : nullptr);
      value.tag = TN_TAG_TENSOR_LIST;
      value.len = static_cast<uint32_t>(list.size());
      value.u.tensors = list.data();
    } else if (!a.tensors.empty()) {
      value.tag = TN_TAG_TENSOR;
      value.u.tensor = add(*a.tensors[0], static_cast<int>(i));
    }
    if (static_cast<int>(i) == spec.text_arg) {
      text_ = with_dtype(a.plain, dtype);
      value.u.str = text_.data();
      value.len = static_cast<uint32_t>(text_.size());
    }
    if (static_cast<int>(i) == spec.dtype_arg) value.u.dtype = core::abi_dtype(dtype);
    if (static_cast<int>(i) == spec.device_arg && !place.is_host() && value.tag == TN_TAG_NONE) {
      value.tag = TN_TAG_DEVICE;
      value.u.device = core::abi_device(place);
    }
    values_.push_back(value);
  }
}

core::Impl Built::tensor(int argument) const {
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    if (positions_[k] == argument) return tensors_[k];
  }
  return {};
}

std::vector<std::vector<char>> Built::bytes() const {
  std::vector<std::vector<char>> out;
  for (const core::Impl& t : tensors_) out.push_back(oracle::storage_bytes(*t));
  return out;
}

}  // namespace tenon::check
