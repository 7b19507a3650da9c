// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Losses, and rounding to levels as training for integers does.
#include <cmath>

#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

const char* reduction_of(const Call& c) {
  const char* const names[] = {"none", "mean", "sum"};
  return names[c.integer("reduction", 1)];
}
std::string like(Call& c, double v) { return c.constant(v, c.result().scalar_type()); }
void give_reduced(Call& c, const std::string& each) {
  const std::string_view how = reduction_of(c);
  if (how == "none") return c.give(each);
  c.give(c.reduce(how == "mean" ? "ReduceMean" : "ReduceSum", each, {}, false));
}

void of_classes(Call& c, const char* type) {
  need(c.number("label_smoothing") == 0, "label_smoothing is not supported");
  need(c.rank("self") > 1, "an input without a batch");
  Names inputs{c.in("self"), c.in("target", kInt64)};
  if (!c.none("weight")) inputs.push_back(c.in("weight"));
  c.give(c.op(type, inputs,
              {{"ignore_index", c.integer("ignore_index", -100)},
               {"reduction", std::string(reduction_of(c))}}));
}
// The mean is over rows, whatever the weights are.
void of_probabilities(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const int64_t rank = c.rank("self"), axis = rank > 1 ? 1 : 0;
  std::string p = c.op("LogSoftmax", {c.in("self")}, {{"axis", axis}}), t = c.in("target", d);
  if (!c.none("weight")) {
    std::vector<int64_t> behind;
    for (int64_t i = axis + 1; i < rank; ++i) behind.push_back(i - axis);
    p = c.op("Mul", {p, c.unsqueeze(c.in("weight", d), behind)});
  }
  if (const double s = c.number("label_smoothing"); s != 0) {
    need(c.is_fixed("self", axis), "label_smoothing over a number of classes that varies");
    const auto classes = static_cast<double>(c.size("self", axis));
    t = c.op("Add", {c.op("Mul", {t, like(c, 1 - s)}), like(c, s / classes)});
  }
  give_reduced(c, c.op("Neg", {c.reduce("ReduceSum", c.op("Mul", {p, t}), {axis}, false)}));
}
void cross_entropy(Call& c) {
  if (isFloatingType(c.dtype("target"))) return of_probabilities(c);
  of_classes(c, "SoftmaxCrossEntropyLoss");
}
void nll_loss(Call& c) { of_classes(c, "NegativeLogLikelihoodLoss"); }

// target (log(target) - self), 0 where the target is 0.
void kl_div(Call& c) {
  const std::string x = c.in("self"), t = c.in("target");
  if (c.flag("log_target"))
    return give_reduced(c, c.op("Mul", {c.op("Exp", {t}), c.op("Sub", {t, x})}));
  const std::string p = c.op("Mul", {t, c.op("Sub", {c.op("Log", {t}), x})});
  give_reduced(c, c.op("Where", {c.op("Equal", {t, like(c, 0)}), like(c, 0), p}));
}
// (1 - target) self + softplus(-self), in which pos_weight weighs the targets.
void binary_cross_entropy_with_logits(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("self"), t = c.in("target", d);
  std::string plus = c.op("Softplus", {c.op("Neg", {x})});
  if (!c.none("pos_weight")) {
    const std::string more = c.op("Sub", {c.in("pos_weight"), like(c, 1)});
    plus = c.op("Mul", {c.op("Add", {c.op("Mul", {t, more}), like(c, 1)}), plus});
  }
  const std::string rest = c.op("Mul", {c.op("Sub", {like(c, 1), t}), x});
  const std::string each = c.op("Add", {rest, plus});
  give_reduced(c, c.none("weight") ? each : c.op("Mul", {each, c.in("weight")}));
}
void mse_loss(Call& c) {
  const std::string d = c.op("Sub", {c.in("self"), c.in("target")});
  give_reduced(c, c.op("Mul", {d, d}));
}
void l1_loss(Call& c) {
  give_reduced(c, c.op("Abs", {c.op("Sub", {c.in("self"), c.in("target")})}));
}

std::string sum_of_last(Call& c, const std::string& x) {
  return c.reduce("ReduceSum", x, {-1}, false);
}
std::string at_least_zero(Call& c, const std::string& x) { return c.op("Max", {x, like(c, 0)}); }

// The norm of a - b + eps over the last dimension.
std::string distance(Call& c, const std::string& a, const std::string& b) {
  const double p = c.number("p", 2);
  need(std::isfinite(p) && p != 0, "distances of this p");
  const std::string d = c.op("Add", {c.op("Sub", {a, b}), like(c, c.number("eps", 1e-6))});
  if (p == 2) return c.op("Sqrt", {sum_of_last(c, c.op("Mul", {d, d}))});
  const std::string power = c.op("Pow", {c.op("Abs", {d}), like(c, p)});
  return c.op("Pow", {sum_of_last(c, power), like(c, 1 / p)});
}
void triplet_margin_loss(Call& c) {
  const std::string a = c.in("anchor"), p = c.in("positive"), n = c.in("negative");
  std::string far = distance(c, a, n);
  if (c.flag("swap")) far = c.op("Min", {far, distance(c, p, n)});
  const std::string more = c.op("Add", {distance(c, a, p), like(c, c.number("margin", 1))});
  give_reduced(c, at_least_zero(c, c.op("Sub", {more, far})));
}
// self where the target is 1, what the margin leaves of it where it is -1; both elsewhere.
void hinge_embedding_loss(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("self", d), t = c.in("target", d);
  const std::string left = at_least_zero(c, c.op("Sub", {like(c, c.number("margin", 1)), x}));
  const auto unless = [&](double label, const std::string& value) {
    return c.op("Where", {c.op("Equal", {t, like(c, label)}), like(c, 0), value});
  };
  give_reduced(c, c.op("Add", {unless(1, left), unless(-1, x)}));
}
// log(1 + exp(-target self))
void soft_margin_loss(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string product = c.op("Mul", {c.in("self", d), c.in("target", d)});
  give_reduced(c, c.op("Softplus", {c.op("Neg", {product})}));
}
// 1 - cos where the target is 1, cos - margin where it is -1.
void cosine_embedding_loss(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string a = c.in("input1"), b = c.in("input2"), target = c.in("target", d);
  const auto square = [&](const std::string& x) {
    return c.op("Add", {sum_of_last(c, c.op("Mul", {x, x})), like(c, 1e-12)});
  };
  const std::string size = c.op("Sqrt", {c.op("Mul", {square(a), square(b)})}),
                    cosine = c.op("Div", {sum_of_last(c, c.op("Mul", {a, b})), size}),
                    same = c.op("Sub", {like(c, 1), cosine}),
                    other = at_least_zero(c, c.op("Sub", {cosine, like(c, c.number("margin"))}));
  const auto where = [&](double label, const std::string& x) {
    return c.op("Where", {c.op("Equal", {target, like(c, label)}), x, like(c, 0)});
  };
  give_reduced(c, c.op("Add", {where(1, same), where(-1, other)}));
}
// By how much each other class comes within the margin of the target's, over the number of classes.
void multi_margin_loss(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const bool lone = c.rank("self") == 1;
  std::string x = c.in("self", d);
  if (lone) x = c.unsqueeze(x, {0});
  const std::string target = c.op("Reshape", {c.in("target", kInt64), c.int_list({-1, 1})}),
                    classes = c.slice(c.op("Shape", {x}), 0, 1, 2);
  const std::string own = c.op("GatherElements", {x, target}, {{"axis", int64_t{1}}}),
                    wanted = c.op("Add", {c.op("Sub", {x, own}), like(c, c.number("margin", 1))});
  std::string each = at_least_zero(c, wanted);
  if (c.number("p", 1) == 2) each = c.op("Mul", {each, each});
  if (!c.none("weight")) each = c.op("Mul", {each, c.op("Gather", {c.in("weight", d), target})});
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  const std::string places = c.op("Range", {number(0), c.squeeze(classes, {0}), number(1)});
  each = c.op("Where", {c.op("Equal", {places, target}), like(c, 0), each});
  each = c.reduce("ReduceSum", c.op("Div", {each, c.cast(classes, kInt64, d)}), {1}, false);
  give_reduced(c, lone ? c.squeeze(each, {0}) : each);
}

// By levels of a scale, which a zero point moves, and which have ends.
void to_levels(Call& c, const std::string& scale, const std::string& zero) {
  const std::string x = c.in("self"), level = c.op("Mul", {x, c.op("Reciprocal", {scale})}),
                    nearest = c.op("Round", {c.op("Add", {level, zero})});
  const auto end = [&](const char* argument) {
    return like(c, static_cast<double>(c.integer(argument)));
  };
  const std::string held =
      c.op("Min", {c.op("Max", {nearest, end("quant_min")}), end("quant_max")});
  c.give(c.op("Mul", {c.op("Sub", {held, zero}), scale}));
}
void fake_quantize(Call& c) {
  const ScalarType d = c.result().scalar_type();
  to_levels(c, c.in("scale", d), c.in("zero_point", d));
}
void fake_quantize_channels(Call& c) {
  const ScalarType d = c.result().scalar_type();
  std::vector<int64_t> last;
  for (int64_t i = 1; i < c.rank("self") - c.axis("axis", "self"); ++i) last.push_back(i);
  to_levels(c, c.unsqueeze(c.in("scale", d), last), c.unsqueeze(c.in("zero_point", d), last));
}

const Rules::Entry list[] = {
    {"aten::cross_entropy_loss", cross_entropy},
    {"aten::nll_loss", nll_loss},
    {"aten::nll_loss2d", nll_loss},
    {"aten::nll_loss_nd", nll_loss},
    {"aten::kl_div", kl_div},
    {"aten::mse_loss", mse_loss},
    {"aten::binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
    {"aten::l1_loss", l1_loss},
    {"aten::hinge_embedding_loss", hinge_embedding_loss},
    {"aten::multi_margin_loss", multi_margin_loss},
    {"aten::soft_margin_loss", soft_margin_loss},
    {"aten::triplet_margin_loss", triplet_margin_loss},
    {"aten::cosine_embedding_loss", cosine_embedding_loss},
    {"aten::fake_quantize_per_tensor_affine", fake_quantize},
    {"aten::fake_quantize_per_channel_affine", fake_quantize_channels}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
