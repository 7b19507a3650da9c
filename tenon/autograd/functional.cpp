// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/functional.h"

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::functional {
namespace {

// Inputs of the function's own; with create_graph a gradient goes through to those that were given.
variable_list own_inputs(const char* name, const variable_list& inputs, bool create_graph) {
  variable_list out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    TENON_CHECK(t.defined() && (t.is_floating_point() || t.is_complex()), TypeError, name,
                ": input ", i, " is not a floating-point or complex tensor");
    const bool through = create_graph && t.requires_grad();
    out.push_back(through ? t.view_as(t) : t.detach().requires_grad_());
  }
  return out;
}

void check_shapes(const char* name, const char* of, const variable_list& v,
                  const variable_list& like) {
  TENON_CHECK(v.size() == like.size(), ValueError, name, ": v has ", v.size(),
              " tensors, expected ", like.size(), ", one per ", of);
  for (std::size_t i = 0; i < v.size(); ++i) {
    TENON_CHECK(v[i].defined() && v[i].sizes() == like[i].sizes(), ValueError, name, ": v[", i,
                "] has shape ", v[i].defined() ? v[i].sizes() : IntArrayRef(), ", its ", of,
                " has ", like[i].sizes());
  }
}

variable_list detached(const variable_list& list, bool keep) {
  if (keep) return list;
  variable_list out;
  for (const Tensor& t : list) out.push_back(t.defined() ? t.detach() : t);
  return out;
}

// grad() of those outputs that have a history, with zeros for what they do not depend on.
variable_list gradients(const variable_list& outputs, const variable_list& inputs,
                        const variable_list& weights, bool create_graph) {
  variable_list roots, given, out;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    given.push_back(weights[i]);
  }
  if (roots.empty())
    out.resize(inputs.size());
  else
    out = grad(roots, inputs, given, /*retain_graph=*/true, create_graph, /*allow_unused=*/true);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) out[i] = zeros_like(inputs[i].detach());
  }
  return out;
}

variable_list ones_for(const char* name, const variable_list& outputs) {
  TENON_CHECK(outputs.size() == 1 && outputs[0].numel() == 1, ValueError, name,
              ": v may be left out if there is one output with one element");
  return {ones_like(outputs[0].detach())};
}

// J v, as the derivative by u of u^T J.
variable_list forward_product(const variable_list& outputs, const variable_list& inputs,
                              const variable_list& v, bool create_graph) {
  variable_list u;
  for (const Tensor& t : outputs) u.push_back(zeros_like(t.detach()).requires_grad_());
  return gradients(gradients(outputs, inputs, u, /*create_graph=*/true), u, v, create_graph);
}

struct Gradient {
  Tensor value;
  variable_list inputs, of;
};
Gradient gradient_of(const char* name, const Multivariate& f, const variable_list& inputs,
                     bool create_graph) {
  Gradient out;
  out.inputs = own_inputs(name, inputs, create_graph);
  const variable_list values = f(out.inputs);
  TENON_CHECK(values.size() == 1 && values[0].numel() == 1, ValueError, name,
              ": the function must return one tensor with one element");
  out.value = values[0];
  out.of = gradients(values, out.inputs, {ones_like(values[0].detach())}, /*create_graph=*/true);
  return out;
}

Tensor rows_of(const Tensor& output, const std::vector<Tensor>& rows, const Tensor& input) {
  std::vector<int64_t> sizes = output.sizes().vec();
  sizes.insert(sizes.end(), input.sizes().begin(), input.sizes().end());
  if (rows.empty()) return zeros(sizes, input.options());
  return stack(rows).reshape(sizes);
}

// [input], each of shape output.sizes() + input.sizes().
variable_list jacobian_of(const Tensor& output, const variable_list& inputs, bool create_graph) {
  std::vector<std::vector<Tensor>> rows(inputs.size());
  const Tensor flat = output.reshape({-1});
  for (int64_t k = 0; k < flat.numel(); ++k) {
    const Tensor one = flat.select(0, k);
    const variable_list row = gradients({one}, inputs, {ones_like(one.detach())}, create_graph);
    for (std::size_t i = 0; i < row.size(); ++i) rows[i].push_back(row[i]);
  }
  variable_list out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    out.push_back(rows_of(output, rows[i], inputs[i]));
  return out;
}

Multivariate of_lists(const Univariate& f) {
  return [f](const variable_list& inputs) { return variable_list{f(inputs[0])}; };
}

}  // namespace

std::pair<variable_list, variable_list> vjp(const Multivariate& f, const variable_list& inputs,
                                            const variable_list& v, bool create_graph) {
  const EnableGradGuard record;
  const variable_list own = own_inputs("vjp", inputs, create_graph), outputs = f(own);
  const variable_list weights = v.empty() ? ones_for("vjp", outputs) : v;
  check_shapes("vjp", "output", weights, outputs);
  const variable_list product = gradients(outputs, own, weights, create_graph);
  return {detached(outputs, create_graph), detached(product, create_graph)};
}

std::pair<variable_list, variable_list> jvp(const Multivariate& f, const variable_list& inputs,
                                            const variable_list& v, bool create_graph) {
  const EnableGradGuard record;
  check_shapes("jvp", "input", v, inputs);
  const variable_list own = own_inputs("jvp", inputs, create_graph), outputs = f(own);
  const variable_list product = forward_product(outputs, own, v, create_graph);
  return {detached(outputs, create_graph), detached(product, create_graph)};
}

std::pair<Tensor, variable_list> vhp(const Multivariate& f, const variable_list& inputs,
                                     const variable_list& v, bool create_graph) {
  const EnableGradGuard record;
  check_shapes("vhp", "input", v, inputs);
  const Gradient g = gradient_of("vhp", f, inputs, create_graph);
  const variable_list product = gradients(g.of, g.inputs, v, create_graph);
  return {detached({g.value}, create_graph)[0], detached(product, create_graph)};
}

std::pair<Tensor, variable_list> hvp(const Multivariate& f, const variable_list& inputs,
                                     const variable_list& v, bool create_graph) {
  const EnableGradGuard record;
  check_shapes("hvp", "input", v, inputs);
  const Gradient g = gradient_of("hvp", f, inputs, create_graph);
  const variable_list product = forward_product(g.of, g.inputs, v, create_graph);
  return {detached({g.value}, create_graph)[0], detached(product, create_graph)};
}

std::vector<variable_list> jacobian(const Multivariate& f, const variable_list& inputs,
                                    bool create_graph) {
  const EnableGradGuard record;
  const variable_list own = own_inputs("jacobian", inputs, create_graph);
  std::vector<variable_list> out;
  for (const Tensor& output : f(own))
    out.push_back(detached(jacobian_of(output, own, create_graph), create_graph));
  return out;
}

std::vector<variable_list> hessian(const Multivariate& f, const variable_list& inputs,
                                   bool create_graph) {
  const EnableGradGuard record;
  const Gradient g = gradient_of("hessian", f, inputs, create_graph);
  std::vector<variable_list> out;
  for (const Tensor& row : g.of)
    out.push_back(detached(jacobian_of(row, g.inputs, create_graph), create_graph));
  return out;
}

std::pair<Tensor, Tensor> vjp(const Univariate& f, const Tensor& input, const Tensor& v,
                              bool create_graph) {
  const auto r =
      vjp(of_lists(f), {input}, v.defined() ? variable_list{v} : variable_list(), create_graph);
  return {r.first[0], r.second[0]};
}
std::pair<Tensor, Tensor> jvp(const Univariate& f, const Tensor& input, const Tensor& v,
                              bool create_graph) {
  const auto r = jvp(of_lists(f), {input}, variable_list{v}, create_graph);
  return {r.first[0], r.second[0]};
}
std::pair<Tensor, Tensor> vhp(const Univariate& f, const Tensor& input, const Tensor& v,
                              bool create_graph) {
  const auto r = vhp(of_lists(f), {input}, variable_list{v}, create_graph);
  return {r.first, r.second[0]};
}
std::pair<Tensor, Tensor> hvp(const Univariate& f, const Tensor& input, const Tensor& v,
                              bool create_graph) {
  const auto r = hvp(of_lists(f), {input}, variable_list{v}, create_graph);
  return {r.first, r.second[0]};
}
Tensor jacobian(const Univariate& f, const Tensor& input, bool create_graph) {
  return jacobian(of_lists(f), variable_list{input}, create_graph)[0][0];
}
Tensor hessian(const Univariate& f, const Tensor& input, bool create_graph) {
  return hessian(of_lists(f), variable_list{input}, create_graph)[0][0];
}

}  // namespace tenon::autograd::functional
