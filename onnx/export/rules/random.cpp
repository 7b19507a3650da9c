// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers that are drawn when the model runs, by its runtime's generator.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

// Not the operator Bernoulli: ONNX Runtime gives 0 with the probability that it says for 1.
void bernoulli(Call& c) {
  const ScalarType d = c.result().scalar_type(), p = isFloatingType(d) ? d : kFloat32;
  const std::string self = c.in("self", p);
  const std::string drawn = c.op("RandomUniformLike", {self}, {{"dtype", int64_t{onnx_type(p)}}});
  c.give_cast(c.op("Less", {drawn, c.has("p") ? c.in("p", p) : self}), kBool);
}

// As the result; `like` is a tensor of its sizes.
std::string drawn(Call& c, const char* type, const std::string& like, double a, double b) {
  const ScalarType d = c.result().scalar_type();
  need(d == kFloat32 || d == kFloat64 || d == kFloat16, "of this dtype");
  const bool uniform = std::string(type) == "RandomUniformLike";
  return c.op(type, {like},
              {{"dtype", int64_t{onnx_type(d)}},
               {uniform ? "low" : "mean", a},
               {uniform ? "high" : "scale", b}});
}
std::string zeros_of(Call& c, const std::string& shape) {
  return c.op("ConstantOfShape", {shape}, {{"value", zeros({1}, TensorOptions(kFloat32))}});
}
std::string shaped(Call& c) { return c.has("self") ? c.in("self") : zeros_of(c, c.in("size")); }
void rand(Call& c) { c.give(drawn(c, "RandomUniformLike", shaped(c), 0, 1)); }
void randn(Call& c) { c.give(drawn(c, "RandomNormalLike", shaped(c), 0, 1)); }
void uniform(Call& c) {
  c.give(drawn(c, "RandomUniformLike", c.in("self"), c.number("from", 0), c.number("to", 1)));
}
void normal(Call& c) {
  const bool number_mean = !c.get("mean").example.isTensor(),
             number_std = !c.get("std").example.isTensor();
  if (number_mean && number_std)
    return c.give(drawn(c, "RandomNormalLike", shaped(c), c.number("mean"), c.number("std", 1)));
  const ScalarType d = c.result().scalar_type();
  const std::string mean = c.in("mean", d), std = c.in("std", d);
  const std::string shape = c.op("Shape", {c.op("Add", {mean, std})});
  const std::string z = drawn(c, "RandomNormalLike", zeros_of(c, shape), 0, 1);
  c.give(c.op("Add", {mean, c.op("Mul", {z, std})}));
}
void randint(Call& c) {
  const double low = c.has("low") ? c.number("low") : 0, high = c.number("high");
  const std::string like =
      zeros_of(c, c.has("self") ? c.op("Shape", {c.in("self")}) : c.in("size"));
  const std::string u =
      c.op("RandomUniformLike", {like},
           {{"dtype", int64_t{onnx_type(kFloat64)}}, {"low", low}, {"high", high}});
  c.give_cast(c.op("Floor", {u}), kFloat64);
}
// Different ones are those whose probabilities over numbers that are drawn exponentially are the
// largest.
void draw_different(Call& c, int64_t n) {
  const std::string p = c.in("self", kFloat32),
                    u = c.op("RandomUniformLike", {p}, {{"dtype", int64_t{onnx_type(kFloat32)}}}),
                    times = c.op("Neg", {c.op("Log", {u})});
  c.give(c.ops("TopK", {c.op("Div", {p, times}), c.int_list({n})}, {}, 2)[1]);
}
// Multinomial takes logarithms, and draws with replacement.
void multinomial(Call& c) {
  const int64_t rank = c.rank("self"), n = c.integer("num_samples");
  if (!c.flag("replacement") && n != 1) return draw_different(c, n);
  std::string x = c.op("Log", {c.in("self", kFloat32)});
  if (rank == 1) x = c.unsqueeze(x, {0});
  const std::string y =
      c.op("Multinomial", {x}, {{"dtype", int64_t{onnx_type(kInt64)}}, {"sample_size", n}});
  c.give(rank == 1 ? c.squeeze(y, {0}) : y);
}

const Rules::Entry list[] = {
    {"aten::bernoulli", bernoulli},  {"aten::rand", rand},
    {"aten::rand_like", rand},       {"aten::randn", randn},
    {"aten::randn_like", randn},     {"aten::uniform", uniform},
    {"aten::normal", normal},        {"aten::randint", randint},
    {"aten::randint_like", randint}, {"aten::multinomial", multinomial},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
