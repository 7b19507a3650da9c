// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of 8 bits as exported programs have them: integers in ordinary tensors, scale and zero
// point as arguments. They become QuantizeLinear and DequantizeLinear, which runtimes join with
// what is between; what those cannot say is written as the arithmetic that it is. Products of bytes
// are written as such.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

void need_bytes(ScalarType d) { need(d == kInt8 || d == kUInt8, "steps of more than 8 bits"); }

// Rounded numbers beyond the dtype would be cut off to other ones.
std::string zero_point(const Call& c, const char* argument, ScalarType d) {
  if (c.none(argument)) return c.constant(zeros({c.example("scales").numel()}, d));
  if (c.is_constant(argument)) {
    const Tensor zero = as_tensor(c.get(argument).example).to(kDouble);
    need(zero.equal(zero.to(d).to(kDouble)), "a zero point outside of the dtype");
  }
  return c.in(argument, d);
}

struct Steps {
  Names by;  // scale and zero point
  Attrs attrs;
};
// Of one scale: numbers, or tensors of one element.
Steps of_one(const Call& c, ScalarType d) {
  const auto number = [&](const std::string& value, const char* argument) {
    const IValue& v = c.get(argument).example;
    if (!v.isTensor() || v.toTensor().dim() == 0) return value;
    return c.op("Reshape", {value, c.int_list({})});
  };
  return {{number(c.in("scale", kFloat32), "scale"),
           number(zero_point(c, "zero_point", d), "zero_point")},
          {}};
}
Steps of_channels(const Call& c, ScalarType d) {
  need(c.exporter.opset() >= 13, "a scale for each channel needs opset 13");
  return {{c.in("scales", kFloat32), zero_point(c, "zero_points", d)},
          {{"axis", c.axis("axis", "input")}}};
}

void give_steps(Call& c, const Steps& s, ScalarType d) {
  const int64_t low = c.integer("quant_min"), high = c.integer("quant_max"),
                least = d == kInt8 ? -128 : 0;
  const std::string x = c.in("input", kFloat32);
  const std::string q = c.op("QuantizeLinear", {x, s.by[0], s.by[1]}, s.attrs);
  if (low == least && high == least + 255) return c.give(q);
  const auto end = [&](int64_t v) { return c.constant(static_cast<double>(v), d); };
  c.give(c.op("Clip", {q, end(low), end(high)}));
}
void quantize(Call& c) {
  const ScalarType d = c.result().scalar_type();
  need_bytes(d);
  give_steps(c, of_one(c, d), d);
}
void quantize_channels(Call& c) {
  const ScalarType d = c.result().scalar_type();
  need_bytes(d);
  give_steps(c, of_channels(c, d), d);
}

void give_numbers(Call& c, const Steps& s) {
  c.give_cast(c.op("DequantizeLinear", {c.in("input"), s.by[0], s.by[1]}, s.attrs), kFloat32);
}
void need_numbers(ScalarType d) {
  if (d != kInt32) need_bytes(d);
}
void dequantize(Call& c) {
  need_numbers(c.dtype("input"));
  give_numbers(c, of_one(c, c.dtype("input")));
}
void dequantize_channels(Call& c) {
  need_numbers(c.dtype("input"));
  give_numbers(c, of_channels(c, c.dtype("input")));
}

void product_of_integers(Call& c) { c.give(c.op("MatMulInteger", {c.in("self"), c.in("mat2")})); }

const Rules::Entry list[] = {{"aten::_int_mm", product_of_integers},
                             {"quantized_decomposed::quantize_per_tensor", quantize},
                             {"quantized_decomposed::dequantize_per_tensor", dequantize},
                             {"quantized_decomposed::quantize_per_channel", quantize_channels},
                             {"quantized_decomposed::dequantize_per_channel", dequantize_channels}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
