// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Slices of images are more images, and filters of their own are groups of channels.
#include "tenon/batching/rules.h"
#include "tenon/call/box.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

// [slices, n, ...] as [slices * n, ...], and back.
Tensor joined(const Tensor& t) { return t.flatten(0, 1); }
Tensor separated(const Tensor& t, int64_t slices) {
  return t.defined() ? t.unflatten(0, {slices, slices ? t.size(0) / slices : 0}) : t;
}
// [slices, n, channels, ...] as [n, slices * channels, ...], and back.
Tensor channels_joined(const Tensor& t) { return t.movedim(0, 1).flatten(1, 2); }
Tensor channels_separated(const Tensor& t, int64_t slices) {
  return t.defined() ? t.unflatten(1, {slices, t.size(1) / slices}).movedim(1, 0) : t;
}

// All tensors are images, [channels, ...] or [n, channels, ...].
Results images(Call& call, int64_t spatial) {
  const bool single = call.one.out[0].ndim == spatial + 1;
  const int sizes = call.position("input_size");
  SameOperator all(call);
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_tensor(i)) all.set(i, single ? call.expanded(i) : joined(call.expanded(i)));
  }
  if (sizes >= 0) {
    std::vector<int64_t> list(call.in[sizes].u.i64s, call.in[sizes].u.i64s + call.in[sizes].len);
    list[0] *= call.size;
    all.set(sizes, list);
  }
  Results results = all.run();
  for (Tensor& t : results) t = single ? t : separated(t, call.size);
  return results;
}

enum Convolution { kInput, kWeight, kBias };
enum Backward { kGradOutput, kBackwardInput, kBackwardWeight, kBiasSizes };

Tensor with_bias(const Call& call, const Tensor& out) {
  const Tensor bias = call.front(kBias);
  std::vector<int64_t> shape(static_cast<std::size_t>(out.dim()), 1);
  if (bias.dim() == 2) shape[0] = call.size;
  shape[2] = bias.size(-1);
  return out.add(bias.view(shape));
}

}  // namespace

Results images_1d(Call& call) { return images(call, 1); }
Results images_2d(Call& call) { return images(call, 2); }
Results images_3d(Call& call) { return images(call, 3); }

Results convolution(Call& call) {
  if (call.size == 0) return call_slice_by_slice(call);
  const int groups = call.position("groups");
  const bool has_bias = call.is_tensor(kBias);
  SameOperator all(call);
  all.set(kBias, Tensor());
  Tensor out;
  if (!call.is_batched(kWeight)) {
    out = separated(all.set(kInput, joined(call.expanded(kInput))).run()[0], call.size);
  } else {
    all.set(kInput, channels_joined(call.expanded(kInput)))
        .set(kWeight, joined(call.front(kWeight)))
        .set(groups, call.in[groups].u.i64 * call.size);
    out = channels_separated(all.run()[0], call.size);
  }
  return {has_bias ? with_bias(call, out) : out};
}

Results convolution_backward(Call& call) {
  const int groups = call.position("groups"), mask = call.position("output_mask");
  const uint8_t* wanted = call.in[mask].u.bools;
  if (call.size == 0) return call_slice_by_slice(call);
  SameOperator all(call);
  if (!call.is_batched(kBackwardWeight) && !wanted[1] && !wanted[2]) {
    all.set(kGradOutput, joined(call.expanded(kGradOutput)))
        .set(kBackwardInput, joined(call.expanded(kBackwardInput)));
    return {separated(all.run()[0], call.size), Tensor(), Tensor()};
  }
  all.set(kGradOutput, channels_joined(call.expanded(kGradOutput)))
      .set(kBackwardInput, channels_joined(call.expanded(kBackwardInput)))
      .set(kBackwardWeight, joined(call.expanded(kBackwardWeight)))
      .set(groups, call.in[groups].u.i64 * call.size);
  if (call.in[kBiasSizes].tag == TN_TAG_I64_LIST)
    all.set(kBiasSizes, std::vector<int64_t>{call.in[kBiasSizes].u.i64s[0] * call.size});
  const Results r = all.run();
  return {channels_separated(r[0], call.size), separated(r[1], call.size),
          separated(r[2], call.size)};
}

}  // namespace tenon::batching::rules
