// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalizations and losses.
#include <algorithm>

#include "onnx/import/builder.h"
#include "onnx/ops/cast.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def BatchNormalization(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9, spatial: int = 1, is_test: int = 1, training_mode: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
  if training_mode == 1:
    axes = [0] + [i for i in range(2, x.dim())]
    m = torch.mean(x, axes)
    v = torch.var(x, axes, False)
    y = torch.batch_norm(x, scale.to(x.dtype), bias.to(x.dtype), m.to(x.dtype), v.to(x.dtype), False, 0.0, epsilon, False)
    return y, mean * momentum + m.to(mean.dtype) * (1 - momentum), var * momentum + v.to(var.dtype) * (1 - momentum)
  return torch.batch_norm(x, scale, bias, mean, var, False, 0.0, epsilon, False), mean, var
def BatchNormalization_13(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9, spatial: int = 1) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
  y, m, v = BatchNormalization(x, scale, bias, mean, var, epsilon=epsilon, momentum=momentum, training_mode=1)
  axes = [0] + [i for i in range(2, x.dim())]
  return y, m, v, torch.mean(x, axes), torch.var(x, axes, False)
def BatchNormalization_eval(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9, spatial: int = 1, is_test: int = 1, training_mode: int = 0) -> Tensor:
  return torch.batch_norm(x, scale, bias, mean, var, False, 0.0, epsilon, False)
def InstanceNormalization(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
  return torch.instance_norm(x, scale, bias, None, None, True, 0.0, epsilon, False)
def LayerNormalization(x: Tensor, scale: Tensor, bias: Optional[Tensor], *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6, n_outputs: int) -> Tuple[Tensor, Tensor, Tensor]:
  a = axis + x.dim() if axis < 0 else axis
  axes = [i for i in range(a, x.dim())]
  wide = x.to(stash_type)
  mean = torch.mean(wide, axes, True)
  centered = wide - mean
  inverse = torch.rsqrt(torch.mean(centered * centered, axes, True) + epsilon)
  y = (centered * inverse).to(x.dtype) * scale
  if bias is not None:
    y = y + bias
  return y, mean, inverse
def LayerNormalization_one(x: Tensor, scale: Tensor, bias: Optional[Tensor], *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6) -> Tensor:
  a = axis + x.dim() if axis < 0 else axis
  n = x.dim() - a
  if scale.dim() <= n and (bias is None or bias.dim() <= n):
    return torch.layer_norm(x, x.shape[a:], scale.expand(x.shape[a:]), None if bias is None else bias.expand(x.shape[a:]), epsilon)
  y = torch.layer_norm(x, x.shape[a:], None, None, epsilon) * scale
  return y if bias is None else y + bias
def LayerNormalization_last(x: Tensor, scale: Tensor, bias: Optional[Tensor], *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6) -> Tensor:
  return torch.layer_norm(x, scale.shape, scale, bias, epsilon)
def RMSNormalization(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 6) -> Tensor:
  a = axis + x.dim() if axis < 0 else axis
  return torch.rms_norm(x.to(stash_type), x.shape[a:], None, epsilon).to(x.dtype) * scale
def GroupNormalization(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 6) -> Tensor:
  return torch.group_norm(x, num_groups, scale, bias, epsilon)
def GroupNormalization_20(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5, num_groups: int) -> Tensor:
  each = x.size(1) // num_groups
  s = scale.unsqueeze(1).expand([-1, each]).reshape([-1])
  b = bias.unsqueeze(1).expand([-1, each]).reshape([-1])
  return torch.group_norm(x, num_groups, s, b, epsilon)
def LRN(x: Tensor, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int) -> Tensor:
  before = (size - 1) // 2
  shape = x.shape
  s = (x * x).reshape([shape[0], shape[1], -1])
  s = torch.constant_pad_nd(s, [0, 0, before, size - 1 - before], 0)
  s = s.unfold(1, size, 1).sum(-1).reshape(shape)
  return x / torch.pow(bias + alpha / size * s, beta)
def LpNormalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
  if p == 1:
    n = torch.abs(x).sum(axis, True)
  else:
    n = torch.sqrt((x * x).sum(axis, True))
  return torch.where(n == 0, torch.zeros_like(x), x / n)
def MeanVarianceNormalization(x: Tensor, *, axes: Optional[List[int]] = None) -> Tensor:
  a = [0, 2, 3] if axes is None else axes
  m = torch.mean(x, a, True)
  v = torch.mean(x * x, a, True) - m * m
  return (x - m) / (torch.sqrt(v) + 1e-9)
def _nll(x: Tensor, target: Tensor, weight: Optional[Tensor], ignore_index: Optional[int], reduction: str) -> Tensor:
  t = target.to(torch.int64)
  keep = torch.ones_like(t, dtype=torch.bool)
  if ignore_index is not None:
    keep = t != ignore_index
  safe = torch.where(keep, t, torch.zeros_like(t))
  loss = -torch.gather(x, 1, safe.unsqueeze(1)).squeeze(1)
  w = torch.ones_like(loss)
  if weight is not None:
    w = weight.index_select(0, safe.reshape([-1])).reshape(safe.shape)
  w = torch.where(keep, w, torch.zeros_like(w))
  loss = torch.where(keep, loss * w, torch.zeros_like(loss))
  if reduction == "none":
    return loss
  if reduction == "sum":
    return loss.sum()
  return loss.sum() / w.sum()
def NegativeLogLikelihoodLoss(x: Tensor, target: Tensor, weight: Optional[Tensor], *, ignore_index: Optional[int] = None, reduction: str = "mean") -> Tensor:
  return _nll(x, target, weight, ignore_index, reduction)
def SoftmaxCrossEntropyLoss(x: Tensor, target: Tensor, weight: Optional[Tensor], *, ignore_index: Optional[int] = None, reduction: str = "mean") -> Tuple[Tensor, Tensor]:
  p = torch.log_softmax(x, 1)
  return _nll(p, target, weight, ignore_index, reduction), p
)py");

std::vector<ItemPtr> translate_batch_norm(Builder& b, Call& c) {
  // Until version 13 a node trains that gives more than one result, used or not.
  const auto& outputs = c.node.output();
  const bool several = std::any_of(outputs.begin() + 1, outputs.end(),
                                   [](const std::string& name) { return !name.empty(); });
  const bool trains = c.version >= 7 && c.version < 14 && several;
  const bool eval = c.integer("training_mode", 0) == 0 && c.n_outputs() == 1;
  TENON_CHECK(c.integer("spatial", 1) == 1, NotImplementedError,
              "spatial=0, statistics for each element, is not supported");
  TENON_CHECK(c.version >= 7 || c.integer("is_test", 0) == 1 || eval, NotImplementedError,
              "training before version 7 is not supported");
  if (trains) return b.call_function(c, "BatchNormalization_13", Gives::Same);
  return b.call_function(c, eval ? "BatchNormalization_eval" : "BatchNormalization", Gives::Same);
}

// One that is not expanded to the sizes of the input.
bool is_whole(const Tensor& t, int64_t rank) {
  if (!t.defined() || t.dim() != rank) return false;
  return std::all_of(t.sizes().begin(), t.sizes().end(), [](int64_t n) { return n != 1; });
}

// Over the dimensions of the scale where that is a constant of as many, the operator alone.
std::vector<ItemPtr> translate_layer_norm(Builder& b, Call& c) {
  const char* function = "LayerNormalization";
  const int64_t axis = c.integer("axis", -1);
  if (c.n_outputs() == 1) {
    const ItemPtr bias = c.optional_input(2);
    const bool whole = axis < 0 && is_whole(c.input(1)->constant, -axis) &&
                       (!bias || is_whole(bias->constant, -axis));
    function = whole ? "LayerNormalization_last" : "LayerNormalization_one";
  }
  return b.call_function(c, function, Gives::Same);
}

constexpr Gives kSame = Gives::Same;
const Entry kNorms[] = {
    {"BatchNormalization", 1, 0, kSame, nullptr, translate_batch_norm},
    {"InstanceNormalization", 1, 0, kSame},
    // From version 17 on; before, ONNX Runtime had it in ONNX's domain.
    {"LayerNormalization", 1, 0, kSame, nullptr, translate_layer_norm},
    {"RMSNormalization", 23, 0, kSame},
    {"GroupNormalization", 21, 0, kSame},
    {"GroupNormalization", 18, 20, kSame, "GroupNormalization_20"},
    {"LRN", 1, 0, kSame},
    {"LpNormalization", 1, 0, kSame},
    {"MeanVarianceNormalization", 9, 0, kSame},
    {"NegativeLogLikelihoodLoss", 12, 0, kSame},
    {"SoftmaxCrossEntropyLoss", 12, 0, kSame},
};
const Entries kRegistered("", kNorms, std::size(kNorms));

}  // namespace
}  // namespace tenon::onnx
