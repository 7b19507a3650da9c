// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized programs. A quantized tensor is in the model as its real numbers: what an operator
// gives goes through QuantizeLinear and DequantizeLinear (Call::give), which runtimes join with the
// operators around them.
#include "tenon/quantized.h"
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// Scale and zero point are those of the result.
void quantize(Call& c) {
  for (const char* argument : {"scale", "zero_point", "scales", "zero_points"})
    need(!c.has(argument) || c.is_constant(argument), "a scale or zero point that data decide");
  c.give(c.in("self"));
}

void dequantize_list(Call& c) {
  Names names;
  const Item& list = c.get("tensors");
  need(list.has_parts, "a list that the program computes");
  for (const ItemPtr& p : list.parts) names.push_back(c.exporter.name_of(*p));
  c.give_parts(names);
}

void integers(Call& c) {
  const Tensor q = c.get("self").example.toTensor();
  need(!is_quantized_per_channel(q), "int_repr of a tensor that is quantized per channel");
  const ScalarType d = c.result().scalar_type();
  c.give(c.op("QuantizeLinear",
              {c.in("self"), c.constant(full({}, q_scale(q), TensorOptions(kFloat32))),
               c.constant(full({}, q_zero_point(q), TensorOptions(d)))}));
}
void from_integers(Call& c) {
  need(c.is_constant("scale") && c.is_constant("zero_point"), "a scale that data decide");
  const std::string shifted = c.op("Sub", {c.in("self", kFloat32), c.in("zero_point", kFloat32)});
  c.give(c.op("Mul", {shifted, c.in("scale", kFloat32)}));
}

// What is asked of a tensor is the same in every run, as its scale is.
void fact(Call& c) { c.given.at(0) = std::make_shared<Item>(Item{c.results.at(0), true}); }

// The weights as real numbers, dimension `axis` of which is that of the scales.
Tensor real_weight(const Call& c, const Tensor& weight, int64_t axis) {
  need(c.is_constant("weight") && c.is_constant("scales"), "weights that the program computes");
  std::vector<int64_t> along(static_cast<std::size_t>(weight.dim()), 1);
  along[static_cast<std::size_t>(axis)] = c.example("scales").numel();
  return weight * c.example("scales").reshape(along);
}
// The same as bytes behind DequantizeLinear, which runtimes join with a product of rounded tensors.
std::string weight_in_steps(const Call& c, const Tensor& weight, int64_t axis) {
  const Tensor real = real_weight(c, weight, axis), scales = c.example("scales");
  const bool channels = scales.numel() > 1,
             bytes = weight.equal(weight.clamp(-128, 127));  // else its zero points are not 0
  if (!bytes || (channels && c.exporter.opset() < 13)) return c.constant(real);
  const std::vector<int64_t> sizes(channels ? 1 : 0, scales.numel());
  return c.op("DequantizeLinear",
              {c.constant(weight.to(kInt8)), c.constant(scales.reshape(sizes)),
               c.constant(zeros(sizes, TensorOptions(kInt8)))},
              channels ? Attrs{{"axis", axis}} : Attrs{});
}

std::string with_relu(Call& c, const std::string& y) {
  return c.flag("relu") ? c.op("Relu", {y}) : y;
}

void convolve(Call& c) {
  const bool transposed = c.flag("transposed");
  need(!transposed || c.example("scales").numel() == 1,
       "a transposed convolution with a scale for each channel");
  const std::size_t n = c.ints("stride").size();
  const bool flat = c.rank("input") == static_cast<int64_t>(n) + 1;  // of one dimension
  Attrs attrs{{"strides", IValue(c.ints("stride"))},
              {"pads", IValue(twice(c.ints("padding")))},
              {"dilations", IValue(c.ints("dilation"))},
              {"group", c.integer("groups")}};
  if (transposed) attrs.push_back({"output_padding", IValue(c.ints("output_padding"))});
  const std::string x = flat ? c.unsqueeze(c.in("input"), {2}) : c.in("input");
  const std::string y =
      c.op(transposed ? "ConvTranspose" : "Conv",
           {x, weight_in_steps(c, c.example("weight"), 0), c.in_or("bias")}, attrs);
  c.give(with_relu(c, flat ? c.squeeze(y, {2}) : y));
}

std::string product(Call& c, const std::string& x, const std::string& weight) {
  const std::string y = c.op("MatMul", {x, weight});
  return c.none("bias") ? y : c.op("Add", {y, c.in("bias")});
}
Tensor columns(const Call& c) { return c.example("weight").t().contiguous(); }
void linear(Call& c) {
  c.give(with_relu(c, product(c, c.in("input"), weight_in_steps(c, columns(c), 1))));
}

// The input is rounded to steps between its least and its greatest element, as torch chooses them.
void linear_dynamic(Call& c) {
  const std::string x = c.in("input");
  const auto number = [&](double v) { return c.constant(v, kFloat32); };
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < c.rank("input"); ++d) axes.push_back(d);
  const std::string low = c.op("Min", {c.reduce("ReduceMin", x, axes, false), number(0)}),
                    high = c.op("Max", {c.reduce("ReduceMax", x, axes, false), number(0)}),
                    most = number(c.flag("reduce_range") ? 127 : 255),
                    whole = c.op("Div", {c.op("Sub", {high, low}), most}),
                    none = c.op("Equal", {whole, number(0)}),
                    exact = c.op("Where", {none, number(0.1), whole}),
                    shift = c.op("Round", {c.op("Div", {c.op("Neg", {low}), exact})}),
                    scale = c.op("Max", {exact, number(6.1e-5)});
  const std::string level = c.op("Add", {c.op("Round", {c.op("Div", {x, scale})}), shift}),
                    held = c.op("Min", {c.op("Max", {level, number(0)}), number(255)});
  // Floats: runtimes take bytes beside an input that is not rounded for another kind of product.
  c.give(product(c, c.op("Mul", {c.op("Sub", {held, shift}), scale}),
                 c.constant(real_weight(c, columns(c), 1))));
}

// Sums and products are those of the real numbers.
void add(Call& c) { c.give(with_relu(c, c.op("Add", {c.in("a"), c.in("b")}))); }
void multiply(Call& c) { c.give(with_relu(c, c.op("Mul", {c.in("a"), c.in("b")}))); }

void dequantize_any(Call& c) {
  if (c.has("tensors")) return dequantize_list(c);
  c.give(c.in("self"));
}

const Rules::Entry list[] = {{"aten::quantize_per_tensor", quantize},
                             {"aten::quantize_per_channel", quantize},
                             {"aten::dequantize", dequantize_any},
                             {"aten::int_repr", integers},
                             {"aten::_make_per_tensor_quantized_tensor", from_integers},
                             {"aten::q_scale", fact},
                             {"aten::q_zero_point", fact},
                             {"tenon_quantized::convolve", convolve},
                             {"tenon_quantized::linear", linear},
                             {"tenon_quantized::linear_dynamic", linear_dynamic},
                             {"tenon_quantized::add", add},
                             {"tenon_quantized::mul", multiply}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
