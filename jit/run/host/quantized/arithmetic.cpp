// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and products of quantized tensors, which quantized programs call by functions of the
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

const HostOperator list[] = {
    {"tenon_quantized::add(Tensor a, Tensor b, float scale, int zero, bool relu) -> Tensor",
     unboxed<add>},
    {"tenon_quantized::mul(Tensor a, Tensor b, float scale, int zero, bool relu) -> Tensor",
     unboxed<mul>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
