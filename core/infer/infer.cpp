// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What infer functions share: outputs, dimensions, promotion, broadcasting.
#include "tenon/core/infer.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

bool fits(const Scalar& number, ScalarType dtype) noexcept {
  if (number.isComplex()) {
    if (dtype == ScalarType::Bool) return true;
    const complex<double> v = number.toComplexDouble();
    const ScalarType part = toRealValueType(dtype);
    return fits(v.real(), part) && (isComplexType(dtype) ? fits(v.imag(), part) : v.imag() == 0);
  }
  const auto floating = [&](double most) {
    return !(std::isfinite(number.toDouble()) && std::fabs(number.toDouble()) > most);
  };
  const auto integral = [&](double lowest, double most) {
    if (!number.isFloatingPoint()) {
      const int64_t v = number.toLong(), top = static_cast<int64_t>(most);
      return v <= top && v >= (lowest == 0 ? -top : static_cast<int64_t>(lowest));
    }
    return number.toDouble() >= lowest && number.toDouble() <= most;
  };
  switch (dtype) {
    case ScalarType::Byte:
      return integral(0, 255);
    case ScalarType::Char:
      return integral(-128, 127);
    case ScalarType::Short:
      return integral(-32768, 32767);
    case ScalarType::Int:
      return integral(-2147483648.0, 2147483647.0);
    case ScalarType::Long:
      return !number.isFloatingPoint() ||
             (number.toDouble() >= -0x1p63 && number.toDouble() < 0x1p63);
    case ScalarType::Half:
      return floating(65504);
    case ScalarType::BFloat16:
      return floating(0x1.fep127);
    case ScalarType::Float:
      return floating(static_cast<double>(std::numeric_limits<float>::max()));
    case ScalarType::ComplexFloat:
      return floating(static_cast<double>(std::numeric_limits<float>::max()));
    default:
      return true;
  }
}

namespace {
std::string number_text(const complex<double>& v) {
  return join("(", v.real(), ",", v.imag(), ")");
}
}  // namespace

void check_fits(const char* op, const char* argument, const Scalar& number, ScalarType dtype) {
  if (TENON_LIKELY(fits(number, dtype))) return;
  const std::string value = number.isComplex()         ? number_text(number.toComplexDouble())
                            : number.isFloatingPoint() ? join(number.toDouble())
                                                       : join(number.toLong());
  throw ValueError(join(op, ": argument '", argument, "': value ", value,
                        " cannot be converted to ", dtype_name(dtype), " without overflow"));
}

void check_list_lengths(const Op& op, const tn_value* in) {
  for (int i = 0; i < op.n_args; ++i) {
    const ArgInfo& arg = op.args[i];
    if (arg.lengths != 0 && in[i].tag != TN_TAG_NONE) check_list_length(op, arg, in[i].len);
  }
}

void wrong_list_length(const Op& op, const ArgInfo& arg, std::size_t given) {
  throw ValueError(join(op.name, ": argument '", arg.name, "' needs ", int{arg.fixed},
                        arg.fixed == 1 ? " entry" : " entries",
                        arg.lengths & kLengthOne && arg.fixed > 1 ? " (or one for all)" : "",
                        ", got ", given));
}

void too_large(const char* op, const char* what) {
  throw ValueError(join(op, ": ", what, " does not fit 64 bits"));
}

void check_room(const char* op, const char* what, int64_t count, uint64_t bytes) {
  constexpr int64_t kFew = 1 << 16;
  if (count <= kFew) return;
  static const uint64_t memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t total;
  bool fits =
      !__builtin_mul_overflow(static_cast<uint64_t>(count), bytes, &total) && total <= memory;
  if (fits) {
    void* tried = std::malloc(total);  // limits of the process
    fits = tried != nullptr;
    std::free(tried);
  }
  TENON_CHECK(fits, OutOfMemoryError, op, ": no memory for ", count, " ", what, " of ", bytes,
              " bytes and more each");
}

void Infer::set(int k, IntArrayRef sizes, ScalarType dtype) {
  OutMeta& meta = out[k];
  if (sizes.size() > static_cast<std::size_t>(kMaxDims)) {
    fail<ValueError>(*this, "a tensor has at most ", kMaxDims, " dimensions, got ", sizes.size());
  }
  meta.ndim = static_cast<int>(sizes.size());
  meta.dtype = dtype;
  meta.defined = true;
  meta.has_strides = false;
  meta.alias_of = -1;
  meta.byte_offset = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) meta.sizes[i] = sizes[i];
}

namespace {

// Dense in some order of its dimensions: no gaps, no overlap.
bool dense(const TensorImpl& tensor) {
  int order[kMaxDims];
  int n = 0;
  for (int d = 0; d < tensor.ndim(); ++d) {
    if (tensor.size(d) != 1) order[n++] = d;
  }
  std::sort(order, order + n, [&](int a, int b) { return tensor.stride(a) < tensor.stride(b); });
  int64_t expected = 1;
  for (int i = 0; i < n; ++i) {
    if (tensor.stride(order[i]) != expected) return false;
    expected *= tensor.size(order[i]);
  }
  return true;
}

// Whether dimension a, which is in front of b, belongs behind it in an order of growing strides:
// 0 if nothing tells, as of expanded dimensions. Of equal strides the smaller size comes first.
int misplaced(const TensorImpl& tensor, int a, int b) {
  const int64_t s = tensor.stride(a), t = tensor.stride(b);
  if (s == 0 || t == 0) return 0;
  if (s != t) return s > t ? 1 : -1;
  return tensor.size(a) > tensor.size(b) ? 1 : 0;
}

// Strides without gaps, in the order of the tensor's dimensions in memory. Those that nothing tells
// about stay in row-major order, by the insertion sort of libtorch's iterator.
void set_dense_strides(OutMeta& meta, const TensorImpl& tensor) {
  int order[kMaxDims];  // innermost first
  const int n = tensor.ndim();
  for (int i = 0; i < n; ++i) {
    order[i] = n - 1 - i;
    for (int to = i, from = i - 1; from >= 0; --from) {
      const int behind = misplaced(tensor, order[from], order[to]);
      if (behind < 0) break;
      if (behind == 0) continue;
      std::swap(order[from], order[to]);
      to = from;
    }
  }
  int64_t stride = 1;
  for (int i = 0; i < n; ++i) {
    meta.strides[order[i]] = stride;
    stride *= tensor.size(order[i]);
    if (order[i] != n - 1 - i) meta.has_strides = true;
  }
}

}  // namespace

void Infer::set_like(int k, const TensorImpl& tensor, ScalarType dtype) {
  set(k, tensor.sizes(), dtype);
  if (tensor.contiguous() || tensor.numel == 0) return;
  if (!dense(tensor)) return set_dense_strides(out[k], tensor);
  std::memcpy(out[k].strides, tensor.view.strides,
              sizeof(int64_t) * static_cast<std::size_t>(tensor.ndim()));
  out[k].has_strides = true;
}

void Infer::set_view(int k, int of, IntArrayRef sizes, IntArrayRef strides,
                     int64_t element_offset) {
  const TensorImpl& input = tensor(of);
  set(k, sizes, input.dtype);
  for (std::size_t i = 0; i < strides.size(); ++i) out[k].strides[i] = strides[i];
  out[k].has_strides = true;
  out[k].alias_of = static_cast<int8_t>(of);
  out[k].byte_offset = static_cast<uint64_t>(element_offset) * input.itemsize();
}

void Infer::expand_to(int i, IntArrayRef sizes) {
  const TensorImpl& input = tensor(i);
  const int lead = static_cast<int>(sizes.size()) - input.ndim();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < input.ndim(); ++d) {
    fits = input.size(d) == 1 || input.size(d) == sizes[static_cast<std::size_t>(d + lead)];
  }
  if (!fits)
    fail<ValueError>(*this, arg(i), " of shape ", input.sizes(), " cannot be expanded to ", sizes);
  expand(i);
}

void Infer::set_device(int i) {
  if (none(i)) return;
  try {
    device = device_id(device_from_abi(in[i].u.device));
  } catch (...) {
    rethrow_called(op.name);
  }
}

ScalarType Infer::dtype_of(int i) const {
  try {
    return dtype_from_abi(in[i].u.dtype);
  } catch (...) {
    rethrow_called(op.name);
  }
}

std::string Infer::arg(int i) const { return join("argument '", op.args[i].name, "'"); }

int Infer::dim(int64_t d, int ndim) const {
  int64_t n = ndim == 0 ? 1 : ndim;
  if (d < -n || d >= n) {
    fail<IndexError>(*this, "dimension out of range: allowed [", -n, ", ", n - 1, "], got ", d);
  }
  return static_cast<int>(d < 0 ? d + n : d);
}

namespace {

// Where all are tensors, of one dtype or with dimensions: what nearly every call is. Undefined
// otherwise.
ScalarType plain_dtype(const Infer& infer, std::initializer_list<int> args) {
  ScalarType dtype = ScalarType::Undefined;
  bool mixed = false, dimensioned = true;
  for (int i : args) {
    if (infer.in[i].tag != TN_TAG_TENSOR) return ScalarType::Undefined;
    const TensorImpl& own = infer.tensor(i);
    dimensioned &= own.ndim() > 0;
    if (dtype == own.dtype) continue;
    mixed |= dtype != ScalarType::Undefined;
    dtype = mixed ? promote_types(dtype, own.dtype) : own.dtype;
  }
  return mixed && !dimensioned ? ScalarType::Undefined : dtype;
}

bool same_sizes(const TensorImpl& a, const TensorImpl& b) {
  if (a.ndim() != b.ndim()) return false;
  for (int d = 0; d < a.ndim(); ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  return true;
}

// The first of them, if all are tensors of one shape.
const TensorImpl* common_shape(const Infer& infer, std::initializer_list<int> args) {
  const TensorImpl* first = nullptr;
  for (int i : args) {
    if (infer.in[i].tag != TN_TAG_TENSOR) continue;
    const TensorImpl& tensor = infer.tensor(i);
    if (first && !same_sizes(*first, tensor)) return nullptr;
    if (!first) first = &tensor;
  }
  return first;
}

}  // namespace

ScalarType Infer::promoted(std::initializer_list<int> args) const {
  if (ScalarType dtype = plain_dtype(*this, args); dtype != ScalarType::Undefined) return dtype;
  // Three tiers (dimensioned tensors, 0-dim tensors, numbers); a lower tier counts only with a
  // higher category.
  ScalarType tier[3] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
  auto join_into = [&](int which, ScalarType dtype) {
    tier[which] = tier[which] == ScalarType::Undefined ? dtype : promote_types(tier[which], dtype);
  };
  for (int i : args) {
    if (none(i)) continue;
    if (in[i].tag == TN_TAG_TENSOR) {
      const TensorImpl& input = tensor(i);
      if (input.flags & kWrappedNumber)
        join_into(2, input.dtype);
      else
        join_into(input.ndim() == 0 ? 1 : 0, input.dtype);
    } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
      for (int k = 0; k < list_size(i); ++k) {
        if (const TensorImpl* input = list_tensor(i, k))
          join_into(input->ndim() == 0 ? 1 : 0, input->dtype);
      }
    } else {
      ScalarType s = scalar(i).type();
      join_into(2, s == ScalarType::Double          ? get_default_dtype()
                   : s == ScalarType::ComplexDouble ? toComplexType(get_default_dtype())
                                                    : s);
    }
  }
  auto category = [](ScalarType dtype) { return static_cast<int>(dtype_class(dtype)); };
  ScalarType result = ScalarType::Undefined;
  for (ScalarType dtype : tier) {
    if (dtype == ScalarType::Undefined) continue;
    if (result != ScalarType::Undefined && category(dtype) <= category(result)) continue;
    // A complex number among floating tensors keeps their width.
    result = isComplexType(dtype) && result != ScalarType::Undefined && isFloatingType(result)
                 ? toComplexType(result)
                 : dtype;
  }
  return result;
}

void Infer::broadcast_shape(int k, std::initializer_list<int> args, ScalarType dtype) {
  if (const TensorImpl* input = common_shape(*this, args)) return set_like(k, *input, dtype);
  int64_t sizes[kMaxDims];
  int n = 0;
  for (int i : args) {
    if (in[i].tag == TN_TAG_TENSOR) n = std::max(n, tensor(i).ndim());
  }
  std::fill(sizes, sizes + n, 1);
  const TensorImpl* first = nullptr;
  for (int i : args) {
    if (in[i].tag != TN_TAG_TENSOR) continue;
    const TensorImpl& input = tensor(i);
    if (!first) first = &input;
    for (int d = 0; d < input.ndim(); ++d) {
      int at = n - input.ndim() + d;
      if (input.size(d) == 1 || input.size(d) == sizes[at]) continue;
      if (sizes[at] != 1) {
        fail<ValueError>(*this, "size ", sizes[at], " of a does not match size ", input.size(d),
                         " of b at dimension ", at, " (", first->sizes(), ", ", input.sizes(), ")");
      }
      sizes[at] = input.size(d);
    }
  }
  // As the first operand of the result's shape lies.
  const IntArrayRef shape{sizes, static_cast<std::size_t>(n)};
  for (int i : args) {
    if (in[i].tag == TN_TAG_TENSOR && tensor(i).sizes() == shape)
      return set_like(k, tensor(i), dtype);
  }
  set(k, shape, dtype);
}

}  // namespace tenon::core
