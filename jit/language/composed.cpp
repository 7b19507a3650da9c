// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/composed.h"

#include <map>
#include <set>

#include "jit/language/emit.h"
#include "jit/language/emitter.h"
#include "jit/language/quantized_text.h"

namespace tenon::jit::language {

// A packed sequence is computed by pieces: steps that have the same number of sequences run as one
// ordinary batch. Sequences are in order of decreasing length, so that the first n go on.
const char* const kComposedText = R"py(
def _div_until_3(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def _div_scalar_until_3(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")
def _div_out_until_3(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point() or out.is_floating_point():
    return torch.div(self, other, out=out)
  return torch.div(self, other, rounding_mode="trunc", out=out)
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
def _linspace_until_7(start: number, end: number, steps: Optional[int] = None, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
  return torch.linspace(start, end, 100 if steps is None else steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def _linspace_out_until_7(start: number, end: number, steps: Optional[int] = None, *, out: Tensor) -> Tensor:
  return torch.linspace(start, end, 100 if steps is None else steps, out=out)
def _logspace_until_8(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
  return torch.logspace(start, end, 100 if steps is None else steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def _logspace_out_until_8(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *, out: Tensor) -> Tensor:
  return torch.logspace(start, end, 100 if steps is None else steps, base, out=out)
def _pad_circular(self: Tensor, pad: List[int]) -> Tensor:
  return torch.pad(self, pad, "circular")
def _dim_arange(like: Tensor, dim: int) -> Tensor:
  return torch.arange(like.size(dim), dtype=torch.int64, device=like.device)
def _shape_as_tensor(self: Tensor) -> Tensor:
  return torch.tensor(self.shape, dtype=torch.int64)
def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
  sizes: List[int] = shape.tolist()
  return self.reshape(sizes)
def thnn_conv2d(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor] = None, stride: List[int] = [1, 1], padding: List[int] = [0, 0]) -> Tensor:
  return torch.conv2d(self, weight, bias, stride, padding)
def _cast_Byte(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.uint8)
def _cast_Char(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.int8)
def _cast_Double(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.float64)
def _cast_Float(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.float32)
def _cast_Half(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.float16)
def _cast_Int(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.int32)
def _cast_Long(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.int64)
def _cast_Short(self: Tensor, non_blocking: bool = False) -> Tensor:
  return self.to(torch.int16)
def rrelu_with_noise_functional(self: Tensor, noise: Tensor, lower: number = 0.125, upper: number = 0.3333333333333333, training: bool = False, generator: Optional[Generator] = None) -> Tuple[Tensor, Tensor]:
  slopes = noise.clone()
  return torch.rrelu_with_noise(self, slopes, lower, upper, training, generator), slopes
def _prims_iota(length: int, start: int, step: int, dtype: int, device: Device, requires_grad: bool) -> Tensor:
  return (torch.arange(length, dtype=torch.int64, device=device) * step + start).to(dtype)
def _prims_view_of(a: Tensor) -> Tensor:
  return a.view(a.size())
def _prims_convert_element_type(a: Tensor, dtype: int) -> Tensor:
  return a.to(dtype)
def _prims_squeeze(a: Tensor, dimensions: List[int]) -> Tensor:
  return torch.squeeze(a, dimensions)
def _prims_transpose(a: Tensor, permutation: List[int]) -> Tensor:
  return a.permute(permutation)
def _prims_split_dim(a: Tensor, dim: int, outer_length: int) -> Tensor:
  return a.unflatten(dim, [outer_length, a.size(dim) // outer_length])
def _prims_collapse(a: Tensor, start: int, end: int) -> Tensor:
  return a.flatten(start, end)
def _prims_sum(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int] = None) -> Tensor:
  return torch.sum(inp, dims, dtype=output_dtype)
def _prims_prod(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int] = None) -> Tensor:
  if dims is None:
    return torch.prod(inp, dtype=output_dtype)
  for d in range(inp.dim()):
    if d in dims or d - inp.dim() in dims:
      inp = torch.prod(inp, d, True, dtype=output_dtype)
  return torch.squeeze(inp, dims)
def _prims_broadcast_in_dim(a: Tensor, shape: List[int], broadcast_dimensions: List[int]) -> Tensor:
  sizes = [1] * len(shape)
  for i in range(len(broadcast_dimensions)):
    sizes[broadcast_dimensions[i]] = a.size(i)
  return a.reshape(sizes).expand(shape)
def _packed_runs(sizes: List[int]) -> List[Tuple[int, int]]:
  runs: List[Tuple[int, int]] = []
  begin = 0
  for t in range(1, len(sizes) + 1):
    if t == len(sizes) or sizes[t] != sizes[begin]:
      runs.append((sizes[begin], t - begin))
      begin = t
  return runs
def _packed_cell(mode: str, x: Tensor, h: Tensor, c: Tensor, params: List[Tensor], has_biases: bool) -> Tuple[Tensor, Tensor, Tensor]:
  h = h.contiguous()
  if mode == "lstm":
    return torch.lstm(x, [h, c.contiguous()], params, has_biases, 1, 0.0, False, False, False)
  if mode == "gru":
    y, h = torch.gru(x, h, params, has_biases, 1, 0.0, False, False, False)
  elif mode == "tanh":
    y, h = torch.rnn_tanh(x, h, params, has_biases, 1, 0.0, False, False, False)
  else:
    y, h = torch.rnn_relu(x, h, params, has_biases, 1, 0.0, False, False, False)
  return y, h, h
def _packed_forwards(mode: str, data: Tensor, runs: List[Tuple[int, int]], h: Tensor, c: Tensor, params: List[Tensor], has_biases: bool) -> Tuple[Tensor, Tensor, Tensor]:
  outs: List[Tensor] = []
  hs: List[Tensor] = []
  cs: List[Tensor] = []
  for n, steps in runs:
    if n < h.size(1):
      hs.append(h[:, n:])
      cs.append(c[:, n:])
    x = data[:n * steps].unflatten(0, [steps, n])
    data = data[n * steps:]
    y, h, c = _packed_cell(mode, x, h[:, :n], c[:, :n], params, has_biases)
    outs.append(y.flatten(0, 1))
  hs.append(h)
  cs.append(c)
  hs.reverse()
  cs.reverse()
  return torch.cat(outs), torch.cat(hs, 1), torch.cat(cs, 1)
def _packed_backwards(mode: str, data: Tensor, runs: List[Tuple[int, int]], h0: Tensor, c0: Tensor, params: List[Tensor], has_biases: bool) -> Tuple[Tensor, Tensor, Tensor]:
  outs: List[Tensor] = []
  h, c = h0[:, :0], c0[:, :0]
  end = data.size(0)
  for i in range(len(runs)):
    n, steps = runs[len(runs) - 1 - i]
    x = data[end - n * steps:end].unflatten(0, [steps, n]).flip(0)
    end -= n * steps
    h = torch.cat([h, h0[:, h.size(1):n]], 1)
    c = torch.cat([c, c0[:, c.size(1):n]], 1)
    y, h, c = _packed_cell(mode, x, h, c, params, has_biases)
    outs.append(y.flip(0).flatten(0, 1))
  outs.reverse()
  return torch.cat(outs), h, c
def _packed_layers(mode: str, data: Tensor, batch_sizes: Tensor, hx: Tensor, cx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  runs = _packed_runs(sizes)
  count = num_layers * (2 if bidirectional else 1)
  each = len(params) // count
  hs: List[Tensor] = []
  cs: List[Tensor] = []
  outs: List[Tensor] = []
  for i in range(count):
    own = params[i * each:(i + 1) * each]
    if bidirectional and i % 2 == 1:
      y, h, c = _packed_backwards(mode, data, runs, hx[i:i + 1], cx[i:i + 1], own, has_biases)
    else:
      y, h, c = _packed_forwards(mode, data, runs, hx[i:i + 1], cx[i:i + 1], own, has_biases)
    outs.append(y)
    hs.append(h)
    cs.append(c)
    if bidirectional and i % 2 == 0:
      continue
    data = torch.cat(outs, 1) if bidirectional else outs[0]
    outs.clear()
    if train and dropout > 0.0 and i + 1 < count:
      data = torch.dropout(data, dropout, True)
  return data, torch.cat(hs), torch.cat(cs)
def _lstm_packed(data: Tensor, batch_sizes: Tensor, hx: List[Tensor], params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
  return _packed_layers("lstm", data, batch_sizes, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional)
def _gru_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  y, h, c = _packed_layers("gru", data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
  return y, h
def _rnn_tanh_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  y, h, c = _packed_layers("tanh", data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
  return y, h
def _rnn_relu_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  y, h, c = _packed_layers("relu", data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
  return y, h
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> Tuple[Tensor, Tensor]:
  x = input.transpose(0, 1) if batch_first else input
  of_sequences: List[int] = lengths.to(torch.int64).tolist()
  n = len(of_sequences)
  assert n == x.size(1), "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={})".format(n, x.size(1))
  assert n > 0 and min(of_sequences) > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
  sizes: List[int] = []
  pieces: List[Tensor] = []
  begin = 0
  for i in range(n):
    end = of_sequences[n - 1 - i]
    assert end >= begin, "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True"
    assert end <= x.size(0), "pack_padded_sequence: a length of {} is more than the {} steps of the input".format(end, x.size(0))
    if end > begin:
      pieces.append(x[begin:end, :n - i].flatten(0, 1))
      sizes += [n - i] * (end - begin)
      begin = end
  return torch.cat(pieces), torch.tensor(sizes, dtype=torch.int64)
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: number, total_length: int) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  longest, batch, rest = len(sizes), sizes[0], data.shape[1:]
  assert total_length <= 0 or total_length >= longest, "Expected total_length to be at least the length of the longest sequence in input, but got total_length={} and max sequence length being {}".format(total_length, longest)
  pieces: List[Tensor] = []
  ends: List[Tuple[int, int]] = []
  end = 0
  for n, steps in _packed_runs(sizes):
    piece = data[:n * steps].unflatten(0, [steps, n])
    data = data[n * steps:]
    if n < batch:
      piece = torch.cat([piece, data.new_full([steps, batch - n] + rest, padding_value)], 1)
    pieces.append(piece)
    end += steps
    ends.append((n, end))
  if total_length > longest:
    pieces.append(data.new_full([total_length - longest, batch] + rest, padding_value))
  out = torch.cat(pieces)
  lengths: List[int] = []
  for i in range(len(ends)):
    n, end = ends[len(ends) - 1 - i]
    lengths += [end] * (n - len(lengths))
  return out.transpose(0, 1) if batch_first else out, torch.tensor(lengths, dtype=torch.int64)
)py";

namespace {
// The overloads of recurrent layers that take packed sequences; null for other calls.
const char* over_packed(const std::string& op, const std::vector<NamedValue>& args) {
  static const std::map<std::string, std::pair<const char*, TypeKind>> kPacked = {
      {"aten::lstm", {"_lstm_packed", TypeKind::List}},
      {"aten::gru", {"_gru_packed", TypeKind::Tensor}},
      {"aten::rnn_tanh", {"_rnn_tanh_packed", TypeKind::Tensor}},
      {"aten::rnn_relu", {"_rnn_relu_packed", TypeKind::Tensor}}};
  const auto it = kPacked.find(op);
  if (it == kPacked.end() || args.size() < 4) return nullptr;
  const bool packed = args[1].value->type()->is(TypeKind::Tensor) &&
                      args[2].value->type()->is(it->second.second) &&
                      args[3].value->type()->is(TypeKind::List);
  return packed ? it->second.first : nullptr;
}

// What an operator did in archives before a version: for two tensors, for a tensor and a number,
// and with `out`. gelu changed in version 10 only by an argument that has a default.
struct Old {
  int64_t before;
  bool of_tensor;  // its first argument
  const char *function, *of_number, *with_out;
};
const Old* find_old(int64_t version, const std::string& op) {
  static const std::map<std::string, Old> kOld = {
      {"aten::div", {4, true, "_div_until_3", "_div_scalar_until_3", "_div_out_until_3"}},
      {"aten::div_", {4, true, "_div_in_place_until_3", "_div_in_place_scalar_until_3", nullptr}},
      {"aten::full", {5, false, "_full_until_4", "_full_until_4", nullptr}},
      {"aten::linspace",
       {8, false, "_linspace_until_7", "_linspace_until_7", "_linspace_out_until_7"}},
      {"aten::logspace",
       {9, false, "_logspace_until_8", "_logspace_until_8", "_logspace_out_until_8"}}};
  const auto it = kOld.find(op);
  return it != kOld.end() && version > 0 && version < it->second.before ? &it->second : nullptr;
}

const char* old_function(const Old& old, const Value* self, const std::vector<NamedValue>& args) {
  std::vector<const Value*> given;
  if (self) given.push_back(self);
  for (const NamedValue& a : args) {
    if (a.name == "out") return old.with_out;
    if (a.name == "rounding_mode") return nullptr;
    given.push_back(a.value);
  }
  if (given.size() < 2) return nullptr;
  const TypeKind first = given[0]->type()->kind();
  if (old.of_tensor != (first == TypeKind::Tensor)) return nullptr;
  return given[1]->type()->is(TypeKind::Tensor) ? old.function : old.of_number;
}

// Functions that stand for the operators of their names.
const std::set<std::string, std::less<>>& composed() {
  static const std::set<std::string, std::less<>> kComposed = {"_pack_padded_sequence",
                                                               "_pad_packed_sequence",
                                                               "_pad_circular",
                                                               "_dim_arange",
                                                               "_shape_as_tensor",
                                                               "_reshape_from_tensor",
                                                               "thnn_conv2d",
                                                               "_cast_Byte",
                                                               "_cast_Char",
                                                               "_cast_Double",
                                                               "_cast_Float",
                                                               "_cast_Half",
                                                               "_cast_Int",
                                                               "_cast_Long",
                                                               "_cast_Short",
                                                               "rrelu_with_noise_functional",
                                                               "fused_moving_avg_obs_fake_quant",
                                                               "_prims_iota",
                                                               "_prims_view_of",
                                                               "_prims_convert_element_type",
                                                               "_prims_squeeze",
                                                               "_prims_transpose",
                                                               "_prims_split_dim",
                                                               "_prims_collapse",
                                                               "_prims_sum",
                                                               "_prims_prod",
                                                               "_prims_broadcast_in_dim"};
  return kComposed;
}

// Null if no function stands for the operator. "prims::f" is "_prims_f" here.
const char* composed_name(std::string_view op) {
  const std::size_t end = op.find("::");
  if (end == op.npos) return nullptr;
  const std::string_view space = op.substr(0, end), name = op.substr(end + 2);
  if (space != "aten" && space != "prims") return nullptr;
  const auto it =
      space == "aten" ? composed().find(name) : composed().find("_prims_" + std::string(name));
  return it == composed().end() ? nullptr : it->c_str();
}

}  // namespace

bool is_operator(std::string_view name) {
  return !operators_named(name).empty() || names_bits(name) || composed_name(name) != nullptr ||
         is_quantized_operator(name);
}

std::string composed_function(int64_t version, const std::string& op, const Value* self,
                              const std::vector<NamedValue>& args) {
  const auto text = [](const char* name) { return std::string(name ? name : ""); };
  if (const char* name = composed_name(op)) return name;
  if (const Old* old = find_old(version, op)) return text(old_function(*old, self, args));
  if (const char* name = over_packed(op, args)) return name;
  return quantized_function(op, args);
}

const char* composed_operator(const Function& f) {
  static const std::map<std::string, const char*, std::less<>> kOperators = {
      {"_pack_padded_sequence", "aten::_pack_padded_sequence"},
      {"_pad_packed_sequence", "aten::_pad_packed_sequence"},
      {"_lstm_packed", "aten::lstm.data"},
      {"_gru_packed", "aten::gru.data"},
      {"_rnn_tanh_packed", "aten::rnn_tanh.data"},
      {"_rnn_relu_packed", "aten::rnn_relu.data"}};
  const std::string_view name = f.qualified_name(), prefix = kFunctionalPrefix;
  if (name.size() <= prefix.size() || name.substr(0, prefix.size()) != prefix) return nullptr;
  const auto at = kOperators.find(name.substr(prefix.size() + 1));
  return at == kOperators.end() ? nullptr : at->second;
}

}  // namespace tenon::jit::language
