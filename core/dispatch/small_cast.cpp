// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operands of a few host bytes are cast on the stack of the call: no allocation, no kernel.
#include <cstring>
#include <type_traits>

#include "core/dispatch/small_cast.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/half.h"

namespace tenon::core {
namespace {

// Integers pass through int64 and the rest through double, which hold every value of the types cast
// from.
template <class Wide, class From>
void widen([[maybe_unused]] const char* from, [[maybe_unused]] Wide* wide, int64_t n) {
  if constexpr (is_complex_v<From>)
    return;  // never small: cast_on_stack refuses it
  else
    for (int64_t i = 0; i < n; ++i) {
      From v;
      std::memcpy(&v, from + i * static_cast<int64_t>(sizeof v), sizeof v);
      wide[i] = static_cast<Wide>(v);
    }
}

template <class Wide, class To>
void narrow(const Wide* wide, char* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    To v;
    if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
      v = To(static_cast<float>(wide[i]));
    else
      v = static_cast<To>(wide[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
  }
}

template <class Wide>
void cast_through(ScalarType from, const char* src, ScalarType to, char* dst, int64_t n) {
  Wide wide[kSmallCastBytes];
  switch (from) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum:                                               \
    widen<Wide, ctype>(src, wide, n);                                  \
    break;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
    default:
      return;
  }
  switch (to) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum:                                               \
    return narrow<Wide, ctype>(wide, dst, n);
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
    default:
      return;
  }
}

}  // namespace

bool cast_on_stack(CallFrame& frame, int i, const TensorImpl& tensor, ScalarType dtype) {
  if (!tensor.device_id.is_host() || !tensor.contiguous() || frame.n_views == 8 ||
      frame.n_small == kMaxSmallCasts)
    return false;
  if (!isFloatingType(dtype) ||
      !(isFloatingType(tensor.dtype) || isIntegralType(tensor.dtype, true)))
    return false;
  if (tensor.numel * item_size(dtype) > kSmallCastBytes) return false;
  char* to = frame.small[frame.n_small++];
  if (isFloatingType(tensor.dtype))
    cast_through<double>(tensor.dtype, tensor.host_data(), dtype, to, tensor.numel);
  else
    cast_through<int64_t>(tensor.dtype, tensor.host_data(), dtype, to, tensor.numel);
  tn_tensor& view = frame.views[frame.n_views++];
  view = tensor.view;
  view.data = to;
  view.byte_offset = 0;
  view.dtype = abi_dtype(dtype);
  frame.mutable_args()[i].u.tensor = &view;
  return true;
}

}  // namespace tenon::core
