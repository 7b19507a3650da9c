// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Storage-only dtypes and those that plugins register: their elements become numbers of another
// dtype and back on the host, and ops that no kernel serves for them are computed on that.
#include "core/dispatch/converted_dtype.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/dispatch/arguments.h"
#include "core/dispatch/byte_copy.h"
#include "tenon/abi/ext/dtype.h"
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

using Convert = void (*)(const void* src, void* dst, int64_t n);

template <class From, class To>
void convert(const void* src, void* dst, int64_t n) {
  const auto* from = static_cast<const From*>(src);
  auto* to = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

struct Conversions {
  ScalarType dtype;  // of the numbers
  Convert to, from;
};

template <class T, class Number>
constexpr Conversions through(ScalarType number) {
  return {number, &convert<T, Number>, &convert<Number, T>};
}

// Eight bits: each value once.
template <class T>
void from_table(const void* src, void* dst, int64_t n) {
  static const std::vector<float> values = [] {
    std::vector<float> all;
    for (int i = 0; i < 256; ++i)
      all.push_back(static_cast<float>(T(static_cast<uint8_t>(i), T::from_bits())));
    return all;
  }();
  const auto* bytes = static_cast<const uint8_t*>(src);
  auto* to = static_cast<float*>(dst);
  for (int64_t i = 0; i < n; ++i) to[i] = values[bytes[i]];
}

// The conversions of a storage-only dtype; those of uint64 to and from a floating `other` do not
// pass through int64, which lacks its upper half.
template <class T>
Conversions conversions_of(ScalarType other) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return isFloatingType(other) ? through<T, double>(kDouble) : through<T, int64_t>(kLong);
  } else if constexpr (std::is_integral_v<T>) {
    return through<T, int64_t>(kLong);
  } else if constexpr (is_complex_v<T>) {
    return through<T, complex<float>>(kComplexFloat);
  } else {
    return {kFloat, &from_table<T>, &convert<float, T>};
  }
}

const tn_ext_dtype& registered(ScalarType dtype) {
  const tn_ext_dtype* ext = dtype_ext(dtype);
  TENON_CHECK(ext, NotImplementedError, "dtype ", dtype_name(dtype),
              ": the plugin that converts it is not open");
  return *ext;
}

// Null functions: a plugin's, which convert to and from float.
Conversions conversions(ScalarType dtype, ScalarType other) {
  switch (dtype) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum:                                               \
    return conversions_of<ctype>(other);
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
    default:
      return {kFloat, nullptr, nullptr};
  }
}

Impl row_major_on_host(const TensorImpl& like, ScalarType dtype) {
  return new_tensor("copy", dtype, kHost, like.ndim(), like.view.sizes);
}

// The numbers of a host tensor, to be copied to one of dtype `other`.
Impl as_numbers(const TensorImpl& host, ScalarType other) {
  const Conversions by = conversions(host.dtype, other);
  Impl made = row_major_on_host(host, by.dtype);
  std::vector<char> moved;
  const char* elements = host.host_data();
  if (!host.contiguous()) {
    moved = gathered(host);
    elements = moved.data();
  }
  if (by.to)
    by.to(elements, made->host_data(), host.numel);
  else
    registered(host.dtype)
        .to_float(elements, reinterpret_cast<float*>(made->host_data()), host.numel);
  return made;
}

// A row-major host tensor of `numbers`, which have the dtype that its conversions want.
void from_numbers(TensorImpl& dst, const TensorImpl& numbers) {
  if (const Convert from = conversions(dst.dtype, numbers.dtype).from)
    from(numbers.host_data(), dst.host_data(), dst.numel);
  else
    registered(dst.dtype).from_float(reinterpret_cast<const float*>(numbers.host_data()),
                                     dst.host_data(), dst.numel);
}

// The dtype that kernels move elements of this size as; nothing for other sizes.
std::optional<ScalarType> carrier(std::size_t size) {
  switch (size) {
    case 1:
      return kByte;
    case 2:
      return kShort;
    case 4:
      return kInt;
    case 8:
      return kLong;
    default:
      return std::nullopt;
  }
}

Impl view_as(TensorImpl& tensor, ScalarType dtype) {
  return new_view(tensor, dtype, tensor.byte_offset(), tensor.ndim(), tensor.view.sizes,
                  tensor.view.strides);
}

Impl expanded(TensorImpl& src, const TensorImpl& dst) {
  int64_t strides[kMaxDims];
  broadcast_strides(src.sizes(), src.strides(), dst.sizes(), strides);
  return new_view(src, src.dtype, src.byte_offset(), dst.ndim(), dst.view.sizes, strides);
}

}  // namespace

bool can_convert(ScalarType dtype) {
  return converted_dtype(dtype) &&
         (static_cast<int>(dtype) < TN_DTYPE_FOREIGN || dtype_ext(dtype) != nullptr);
}

void copy_converted(TensorImpl& dst, TensorImpl& src) {
  if (dst.dtype == src.dtype) {
    if (const auto as = carrier(dst.itemsize()))
      return copy(*view_as(dst, *as), *view_as(src, *as));
  }
  if (!src.device_id.is_host()) return copy_converted(dst, *to_host(src));
  if (!dst.device_id.is_host()) {
    Impl ready = row_major_on_host(dst, dst.dtype);
    copy_converted(*ready, src);
    return from_host(dst, *ready);
  }
  Impl from = src.sizes() == dst.sizes() ? Impl::share(&src) : expanded(src, dst);
  if (dst.dtype == src.dtype) return scatter(dst, gathered(*from).data());
  if (converted_dtype(src.dtype)) {
    from = as_numbers(*from, dst.dtype);
    if (!converted_dtype(dst.dtype)) return copy(dst, *from);
  }
  const ScalarType wanted = conversions(dst.dtype, from->dtype).dtype;
  if (from->dtype != wanted || !from->contiguous()) {
    Impl numbers = row_major_on_host(dst, wanted);
    copy(*numbers, *from);
    from = std::move(numbers);
  }
  if (dst.contiguous()) {
    from_numbers(dst, *from);
    return dst.bump_version();
  }
  Impl ready = row_major_on_host(dst, dst.dtype);
  from_numbers(*ready, *from);
  scatter(dst, ready->host_data());
}

bool knows_dtypes(const CallFrame& frame, const KernelEntry& entry) {
  bool all = true;
  each_argument(frame.op(), frame.in, [&](int, const TensorImpl& tensor) {
    all &= !converted_dtype(tensor.dtype) || entry.dtypes.has(tensor.dtype);
  });
  return all;
}

}  // namespace tenon::core
