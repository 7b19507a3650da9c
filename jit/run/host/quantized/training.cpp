// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rounding to levels while training, with levels that are trained, too, and products of float8 with
// scales, by the names that torch gives them in saved programs.
#include "jit/run/unboxed.h"
#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// What is true of the rounded value y for gradients: x's is passed between the outer levels, that
// of the scale is the distance to the real value in scales, and the level itself outside; the zero
// point's is -scale outside. `factor` is that of the last two.
Tensor with_gradients(const Tensor& y, const Tensor& x, const Tensor& scale, const Tensor& zero,
                      const Tensor& rounded_zero, int64_t low, int64_t high, double factor) {
  const bool recorded = GradMode::is_enabled() &&
                        (x.requires_grad() || scale.requires_grad() || zero.requires_grad());
  if (!recorded) return y;
  Tensor inside, of_scale, of_zero;
  {
    const NoGradGuard no_grad;
    const Tensor real = x / scale, level = real.round() + rounded_zero;
    inside = level.ge(low).logical_and(level.le(high));
    of_scale =
        tenon::where(inside, y / scale - real, level.clamp(low, high) - rounded_zero) * factor;
    of_zero = tenon::where(inside, tenon::zeros_like(x), -scale.expand_as(x)) * factor;
  }
  const Tensor moves =
      tenon::where(inside, x, tenon::zeros_like(x)) + scale * of_scale + zero * of_zero;
  return y + (moves - moves.detach());
}

// The first element, as torch takes it.
Tensor first(const Tensor& t, const char* name) {
  TENON_CHECK(t.numel() > 0, ValueError, "_fake_quantize_learnable_per_tensor_affine: ", name,
              " has no elements, and needs one");
  return t.reshape({-1}).narrow(0, 0, 1);
}
Tensor learnable(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t low,
                 int64_t high, double factor) {
  const Tensor s = first(scale, "scale"), z = first(zero_point, "zero_point");
  const Tensor rounded = z.detach().round().clamp(low, high);
  const Tensor y = tenon::fake_quantize_per_tensor_affine(
      x.detach(), s.detach().item().to<double>(), rounded.item().to<int64_t>(), low, high);
  return with_gradients(y, x, s, z, rounded, low, high, factor);
}
Tensor learnable_channels(const Tensor& x, const Tensor& scale, const Tensor& zero_point,
                          int64_t axis, int64_t low, int64_t high, double factor) {
  TENON_CHECK(axis >= 0 && axis < x.dim(), IndexError,
              "_fake_quantize_learnable_per_channel_affine: axis is ", axis,
              "; self has dimensions 0 to ", x.dim() - 1);
  TENON_CHECK(scale.numel() == x.size(axis) && zero_point.numel() == x.size(axis), ValueError,
              "_fake_quantize_learnable_per_channel_affine: scale has ", scale.numel(),
              " elements and zero_point ", zero_point.numel(), "; dimension ", axis,
              " of self has ", x.size(axis));
  std::vector<int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[static_cast<std::size_t>(axis)] = x.size(axis);
  const Tensor rounded = zero_point.detach().round().clamp(low, high);
  const Tensor y = tenon::fake_quantize_per_channel_affine(
      x.detach(), scale.detach().reshape({-1}), rounded.reshape({-1}).to(kInt), axis, low, high);
  return with_gradients(y, x, scale.reshape(sizes), zero_point.reshape(sizes),
                        rounded.reshape(sizes), low, high, factor);
}

std::tuple<Tensor, Tensor> switched(const Tensor& x, const Tensor& scale, const Tensor& zero_point,
                                    const Tensor& on, int64_t low, int64_t high) {
  if (on.item().to<int64_t>() == 0) return {x.clone(), tenon::ones_like(x, kBool)};
  return tenon::fake_quantize_per_tensor_affine_cachemask(
      x, scale.item().to<double>(), zero_point.item().to<int64_t>(), low, high);
}

// The scale of one operand: one for the whole of it (recipe 0), or one per row or column (1).
Tensor only_scale(const std::vector<Tensor>& scales, const std::vector<int64_t>& recipe,
                  const std::vector<int64_t>& swizzle, const char* name, bool of_rows) {
  const bool plain = swizzle.empty() || (swizzle.size() == 1 && swizzle[0] == 0);
  const bool known = recipe.size() == 1 && (recipe[0] == 0 || recipe[0] == 1);
  TENON_CHECK(scales.size() == 1 && known && plain, NotImplementedError, "_scaled_mm_v2: ", name,
              " has ", scales.size(), " scales, recipe ", IntArrayRef(recipe), " and swizzle ",
              IntArrayRef(swizzle),
              "; one scale of recipe 0 (of the tensor) or 1 (of its rows), not swizzled, is "
              "supported");
  if (recipe[0] == 0) return scales[0];
  return of_rows ? scales[0].reshape({-1, 1}) : scales[0].reshape({1, -1});
}
Tensor scaled_mm(const Tensor& a, const Tensor& b, const std::vector<Tensor>& scale_a,
                 const std::vector<int64_t>& recipe_a, const std::vector<int64_t>& swizzle_a,
                 const std::vector<Tensor>& scale_b, const std::vector<int64_t>& recipe_b,
                 const std::vector<int64_t>& swizzle_b, const std::optional<Tensor>& bias,
                 std::optional<ScalarType> out, const std::vector<int64_t>&, bool fast) {
  return tenon::_scaled_mm(a, b, only_scale(scale_a, recipe_a, swizzle_a, "self", true),
                           only_scale(scale_b, recipe_b, swizzle_b, "mat2", false), bias,
                           std::nullopt, out, fast);
}

const HostOperator list[] = {
    {"aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
     unboxed<learnable>},
    {"aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor "
     "zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
     unboxed<learnable_channels>},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
     "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor "
     "output, Tensor mask)",
     unboxed<switched>},
    {"aten::_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] "
     "swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? "
     "out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor",
     unboxed<scaled_mm>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
