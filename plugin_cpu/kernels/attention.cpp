// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in float32, and in bfloat16 on a unit of tiles; without one the decomposition is faster
// there. Overwritten: the results.
#include "plugin_cpu/rowwise/attention.h"

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/_fused_attention.h"
#include "tenon/sdk/ops/_fused_attention_backward.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Heads;

template <class T>
Heads<T> heads_of(const Tensor& t) {
  return {t.data<T>(), {t.stride(0), t.stride(1), t.stride(2), t.ndim() == 4 ? t.stride(3) : 1}};
}

tenon::cpu::AttentionShape shape_of(const Tensor& query, const Tensor& key, const Tensor& value,
                                    bool is_causal, double scale) {
  return {query.size(0),
          query.size(1),
          query.size(2),
          key.size(2),
          query.size(3),
          value.size(3),
          static_cast<float>(scale),
          is_causal};
}

template <class T>
tenon::cpu::Attention<T> attention_of(Tensor out, Tensor logsumexp, Tensor query, Tensor key,
                                      Tensor value, OptTensor bias, bool is_causal, double scale) {
  tenon::cpu::Attention<T> a{shape_of(query, key, value, is_causal, scale),
                             heads_of<const T>(query),
                             heads_of<const T>(key),
                             heads_of<const T>(value),
                             {},
                             heads_of<T>(out),
                             heads_of<float>(logsumexp)};
  if (bias.defined()) a.bias = heads_of<const float>(bias);
  return a;
}

// Few queries do not pay for packing the keys, and a sum without terms is not made by tiles.
bool suits_panels(const Tensor& query, const Tensor& value) {
  constexpr int64_t kFewestQueries = 8;
  return query.size(2) >= kFewestQueries && query.size(3) > 0 && value.size(3) > 0;
}

tn_status fused_attention(Call&, Tensor out, Tensor logsumexp, Tensor query, Tensor key,
                          Tensor value, OptTensor bias, bool is_causal, double scale) {
  if (bias.defined() && bias.dtype() != kFloat32) return TN_DECLINED;
  if (query.dtype() == kBFloat16) {
    if (out.numel() == 0 || logsumexp.dtype() != kFloat32) return TN_DECLINED;
    return tenon::cpu::attention_tiles(
               attention_of<BFloat16>(out, logsumexp, query, key, value, bias, is_causal, scale))
               ? TN_OK
               : TN_DECLINED;
  }
  if (!suits_panels(query, value)) return TN_DECLINED;
  tenon::cpu::attention_float(
      attention_of<float>(out, logsumexp, query, key, value, bias, is_causal, scale));
  return TN_OK;
}

tn_status fused_attention_backward(Call&, Tensor dq, Tensor dk, Tensor dv, Tensor grad,
                                   Tensor query, Tensor key, Tensor value, OptTensor bias,
                                   Tensor out, Tensor logsumexp, bool is_causal, double scale) {
  if (!suits_panels(query, value)) return TN_DECLINED;
  tenon::cpu::AttentionBackward a{shape_of(query, key, value, is_causal, scale),
                                  heads_of<const float>(query),
                                  heads_of<const float>(key),
                                  heads_of<const float>(value),
                                  {},
                                  heads_of<const float>(grad),
                                  heads_of<const float>(out),
                                  heads_of<const float>(logsumexp),
                                  heads_of<float>(dq),
                                  heads_of<float>(dk),
                                  heads_of<float>(dv)};
  if (bias.defined()) a.bias = heads_of<const float>(bias);
  tenon::cpu::attention_backward(a);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fused_attention, fused_attention,
          dtypes("float32,bfloat16").any_strides().mixed_dtypes());
TN_KERNEL(_fused_attention_backward, fused_attention_backward, dtypes("float32").any_strides());
