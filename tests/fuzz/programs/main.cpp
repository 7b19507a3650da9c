// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random programs of 5 to 30 steps with views, writes in place, hooks, parts that are not recorded
// and custom functions: results, gradients and gradients of gradients against the same program
// without any of these, and those against differences.
#include <algorithm>
#include <cmath>

#include "program.h"
#include "tenon/autograd.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/threads.h"

namespace tenon::fuzz {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors& leaves)>;

constexpr double kMaxValue = 1e3;  // beyond this, differences are noise
constexpr double kExact = 1e-9;    // between two computations of one value, relative to the largest
constexpr double kDifference = 1e-4;

Tensors leaves_of(const Program& p, const Tensors& moves, double step) {
  Tensors out;
  for (std::size_t i = 0; i < p.leaves.size(); ++i) {
    Tensor t =
        tensor(ArrayRef<double>(p.leaves[i]), TensorOptions(kDouble)).reshape(p.variables[i].sizes);
    out.push_back((t + moves[i] * step).detach().requires_grad_());
  }
  return out;
}

Tensors random_moves(const Program& p, Random& r) {
  Tensors out;
  for (std::size_t i = 0; i < p.leaves.size(); ++i) {
    std::vector<double> v(p.leaves[i].size());
    for (double& x : v) x = r.real(-1, 1);
    out.push_back(
        tensor(ArrayRef<double>(v), TensorOptions(kDouble)).reshape(p.variables[i].sizes));
  }
  return out;
}

// One scalar to which every output contributes.
Tensor total(const Tensors& outputs) {
  Tensor sum = zeros({}, TensorOptions(kDouble));
  double k = 0.3;
  for (const Tensor& t : outputs) {
    const Tensor weights =
        (arange(t.numel(), TensorOptions(kDouble)) * 0.17 + k).cos().reshape(t.sizes());
    sum = sum + (t * weights + t * t * 0.1).sum();
    k += 0.7;
  }
  return sum;
}

struct Answer {
  double value = 0;
  Tensors first, second;  // of value, and of the sum of first * moves
};

Tensors filled(Tensors grads, const Tensors& leaves) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) grads[i] = zeros_like(leaves[i]);
  }
  return grads;
}

Tensor inner(const Tensors& a, const Tensors& b) {
  Tensor sum = zeros({}, TensorOptions(kDouble));
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + (a[i] * b[i]).sum();
  return sum;
}

Answer answer(const Function& f, const Tensors& leaves, const Tensors& moves, bool twice) {
  Answer out;
  const Tensor y = total(f(leaves));
  out.value = y.item<double>();
  if (!y.requires_grad())
    return out.first = out.second = filled(Tensors(leaves.size()), leaves), out;
  out.first = filled(autograd::grad({y}, leaves, {}, true, twice, true), leaves);
  if (!twice) return out;
  const Tensor slope = inner(out.first, moves);
  out.second =
      filled(slope.requires_grad() ? autograd::grad({slope}, leaves, {}, false, false, true)
                                   : Tensors(leaves.size()),
             leaves);
  return out;
}

double largest(const Tensors& list) {
  double out = 0;
  for (const Tensor& t : list) {
    const double m = t.numel() ? t.detach().abs().max().item<double>() : 0;
    if (!(m <= out)) out = m;  // also a NaN
  }
  return out;
}

std::string differ(const char* what, const Tensors& got, const Tensors& wanted) {
  const double scale = 1 + largest(wanted);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = largest({got[i] - wanted[i]});
    if (off <= kExact * scale) continue;
    return core::join(what, " by leaf ", i, " is off by ", off, " of ", scale);
  }
  return {};
}

// The slopes of value and of <first, moves> along `moves`, by gradients and by differences of
// several steps.
std::string by_differences(const Function& twin, const Program& p, const Answer& a,
                           const Tensors& moves) {
  const double first = inner(a.first, moves).item<double>(),
               second = inner(a.second, moves).item<double>();
  std::string wrong;
  for (double step : {1e-5, 1e-4, 1e-6, 1e-3}) {
    const Answer up = answer(twin, leaves_of(p, moves, step), moves, false);
    const Answer down = answer(twin, leaves_of(p, moves, -step), moves, false);
    const double one = (up.value - down.value) / (2 * step);
    const double two =
        (inner(up.first, moves) - inner(down.first, moves)).item<double>() / (2 * step);
    const double scale = 1 + std::fabs(first) + std::fabs(second);
    if (std::fabs(one - first) <= kDifference * scale &&
        std::fabs(two - second) <= kDifference * scale)
      return {};
    wrong = core::join("by differences the slope is ", one, " and the second one ", two,
                       ", by gradients ", first, " and ", second);
  }
  return wrong;
}

// Whether leaves that differ in their last places give other gradients: then two computations may
// differ as much.
bool ill_conditioned(const Function& twin, const Program& p, const Answer& wanted,
                     const Tensors& moves) {
  const Answer near = answer(twin, leaves_of(p, moves, 1e-14), moves, true);
  return !differ("the gradient", near.first, wanted.first).empty() ||
         !differ("the gradient of the gradient", near.second, wanted.second).empty();
}

std::string check(Random& r) {
  const Program p = generate(r);
  const Tensors moves = random_moves(p, r), leaves = leaves_of(p, moves, 0);
  Constants constants;
  const Function twin = [&](const Tensors& x) { return run_twin(p, x, constants); };
  const Answer wanted = answer(twin, leaves, moves, true);
  const double size =
      std::max({std::fabs(wanted.value), largest(wanted.first), largest(wanted.second)});
  if (constants.noisy || !(size < kMaxValue)) return tally("too large"), "";
  Answer got;
  try {
    got = answer([&](const Tensors& x) { return run(p, x); }, leaves, moves, true);
  } catch (const Error& e) {
    const std::string text = e.what();
    // What was saved was written: torch refuses that, too.
    if (text.find("has been modified by an inplace") == std::string::npos) return text + text_of(p);
    return tally("refused"), "";
  }
  tally("compared");
  std::string wrong;
  if (std::fabs(got.value - wanted.value) > kExact * (1 + std::fabs(wanted.value)))
    wrong = core::join("the value is ", got.value, " and not ", wanted.value);
  if (wrong.empty()) wrong = differ("the gradient", got.first, wanted.first);
  if (wrong.empty()) wrong = differ("the gradient of the gradient", got.second, wanted.second);
  if (!wrong.empty() && ill_conditioned(twin, p, wanted, moves))
    return tally("ill-conditioned"), "";
  if (wrong.empty()) wrong = by_differences(twin, p, wanted, moves);
  return wrong.empty() ? "" : wrong + text_of(p);
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  return tenon::fuzz::run(
      argc, argv,
      {"programs", "Gradients of random programs against twins without views, writes and hooks.",
       tenon::fuzz::check, [] { tenon::core::set_num_threads(1); }});
}
