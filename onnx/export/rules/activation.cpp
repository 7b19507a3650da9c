// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Activations and normalizations.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {

std::string gelu_of(Call& c, const std::string& x, ScalarType dtype) {
  const auto number = [&](double v) { return c.constant(v, dtype); };
  const std::string inner = c.op("Erf", {c.op("Div", {x, number(std::sqrt(2.0))})});
  return c.op("Mul", {c.op("Mul", {x, number(0.5)}), c.op("Add", {inner, number(1)})});
}

std::string norm_of_last(Call& c, const std::string& x, int64_t dims, ScalarType dtype,
                         const std::string& weight, const std::string& bias, double eps) {
  if (c.exporter.opset() >= 17)
    return c.op("LayerNormalization", {x, weight, bias}, {{"axis", -dims}, {"epsilon", eps}});
  std::vector<int64_t> axes;
  for (int64_t i = -dims; i < 0; ++i) axes.push_back(i);
  const std::string centered = c.op("Sub", {x, c.reduce("ReduceMean", x, axes, true)});
  const std::string variance =
      c.reduce("ReduceMean", c.op("Mul", {centered, centered}), axes, true);
  std::string y =
      c.op("Div", {centered, c.op("Sqrt", {c.op("Add", {variance, c.constant(eps, dtype)})})});
  if (!weight.empty()) y = c.op("Mul", {y, weight});
  if (!bias.empty()) y = c.op("Add", {y, bias});
  return y;
}

namespace {

std::string like(Call& c, double v) { return c.constant(v, c.result().scalar_type()); }

void leaky_relu(Call& c) {
  c.give(c.op("LeakyRelu", {c.in("self")}, {{"alpha", c.number("negative_slope", 0.01)}}));
}
void elu(Call& c) {
  need(c.number("scale", 1) == 1 && c.number("input_scale", 1) == 1, "scale is not supported");
  c.give(c.op("Elu", {c.in("self")}, {{"alpha", c.number("alpha", 1)}}));
}
// ONNX has it in float32 alone; else max(x, 0) + min(alpha (exp(x / alpha) - 1), 0).
void celu(Call& c) {
  const double alpha = c.number("alpha", 1);
  const std::string x = c.in("self"), scale = like(c, alpha), zero = like(c, 0);
  if (c.dtype("self") == kFloat32) return c.give(c.op("Celu", {x}, {{"alpha", alpha}}));
  const std::string grown = c.op("Sub", {c.op("Exp", {c.op("Div", {x, scale})}), like(c, 1)});
  c.give(c.op("Add", {c.op("Max", {x, zero}), c.op("Min", {c.op("Mul", {grown, scale}), zero})}));
}
void selu(Call& c) { c.give(c.op("Selu", {c.in("self")})); }
void prelu(Call& c) {
  const int64_t rank = c.rank("self");
  std::string w = c.in("weight");
  if (c.rank("weight") == 1 && c.size("weight", 0) > 1 && rank > 2) {
    std::vector<int64_t> last;
    for (int64_t i = 1; i < rank - 1; ++i) last.push_back(i);
    w = c.unsqueeze(w, last);
  }
  c.give(c.op("PRelu", {c.in("self"), w}));
}
// Where beta x is above the threshold, x itself; above 20 float32 has no difference.
void softplus(Call& c) {
  const double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
  const std::string x = c.in("self"), scaled = beta == 1 ? x : c.op("Mul", {x, like(c, beta)});
  std::string y = c.op("Softplus", {scaled});
  if (beta != 1) y = c.op("Div", {y, like(c, beta)});
  if (threshold < 20) y = c.op("Where", {c.op("Greater", {scaled, like(c, threshold)}), x, y});
  c.give(y);
}
void softsign(Call& c) { c.give(c.op("Softsign", {c.in("self")})); }
void silu(Call& c) {
  const std::string x = c.in("self");
  c.give(c.op("Mul", {x, c.op("Sigmoid", {x})}));
}
void mish(Call& c) {
  const std::string x = c.in("self");
  c.give(c.op("Mul", {x, c.op("Tanh", {c.op("Softplus", {x})})}));
}
void gelu(Call& c) {
  const std::string x = c.in("self");
  if (c.text("approximate", "none") != "tanh")
    return c.give(gelu_of(c, x, c.result().scalar_type()));
  const std::string half = c.op("Mul", {x, like(c, 0.5)}),
                    cube = c.op("Mul", {c.op("Mul", {x, x}), x});
  const std::string inner =
      c.op("Tanh", {c.op("Mul", {c.op("Add", {x, c.op("Mul", {cube, like(c, 0.044715)})}),
                                 like(c, std::sqrt(2 / M_PI))})});
  c.give(c.op("Mul", {half, c.op("Add", {inner, like(c, 1)})}));
}
void hardsigmoid(Call& c) {
  c.give(c.op("HardSigmoid", {c.in("self")}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
}
void hardtanh(Call& c) {
  c.give(c.op("Min", {c.op("Max", {c.in("self"), like(c, c.number("min_val", -1))}),
                      like(c, c.number("max_val", 1))}));
}
void relu6(Call& c) { c.give(c.op("Min", {c.op("Relu", {c.in("self")}), like(c, 6)})); }
// The logarithm of a sigmoid would be minus infinity where the sigmoid vanishes.
void log_sigmoid(Call& c) {
  c.give(c.op("Neg", {c.op("Softplus", {c.op("Neg", {c.in("self")})})}));
}
void threshold(Call& c) {
  const std::string x = c.in("self");
  c.give(c.op("Where", {c.op("Greater", {x, like(c, c.number("threshold"))}), x,
                        like(c, c.number("value"))}));
}
void hardshrink(Call& c) {
  const std::string x = c.in("self");
  c.give(c.op("Where", {c.op("Greater", {c.op("Abs", {x}), like(c, c.number("lambd", 0.5))}), x,
                        like(c, 0)}));
}
void softshrink(Call& c) {
  c.give(c.op("Shrink", {c.in("self")},
              {{"lambd", c.number("lambd", 0.5)}, {"bias", c.number("lambd", 0.5)}}));
}
void glu(Call& c) {
  const int64_t dim = c.axis("dim", "self");
  Attrs attrs{{"axis", dim}};
  if (c.exporter.opset() >= 18) attrs.push_back({"num_outputs", int64_t{2}});
  const Names parts = c.ops("Split", {c.in("self")}, attrs, 2);
  c.give(c.op("Mul", {parts[0], c.op("Sigmoid", {parts[1]})}));
}

template <int kind>
void softmax(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("self", d);
  if (c.rank("self") == 0)  // one element
    return c.give(like(c, kind == 0 ? 1 : 0));
  c.give(c.op(kind == 0 ? "Softmax" : "LogSoftmax", {x}, {{"axis", c.axis("dim", "self")}}));
}

// By the statistics of the batch itself.
void norm_by_batch(Call& c) {
  const std::string x = c.in("input");
  const int64_t rank = c.rank("input");
  std::vector<int64_t> axes, last;
  for (int64_t d = 0; d < rank; ++d)
    if (d != 1) axes.push_back(d);
  for (int64_t d = 1; d < rank - 1; ++d) last.push_back(d);
  const std::string centered = c.op("Sub", {x, c.reduce("ReduceMean", x, axes, true)}),
                    variance =
                        c.reduce("ReduceMean", c.op("Mul", {centered, centered}), axes, true),
                    root = c.op("Sqrt", {c.op("Add", {variance, like(c, c.number("eps", 1e-5))})});
  std::string y = c.op("Div", {centered, root});
  if (!c.none("weight")) y = c.op("Mul", {y, c.unsqueeze(c.in("weight"), last)});
  if (!c.none("bias")) y = c.op("Add", {y, c.unsqueeze(c.in("bias"), last)});
  c.give(y);
}
void batch_norm(Call& c) {
  if (c.none("running_mean") || (c.has("training") && c.flag("training"))) return norm_by_batch(c);
  const ScalarType d = c.dtype("running_mean");
  const int64_t n = c.size("running_mean", 0);
  const auto filled = [&](const char* argument, double v) {
    return c.none(argument) ? c.constant(full({n}, v, TensorOptions(d))) : c.in(argument);
  };
  c.give(c.op("BatchNormalization",
              {c.in("input"), filled("weight", 1), filled("bias", 0), c.in("running_mean"),
               c.in("running_var")},
              {{"epsilon", c.number("eps", 1e-5)}}));
}
void layer_norm(Call& c) {
  const std::vector<int64_t> shape = c.ints("normalized_shape");
  const ScalarType d = c.dtype("input");
  const bool scaled = !c.none("weight") || c.exporter.opset() < 17;
  const std::string weight = scaled ? c.in_or("weight") : c.constant(ones(shape, TensorOptions(d)));
  c.give(norm_of_last(c, c.in("input"), static_cast<int64_t>(shape.size()), d, weight,
                      c.in_or("bias"), c.number("eps", 1e-5)));
}
// Statistics of each image and channel, or group of channels.
void by_instance(Call& c, int64_t groups, const char* input) {
  const ScalarType d = c.dtype(input);
  const std::string x = c.in(input), shape = c.op("Shape", {x});
  const std::string flat = c.op("Reshape", {x, c.int_list({0, groups, -1})});
  const std::string one = c.constant(ones({groups}, TensorOptions(d))),
                    zero = c.constant(zeros({groups}, TensorOptions(d)));
  std::string y =
      c.op("InstanceNormalization", {flat, one, zero}, {{"epsilon", c.number("eps", 1e-5)}});
  y = c.op("Reshape", {y, shape});
  std::vector<int64_t> last;
  for (int64_t i = 1; i < c.rank(input) - 1; ++i) last.push_back(i);
  if (!c.none("weight")) y = c.op("Mul", {y, c.unsqueeze(c.in("weight"), last)});
  if (!c.none("bias")) y = c.op("Add", {y, c.unsqueeze(c.in("bias"), last)});
  c.give(y);
}
void group_norm(Call& c) { by_instance(c, c.integer("num_groups"), "input"); }
void instance_norm(Call& c) {
  need(c.flag("use_input_stats", true), "with running statistics is not supported");
  by_instance(c, c.size("input", 1), "input");
}
template <bool with_factors>
void rms_norm(Call& c) {
  const auto dims = static_cast<int64_t>(c.ints("normalized_shape").size());
  const ScalarType d = c.dtype("input");
  std::vector<int64_t> axes;
  for (int64_t i = -dims; i < 0; ++i) axes.push_back(i);
  const std::string x = c.in("input"),
                    square = c.reduce("ReduceMean", c.op("Mul", {x, x}), axes, true);
  const double epsilon =
      d == kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double eps = c.none("eps") ? epsilon : c.number("eps");
  const std::string root = c.op("Sqrt", {c.op("Add", {square, c.constant(eps, d)})});
  std::string y = c.op("Div", {x, root});
  if (!c.none("weight")) y = c.op("Mul", {y, c.in("weight", d)});
  c.give(y);
  if (with_factors) c.give(c.op("Reciprocal", {root}), 1);
}

const Rules::Entry list[] = {
    {"aten::leaky_relu", leaky_relu},
    {"aten::elu", elu},
    {"aten::celu", celu},
    {"aten::selu", selu},
    {"aten::prelu", prelu},
    {"aten::softplus", softplus},
    {"aten::softsign", softsign},
    {"aten::silu", silu},
    {"aten::mish", mish},
    {"aten::gelu", gelu},
    {"aten::hardsigmoid", hardsigmoid},
    {"aten::hardtanh", hardtanh},
    {"aten::relu6", relu6},
    {"aten::log_sigmoid", log_sigmoid},
    {"aten::threshold", threshold},
    {"aten::hardshrink", hardshrink},
    {"aten::softshrink", softshrink},
    {"aten::glu", glu},
    {"aten::softmax", softmax<0>},
    {"aten::_softmax", softmax<0>},
    {"aten::log_softmax", softmax<1>},
    {"aten::_log_softmax", softmax<1>},
    {"aten::batch_norm", batch_norm},
    {"aten::layer_norm", layer_norm},
    {"aten::group_norm", group_norm},
    {"aten::instance_norm", instance_norm},
    {"aten::rms_norm", rms_norm<false>},
    {"aten::_fused_rms_norm", rms_norm<true>},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
