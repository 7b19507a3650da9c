// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/activation.h"

namespace tenon {
namespace {

using Parameters = ArrayRef<double>;

struct Activation {
  std::string_view name;
  Tensor (*value)(const Tensor& x, Parameters p);
  Tensor (*gradient)(const Tensor& g, const Tensor& x, Parameters p);
};

constexpr Activation kActivations[] = {
    {"none", [](const Tensor& x, Parameters) { return x; },
     [](const Tensor& g, const Tensor&, Parameters) { return g; }},
    {"relu", [](const Tensor& x, Parameters) { return relu(x); },
     [](const Tensor& g, const Tensor& x, Parameters) { return threshold_backward(g, x, 0); }},
    {"gelu", [](const Tensor& x, Parameters) { return gelu(x); },
     [](const Tensor& g, const Tensor& x, Parameters) { return gelu_backward(g, x); }},
    {"gelu_tanh", [](const Tensor& x, Parameters) { return gelu(x, "tanh"); },
     [](const Tensor& g, const Tensor& x, Parameters) { return gelu_backward(g, x, "tanh"); }},
    {"silu", [](const Tensor& x, Parameters) { return silu(x); },
     [](const Tensor& g, const Tensor& x, Parameters) { return silu_backward(g, x); }},
    {"hardswish", [](const Tensor& x, Parameters) { return hardswish(x); },
     [](const Tensor& g, const Tensor& x, Parameters) {
       return where(x <= -3, zeros_like(g), where(x < 3, g * (x / 3 + 0.5), g));
     }},
    {"hardsigmoid", [](const Tensor& x, Parameters) { return hardsigmoid(x); },
     [](const Tensor& g, const Tensor& x, Parameters) {
       return where((x > -3).logical_and(x < 3), g / 6, zeros_like(g));
     }},
    {"sigmoid", [](const Tensor& x, Parameters) { return sigmoid(x); },
     [](const Tensor& g, const Tensor& x, Parameters) { return sigmoid_backward(g, sigmoid(x)); }},
    {"tanh", [](const Tensor& x, Parameters) { return tanh(x); },
     [](const Tensor& g, const Tensor& x, Parameters) { return tanh_backward(g, tanh(x)); }},
    {"hardtanh", [](const Tensor& x, Parameters p) { return hardtanh(x, p[0], p[1]); },
     [](const Tensor& g, const Tensor& x, Parameters p) {
       return hardtanh_backward(g, x, p[0], p[1]);
     }},
    {"leaky_relu", [](const Tensor& x, Parameters p) { return leaky_relu(x, p[0]); },
     [](const Tensor& g, const Tensor& x, Parameters p) { return where(x > 0, g, g * p[0]); }},
    {"elu", [](const Tensor& x, Parameters p) { return elu(x, p[0]); },
     [](const Tensor& g, const Tensor& x, Parameters p) {
       return where(x > 0, g, g * p[0] * exp(x));
     }},
};

const Activation& activation_named(std::string_view name) {
  for (const Activation& a : kActivations) {
    if (a.name == name) return a;
  }
  throw ValueError("unknown activation '" + std::string(name) + "'");
}

}  // namespace

Tensor activated(const Tensor& x, std::string_view name, ArrayRef<double> parameters) {
  return activation_named(name).value(x, parameters);
}

Tensor activation_gradient(const Tensor& grad, const Tensor& x, std::string_view name,
                           ArrayRef<double> parameters) {
  return activation_named(name).gradient(grad, x, parameters);
}

}  // namespace tenon
