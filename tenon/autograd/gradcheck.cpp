// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/gradcheck.h"

#include <cmath>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {
namespace {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

// The variables of a tensor: its elements, or of one with a layout of its own the values of those
// that it holds.
Tensor variables(const Tensor& t) {
  return t.layout() == kStrided ? t.detach() : t.detach().coalesce()._values();
}

Doubles host_values(const Tensor& t) {
  Tensor h = variables(t).cpu().to(kDouble).contiguous();
  const double* p = h.const_data_ptr<double>();
  return Doubles(p, p + h.numel());
}

// A tensor of those variables.
Tensor from_values(const Doubles& v, const Tensor& like) {
  const Tensor model = variables(like);
  Tensor t = empty(model.sizes(), TensorOptions().dtype(kDouble));
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  t = t.to(like.device()).to(like.scalar_type());
  return like.layout() == kStrided ? t : _with_values(like.detach().coalesce(), t);
}

std::size_t count(const Tensor& t) { return static_cast<std::size_t>(variables(t).numel()); }

// By the variables of `of`.
Doubles gradient_values(const char* what, const Tensor& grad, const Tensor& of) {
  if (!grad.defined()) return Doubles(count(of), 0.0);
  TENON_CHECK(of.layout() == kStrided || grad.layout() == of.layout(), Error, what,
              ": a gradient has layout ", toString(grad.layout()), ", its tensor of shape ",
              of.sizes(), " has ", toString(of.layout()));
  return host_values(of.layout() == kStrided
                         ? grad.to_dense()
                         : _values_at(grad.detach(), of.detach().coalesce()._indices()));
}

void check_inputs(const Tensors& inputs) {
  bool any = false;
  for (const Tensor& t : inputs) {
    if (!t.defined() || !t.requires_grad()) continue;
    any = true;
    TENON_CHECK(t.scalar_type() == kDouble, TypeError,
                "gradcheck: an input that requires a gradient is ", toString(t.scalar_type()),
                ", expected Double");
  }
  TENON_CHECK(any, ValueError, "gradcheck: no input requires a gradient");
}

bool is_compared(const Tensor& output) {
  return output.defined() && isFloatingType(output.scalar_type());
}

// [output][element of the output] for one element of one input.
std::vector<Doubles> numeric_column(const GradcheckFunction& f, const Tensors& inputs,
                                    std::size_t input, int64_t element, double eps) {
  NoGradGuard no_grad;
  auto moved = [&](double step) {
    Tensors args;
    for (const Tensor& t : inputs) args.push_back(t.defined() ? t.detach() : t);
    Doubles v = host_values(inputs[input]);
    v[static_cast<std::size_t>(element)] += step;
    args[input] = from_values(v, inputs[input]);
    return f(args);
  };
  Tensors up = moved(eps), down = moved(-eps);
  std::vector<Doubles> out(up.size());
  for (std::size_t o = 0; o < up.size(); ++o) {
    if (!is_compared(up[o])) continue;
    Doubles a = host_values(up[o]), b = host_values(down[o]);
    TENON_CHECK(a.size() == b.size(), Error, "gradcheck: output ", o, " has now ", a.size(),
                " elements, now ", b.size());
    for (std::size_t k = 0; k < a.size(); ++k) out[o].push_back((a[k] - b[k]) / (2 * eps));
  }
  return out;
}

// [input][element of the input] for one element of one output.
std::vector<Doubles> analytic_row(const char* what, const Tensor& output, int64_t element,
                                  const Tensors& wanted) {
  Doubles one(count(output), 0.0);
  one[static_cast<std::size_t>(element)] = 1;
  Tensors grads = grad({output}, wanted, {from_values(one, output)}, /*retain_graph=*/true,
                       /*create_graph=*/false,
                       /*allow_unused=*/true);
  std::vector<Doubles> out;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    out.push_back(gradient_values(what, grads[i], wanted[i]));
  }
  return out;
}

bool close(double analytic, double numeric, const GradcheckOptions& o) {
  if (std::isnan(numeric) || std::isnan(analytic))
    return std::isnan(numeric) == std::isnan(analytic);
  return std::fabs(analytic - numeric) <= o.atol + o.rtol * std::fabs(numeric);
}

struct Difference {
  std::size_t output, input;
  int64_t row, column;
  double numeric, analytic;
};

bool report(const char* what, const Difference& d, const GradcheckOptions& o) {
  if (!o.raise) return false;
  throw Error(core::join(what, ": the gradient of output ", d.output, ", element ", d.row,
                         ", by input ", d.input, ", element ", d.column, " is ", d.analytic,
                         ", the difference quotient is ", d.numeric));
}

bool check(const char* what, const GradcheckFunction& f, const Tensors& inputs,
           const GradcheckOptions& options) {
  check_inputs(inputs);
  Tensors wanted;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    wanted.push_back(inputs[i]);
    positions.push_back(i);
  }
  Tensors outputs = f(inputs);
  std::vector<std::vector<std::vector<Doubles>>> rows(outputs.size());  // [output][row][input]
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!is_compared(outputs[o]) || !outputs[o].requires_grad()) continue;
    const auto n = static_cast<int64_t>(count(outputs[o]));
    for (int64_t k = 0; k < n; ++k) rows[o].push_back(analytic_row(what, outputs[o], k, wanted));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto n = static_cast<int64_t>(count(wanted[i]));
    for (int64_t j = 0; j < n; ++j) {
      std::vector<Doubles> column = numeric_column(f, inputs, positions[i], j, options.eps);
      for (std::size_t o = 0; o < column.size(); ++o) {
        for (std::size_t k = 0; k < column[o].size(); ++k) {
          double analytic = rows[o].empty() ? 0 : rows[o][k][i][static_cast<std::size_t>(j)];
          if (close(analytic, column[o][k], options)) continue;
          return report(what, {o, positions[i], static_cast<int64_t>(k), j, column[o][k], analytic},
                        options);
        }
      }
    }
  }
  return true;
}

// Values in (-1, 1) that no formula produces by accident.
Tensor fixed_sequence(const Tensor& like, uint32_t& state) {
  Doubles v(count(like));
  for (double& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<double>(state >> 8) / (1 << 23) - 1;
  }
  return from_values(v, like);
}

// The gradients of f by the inputs that `needs` names, as a function of those inputs and, after
// them, of the gradients of f's outputs. Called with leaves by the differences and with tracked
// tensors by the formula.
Tensors first_gradient(const GradcheckFunction& f, const Tensors& args,
                       const std::vector<bool>& needs) {
  AutoGradMode on(true);
  Tensors given, wanted, results;
  Tensors seeds(args.begin() + static_cast<std::ptrdiff_t>(needs.size()), args.end());
  bool tracked = false;
  for (const Tensor& t : args) tracked = tracked || (t.defined() && t.requires_grad());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    given.push_back(needs[i] && !tracked ? args[i].detach().requires_grad_(true) : args[i]);
    if (needs[i]) wanted.push_back(given.back());
  }
  for (const Tensor& t : f(given)) {
    if (is_compared(t) && t.requires_grad()) results.push_back(t);
  }
  Tensors grads = grad(results, wanted, seeds, /*retain_graph=*/true, /*create_graph=*/tracked,
                       /*allow_unused=*/true);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) grads[i] = from_values(Doubles(count(wanted[i]), 0.0), wanted[i]);
  }
  return grads;
}

}  // namespace

bool gradcheck(const GradcheckFunction& f, const Tensors& inputs, const GradcheckOptions& options) {
  return check("gradcheck", f, inputs, options);
}

bool gradgradcheck(const GradcheckFunction& f, const Tensors& inputs, const Tensors& grad_outputs,
                   const GradcheckOptions& options) {
  check_inputs(inputs);
  Tensors outputs;
  for (const Tensor& t : f(inputs)) {
    if (is_compared(t) && t.requires_grad()) outputs.push_back(t);
  }
  Tensors all = inputs;
  uint32_t state = 12345;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Tensor g = grad_outputs.empty() ? fixed_sequence(outputs[o], state)
                                    : grad_outputs.at(o).detach().clone();
    all.push_back(g.requires_grad_(true));
  }
  std::vector<bool> needs;
  for (const Tensor& t : inputs) needs.push_back(t.defined() && t.requires_grad());
  GradcheckFunction first = [&](const Tensors& args) { return first_gradient(f, args, needs); };
  return check("gradgradcheck", first, all, options);
}

}  // namespace tenon::autograd
