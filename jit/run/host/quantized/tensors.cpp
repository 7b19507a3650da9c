// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that make quantized tensors and tell what they hold.
#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// Programs hold dtypes as torch's numbers.
ScalarType quantized_dtype_of(int64_t number) { return static_cast<ScalarType>(number); }

Tensor quantize(const Tensor& x, double scale, int64_t zero, int64_t dtype) {
  return quantize_per_tensor(x, scale, zero, quantized_dtype_of(dtype));
}
Tensor quantize_by_tensors(const Tensor& x, const Tensor& scale, const Tensor& zero,
                           int64_t dtype) {
  return quantize(x, scale.item().to<double>(), zero.item().to<int64_t>(), dtype);
}
std::vector<Tensor> quantize_list(const std::vector<Tensor>& list, const Tensor& scales,
                                  const Tensor& zeros, int64_t dtype) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    out.push_back(quantize_by_tensors(list[i], scales.select(0, at), zeros.select(0, at), dtype));
  }
  return out;
}
Tensor quantize_channels(const Tensor& x, const Tensor& scales, const Tensor& zeros, int64_t axis,
                         int64_t dtype) {
  return quantize_per_channel(x, scales, zeros, axis, quantized_dtype_of(dtype));
}
Tensor quantize_dynamic(const Tensor& x, int64_t dtype, bool reduce_range) {
  return quantize_per_tensor_dynamic(x, quantized_dtype_of(dtype), reduce_range);
}
Tensor dequantize_one(const Tensor& x) { return tenon::dequantize(x); }
std::vector<Tensor> dequantize_list(const std::vector<Tensor>& list) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(tenon::dequantize(t));
  return out;
}

// torch's numbers: 0 per tensor, 1 per channel.
int64_t number_of_scheme(const Tensor& x) { return is_quantized_per_channel(x) ? 1 : 0; }

// The arguments of factories that follow the size: dtype, layout, device, pin_memory.
using Option = std::optional<int64_t>;
Tensor empty_quantized(const std::vector<int64_t>& size, Option dtype, Option,
                       std::optional<Device> device, std::optional<bool>, double scale,
                       int64_t zero, Option) {
  const ScalarType t = quantized_dtype_of(dtype.value_or(static_cast<int64_t>(kQUInt8)));
  const TensorOptions options = TensorOptions(device.value_or(Device(kCPU))).dtype(kFloat);
  return quantize_per_tensor(tenon::zeros(size, options), scale, zero, t);
}

#define TENSORS "Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype"
const HostOperator list[] = {
    {"aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> "
     "Tensor",
     unboxed<quantize>},
    {"aten::quantize_per_tensor.tensor_qparams(" TENSORS ") -> Tensor",
     unboxed<quantize_by_tensors>},
    {"aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, "
     "ScalarType dtype) -> Tensor[]",
     unboxed<quantize_list>},
    {"aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
     "ScalarType dtype) -> Tensor",
     unboxed<quantize_channels>},
    {"aten::quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> "
     "Tensor",
     unboxed<quantize_dynamic>},
    {"aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
     unboxed<_make_per_tensor_quantized_tensor>},
    {"aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int "
     "axis) -> Tensor",
     unboxed<_make_per_channel_quantized_tensor>},
    {"aten::_empty_affine_quantized(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? "
     "memory_format=0) -> Tensor",
     unboxed<empty_quantized>},
    {"aten::dequantize.self(Tensor self) -> Tensor", unboxed<dequantize_one>},
    {"aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]", unboxed<dequantize_list>},
    {"aten::int_repr(Tensor self) -> Tensor", unboxed<int_repr>},
    {"aten::q_scale(Tensor self) -> float", unboxed<q_scale>},
    {"aten::q_zero_point(Tensor self) -> int", unboxed<q_zero_point>},
    {"aten::q_per_channel_scales(Tensor self) -> Tensor", unboxed<q_per_channel_scales>},
    {"aten::q_per_channel_zero_points(Tensor self) -> Tensor", unboxed<q_per_channel_zero_points>},
    {"aten::q_per_channel_axis(Tensor self) -> int", unboxed<q_per_channel_axis>},
    {"aten::qscheme(Tensor self) -> int", unboxed<number_of_scheme>},
    {"prim::is_quantized(Tensor a) -> bool",
     [](Stack& s) {
       const Tensor t = pop(s).toTensor();
       s.emplace_back(is_quantized(t));
     }},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
