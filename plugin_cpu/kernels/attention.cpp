// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in bfloat16 on a unit of tiles; without one the decomposition is faster. Overwritten:
// the output.
#include "plugin_cpu/rowwise/attention.h"

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/_fused_attention.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Heads;

template <class T>
Heads<T> heads_of(const Tensor& t) {
  return {t.data<T>(), {t.stride(0), t.stride(1), t.stride(2), t.stride(3)}};
}

tn_status fused_attention(Call&, Tensor out, Tensor query, Tensor key, Tensor value, OptTensor bias,
                          bool is_causal, double scale) {
  if (bias.defined() && bias.dtype() != kFloat32) return TN_DECLINED;
  if (out.numel() == 0) return TN_OK;
  tenon::cpu::Attention a{query.size(0),
                          query.size(1),
                          query.size(2),
                          key.size(2),
                          query.size(3),
                          value.size(3),
                          heads_of<const BFloat16>(query),
                          heads_of<const BFloat16>(key),
                          heads_of<const BFloat16>(value),
                          {},
                          heads_of<BFloat16>(out),
                          static_cast<float>(scale),
                          is_causal};
  if (bias.defined()) a.bias = heads_of<const float>(bias);
  return tenon::cpu::attention_tiles(a) ? TN_OK : TN_DECLINED;
}

}  // namespace

TN_KERNEL(_fused_attention, fused_attention, dtypes("bfloat16").any_strides().mixed_dtypes());
