// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that exported and optimized transformers use.
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def BiasGelu(x: Tensor, b: Tensor) -> Tensor:
  return torch.gelu(x + b)
def FastGelu(x: Tensor, b: Optional[Tensor]) -> Tensor:
  return torch.gelu(x if b is None else x + b, approximate="tanh")
def QuickGelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
  return x * torch.sigmoid(alpha * x)
def Gelu_contrib(x: Tensor) -> Tensor:
  return torch.gelu(x)
def FusedMatMul(a: Tensor, b: Tensor, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0) -> Tensor:
  if transBatchA == 1:
    a = a.movedim(0, -2)
  if transBatchB == 1:
    b = b.movedim(0, -2)
  if transA == 1:
    a = a.transpose(-1, -2)
  if transB == 1:
    b = b.transpose(-1, -2)
  y = torch.matmul(a, b)
  return y if alpha == 1.0 else y * alpha
def FusedGemm(a: Tensor, b: Tensor, c: Optional[Tensor], *, activation: str, activation_alpha: float = 0.0, activation_beta: float = 0.0, activation_gamma: float = 0.0, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> Tensor:
  return _activate(Gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB), activation, activation_alpha, activation_beta)
def Inverse(x: Tensor) -> Tensor:
  return torch.linalg.inv(x)
def CDist(a: Tensor, b: Tensor, *, metric: str = "sqeuclidean") -> Tensor:
  d = torch.cdist(a, b)
  return d * d if metric == "sqeuclidean" else d
def ExpandDims(x: Tensor, axis: int) -> Tensor:
  return x.unsqueeze(axis)
def FusedConv(x: Tensor, w: Tensor, b: Optional[Tensor], z: Optional[Tensor], *, activation: str = "Relu", activation_params: List[float] = [], auto_pad: str = "NOTSET", dilations: Optional[List[int]] = None, group: int = 1, kernel_shape: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  y = Conv(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
  if z is not None:
    y = y + z
  alpha = activation_params[0] if len(activation_params) > 0 else 0.01
  beta = activation_params[1] if len(activation_params) > 1 else 0.0
  if activation == "Clip":
    return torch.clamp(y, alpha, beta)
  return _activate(y, activation, alpha, beta)
def SimplifiedLayerNormalization(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6) -> Tuple[Tensor, Tensor]:
  wide = x.to(stash_type)
  axes = [i for i in range(axis + x.dim() if axis < 0 else axis, x.dim())]
  deviation = torch.rsqrt(torch.mean(wide * wide, axes, True) + epsilon)
  return RMSNormalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type), deviation
def SkipLayerNormalization(x: Tensor, skip: Tensor, gamma: Tensor, beta: Optional[Tensor], bias: Optional[Tensor], *, epsilon: float = 1e-5) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
  s = x + skip
  if bias is not None:
    s = s + bias
  wide = s.to(torch.float32)
  deviation = torch.rsqrt(torch.var(wide, [-1], False, True) + epsilon)
  return torch.layer_norm(s, gamma.shape, gamma, beta, epsilon), torch.mean(wide, [-1], True), deviation, s
def SkipSimplifiedLayerNormalization(x: Tensor, skip: Tensor, gamma: Tensor, bias: Optional[Tensor], *, epsilon: float = 1e-5) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
  s = x + skip
  if bias is not None:
    s = s + bias
  wide = s.to(torch.float32)
  deviation = torch.rsqrt(torch.mean(wide * wide, [-1], True) + epsilon)
  return RMSNormalization(s, gamma, epsilon=epsilon), torch.mean(wide, [-1], True), deviation, s
def EmbedLayerNormalization(ids: Tensor, segments: Optional[Tensor], word: Tensor, position: Tensor, segment: Optional[Tensor], gamma: Tensor, beta: Tensor, mask: Optional[Tensor], places: Optional[Tensor], *, epsilon: float = 1e-12, mask_index_type: int = 1) -> Tuple[Tensor, Tensor, Tensor]:
  x = torch.embedding(word, ids.to(torch.int64))
  if places is None:
    x = x + position[:ids.size(1)]
  else:
    x = x + torch.embedding(position, places.to(torch.int64))
  if segments is not None and segment is not None:
    x = x + torch.embedding(segment, segments.to(torch.int64))
  counts = torch.zeros([ids.size(0)], dtype=torch.int32, device=ids.device)
  if mask is not None:
    counts = mask.sum(1, dtype=torch.int32)
  return torch.layer_norm(x, gamma.shape, gamma, beta, epsilon), counts, x
def _key_mask(mask: Tensor, total: int, filter: float, like: Tensor) -> Tensor:
  m = mask
  if m.dim() == 1:
    at = torch.arange(total, device=m.device).unsqueeze(0)
    if m.size(0) == 2 * like.size(0):  # ends, then starts
      end, start = m[:like.size(0)].unsqueeze(1), m[like.size(0):].unsqueeze(1)
      m = ((at < end) & (at >= start)).to(torch.int32)
    else:
      m = (at < m.unsqueeze(1)).to(torch.int32)
  if m.dim() == 2:
    m = m.reshape([m.size(0), 1, 1, m.size(1)])
  elif m.dim() == 3:
    m = m.unsqueeze(1)
  zero = torch.zeros([], dtype=like.dtype, device=like.device)
  return torch.where(m > 0, zero, zero + filter)
def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], scale: float, causal: bool) -> Tensor:
  s = torch.matmul(q, k.transpose(2, 3)) * (1.0 / math.sqrt(q.size(3)) if scale == 0.0 else scale)
  if bias is not None:
    s = s + bias
  if causal:
    past = k.size(2) - q.size(2)
    keep = torch.ones([q.size(2), k.size(2)], dtype=torch.bool, device=q.device).tril(past)
    s = s.masked_fill(torch.logical_not(keep), float("-inf"))
  return _no_heads(torch.matmul(torch.softmax(s, -1), v))
def _join_bias(a: Optional[Tensor], b: Optional[Tensor]) -> Optional[Tensor]:
  if a is None:
    return b
  return a if b is None else a + b
def Attention_contrib(x: Tensor, w: Tensor, b: Optional[Tensor], mask: Optional[Tensor], past: Optional[Tensor], bias: Optional[Tensor], *, num_heads: int, unidirectional: int = 0, scale: float = 0.0, mask_filter_value: float = -10000.0, qkv_hidden_sizes: Optional[List[int]] = None) -> Tuple[Tensor, Tensor]:
  y = torch.matmul(x, w)
  if b is not None:
    y = y + b
  third = w.size(1) // 3
  parts = torch.split(y, [third, third, third] if qkv_hidden_sizes is None else qkv_hidden_sizes, 2)
  q, k, v = _heads(parts[0], num_heads), _heads(parts[1], num_heads), _heads(parts[2], num_heads)
  if past is not None:
    k = torch.cat([past[0], k], 2)
    v = torch.cat([past[1], v], 2)
  m: Optional[Tensor] = None
  if mask is not None:
    m = _key_mask(mask, k.size(2), mask_filter_value, q)
  return _attend(q, k, v, _join_bias(m, bias), scale, unidirectional == 1), torch.stack([k, v]) if q.size(3) == v.size(3) else k
def MultiHeadAttention(q: Tensor, k: Optional[Tensor], v: Optional[Tensor], b: Optional[Tensor], mask: Optional[Tensor], bias: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], *, num_heads: int, scale: float = 0.0, unidirectional: int = 0, mask_filter_value: float = -10000.0) -> Tuple[Tensor, Tensor, Tensor]:
  if k is None:
    assert q.dim() == 5, "MultiHeadAttention without a key takes a query of 5 dimensions"
    k, v = q.select(3, 1).flatten(2), q.select(3, 2).flatten(2)
    q = q.select(3, 0).flatten(2)
  elif v is None:
    assert k.dim() == 5, "MultiHeadAttention without a value takes a key of 5 dimensions"
    k, v = k.select(3, 0).flatten(2), k.select(3, 1).flatten(2)
  assert k is not None and v is not None
  n = q.size(2)
  if b is not None:
    q = q + b[:n]
    if k.dim() == 3:
      k = k + b[n:n + k.size(2)]
      v = v + b[n + k.size(2):]
  a = _heads(q, num_heads)
  c, d = k, v  # of 4 dimensions: those of another attention
  if k.dim() == 3:
    c, d = _heads(k, num_heads), _heads(v, num_heads)
  if past_key is not None and past_value is not None:
    c = torch.cat([past_key, c], 2)
    d = torch.cat([past_value, d], 2)
  m: Optional[Tensor] = None
  if mask is not None:
    m = _key_mask(mask, c.size(2), mask_filter_value, a)
  return _attend(a, c, d, _join_bias(m, bias), scale, unidirectional == 1), c, d
def RotaryEmbedding_contrib(x: Tensor, position: Tensor, cos: Tensor, sin: Tensor, *, interleaved: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0, is_packed_batching: int = 0, scale: float = 1.0) -> Tensor:
  steps = x.size(1) if x.dim() == 3 else x.size(2)
  at = position.to(torch.int64)
  if at.numel() == 1:
    at = at.reshape([1, 1]) + torch.arange(steps, device=at.device).unsqueeze(0)
    at = at.expand([x.size(0), steps])
  heads = num_heads if num_heads > 0 else x.size(-1) // (2 * cos.size(1))
  return RotaryEmbedding(x, cos, sin, at, interleaved=interleaved, num_heads=heads, rotary_embedding_dim=rotary_embedding_dim)
def _extend(past: Tensor, new: Tensor, before: Tensor, total: int) -> Tensor:
  have, steps = past.size(2), new.size(2)
  if past.size(0) == 1 and have + steps == total:
    return torch.cat([past, new], 2)
  if total > have:
    past = torch.constant_pad_nd(past, [0, 0, 0, total - have], 0)
  at = torch.arange(steps, device=past.device).unsqueeze(0) + before.unsqueeze(1)
  return torch.scatter(past, 2, at.reshape([-1, 1, steps, 1]).expand(new.shape), new)
def GroupQueryAttention(q: Tensor, k: Optional[Tensor], v: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], lengths: Tensor, total: int, cos: Optional[Tensor], sin: Optional[Tensor], position: Optional[Tensor], bias: Optional[Tensor], sink: Optional[Tensor], *, num_heads: int, kv_num_heads: int, scale: float = 0.0, do_rotary: int = 0, rotary_interleaved: int = 0, local_window_size: int = -1, softcap: float = 0.0, smooth_softmax: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
  if k is None or v is None:
    each = q.size(2) // (num_heads + 2 * kv_num_heads)
    parts = torch.split(q, [num_heads * each, kv_num_heads * each, kv_num_heads * each], 2)
    q, k, v = parts[0], parts[1], parts[2]
  past = 0 if past_key is None else past_key.size(2)
  steps = q.size(1)
  before = lengths.reshape([-1]).to(torch.int64) + (1 - steps)  # of each item of the batch
  if steps == total:
    before = torch.zeros_like(before)
  if do_rotary == 1:
    assert cos is not None and sin is not None, "do_rotary needs caches"
    at = torch.arange(steps, device=q.device).unsqueeze(0) + before.unsqueeze(1)
    if position is not None:
      at = position.to(torch.int64)
    q = RotaryEmbedding(q, cos, sin, at, interleaved=rotary_interleaved, num_heads=num_heads)
    k = RotaryEmbedding(k, cos, sin, at, interleaved=rotary_interleaved, num_heads=kv_num_heads)
  a, c, d = _heads(q, num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
  if past_key is not None and past_value is not None:
    c = _extend(past_key, c, before, total)
    d = _extend(past_value, d, before, total)
  groups = num_heads // kv_num_heads
  s = torch.matmul(a, torch.repeat_interleave(c, groups, 1).transpose(2, 3)) * (1.0 / math.sqrt(a.size(3)) if scale == 0.0 else scale)
  if softcap > 0.0:
    s = torch.tanh(s / softcap) * softcap
  i = torch.arange(steps, device=q.device).unsqueeze(1) + before.reshape([-1, 1, 1, 1])
  j = torch.arange(c.size(2), device=q.device).unsqueeze(0)
  keep = (j <= i) & (j <= lengths.reshape([-1, 1, 1, 1]))
  if local_window_size > 0:
    keep = keep & (i - j < local_window_size)
  if bias is not None:
    s = s + bias
  s = s.masked_fill(torch.logical_not(keep), float("-inf"))
  if sink is not None or smooth_softmax == 1:
    last = torch.zeros([num_heads], dtype=s.dtype, device=s.device) if sink is None else sink.to(s.dtype)
    last = last.reshape([1, num_heads, 1, 1]).expand([s.size(0), num_heads, steps, 1])
    p = torch.softmax(torch.cat([s, last], -1), -1).narrow(-1, 0, s.size(-1))
  else:
    p = torch.softmax(s, -1)
  return _no_heads(torch.matmul(p, torch.repeat_interleave(d, groups, 1))), c, d
)py");

constexpr Gives kSame = Gives::Same;
const Entry kContrib[] = {
    {"Gelu", 1, 0, kSame, "Gelu_contrib"},
    {"FastGelu", 1, 0, kSame},
    {"BiasGelu", 1, 0, kSame},
    {"QuickGelu", 1, 0, kSame},
    {"FusedMatMul", 1, 0, kSame},
    {"FusedConv", 1, 0, kSame},
    {"FusedGemm", 1, 0, kSame},
    {"TransposeMatMul", 1, 0, kSame, "FusedMatMul"},
    {"Inverse", 1, 0, kSame},
    {"CDist", 1, 0, kSame},
    {"ExpandDims", 1, 0, kSame},
    // Those of ONNX before it had them.
    {"Trilu", 1, 0, kSame},
    {"Pad", 1, 0, kSame},
    {"GatherND", 1, 0, kSame},
    {"GridSample", 1, 0, kSame},
    {"CausalConvWithState", 1, 0, kSame},
    {"SimplifiedLayerNormalization", 1, 0, kSame},
    {"MatMulInteger16", 1, 0, Gives::Unknown, "MatMulInteger"},
    {"SkipLayerNormalization", 1, 0, kSame},
    {"SkipSimplifiedLayerNormalization", 1, 0, kSame},
    {"EmbedLayerNormalization", 1, 0},
    {"Attention", 1, 0, kSame, "Attention_contrib"},
    {"MultiHeadAttention", 1, 0, kSame},
    {"RotaryEmbedding", 1, 0, kSame, "RotaryEmbedding_contrib"},
    {"GroupQueryAttention", 1, 0, kSame},
};
const Entries kRegistered("com.microsoft", kContrib, std::size(kContrib));
// ONNX Runtime puts these into ONNX's own domain.
const Entry kOwn[] = {{"SimplifiedLayerNormalization", 1, 0, kSame}};
const Entries kOwnRegistered("", kOwn, std::size(kOwn));

}  // namespace
}  // namespace tenon::onnx
