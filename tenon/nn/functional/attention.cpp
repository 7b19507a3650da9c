// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/attention.h"

#include <cmath>
#include <limits>

#include "tenon/nn/functional/dropout.h"
#include "tenon/nn/functional/linear.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

using Options = MultiheadAttentionForwardFuncOptions;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Projected {
  Tensor q, k, v;
};

// Some of the three parts of in_proj_bias.
Tensor bias_part(const Options& o, int64_t first, int64_t count) {
  const int64_t e = o.embed_dim_to_check();
  return o.in_proj_bias().defined() ? o.in_proj_bias().narrow(0, first * e, count * e) : Tensor();
}

// One product where query, key and value are one tensor, two where key and value are.
Projected project_together(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Options& o) {
  const Tensor& w = o.in_proj_weight();
  const int64_t e = o.embed_dim_to_check();
  TENON_CHECK(w.defined() && w.dim() == 2 && w.size(0) == 3 * e && w.size(1) == e, ValueError,
              "multi_head_attention_forward: expected in_proj_weight of size [", 3 * e, ", ", e,
              "]");
  if (query.is_same(key) && key.is_same(value)) {
    const auto all = linear(query, w, o.in_proj_bias()).chunk(3, -1);
    return {all[0], all[1], all[2]};
  }
  Projected out;
  out.q = linear(query, w.narrow(0, 0, e), bias_part(o, 0, 1));
  if (key.is_same(value)) {
    const auto both = linear(key, w.narrow(0, e, 2 * e), bias_part(o, 1, 2)).chunk(2, -1);
    out.k = both[0];
    out.v = both[1];
  } else {
    out.k = linear(key, w.narrow(0, e, e), bias_part(o, 1, 1));
    out.v = linear(value, w.narrow(0, 2 * e, e), bias_part(o, 2, 1));
  }
  return out;
}

Projected project_apart(const Tensor& query, const Tensor& key, const Tensor& value,
                        const Options& o) {
  const auto one = [&o](const char* name, const Tensor& x, const Tensor& w, int64_t part) {
    const int64_t e = o.embed_dim_to_check();
    TENON_CHECK(w.defined() && w.dim() == 2 && w.size(0) == e && w.size(1) == x.size(-1),
                ValueError, "multi_head_attention_forward: expected ", name, " of size [", e, ", ",
                x.size(-1), "]");
    return linear(x, w, bias_part(o, part, 1));
  };
  return {one("q_proj_weight", query, o.q_proj_weight(), 0),
          one("k_proj_weight", key, o.k_proj_weight(), 1),
          one("v_proj_weight", value, o.v_proj_weight(), 2)};
}

// A mask with one more source, which takes part.
Tensor widened(const Tensor& mask) {
  return mask.defined() ? tenon::constant_pad_nd(mask, {0, 1}, 0) : mask;
}

// Appends bias_k and bias_v to the sources.
void append_bias(Projected& p, Tensor& attn_mask, Tensor& padding, const Options& o) {
  TENON_CHECK(o.bias_k().defined() && o.bias_v().defined(), ValueError,
              "multi_head_attention_forward: bias_k and bias_v are given together");
  TENON_CHECK(!o.static_k().defined(), ValueError, "bias cannot be added to static key.");
  TENON_CHECK(!o.static_v().defined(), ValueError, "bias cannot be added to static value.");
  const int64_t batch = p.k.size(1);
  p.k = tenon::cat({p.k, o.bias_k().repeat({1, batch, 1})});
  p.v = tenon::cat({p.v, o.bias_v().repeat({1, batch, 1})});
  attn_mask = widened(attn_mask);
  padding = widened(padding);
}

// [time, batch, heads * size] as [batch, heads, time, size].
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.unflatten(2, {heads, x.size(2) / heads}).permute({1, 2, 0, 3});
}

// Keys or values that are given, in the form of split_heads.
Tensor given_heads(const char* name, const Tensor& x, int64_t batch, int64_t heads, int64_t size) {
  TENON_CHECK(x.dim() == 3 && x.size(0) == batch * heads && x.size(2) == size, ValueError,
              "multi_head_attention_forward: expected ", name, " of size [", batch * heads, ", *, ",
              size, "], got ", x.sizes());
  return x.unflatten(0, {batch, heads});
}

// A mask as a summand: minus infinity where a bool or byte mask is true.
Tensor summand(const Tensor& mask, const Tensor& like) {
  if (mask.scalar_type() != kBool && mask.scalar_type() != kByte)
    return mask.to(like.scalar_type());
  return tenon::zeros(mask.sizes(), like.options().requires_grad(std::nullopt))
      .masked_fill_(mask.to(kBool), kMinusInfinity);
}

// Both masks in one summand that broadcasts to [batch, heads, target, source]; undefined if there
// is none.
Tensor join_masks(const Tensor& attn_mask, const Tensor& padding, const Tensor& q, int64_t source) {
  const int64_t batch = q.size(0), heads = q.size(1), target = q.size(2);
  Tensor out;
  if (attn_mask.defined()) {
    out = summand(attn_mask, q);
    if (out.dim() == 3 && out.size(0) == batch * heads) {
      out = out.unflatten(0, {batch, heads});
    } else {
      TENON_CHECK(out.dim() == 2, ValueError,
                  "multi_head_attention_forward: expected attn_mask of size [", target, ", ",
                  source, "] or [", batch * heads, ", ", target, ", ", source, "], got ",
                  attn_mask.sizes());
    }
  }
  if (!padding.defined()) return out;
  TENON_CHECK(padding.dim() == 2 && padding.size(0) == batch && padding.size(1) == source,
              ValueError, "multi_head_attention_forward: expected key_padding_mask of size [",
              batch, ", ", source, "], got ", padding.sizes());
  const Tensor left_out = summand(padding, q).view({batch, 1, 1, source});
  return out.defined() ? out + left_out : left_out;
}

// NaN where a mask leaves out all sources: there the mean of no value is NaN with the weights, too,
// while scaled_dot_product_attention makes it zero.
Tensor without_empty(const Tensor& mask) {
  const Tensor empty = (mask == kMinusInfinity).all(-1, /*keepdim=*/true);
  return mask.masked_fill(empty, std::numeric_limits<double>::quiet_NaN());
}

// As a batch of one.
std::tuple<Tensor, Tensor> without_batch(const Tensor& query, const Tensor& key,
                                         const Tensor& value, Options o) {
  if (o.key_padding_mask().defined()) {
    TENON_CHECK(o.key_padding_mask().dim() == 1, ValueError,
                "multi_head_attention_forward: expected key_padding_mask of 1 dimension without a "
                "batch, got ",
                o.key_padding_mask().dim());
    o.key_padding_mask(o.key_padding_mask().unsqueeze(0));
  }
  const Tensor q = query.unsqueeze(1), k = key.is_same(query) ? q : key.unsqueeze(1),
               v = value.is_same(key) ? k : value.unsqueeze(1);
  const auto [out, weights] = multi_head_attention_forward(q, k, v, o);
  return {out.squeeze(1), weights.defined() ? weights.squeeze(0) : weights};
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key,
                                                        const Tensor& value, const Options& o) {
  if (query.dim() == 2 && key.dim() == 2 && value.dim() == 2)
    return without_batch(query, key, value, o);
  TENON_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3, ValueError,
              "multi_head_attention_forward: expected query, key and value of 3 dimensions, or of "
              "2 without a batch, got ",
              query.dim(), ", ", key.dim(), " and ", value.dim());
  const int64_t target = query.size(0), batch = query.size(1), embed = query.size(2);
  const int64_t heads = o.num_heads();
  TENON_CHECK(embed == o.embed_dim_to_check(), ValueError,
              "multi_head_attention_forward: expected queries of size ", o.embed_dim_to_check(),
              ", got ", embed);
  TENON_CHECK(heads > 0 && embed % heads == 0, ValueError,
              "embed_dim must be divisible by num_heads");
  TENON_CHECK(key.size(0) == value.size(0) && key.size(1) == batch && value.size(1) == batch,
              ValueError, "multi_head_attention_forward: key ", key.sizes(), " and value ",
              value.sizes(), " do not fit to query ", query.sizes());

  Projected p = o.use_separate_proj_weight() ? project_apart(query, key, value, o)
                                             : project_together(query, key, value, o);
  Tensor attn_mask = o.attn_mask(), padding = o.key_padding_mask();
  if (o.bias_k().defined() || o.bias_v().defined()) append_bias(p, attn_mask, padding, o);
  const Tensor q = split_heads(p.q, heads);
  const int64_t size = embed / heads;
  Tensor k = o.static_k().defined() ? given_heads("static_k", o.static_k(), batch, heads, size)
                                    : split_heads(p.k, heads);
  Tensor v = o.static_v().defined() ? given_heads("static_v", o.static_v(), batch, heads, size)
                                    : split_heads(p.v, heads);
  if (o.add_zero_attn()) {
    k = tenon::constant_pad_nd(k, {0, 0, 0, 1}, 0);
    v = tenon::constant_pad_nd(v, {0, 0, 0, 1}, 0);
    attn_mask = widened(attn_mask);
    padding = widened(padding);
  }
  const Tensor mask = join_masks(attn_mask, padding, q, k.size(2));
  const double drop = o.training() ? o.dropout_p() : 0;

  Tensor context, weights;
  if (o.need_weights()) {
    weights = (q * (1 / std::sqrt(static_cast<double>(size)))).matmul(k.transpose(-2, -1));
    if (mask.defined()) weights = weights + mask;
    weights = dropout(weights.softmax(-1), DropoutFuncOptions().p(drop).training(o.training()));
    context = weights.matmul(v);
    if (o.average_attn_weights()) weights = weights.mean(1);
  } else {
    context = tenon::scaled_dot_product_attention(
        q, k, v, mask.defined() ? std::optional<Tensor>(without_empty(mask)) : std::nullopt, drop);
  }
  context = context.permute({2, 0, 1, 3}).reshape({target, batch, embed});
  return {linear(context, o.out_proj_weight(), o.out_proj_bias()), weights};
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
