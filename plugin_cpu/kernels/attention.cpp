// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in float32, and in bfloat16 on a unit of tiles; other 16-bit floats are widened once,
// which is little beside the products of all queries with all keys. Overwritten: the results.
#include "plugin_cpu/rowwise/attention.h"

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/simd/convert.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/_fused_attention.h"
#include "tenon/sdk/ops/_fused_attention_backward.h"
#include "tenon/sdk/parallel.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::AttentionBackward;
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

AttentionBackward backward_of(const Tensor& query, const Tensor& key, const Tensor& value,
                              const OptTensor& bias, const Tensor& logsumexp, bool is_causal,
                              double scale) {
  AttentionBackward a{shape_of(query, key, value, is_causal, scale)};
  if (bias.defined()) a.bias = heads_of<const float>(bias);
  a.logsumexp = heads_of<const float>(logsumexp);
  return a;
}

// f(row of T, row of floats, columns, step) of all rows of all heads, whose floats are contiguous.
template <class T, class F>
void for_rows(const Tensor& t, F f) {
  const Heads<T> heads = heads_of<T>(t);
  const int64_t rows = t.size(2), columns = t.size(3);
  parallel_for(t.size(0) * t.size(1) * rows, (1 << 14) / (columns + 1) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t head = i / rows;
                   f(heads.at(head / t.size(1), head % t.size(1), i % rows), i * columns, columns,
                     heads.stride[3]);
                 }
               });
}

// Operands of 16-bit floats as floats, in memory of the call.
class WideHeads {
 public:
  explicit WideHeads(int64_t elements)
      : memory_(elements * static_cast<int64_t>(sizeof(float))), next_(memory_.as<float>()) {}

  Heads<float> make(const Tensor& t) {
    const int64_t plane = t.size(2) * t.size(3);
    const Heads<float> heads{next_, {t.size(1) * plane, plane, t.size(3), 1}};
    next_ += t.numel();
    return heads;
  }
  template <class T>
  Heads<const float> widen(const Tensor& t) {
    const Heads<float> to = make(t);
    for_rows<const T>(t, [&](const T* from, int64_t at, int64_t n, int64_t step) {
      float* row = to.data + at;
      if (step == 1) return tenon::cpu::to_float(from, row, n);
      for (int64_t j = 0; j < n; ++j) row[j] = static_cast<float>(from[j * step]);
    });
    return {to.data, {to.stride[0], to.stride[1], to.stride[2], 1}};
  }
  template <class T>
  static void narrow(const Heads<float>& from, const Tensor& t) {
    for_rows<T>(t, [&](T* to, int64_t at, int64_t n, int64_t step) {
      tenon::cpu::store_sums(from.data + at, n, 1.0f, 0.0f, to, step);
    });
  }

 private:
  struct Tag;
  const tenon::cpu::CallBuffer<Tag> memory_;
  float* next_;
};

template <class T>
void attention_widened(const Tensor& out, const Tensor& logsumexp, const Tensor& query,
                       const Tensor& key, const Tensor& value, const OptTensor& bias,
                       bool is_causal, double scale) {
  WideHeads wide(query.numel() + key.numel() + value.numel() + out.numel());
  tenon::cpu::Attention<float> a{shape_of(query, key, value, is_causal, scale)};
  a.q = wide.widen<T>(query), a.k = wide.widen<T>(key), a.v = wide.widen<T>(value);
  a.out = wide.make(out), a.logsumexp = heads_of<float>(logsumexp);
  if (bias.defined()) a.bias = heads_of<const float>(bias);
  tenon::cpu::attention_float(a);
  WideHeads::narrow<T>(a.out, out);
}

tn_status fused_attention(Call&, Tensor out, Tensor logsumexp, Tensor query, Tensor key,
                          Tensor value, OptTensor bias, bool is_causal, double scale) {
  if ((bias.defined() && bias.dtype() != kFloat32) || logsumexp.dtype() != kFloat32)
    return TN_DECLINED;
  if (query.dtype() == kBFloat16 && out.numel() > 0 &&
      tenon::cpu::attention_tiles(
          attention_of<BFloat16>(out, logsumexp, query, key, value, bias, is_causal, scale)))
    return TN_OK;
  if (!suits_panels(query, value)) return TN_DECLINED;
  if (query.dtype() == kFloat32) {
    tenon::cpu::attention_float(
        attention_of<float>(out, logsumexp, query, key, value, bias, is_causal, scale));
  } else if (query.dtype() == kBFloat16) {
    attention_widened<BFloat16>(out, logsumexp, query, key, value, bias, is_causal, scale);
  } else {
    attention_widened<Half>(out, logsumexp, query, key, value, bias, is_causal, scale);
  }
  return TN_OK;
}

template <class T>
void backward_widened(AttentionBackward a, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                      const Tensor& grad, const Tensor& query, const Tensor& key,
                      const Tensor& value, const Tensor& out) {
  WideHeads wide(2 * (query.numel() + key.numel() + value.numel() + out.numel()));
  a.q = wide.widen<T>(query), a.k = wide.widen<T>(key), a.v = wide.widen<T>(value);
  a.grad = wide.widen<T>(grad), a.out = wide.widen<T>(out);
  a.dq = wide.make(dq), a.dk = wide.make(dk), a.dv = wide.make(dv);
  tenon::cpu::attention_backward(a);
  WideHeads::narrow<T>(a.dq, dq);
  WideHeads::narrow<T>(a.dk, dk);
  WideHeads::narrow<T>(a.dv, dv);
}

tn_status fused_attention_backward(Call&, Tensor dq, Tensor dk, Tensor dv, Tensor grad,
                                   Tensor query, Tensor key, Tensor value, OptTensor bias,
                                   Tensor out, Tensor logsumexp, bool is_causal, double scale) {
  if ((bias.defined() && bias.dtype() != kFloat32) || logsumexp.dtype() != kFloat32 ||
      !suits_panels(query, value))
    return TN_DECLINED;
  auto a = backward_of(query, key, value, bias, logsumexp, is_causal, scale);
  if (query.dtype() == kBFloat16) {
    backward_widened<BFloat16>(a, dq, dk, dv, grad, query, key, value, out);
  } else if (query.dtype() == kFloat16) {
    backward_widened<Half>(a, dq, dk, dv, grad, query, key, value, out);
  } else {
    a.q = heads_of<const float>(query), a.k = heads_of<const float>(key);
    a.v = heads_of<const float>(value), a.grad = heads_of<const float>(grad);
    a.out = heads_of<const float>(out);
    a.dq = heads_of<float>(dq), a.dk = heads_of<float>(dk), a.dv = heads_of<float>(dv);
    tenon::cpu::attention_backward(a);
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fused_attention, fused_attention,
          dtypes("float32,bfloat16,float16").any_strides().mixed_dtypes());
TN_KERNEL(_fused_attention_backward, fused_attention_backward,
          dtypes("float32,bfloat16,float16").any_strides().mixed_dtypes());
