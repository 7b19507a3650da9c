// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pointwise functions of quantized tensors, which quantized programs call by functions of the
// language (jit/language/quantized_text.cpp).
#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

bool of_bytes(const Tensor& x) {
  return is_quantized(x) && !is_quantized_per_channel(x) && quantized_dtype(x) != kQInt32;
}
void check(const char* op, const Tensor& x) {
  TENON_CHECK(is_quantized(x), TypeError, op, ": expected a quantized tensor");
}

template <auto kOfBytes, auto kOfNumbers>
Tensor combined(const char* op, const Tensor& a, const Tensor& b, double scale, int64_t zero,
                bool relu) {
  check(op, a);
  check(op, b);
  const ScalarType dtype = quantized_dtype(a);
  if (!of_bytes(a) || !of_bytes(b)) {
    const Tensor y = kOfNumbers(dequantize(a), dequantize(b));
    return quantize_per_tensor(relu ? tenon::relu(y) : y, scale, zero, dtype);
  }
  const Tensor y =
      kOfBytes(_shared_int_repr(a), _shared_int_repr(b), q_scale(a), q_zero_point(a), q_scale(b),
               q_zero_point(b), 1.0 / scale, zero, dtype == kQInt8 ? kChar : kByte, relu);
  return _make_per_tensor_quantized_tensor(y, scale, zero);
}
Tensor plus(const Tensor& a, const Tensor& b) { return a + b; }
Tensor times(const Tensor& a, const Tensor& b) { return a * b; }

Tensor add(const Tensor& a, const Tensor& b, double scale, int64_t zero, bool relu) {
  return combined<tenon::_quantized_add, plus>("quantized::add", a, b, scale, zero, relu);
}
Tensor mul(const Tensor& a, const Tensor& b, double scale, int64_t zero, bool relu) {
  return combined<tenon::_quantized_mul, times>("quantized::mul", a, b, scale, zero, relu);
}

// Whether a table of the 256 integers takes less time than the elements do.
bool pays_table(const Tensor& x) { return of_bytes(x) && x.numel() > 1024; }

// What a function is computed of for mapped(): the elements, or all numbers there are.
Tensor numbers(const Tensor& x) {
  check("quantized", x);
  if (!pays_table(x)) return dequantize(x);
  const bool is_signed = quantized_dtype(x) == kQInt8;
  const int64_t low = is_signed ? -128 : 0;
  const Tensor all = tenon::arange(low, low + 256, TensorOptions(kLong).device(x.device()));
  return tenon::_dequantize(all.to(is_signed ? kChar : kByte), q_scale(x), q_zero_point(x));
}
Tensor mapped(const Tensor& x, const Tensor& y, double scale, int64_t zero) {
  const Tensor q = quantize_per_tensor(y, scale, zero, quantized_dtype(x));
  if (!pays_table(x)) return q;
  return _make_per_tensor_quantized_tensor(
      tenon::_byte_table(_shared_int_repr(x), _shared_int_repr(q)), scale, zero);
}

const HostOperator list[] = {
    {"tenon_quantized::add(Tensor a, Tensor b, float scale, int zero, bool relu) -> Tensor",
     unboxed<add>},
    {"tenon_quantized::mul(Tensor a, Tensor b, float scale, int zero, bool relu) -> Tensor",
     unboxed<mul>},
    {"tenon_quantized::numbers(Tensor x) -> Tensor", unboxed<numbers>},
    {"tenon_quantized::mapped(Tensor x, Tensor y, float scale, int zero) -> Tensor",
     unboxed<mapped>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
