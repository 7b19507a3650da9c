// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that exported and optimized transformers use, and a few of ai.onnx.ml.
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
  assert transBatchA == 0 and transBatchB == 0, "transBatchA and transBatchB are not supported"
  if transA == 1:
    a = a.transpose(-1, -2)
  if transB == 1:
    b = b.transpose(-1, -2)
  y = torch.matmul(a, b)
  return y if alpha == 1.0 else y * alpha
def FusedConv(x: Tensor, w: Tensor, b: Optional[Tensor], z: Optional[Tensor], *, activation: str = "Relu", activation_params: List[float] = [], auto_pad: str = "NOTSET", dilations: Optional[List[int]] = None, group: int = 1, kernel_shape: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  y = Conv(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
  if z is not None:
    y = y + z
  alpha = activation_params[0] if len(activation_params) > 0 else 0.01
  beta = activation_params[1] if len(activation_params) > 1 else 0.0
  if activation == "Clip":
    return torch.clamp(y, alpha, beta)
  return _activate(y, activation, alpha, beta)
def SimplifiedLayerNormalization(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6) -> Tensor:
  return RMSNormalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)
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
    m = (torch.arange(total, device=m.device).unsqueeze(0) < m.unsqueeze(1)).to(torch.int32)
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
  assert k is not None and v is not None and k.dim() == 3, "MultiHeadAttention with packed inputs is not supported"
  n = q.size(2)
  if b is not None:
    q = q + b[:n]
    k = k + b[n:n + k.size(2)]
    v = v + b[n + k.size(2):]
  a, c, d = _heads(q, num_heads), _heads(k, num_heads), _heads(v, num_heads)
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
def GroupQueryAttention(q: Tensor, k: Optional[Tensor], v: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], lengths: Tensor, total: int, cos: Optional[Tensor], sin: Optional[Tensor], position: Optional[Tensor], bias: Optional[Tensor], *, num_heads: int, kv_num_heads: int, scale: float = 0.0, do_rotary: int = 0, rotary_interleaved: int = 0, local_window_size: int = -1, softcap: float = 0.0, smooth_softmax: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
  assert smooth_softmax == 0 or smooth_softmax == -1, "smooth_softmax is not supported"
  if k is None or v is None:
    each = q.size(2) // (num_heads + 2 * kv_num_heads)
    parts = torch.split(q, [num_heads * each, kv_num_heads * each, kv_num_heads * each], 2)
    q, k, v = parts[0], parts[1], parts[2]
  past = 0 if past_key is None else past_key.size(2)
  steps = q.size(1)
  if do_rotary == 1:
    assert cos is not None and sin is not None, "do_rotary needs caches"
    at = torch.arange(steps, device=q.device).unsqueeze(0).expand([q.size(0), -1]) + past
    if position is not None:
      at = position.to(torch.int64)
    q = RotaryEmbedding(q, cos, sin, at, interleaved=rotary_interleaved, num_heads=num_heads)
    k = RotaryEmbedding(k, cos, sin, at, interleaved=rotary_interleaved, num_heads=kv_num_heads)
  a, c, d = _heads(q, num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
  if past_key is not None and past_value is not None:
    c = torch.cat([past_key, c], 2)
    d = torch.cat([past_value, d], 2)
  groups = num_heads // kv_num_heads
  s = torch.matmul(a, torch.repeat_interleave(c, groups, 1).transpose(2, 3)) * (1.0 / math.sqrt(a.size(3)) if scale == 0.0 else scale)
  if softcap > 0.0:
    s = torch.tanh(s / softcap) * softcap
  i = torch.arange(steps, device=q.device).unsqueeze(1) + past
  j = torch.arange(c.size(2), device=q.device).unsqueeze(0)
  keep = (j <= i) & (j <= lengths.reshape([-1, 1, 1, 1]))
  if local_window_size > 0:
    keep = keep & (i - j < local_window_size)
  if bias is not None:
    s = s + bias
  s = s.masked_fill(torch.logical_not(keep), float("-inf"))
  return _no_heads(torch.matmul(torch.softmax(s, -1), torch.repeat_interleave(d, groups, 1))), c, d
def ArrayFeatureExtractor(x: Tensor, at: Tensor) -> Tensor:
  y = x if x.dim() > 1 else x.unsqueeze(0)
  return y.index_select(y.dim() - 1, at.reshape([-1]))
def Binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
  return (x > threshold).to(x.dtype)
)py");

constexpr Gives kSame = Gives::Same;
const Entry kContrib[] = {
    {"Gelu", 1, 0, kSame, "Gelu_contrib"},
    {"FastGelu", 1, 0, kSame},
    {"BiasGelu", 1, 0, kSame},
    {"QuickGelu", 1, 0, kSame},
    {"FusedMatMul", 1, 0, kSame},
    {"FusedConv", 1, 0, kSame},
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
const Entry kMl[] = {
    {"ArrayFeatureExtractor", 1, 0, kSame},
    {"Binarizer", 1, 0, kSame},
};
const Entries kMlRegistered("ai.onnx.ml", kMl, std::size(kMl));

}  // namespace
}  // namespace tenon::onnx
