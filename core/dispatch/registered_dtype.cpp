// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dtypes that plugins register: their elements become float32 and back on the host, and ops that no
// kernel serves for them are computed on that.
#include "core/dispatch/registered_dtype.h"

#include <cstring>
#include <vector>

#include "core/dispatch/arguments.h"
#include "core/dispatch/byte_copy.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// Calls visit(offset in elements) in row-major order.
template <class F>
void each_element(const TensorImpl& tensor, F&& visit) {
  int64_t at[kMaxDims] = {}, offset = 0;
  for (int64_t n = 0; n < tensor.numel; ++n) {
    visit(offset);
    for (int d = tensor.ndim() - 1; d >= 0; --d) {
      offset += tensor.stride(d);
      if (++at[d] < tensor.size(d)) break;
      offset -= at[d] * tensor.stride(d);
      at[d] = 0;
    }
  }
}

// The elements of a host tensor in contiguous memory.
std::vector<char> gathered(const TensorImpl& tensor) {
  const std::size_t item = tensor.itemsize();
  std::vector<char> out(static_cast<std::size_t>(tensor.numel) * item);
  char* to = out.data();
  each_element(tensor, [&](int64_t offset) {
    std::memcpy(to, tensor.host_data() + offset * static_cast<int64_t>(item), item);
    to += item;
  });
  return out;
}

void scatter(TensorImpl& tensor, const char* from) {
  const std::size_t item = tensor.itemsize();
  each_element(tensor, [&](int64_t offset) {
    std::memcpy(tensor.host_data() + offset * static_cast<int64_t>(item), from, item);
    from += item;
  });
  tensor.bump_version();
}

const tn_ext_dtype& conversions(ScalarType dtype) {
  const tn_ext_dtype* ext = dtype_ext(dtype);
  TENON_CHECK(ext, NotImplementedError, "dtype ", dtype_name(dtype),
              ": the plugin that converts it is not open");
  return *ext;
}

Impl row_major_on_host(const TensorImpl& like, ScalarType dtype) {
  return new_tensor("copy", dtype, kHost, like.ndim(), like.view.sizes);
}

Impl as_float(const TensorImpl& host) {
  Impl made = row_major_on_host(host, kFloat);
  const std::vector<char> elements = gathered(host);
  conversions(host.dtype)
      .to_float(elements.data(), reinterpret_cast<float*>(made->host_data()), host.numel);
  return made;
}

Impl expanded(TensorImpl& src, const TensorImpl& dst) {
  int64_t strides[kMaxDims];
  broadcast_strides(src.sizes(), src.strides(), dst.sizes(), strides);
  return new_view(src, src.dtype, src.byte_offset(), dst.ndim(), dst.view.sizes, strides);
}

}  // namespace

void copy_foreign(TensorImpl& dst, TensorImpl& src) {
  if (!src.device_id.is_host()) return copy_foreign(dst, *to_host(src));
  if (!dst.device_id.is_host()) {
    Impl ready = row_major_on_host(dst, dst.dtype);
    copy_foreign(*ready, src);
    return from_host(dst, *ready);
  }
  Impl from = src.sizes() == dst.sizes() ? Impl::share(&src) : expanded(src, dst);
  if (dst.dtype == src.dtype) return scatter(dst, gathered(*from).data());
  if (foreign(src.dtype)) {
    from = as_float(*from);
    if (dst.dtype == kFloat) return scatter(dst, from->host_data());
  }
  if (!foreign(dst.dtype)) return copy(dst, *from);
  Impl floats = row_major_on_host(dst, kFloat);
  copy(*floats, *from);
  std::vector<char> elements(static_cast<std::size_t>(dst.numel) * dst.itemsize());
  conversions(dst.dtype).from_float(reinterpret_cast<const float*>(floats->host_data()),
                                    elements.data(), dst.numel);
  scatter(dst, elements.data());
}

bool knows_dtypes(const CallFrame& frame, const KernelEntry& entry) {
  bool all = true;
  each_argument(frame.op(), frame.in, [&](int, const TensorImpl& tensor) {
    all &= !foreign(tensor.dtype) || entry.dtypes.has(tensor.dtype);
  });
  return all;
}

}  // namespace tenon::core
