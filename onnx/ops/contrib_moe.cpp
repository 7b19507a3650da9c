// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// MoE of com.microsoft: rows of tokens go through the experts that a router has chosen.
#include "onnx/import/builder.h"

namespace tenon::onnx {
namespace {

// Weights are [experts, out, in]. Gelu is the approximation with tanh, as in ONNX Runtime.
const Texts kTexts(R"py(
def _expert_activation(x: Tensor, kind: str, alpha: float, beta: float, fusion: int, limit: float) -> Tensor:
  if kind == "relu":
    return torch.relu(x)
  if kind == "gelu":
    return torch.gelu(x, approximate="tanh")
  if kind == "silu":
    return torch.silu(x)
  if kind == "identity":
    return x
  assert kind == "swiglu" and fusion > 0, "MoE with activation_type '{}' and swiglu_fusion {} is not supported".format(kind, fusion)
  n = x.size(1) // 2
  gate, linear = x[:, :n], x[:, n:]
  if fusion == 1:
    gate, linear = x[:, 0::2], x[:, 1::2]
  gate = torch.clamp_max(gate, limit)
  return gate * torch.sigmoid(alpha * gate) * (torch.clamp(linear, -limit, limit) + beta)
def MoE(x: Tensor, router: Tensor, w1: Tensor, b1: Optional[Tensor], w2: Tensor, b2: Optional[Tensor], w3: Optional[Tensor], b3: Optional[Tensor], *, activation_type: str = "relu", k: int = 1, normalize_routing_weights: int = 0, use_sparse_mixer: int = 0, activation_alpha: float = 1.0, activation_beta: float = 0.0, swiglu_fusion: int = 0, swiglu_limit: float = 3.4e38) -> Tensor:
  assert use_sparse_mixer == 0, "MoE with use_sparse_mixer is not supported"
  rows = x.reshape([-1, x.size(-1)])
  weights, chosen = torch.topk(torch.softmax(router.reshape([rows.size(0), -1]), -1), k, -1)
  if normalize_routing_weights == 1:
    weights = weights / weights.sum(-1, True)
  out = torch.zeros([rows.size(0), w2.size(1)], dtype=x.dtype, device=x.device)
  for e in range(w1.size(0)):
    at = torch.nonzero(chosen == e)
    row = at.select(1, 0)
    given = rows.index_select(0, row)
    y = torch.linear(given, w1[e], None if b1 is None else b1[e])
    y = _expert_activation(y, activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit)
    if w3 is not None:
      y = y * torch.linear(given, w3[e], None if b3 is None else b3[e])
    y = torch.linear(y, w2[e], None if b2 is None else b2[e])
    share = torch.take(weights, row * k + at.select(1, 1))
    out = torch.index_add(out, 0, row, y * share.unsqueeze(1).to(y.dtype))
  return out.reshape(x.shape)
)py");

const Entry kMoE[] = {{"MoE", 1, 0, Gives::Same}};
const Entries kRegistered("com.microsoft", kMoE, std::size(kMoE));

}  // namespace
}  // namespace tenon::onnx
