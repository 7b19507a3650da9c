// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "known.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <regex>

#include "tools/check/operator_check.h"
#include "wild.h"

namespace tenon::fuzz {
namespace {

double largest_element(const Call& call) {
  double out = 0;
  for (const Impl& t : call.tensors()) {
    for (double v : oracle::values_of(*t).real)
      out = std::max(out, std::isfinite(v) ? std::fabs(v) : 0);
  }
  return out;
}

// Of "... X instead of Y": within what the sums of this call may differ by.
bool near_enough(const Call& call, const std::string& difference) {
  double ours = 0, other = 0;
  const auto at = difference.rfind(": ");
  if (family_of(call.op()) == Family::Elements || at == std::string::npos) return false;
  if (std::sscanf(difference.c_str() + at + 2, "%lf instead of %lf", &ours, &other) != 2)
    return false;
  // Special elements are up to 10.
  double scale = 20 + std::pow(10.0, call.wild().power) + std::fabs(other);
  if (!isFloatingType(call.dtype()))
    scale = std::max(scale, largest_element(call));  // any integer is
  // Results of integers, and of operators with a dtype of their own, are float32 at least.
  const bool own = isFloatingType(call.dtype()) && !call.mixed() &&
                   call.spec().origin.find("dtype=") == std::string::npos;
  return std::fabs(ours - other) <=
         64 * (own ? unit(call.dtype()) : unit(kFloat)) * scale * std::max(1.0, scale);
}

struct Known {
  unsigned ways;
  const char* ops;  // a pattern of names, with or without overload
  const char* reason;
  bool (*when)(const Call& call, const std::string& difference) = nullptr;
};

// A last place: four elements are added first where they are neighbors.
bool is_small(const Call& call, const std::string& difference) {
  return near_enough(call, difference);
}

// One place of a step, rounded again by the next. Results of integers are float32.
bool is_last_place(const Call& call, const std::string& difference) {
  double ours = 0, other = 0;
  const auto at = difference.rfind(": ");
  if (at == std::string::npos) return false;
  if (std::sscanf(difference.c_str() + at + 2, "%lf instead of %lf", &ours, &other) != 2)
    return false;
  const bool own = isFloatingType(call.dtype()) && !call.mixed();
  const double place = std::max(unit(call.dtype()), own ? 0 : unit(kFloat));
  return std::fabs(ours - other) <= 4 * place * std::fabs(other);
}

bool is_mixed(const Call& call, const std::string&) { return call.mixed(); }
bool is_dtype(const Call&, const std::string& difference) {
  return difference.find(" is ") != std::string::npos &&
         difference.find(" instead of ") != std::string::npos;
}

bool is_infinite(const Call&, const std::string& difference) {
  return difference.find("nan") != std::string::npos || difference.find("inf") != std::string::npos;
}
bool is_anything(const Call&, const std::string&) { return true; }
// Of finite operands so large that products or powers of them may overflow on the way to a sum.
bool is_overflow_on_the_way(const Call& call, const std::string& difference) {
  constexpr double kLarge = 8;
  if (family_of(call.op()) != Family::Sums || !is_infinite(call, difference)) return false;
  for (const Impl& t : call.tensors()) {
    for (double v : oracle::values_of(*t).real) {
      if (std::isfinite(v) && std::fabs(v) > kLarge) return true;
    }
  }
  return false;
}
// Of so many elements that parts of their product overflow or vanish, as the order has it.
bool is_long_product(const Call& call, const std::string& difference) {
  constexpr int64_t kMany = 16;
  const auto& tensors = call.tensors();
  return is_infinite(call, difference) &&
         std::any_of(tensors.begin(), tensors.end(),
                     [](const Impl& t) { return t->numel > kMany; });
}
bool is_tiny(const Call& call, const std::string& difference) {
  double ours = 0, other = 0;
  const auto at = difference.rfind(": ");
  if (at == std::string::npos) return false;
  if (std::sscanf(difference.c_str() + at + 2, "%lf instead of %lf", &ours, &other) != 2)
    return false;
  return std::fabs(ours - other) < (call.dtype() == kDouble ? 1e-14 : 2e-6);
}
// What a factor below the normal numbers loses, times the largest element.
bool has_denormal_factor(const Call& call, const std::string& difference) {
  double ours = 0, other = 0;
  const auto at = difference.rfind(": ");
  if (at == std::string::npos) return false;
  if (std::sscanf(difference.c_str() + at + 2, "%lf instead of %lf", &ours, &other) != 2)
    return false;
  const double least = call.dtype() == kDouble ? std::numeric_limits<double>::min()
                                               : std::numeric_limits<float>::min();
  return std::fabs(ours - other) <= least * std::max(1.0, largest_element(call));
}
// The coordinates at the position of the difference are within rounding of a pixel or a border of
// the image, by either convention for corners.
bool is_near_border(const Call& call, const std::string& difference) {
  const auto& tensors = call.tensors();
  if (tensors.size() < 2) return false;
  core::TensorImpl &image = *tensors[0], &grid = *tensors[1];
  std::vector<int64_t> at;  // of the result: n, channel, then the position
  for (const char* c = std::strchr(difference.c_str(), '['); c && *c != ']';) {
    char* end = nullptr;
    at.push_back(std::strtol(c + 1, &end, 10));
    c = end;
  }
  const int spatial = grid.ndim() - 2;
  if (static_cast<int>(at.size()) != spatial + 2) return false;
  int64_t row = at[0];
  for (int d = 0; d < spatial; ++d) row = row * grid.sizes()[d + 1] + at[d + 2];
  const auto coordinates = oracle::values_of(grid).real;
  const double slack = 64 * unit(call.dtype());
  for (int d = 0; d < spatial; ++d) {
    const double x = coordinates[static_cast<std::size_t>(row * spatial + d)];
    const double n = static_cast<double>(image.sizes()[image.ndim() - 1 - d]);
    for (const double pixel : {(x + 1) / 2 * (n - 1), ((x + 1) * n - 1) / 2}) {
      if (std::fabs(2 * pixel - std::round(2 * pixel)) <= slack * std::max(n, std::fabs(pixel)))
        return true;
    }
  }
  return false;
}
// Of factorizations, which have other signs, and of transforms.
bool is_left_to_cases(const Call& call, const std::string&) {
  return check::judged_by_cases(call.op());
}
// Of the families that are composites throughout.
bool is_assembled(const Call& call, const std::string&) {
  const std::string_view family = call.op().family;
  return family == "assembled" || family == "backward" || family == "draw" || family == "era" ||
         family == "foreach" || family == "names" || family == "optimizer";
}
bool is_integer(const Call& call, const std::string&) { return !isFloatingType(call.dtype()); }

const Known kKnown[] = {
    {Way::Strides | Way::Out | Way::InPlace | Way::Reference | Way::Baseline, ".*",
     "factorizations are unique up to signs, and singular ones differ by rounding",
     is_left_to_cases},
    {Way::Strides | Way::Out | Way::InPlace | Way::Reference | Way::Baseline,
     "linalg_tensor(inv|solve).*|(linalg_)?matrix_(power|exp).*|linalg_cond.*|nuclear_norm.*|"
     "linalg_(matrix_)?norm.*|linalg_multi_dot.*|cdist|_euclidean_dist|_cdist.*",
     "what is computed from a factorization, or from powers, differs by rounding", is_anything},
    {Way::Strides,
     "is_contiguous.*|stride.*|storage_offset.*|_reshape_alias.*|resize_|resize_as_|_unsafe_view.*|"
     "view_copy.*|view_as_complex.*",
     "it tells or takes the geometry in memory", is_anything},
    {Way::Reference | Way::Baseline, ".*",
     "composed of operators that are compared themselves: steps are rounded, overflow and choose",
     is_assembled},
    {Way::Reference, "ldexp.*", "a power of two vanishes on the way", is_tiny},
    {Way::Reference, "_(log_)?softmax_backward_data",
     "the dtype of the forward pass is an argument, beside that of the tensors", is_anything},
    {Way::Strides | Way::Out | Way::InPlace | Way::Reference, ".*",
     "a part of a sum or product overflows in one order and not in another",
     is_overflow_on_the_way},
    {Way::Strides | Way::Out | Way::InPlace | Way::Reference, "(cum)?prod(\\..*)?",
     "a part of a product overflows in one order and vanishes in another", is_long_product},
    {Way::Strides | Way::Out | Way::InPlace, ".*", "sums of other strides run in another order",
     is_small},
    {Way::Strides | Way::Out | Way::InPlace, "(r?sub|subtract|add)(\\..*)?",
     "alpha times an element overflows where the addition is not fused with it", is_infinite},
    {Way::Reference | Way::Baseline,
     ".*upsample.*|grid_sampler.*|interpolate.*|affine_grid.*|.*conv.*|.*rnn.*|.*lstm.*|.*gru.*",
     "0 times an infinity is NaN, also for a weight of 0 and for padding", is_infinite},
    {Way::Reference,
     "addcmul|addcdiv|lerp.*|sinc|special_sinc|mvlgamma|special_multigammaln|silu_backward|.*norm."
     "*",
     "a step overflows, as in libtorch", is_infinite},
    {Way::Baseline, "grid_sampler.*",
     "NaN coordinates lie outside; libtorch has a pixel or NaN, as its kernels go", is_anything},
    {Way::Reference,
     "(div|divide).Tensor_mode|(div|divide).Scalar_mode|_div_trunc.*|floor_divide.*",
     "a quotient is rounded before it is cut, as in libtorch", is_anything},
    {Way::Reference, "(index|scatter)_reduce.*|scatter.reduce.*",
     "products wrap, and are rounded and overflow step by step", is_anything},
    {Way::Baseline, "isclose|allclose", "libtorch compares integers in float32", is_integer},
    {Way::Baseline, "affine_grid.*", "libtorch wraps integers on the way", is_integer},
    {Way::Reference, "dist|.*norm.*|pdist|cdist|pairwise_distance|triplet_margin_loss|renorm.*",
     "powers of elements overflow or vanish, as in libtorch", is_anything},
    {Way::Reference, "rms_norm", "eps is that of the dtype", is_anything},
    {Way::Reference,
     "tanh_backward|sigmoid_backward|_addmm_activation|quantile.*|nanquantile.*|native_dropout_"
     "backward",
     "a step overflows, or is 0 times an infinity", is_infinite},
    {Way::Reference, "sum_to_size|cumulative_trapezoid.*|trap.*", "sums of integers wrap",
     is_integer},
    {Way::Reference, "sinc|special_sinc|mish",
     "a product or an exponential is rounded before it is used", is_tiny},
    {Way::Reference, "mish", "e^x vanishes where x e^x does not", is_tiny},
    {Way::Baseline, "scatter_reduce.*|index_reduce.*|.*trapz.*|.*trapezoid.*",
     "sums of integers wrap elsewhere", is_integer},
    {Way::Strides | Way::Out | Way::InPlace, "sin|cos|tan|sinc|special_sinc",
     "SLEEF reduces a vector's lanes as the largest of them needs", is_last_place},
    {Way::Reference, ".*(gelu|softplus|silu|sigmoid|tanh|mish)_?.*backward",
     "a slope is denormal where a large gradient multiplies it", has_denormal_factor},
    {Way::Reference, "mvlgamma|special_multigammaln", "terms near poles cancel, as in libtorch",
     is_anything},
    {Way::Baseline, "igammac?|special_gammainc.*",
     "libtorch is off by 1e-5 for tiny a: igamma(4e-35, 0.23) is 1", is_anything},
    {Way::Baseline, "gelu_backward", "libtorch has 1 + erf in the tail", is_anything},
    {Way::Baseline, "ldexp.*", "0 times an infinite power, which integers do not have here",
     is_infinite},
    {Way::Baseline, "(var|std)_mean.*|native_(group|layer|batch)_norm.*",
     "the mean of an infinity is NaN in libtorch's running sums, and steps of gradients overflow",
     is_infinite},
    {Way::Baseline, "(remainder|fmod).*", "libtorch has NaN where the quotient is infinite",
     is_infinite},
    {Way::Baseline, "lerp.*|linalg_cross|cosine_similarity|gelu|.*_pad.*_backward",
     "a step overflows in libtorch", is_infinite},
    {Way::Baseline, "scaled_dot_product_attention|multi_margin_loss",
     "libtorch has 0 for NaN scores", is_infinite},
    {Way::Baseline, "linspace.*", "another last place, and integers from beyond their range",
     is_anything},
    {Way::Reference, "digamma|lgamma|special_(digamma|psi|gammaln)|logaddexp2?",
     "a root, near which terms cancel", is_tiny},
    {Way::Reference, "cov|corrcoef", "squares of small numbers vanish, as in libtorch",
     is_infinite},
    {Way::Baseline, "mode", "NaN equals itself here, so that it can be the most frequent",
     is_anything},
    {Way::Baseline, ".*_scatter|to\\..*|type_as|copy.*|where.*|masked_.*",
     "a value that no integer holds becomes any integer: undefined in C++", is_mixed},
    {Way::Reference, "(index|scatter)_add.*|index_put.*|put|.*backward", "sums of integers wrap",
     is_integer},
    {Way::Reference, "heaviside", "0 at NaN, as in libtorch", is_infinite},
    {Way::Reference, "polygamma_?|special_polygamma", "the reference has NaN at infinity",
     is_infinite},
    {Way::Baseline, "polygamma_?|digamma|special_(polygamma|digamma|psi)",
     "libtorch's series is short: 2e-10 of trigamma"},
    {Way::Baseline,
     "erfc?|_?gelu.*|silu.*|igammac?|special_erf.*|sigmoid.*|softplus.*|mish.*|log_sigmoid.*|elu.*|"
     "selu|celu",
     "libtorch has 0 where results are denormal or a difference from 1", is_tiny},
    {Way::Baseline, "igammac?|special_gammainc.*", "libtorch: 0 and 1 next to NaN", is_infinite},
    {Way::Baseline, "cov|corrcoef", "libtorch adds integers in their own type", is_integer},
    {Way::Reference, "(_?to(_copy)?|_to_copy|type_as)(\\..*)?",
     "a value that no integer holds becomes any integer: undefined in C++",
     [](const Call&, const std::string&) { return true; }},
    {Way::Reference | Way::Baseline, "tanhshrink",
     "x - tanh(x), as in libtorch, has no digits for small x"},
    {Way::Reference | Way::Baseline, "round.decimals|special_round",
     "elements times a power of ten may overflow, as in libtorch"},
    {Way::Baseline, "_addmm_activation",
     "gelu's tanh form on each device; libtorch's CPU takes the other"},
    {Way::Baseline, "hinge_embedding_loss", "libtorch cuts losses of integers to integers",
     is_anything},
    {Way::Baseline, "unique.*", "NaN has its own position here, so that equal slices are adjacent",
     is_anything},
    {Way::Baseline, "addr|_(log_)?softmax_backward_data", "a 0-dim operand widens in libtorch",
     is_dtype},
    {Way::Baseline, "glu", "libtorch has 0 where results are denormal", is_tiny},
    {Way::Reference, "ldexp.*|prod.*|.*_pad.*_backward|addr",
     "a step overflows, or is 0 times an infinity", is_infinite},
    {Way::Strides | Way::Out, "sum_to_size", "a part of the sum overflows in one order alone",
     is_infinite},
    {Way::Reference, "isclose|allclose", "the bound is rounded to the dtype", is_anything},
    {Way::Reference, "addcdiv", "a step is denormal, as in libtorch", is_anything},
    {Way::Reference, "sigmoid_backward|tanh_backward", "a step is denormal, as in libtorch",
     is_tiny},
    {Way::Reference, "grid_sampler.*", "a rounded coordinate falls on the other side of a border",
     is_near_border},
    {Way::Reference, "grid_sampler_[23]d_backward", "slopes jump at pixels and borders",
     is_anything},
    {Way::Baseline, "hardtanh_backward",
     "libtorch's vectors and its elements differ where the input is NaN"},
    {Way::Baseline, "special_(bessel_[jy][01]|airy_ai)", "libtorch errs by up to 3e-6"},
    {Way::Baseline, "special_zeta.*", "libtorch has NaN for an infinite second argument",
     is_infinite},
    {Way::Baseline, "special_.*_polynomial_.*",
     "libtorch's recurrences are those of the dtype, and have NaN where they overflow"},
    {Way::Baseline, "gcd|lcm", "libtorch has negative divisors of the lowest integer"},
};

bool matches(const char* pattern, const std::string& name) {
  return std::regex_match(name, std::regex(pattern));
}

// Ways in which an operator is not checked.
const Known kLeftOut[] = {
    {Way::Reference, "nextafter|view.dtype|item|_local_scalar_dense",
     "neighbors and bits are those of the dtype"},
    {Way::Baseline, "grid_sampler_[23]d_backward", "libtorch dies of NaN coordinates"},
    {Way::Baseline, "lcm", "libtorch dies of the lowest integer"},
    {Way::Baseline, "_fused_.*|_embedding_bag.*|embedding_bag.*",
     "libtorch has other results and arguments"},
    {Way::Reference, "_fused_attention_backward",
     "logarithms of sums that are not those of the scores: exponentials that float32 does not "
     "hold"},
    {Way::Reference, "polygamma_?|special_polygamma",
     "the reference counts up from below zero by ones"},
    {Way::Reference, "igammac?_?|special_gammaincc?",
     "the reference adds a term for each unit of its argument: minutes for 1e9"},
};

}  // namespace

bool has_sizes_as_elements(const core::Op& op) {
  return matches("one_hot|bincount|repeat_interleave.*|_embedding_bag.*|embedding_bag.*", op.name);
}

bool is_left_out(const core::Op& op, Way way) {
  for (const Known& k : kLeftOut) {
    if ((k.ways & way) && matches(k.ops, op.name)) return true;
  }
  return false;
}

bool is_known(const Call& call, Way way, const std::string& difference) {
  const std::string name = call.op().name;
  for (const Known& k : kKnown) {
    if ((k.ways & way) && matches(k.ops, name) && (!k.when || k.when(call, difference)))
      return true;
  }
  return false;
}

Nearness nearness(const Call& call, Way way) {
  Nearness n;
  const bool shortened = call.dtype() == kHalf || call.dtype() == kBFloat16;
  if (call.mixed())
    return {4, 4, unit(kBFloat16),
            true};  // the dtype of the computation is compared, not last places
  switch (family_of(call.op())) {
    case Family::Copies:
      n.units = shortened ? 4 : 40;
      break;
    case Family::Elements:
      n.units = shortened ? 1.5 : 8;
      break;
    case Family::Sums:
      n.units = n.of_operands = shortened ? 4 : 600;
      n.other_ends = !shortened && std::abs(call.wild().power) > 8;
      break;
  }
  if (way == Way::Baseline) n.units *= 3;
  return n;
}

}  // namespace tenon::fuzz
