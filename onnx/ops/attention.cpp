// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention, rotary embeddings, and linear attention, as the operators define them.
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _heads(x: Tensor, n: int) -> Tensor:
  return x.reshape([x.size(0), x.size(1), n, x.size(2) // n]).transpose(1, 2)
def _no_heads(x: Tensor) -> Tensor:
  return x.transpose(1, 2).flatten(2)
def _additive(mask: Tensor, dtype: int) -> Tensor:
  if mask.dtype == torch.bool:
    zero = torch.zeros([], dtype=dtype, device=mask.device)
    return torch.where(mask, zero, zero + float("-inf"))
  return mask
def _forbid(bias: Tensor, allowed: Tensor) -> Tensor:
  zero = torch.zeros([], dtype=bias.dtype, device=bias.device)
  return bias + torch.where(allowed, zero, zero + float("-inf"))
def Attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], lengths: Optional[Tensor], *, is_causal: int = 0, q_num_heads: int = 0, kv_num_heads: int = 0, qk_matmul_output_mode: int = 0, scale: Optional[float] = None, softcap: float = 0.0, softmax_precision: Optional[int] = None, left_window_size: int = -1, right_window_size: int = -1) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
  flat = q.dim() == 3
  if flat:
    q = _heads(q, q_num_heads)
    k = _heads(k, kv_num_heads)
    v = _heads(v, kv_num_heads)
  past = 0
  if past_key is not None and past_value is not None:
    past = past_key.size(2)
    k = torch.cat([past_key, k], 2)
    v = torch.cat([past_value, v], 2)
  new_key, new_value = k, v
  steps, total = q.size(2), k.size(2)
  bias = torch.zeros([steps, total], dtype=q.dtype, device=q.device)
  if mask is not None:
    if mask.size(-1) < total:
      m = _additive(mask, q.dtype)
      mask = torch.constant_pad_nd(m, [0, total - m.size(-1)], float("-inf"))
    bias = bias + _additive(mask, q.dtype)
  i = torch.arange(steps, device=q.device).unsqueeze(1)
  j = torch.arange(total, device=q.device).unsqueeze(0)
  at = i + past
  if lengths is not None and past_key is None:
    at = i + (lengths.reshape([-1, 1, 1, 1]) - steps)
  if is_causal == 1:
    bias = _forbid(bias, j <= at)
  if left_window_size >= 0:
    bias = _forbid(bias, at - j <= left_window_size)
  if right_window_size >= 0:
    bias = _forbid(bias, j - at <= right_window_size)
  if lengths is not None:
    bias = _forbid(bias, j < lengths.reshape([-1, 1, 1, 1]))
  groups = q.size(1) // k.size(1)
  if groups > 1:
    k = torch.repeat_interleave(k, groups, 1)
    v = torch.repeat_interleave(v, groups, 1)
  root = torch.sqrt(torch.tensor(1.0 / math.sqrt(q.size(3)) if scale is None else scale, dtype=torch.float64)).to(q.dtype).to(q.device)
  scores = torch.matmul(q * root, k.transpose(2, 3) * root)
  seen = scores
  if softcap > 0.0:
    scores = torch.tanh(scores / softcap) * softcap
    if qk_matmul_output_mode == 1:
      seen = scores
  biased = scores + bias
  if qk_matmul_output_mode == 2:
    seen = biased
  if softmax_precision is not None:
    biased = biased.to(softmax_precision)
  p = torch.softmax(biased, -1)
  masked = torch.amax(bias, [-1], True) == float("-inf")
  p = torch.where(masked, torch.zeros([], dtype=p.dtype, device=p.device), p)
  if qk_matmul_output_mode == 3:
    seen = p.to(q.dtype)
  y = torch.matmul(p.to(q.dtype), v)
  return _no_heads(y) if flat else y, new_key, new_value, seen
def _scaled_scores(q: Tensor, k: Tensor, scale: Optional[float], dtype: int) -> Tensor:
  groups = q.size(1) // k.size(1)
  keys = torch.repeat_interleave(k, groups, 1) if groups > 1 else k
  root = torch.sqrt(torch.tensor(1.0 / math.sqrt(q.size(3)) if scale is None else scale, dtype=torch.float32)).to(q.dtype).to(q.device)
  return torch.matmul(q * root, keys.transpose(2, 3) * root).to(dtype)
def _weighted_values(p: Tensor, v: Tensor) -> Tensor:
  groups = p.size(1) // v.size(1)
  values = torch.repeat_interleave(v, groups, 1) if groups > 1 else v
  return torch.matmul(p, values.to(p.dtype)).to(v.dtype)
def RotaryEmbedding(x: Tensor, cos: Tensor, sin: Tensor, position: Optional[Tensor], *, interleaved: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0) -> Tensor:
  flat = x.dim() == 3
  y = x.reshape([x.size(0), x.size(1), num_heads, -1]) if flat else x.transpose(1, 2)
  n = y.size(3) if rotary_embedding_dim == 0 else rotary_embedding_dim
  turned, rest = y.narrow(3, 0, n), y.narrow(3, n, y.size(3) - n)
  c, s = cos, sin
  if position is not None:
    c = torch.embedding(cos, position)
    s = torch.embedding(sin, position)
  c = c.unsqueeze(2)
  s = s.unsqueeze(2)
  if interleaved == 1:
    pairs = turned.unflatten(3, [n // 2, 2])
    a, b = pairs.select(-1, 0), pairs.select(-1, 1)
    turned = torch.stack([c * a - s * b, s * a + c * b], -1).flatten(3)
  else:
    a, b = torch.chunk(turned, 2, 3)
    turned = torch.cat([c * a - s * b, s * a + c * b], 3)
  out = torch.cat([turned, rest], 3)
  return out.reshape(x.shape) if flat else out.transpose(1, 2)
def LinearAttention(q: Tensor, k: Tensor, v: Tensor, past: Optional[Tensor], decay: Optional[Tensor], beta: Optional[Tensor], *, chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0, update_rule: str = "gated_delta") -> Tuple[Tensor, Tensor]:
  a = _heads(q, q_num_heads).to(torch.float32)
  b = _heads(k, kv_num_heads).to(torch.float32)
  c = _heads(v, kv_num_heads).to(torch.float32)
  width = a.size(3)
  if past is None:
    state = torch.zeros([a.size(0), kv_num_heads, width, c.size(3)], dtype=torch.float32, device=q.device)
  else:
    state = past.to(torch.float32)
  factor = 1.0 / math.sqrt(width) if scale == 0.0 else scale
  out: List[Tensor] = []
  for t in range(a.size(2)):
    key, value = b.select(2, t), c.select(2, t)
    if decay is not None:
      d = decay.to(torch.float32).select(1, t).reshape([a.size(0), kv_num_heads, -1, 1])
      state = state * torch.exp(d)
    if beta is not None:
      known = torch.matmul(state.transpose(2, 3), key.unsqueeze(-1)).squeeze(-1)
      value = beta.to(torch.float32).select(1, t).unsqueeze(-1) * (value - known)
    state = state + key.unsqueeze(-1) * value.unsqueeze(-2)
    read = state
    if q_num_heads != kv_num_heads:
      read = torch.repeat_interleave(state, q_num_heads // kv_num_heads, 1)
    out.append(factor * torch.matmul(a.select(2, t).unsqueeze(2), read).squeeze(2))
  y = torch.stack(out, 1).flatten(2).to(q.dtype)
  return y, state.to(q.dtype if past is None else past.dtype)
)py");

// What a graph in an attribute makes of a value; the value itself if there is no such attribute.
ItemPtr modified(Builder& b, Call& c, const char* graph, const ItemPtr& value) {
  if (!c.has(graph)) return value;
  const pb::GraphProto& g = c.graph(graph);
  TENON_CHECK(g.input_size() == 1 && g.output_size() == 1, ValueError, graph, " has ",
              g.input_size(), " inputs and ", g.output_size(), " outputs");
  Scope inner{c.scope, {}};
  inner.values[g.input(0).name()] = value;
  return b.add_graph(g, inner, c.opsets).at(0);
}

std::vector<ItemPtr> translate_flex_attention(Builder& b, Call& c) {
  const auto precision = c.integer("softmax_precision", 0);
  const bool is_double = c.input(0)->dtype == kDouble;
  const auto dtype = precision ? dtype_of(static_cast<int32_t>(precision))
                               : std::optional(is_double ? kDouble : kFloat);
  TENON_CHECK(dtype, ValueError, "softmax_precision is ", precision);
  Value* scale = b.constant(c.has("scale") ? IValue(c.real("scale", 1)) : IValue());
  Value* scores = b.call_text("_scaled_scores", {b.tensor(c.input(0)), b.tensor(c.input(1)), scale,
                                                 b.constant(*dtype)})
                      .at(0);
  Value* x = b.tensor(modified(b, c, "score_mod", Builder::item(scores, dtype)));
  Value* p = b.emit1("aten::softmax.int", {x, b.constant(int64_t{-1})});
  p = b.tensor(modified(b, c, "prob_mod", Builder::item(p, dtype)));
  Value* y = b.call_text("_weighted_values", {p, b.tensor(c.input(2))}).at(0);
  return {Builder::item(y, c.input(2)->dtype)};
}

constexpr Gives kSame = Gives::Same;
const Entry kPreview[] = {
    {"FlexAttention", 1, 0, kSame, nullptr, translate_flex_attention},
};
const Entries kPreviewRegistered("ai.onnx.preview", kPreview, std::size(kPreview));
const Entry kAttention[] = {
    {"Attention", 23, 0, kSame},
    {"RotaryEmbedding", 23, 0, kSame},
    {"LinearAttention", 27, 0, kSame},
};
const Entries kRegistered("", kAttention, std::size(kAttention));

}  // namespace
}  // namespace tenon::onnx
