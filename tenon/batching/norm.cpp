// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Slices are more rows of layer and RMS normalization, and more images of group normalization.
// Where they have weights of their own, these are multiplied outside of the operator.
#include <array>
#include <numeric>

#include "tenon/batching/rules.h"
#include "tenon/call/box.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

constexpr std::array<bool, 3> kInputAlone = {true, false, false};

bool wants(const Call& call, int mask, int gradient) { return call.in[mask].u.bools[gradient]; }

// Dimensions 1 to n.
std::vector<int64_t> dims_after_slices(int64_t n) {
  std::vector<int64_t> dims(static_cast<std::size_t>(n));
  std::iota(dims.begin(), dims.end(), 1);
  return dims;
}
// A sum over no dimensions would be one over all.
Tensor summed(const Tensor& t, const std::vector<int64_t>& dims) {
  return dims.empty() ? t : t.sum(dims);
}

// The weight of channels, [slices or nothing, C], with ones in the place of images and of space.
Tensor of_channels(const Call& call, int weight, int64_t spatial) {
  const bool batched = call.is_batched(weight);
  std::vector<int64_t> shape(static_cast<std::size_t>(spatial) + 3, 1);
  const Tensor t = call.front(weight);
  if (batched) shape[0] = call.size;
  shape[2] = t.size(-1);
  return t.reshape(shape);
}

enum LayerNorm { kRows, kShape, kFactors, kAddends };
enum LayerNormBackward { kGrad, kOf, kSizes, kMean, kRstd, kBy, kShift, kMask };

enum GroupNorm { kImages, kScales, kShifts, kN, kC, kHxW, kGroups };
enum GroupNormBackward {
  kOut,
  kIn,
  kMeans,
  kRstds,
  kScale,
  kCount,
  kChannels,
  kArea,
  kGroup,
  kWant
};

}  // namespace

Results layer_norm(Call& call) {
  SameOperator all(call);
  all.set(kRows, call.expanded(kRows));
  if (!call.any_batched({kFactors, kAddends})) return all.run();
  Results r = all.set(kFactors, Tensor()).set(kAddends, Tensor()).run();
  const int64_t rank = call.rank(kRows);
  if (call.is_tensor(kFactors)) r[0] = r[0].mul(call.aligned(kFactors, rank));
  if (call.is_tensor(kAddends)) r[0] = r[0].add(call.aligned(kAddends, rank));
  return r;
}

Results rms_norm(Call& call) {
  SameOperator all(call);
  all.set(kRows, call.expanded(kRows));
  if (!call.is_batched(kFactors)) return all.run();
  Results r = all.set(kFactors, Tensor()).run();
  const ScalarType dtype = r[0].scalar_type();  // the weight may have another
  r[0] = r[0].mul(call.aligned(kFactors, call.rank(kRows))).to(dtype);
  return r;
}

Results layer_norm_backward(Call& call) {
  const IntArrayRef shape(call.in[kSizes].u.i64s, call.in[kSizes].len);
  const int64_t rank = call.rank(kOf), rows = rank - static_cast<int64_t>(shape.size());
  const Tensor grad = call.expanded(kGrad), input = call.expanded(kOf), mean = call.expanded(kMean),
               rstd = call.expanded(kRstd);
  const std::vector<int64_t> over = dims_after_slices(rows);
  Results r(3);
  if (wants(call, kMask, 0)) {
    const bool own = call.is_batched(kBy);
    const Tensor by = call.is_tensor(kBy) ? call.given(kBy) : Tensor();
    r[0] = std::get<0>(native_layer_norm_backward(
        own ? grad.mul(call.aligned(kBy, rank)) : grad, input, shape, mean, rstd,
        by.defined() && !own ? std::optional<Tensor>(by) : std::nullopt, std::nullopt,
        kInputAlone));
  }
  if (wants(call, kMask, 1)) r[1] = summed(grad.mul(input.sub(mean).mul(rstd)), over);
  if (wants(call, kMask, 2)) r[2] = summed(grad, over);
  return r;
}

Results group_norm(Call& call) {
  if (call.size == 0) return call_slice_by_slice(call);
  const bool own = call.any_batched({kScales, kShifts});
  const int64_t spatial = call.rank(kImages) - 2;
  SameOperator all(call);
  all.set(kImages, call.expanded(kImages).flatten(0, 1)).set(kN, call.in[kN].u.i64 * call.size);
  if (own) all.set(kScales, Tensor()).set(kShifts, Tensor());
  Results r = all.run();
  for (Tensor& t : r) t = t.unflatten(0, {call.size, call.in[kN].u.i64});
  if (own && call.is_tensor(kScales)) r[0] = r[0].mul(of_channels(call, kScales, spatial));
  if (own && call.is_tensor(kShifts)) r[0] = r[0].add(of_channels(call, kShifts, spatial));
  return r;
}

Results group_norm_backward(Call& call) {
  if (call.size == 0) return call_slice_by_slice(call);
  const int64_t n = call.in[kCount].u.i64, channels = call.in[kChannels].u.i64,
                area = call.in[kArea].u.i64, groups = call.in[kGroup].u.i64, slices = call.size;
  const Tensor grad = call.expanded(kOut), input = call.expanded(kIn), mean = call.expanded(kMeans),
               rstd = call.expanded(kRstds);
  Results r(3);
  if (wants(call, kWant, 0)) {
    const bool own = call.is_batched(kScale);
    const Tensor scaled = own ? grad.mul(of_channels(call, kScale, call.rank(kIn) - 2)) : grad;
    const Tensor by = call.is_tensor(kScale) ? call.given(kScale) : Tensor();
    r[0] = std::get<0>(native_group_norm_backward(
                           scaled.flatten(0, 1), input.flatten(0, 1), mean.flatten(0, 1),
                           rstd.flatten(0, 1),
                           by.defined() && !own ? std::optional<Tensor>(by) : std::nullopt,
                           n * slices, channels, area, groups, kInputAlone))
               .unflatten(0, {slices, n});
  }
  const Tensor of_channel = grad.reshape({slices, n, channels, area});
  if (wants(call, kWant, 1)) {
    const Tensor normal = input.reshape({slices, n, groups, channels / groups * area})
                              .sub(mean.reshape({slices, n, groups, 1}))
                              .mul(rstd.reshape({slices, n, groups, 1}));
    r[1] = of_channel.mul(normal.reshape({slices, n, channels, area})).sum({1, 3});
  }
  if (wants(call, kWant, 2)) r[2] = of_channel.sum({1, 3});
  return r;
}

}  // namespace tenon::batching::rules
