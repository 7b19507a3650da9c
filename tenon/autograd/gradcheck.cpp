// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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

bool report(const std::string& text, const GradcheckOptions& o) {
  if (!o.raise) return false;
  throw Error(text);
}

std::string six_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v + 0.0);  // no negative zero
  return text;
}

// Rows of at most eight numbers, of eight rows.
std::string matrix_text(const std::vector<Doubles>& rows) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t r = 0; r < std::min(rows.size(), kShown); ++r) {
    out += "\n  [";
    for (std::size_t c = 0; c < std::min(rows[r].size(), kShown); ++c)
      out += (c ? ", " : "") + six_digits(rows[r][c]);
    out += rows[r].size() > kShown ? ", ...]" : "]";
  }
  return rows.size() > kShown ? out + "\n  ..." : out;
}

// [input][element of the output][element of the input]
using Jacobians = std::vector<std::vector<Doubles>>;

struct Difference {
  std::size_t output, input;  // among those that are compared
  std::size_t row, column;
  double numeric, analytic;
};

class Check {
 public:
  Check(const char* what, const GradcheckFunction& f, const Tensors& inputs,
        const GradcheckOptions& options)
      : what_(what), f_(f), inputs_(inputs), options_(options) {
    check_inputs(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      wanted_.push_back(inputs[i]);
      positions_.push_back(i);
    }
    outputs_ = f(inputs);
  }

  bool run() {
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      analytic_.emplace_back(wanted_.size());
      if (!is_compared(outputs_[o]) || !outputs_[o].requires_grad()) continue;
      const std::string fault = find_fault(o);
      if (!fault.empty()) return report(core::join(what_, ": output ", o, ": ", fault), options_);
      const auto n = static_cast<int64_t>(count(outputs_[o]));
      for (int64_t k = 0; k < n; ++k) {
        std::vector<Doubles> row = analytic_row(what_, outputs_[o], k, wanted_);
        for (std::size_t i = 0; i < row.size(); ++i) analytic_[o][i].push_back(std::move(row[i]));
      }
    }
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      for (std::size_t j = 0; j < count(wanted_[i]); ++j) {
        if (const auto d = find_difference(i, j)) return report(describe(*d), options_);
      }
    }
    return true;
  }

 private:
  std::vector<Doubles> column(std::size_t input, std::size_t element) const {
    return numeric_column(f_, inputs_, positions_[input], static_cast<int64_t>(element),
                          options_.eps);
  }

  // What a backward pass of the output does that no backward pass may.
  std::string find_fault(std::size_t o) const {
    const Tensor nothing = from_values(Doubles(count(outputs_[o]), 0.0), outputs_[o]);
    const Tensors grads = grad({outputs_[o]}, wanted_, {nothing}, true, false, true);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const Tensor &g = grads[i], &of = wanted_[i];
      if (!g.defined()) continue;
      if (g.sizes() != of.sizes() || g.scalar_type() != of.scalar_type())
        return core::join("the gradient of input ", positions_[i], " is ",
                          toString(g.scalar_type()), " of shape ", g.sizes(), ", the input ",
                          toString(of.scalar_type()), " of shape ", of.sizes());
      for (const double v : gradient_values(what_, g, of)) {
        if (v < 0 || v > 0)
          return core::join("backward not multiplied by grad_output: the gradient of input ",
                            positions_[i], " has ", v, " where that of the output is 0");
      }
    }
    if (count(outputs_[o]) == 0) return {};
    const auto once = analytic_row(what_, outputs_[o], 0, wanted_),
               again = analytic_row(what_, outputs_[o], 0, wanted_);
    for (std::size_t i = 0; i < once.size(); ++i) {
      for (std::size_t k = 0; k < once[i].size(); ++k) {
        if (!close(once[i][k], again[i][k], {0, 0, 0, false}))
          return core::join("backward is not reentrant: the gradient of input ", positions_[i],
                            ", element ", k, ", is ", once[i][k], " and then ", again[i][k]);
      }
    }
    return {};
  }

  std::optional<Difference> find_difference(std::size_t i, std::size_t j) const {
    const std::vector<Doubles> numeric = column(i, j);
    for (std::size_t o = 0; o < numeric.size(); ++o) {
      for (std::size_t k = 0; k < numeric[o].size(); ++k) {
        const double analytic = analytic_[o][i].empty() ? 0 : analytic_[o][i][k][j];
        if (!close(analytic, numeric[o][k], options_))
          return Difference{o, i, k, j, numeric[o][k], analytic};
      }
    }
    return std::nullopt;
  }

  std::string describe(const Difference& d) const {
    const std::size_t rows = count(outputs_[d.output]), columns = count(wanted_[d.input]);
    std::vector<Doubles> numeric(rows, Doubles(columns)), analytic = analytic_[d.output][d.input];
    if (analytic.empty()) analytic.assign(rows, Doubles(columns, 0.0));
    for (std::size_t j = 0; j < columns; ++j) {
      const std::vector<Doubles> of_all = column(d.input, j);
      for (std::size_t k = 0; k < rows; ++k) numeric[k][j] = of_all[d.output][k];
    }
    return core::join(what_, ": the gradient of output ", d.output, ", element ", d.row,
                      ", by input ", positions_[d.input], ", element ", d.column, " is ",
                      d.analytic, ", the difference quotient is ", d.numeric,
                      "\nnumerical:", matrix_text(numeric), "\nanalytical:", matrix_text(analytic));
  }

  const char* what_;
  const GradcheckFunction& f_;
  const Tensors& inputs_;
  const GradcheckOptions& options_;
  Tensors wanted_, outputs_;
  std::vector<std::size_t> positions_;  // of wanted_ among the inputs
  std::vector<Jacobians> analytic_;     // by output
};

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
  return Check("gradcheck", f, inputs, options).run();
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
  return Check("gradgradcheck", first, all, options).run();
}

}  // namespace tenon::autograd
