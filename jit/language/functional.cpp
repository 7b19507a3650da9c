// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch.nn.functional for programs that are compiled from text: the functions that are more than
// an operator, written in the language itself. Archives have their own. The first are what
// operators of old archives did.

#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

constexpr const char* kPrefix = "__torch__.tenon.functional";

constexpr const char* kText = R"(
def _reduction(reduction: str) -> int:
  if reduction == "none":
    return 0
  if reduction == "mean":
    return 1
  assert reduction == "sum", "{} is not a valid value for reduction".format(reduction)
  return 2
def _div_until_3(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def _div_scalar_until_3(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def _div_in_place_until_3(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return torch.div_(self, other)
  return torch.div_(self, other, rounding_mode="trunc")
def _div_in_place_scalar_until_3(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return torch.div_(self, other)
  return torch.div_(self, other, rounding_mode="trunc")
def _full_until_4(size: List[int], fill_value: number, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
  if dtype is None:
    return torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def _lstm_packed(data: Tensor, batch_sizes: Tensor, hx: List[Tensor], params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  outputs: List[Tensor] = []
  places: List[Tensor] = []
  hs: List[Tensor] = []
  cs: List[Tensor] = []
  for j in range(sizes[0]):
    of_sequence: List[int] = []
    begin = 0
    for size in sizes:
      if j < size:
        of_sequence.append(begin + j)
      begin += size
    place = torch.tensor(of_sequence, dtype=torch.int64, device=data.device)
    x = data.index_select(0, place).unsqueeze(1)
    y, h, c = torch.lstm(x, [hx[0][:, j:j + 1].contiguous(), hx[1][:, j:j + 1].contiguous()], params, has_biases, num_layers, dropout, train, bidirectional, False)
    outputs.append(y.squeeze(1))
    places.append(place)
    hs.append(h)
    cs.append(c)
  out = torch.cat(outputs)
  return torch.index_copy(torch.zeros_like(out), 0, torch.cat(places), out), torch.cat(hs, 1), torch.cat(cs, 1)
def _gru_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  outputs: List[Tensor] = []
  places: List[Tensor] = []
  hs: List[Tensor] = []
  for j in range(sizes[0]):
    of_sequence: List[int] = []
    begin = 0
    for size in sizes:
      if j < size:
        of_sequence.append(begin + j)
      begin += size
    place = torch.tensor(of_sequence, dtype=torch.int64, device=data.device)
    x = data.index_select(0, place).unsqueeze(1)
    y, h = torch.gru(x, hx[:, j:j + 1].contiguous(), params, has_biases, num_layers, dropout, train, bidirectional, False)
    outputs.append(y.squeeze(1))
    places.append(place)
    hs.append(h)
  out = torch.cat(outputs)
  return torch.index_copy(torch.zeros_like(out), 0, torch.cat(places), out), torch.cat(hs, 1)
def _rnn_tanh_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  outputs: List[Tensor] = []
  places: List[Tensor] = []
  hs: List[Tensor] = []
  for j in range(sizes[0]):
    of_sequence: List[int] = []
    begin = 0
    for size in sizes:
      if j < size:
        of_sequence.append(begin + j)
      begin += size
    place = torch.tensor(of_sequence, dtype=torch.int64, device=data.device)
    x = data.index_select(0, place).unsqueeze(1)
    y, h = torch.rnn_tanh(x, hx[:, j:j + 1].contiguous(), params, has_biases, num_layers, dropout, train, bidirectional, False)
    outputs.append(y.squeeze(1))
    places.append(place)
    hs.append(h)
  out = torch.cat(outputs)
  return torch.index_copy(torch.zeros_like(out), 0, torch.cat(places), out), torch.cat(hs, 1)
def _rnn_relu_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  outputs: List[Tensor] = []
  places: List[Tensor] = []
  hs: List[Tensor] = []
  for j in range(sizes[0]):
    of_sequence: List[int] = []
    begin = 0
    for size in sizes:
      if j < size:
        of_sequence.append(begin + j)
      begin += size
    place = torch.tensor(of_sequence, dtype=torch.int64, device=data.device)
    x = data.index_select(0, place).unsqueeze(1)
    y, h = torch.rnn_relu(x, hx[:, j:j + 1].contiguous(), params, has_biases, num_layers, dropout, train, bidirectional, False)
    outputs.append(y.squeeze(1))
    places.append(place)
    hs.append(h)
  out = torch.cat(outputs)
  return torch.index_copy(torch.zeros_like(out), 0, torch.cat(places), out), torch.cat(hs, 1)
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> Tuple[Tensor, Tensor]:
  x = input.transpose(0, 1) if batch_first else input
  of_sequences: List[int] = lengths.to(torch.int64).tolist()
  assert len(of_sequences) == x.size(1), "pack_padded_sequence: expected as many lengths as sequences"
  sizes: List[int] = []
  pieces: List[Tensor] = []
  for t in range(of_sequences[0]):
    n = 0
    for i, length in enumerate(of_sequences):
      assert length > 0 and length <= of_sequences[0], "pack_padded_sequence: lengths must be positive and sorted in decreasing order"
      if length > t:
        n = i + 1
    sizes.append(n)
    pieces.append(x[t, :n])
  return torch.cat(pieces), torch.tensor(sizes, dtype=torch.int64)
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: number, total_length: int) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  steps = max(len(sizes), total_length)
  out = data.new_full([steps, sizes[0]] + data.shape[1:], padding_value)
  places: List[int] = []
  lengths: List[int] = [0 for i in range(sizes[0])]
  for t, size in enumerate(sizes):
    for i in range(size):
      places.append(t * sizes[0] + i)
      lengths[i] += 1
  place = torch.tensor(places, dtype=torch.int64, device=data.device)
  out = torch.index_copy(out.flatten(0, 1), 0, place, data).view(out.shape)
  return out.transpose(0, 1) if batch_first else out, torch.tensor(lengths, dtype=torch.int64)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.relu_(input) if inplace else torch.relu(input)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardtanh_(input, 0.0, 6.0) if inplace else torch.hardtanh(input, 0.0, 6.0)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.selu_(input) if inplace else torch.selu(input)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
  return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
  return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.silu_(input) if inplace else torch.silu(input)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.mish_(input) if inplace else torch.mish(input)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardswish_(input) if inplace else torch.hardswish(input)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)
def logsigmoid(input: Tensor) -> Tensor:
  return torch.log_sigmoid(input)
def softsign(input: Tensor) -> Tensor:
  return input / (input.abs() + 1)
def tanhshrink(input: Tensor) -> Tensor:
  return input - input.tanh()
def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "softmax needs dim"
  return torch.softmax(input, dim, dtype)
def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "softmin needs dim"
  return torch.softmax(-input, dim, dtype)
def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "log_softmax needs dim"
  return torch.log_softmax(input, dim, dtype)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
  return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
  return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
  if max_norm is not None:
    torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
  padding = -1
  if padding_idx is not None:
    padding = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
  return torch.embedding(weight, input, padding, scale_grad_by_freq, sparse)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
  return torch.layer_norm(input, normalized_shape, weight, bias, eps)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
  return torch.group_norm(input, num_groups, weight, bias, eps)
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
  return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
  return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
  return input / input.norm(p, [dim], True).clamp_min(eps).expand_as(input)
def max_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = [0], dilation: BroadcastingList1[int] = [1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool1d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = [0, 0], dilation: BroadcastingList2[int] = [1, 1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool2d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = [0, 0, 0], dilation: BroadcastingList3[int] = [1, 1, 1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool3d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.mse_loss(input, target, _reduction(reduction))
def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.l1_loss(input, target, _reduction(reduction))
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
  return torch.smooth_l1_loss(input, target, _reduction(reduction), beta)
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
  return torch.huber_loss(input, target, _reduction(reduction), delta)
def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", log_target: bool = False) -> Tensor:
  if reduction == "batchmean":
    return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
  return torch.kl_div(input, target, _reduction(reduction), log_target=log_target)
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.nll_loss_nd(input, target, weight, _reduction(reduction), ignore_index)
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
  return torch.cross_entropy_loss(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.binary_cross_entropy(input, target, weight, _reduction(reduction))
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
  return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction))
)";

// The text is parsed once; each unit gets those functions that it asks for.
const std::map<std::string, std::shared_ptr<Def>>& definitions() {
  static const auto& all = *[] {
    auto source = std::make_shared<Source>();
    source->text = kText;
    source->file = "torch/nn/functional.py";
    auto* map = new std::map<std::string, std::shared_ptr<Def>>;
    for (auto& f : parse_file(source).functions) map->emplace(f->name, f);
    return map;
  }();
  return all;
}

}  // namespace

bool is_composed(std::string_view name) {
  return name == "aten::_pack_padded_sequence" || name == "aten::_pad_packed_sequence";
}

Function* functional(CompilationUnit& unit, std::string_view name) {
  const auto it = definitions().find(std::string(name));
  if (it == definitions().end()) return nullptr;
  const std::string qualified = std::string(kPrefix) + "." + it->first;
  bool first = true;
  for (Function* f : unit.functions()) {
    if (f->qualified_name() == qualified) return f;
    first &= f->qualified_name() != std::string(kPrefix) + "._reduction";
  }
  const auto define = [&unit](const std::shared_ptr<Def>& def) {
    File file;
    file.functions.push_back(def);
    define_file(unit, kPrefix, file, nullptr);
  };
  if (first) define(definitions().at("_reduction"));
  define(it->second);
  return unit.find_function(qualified);
}

}  // namespace tenon::jit::language
