// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and views. What computes with sizes has a form over integers beside that over tensors.
#include "onnx/import/builder.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def Shape(x: Tensor, *, start: int = 0, end: Optional[int] = None) -> List[int]:
  s = x.shape
  return s[start:] if end is None else s[start:end]
def Size(x: Tensor) -> int:
  return x.numel()
def Reshape(x: Tensor, shape: List[int], *, allowzero: int = 0) -> Tensor:
  if allowzero == 0:
    out: List[int] = []
    for i in range(len(shape)):
      out.append(x.size(i) if shape[i] == 0 else shape[i])
    return x.reshape(out)
  return x.reshape(shape)
def Reshape_plain(x: Tensor, shape: List[int], *, allowzero: int = 0) -> Tensor:
  return x.reshape(shape)
def Reshape_any(x: Tensor, shape: List[int], *, allowzero: int = 0) -> Tensor:
  return Reshape(x, shape, allowzero=allowzero)
def Reshape__1(x: List[int], shape: List[int], *, allowzero: int = 0) -> List[int]:
  assert len(shape) == 1, "Reshape of sizes gives one dimension"
  return x
def Reshape__2(x: int, shape: List[int], *, allowzero: int = 0) -> List[int]:
  return [x]
def Reshape_4(x: Tensor, *, shape: List[int]) -> Tensor:
  return Reshape(x, shape, allowzero=0)
def Flatten(x: Tensor, *, axis: int = 1) -> Tensor:
  if axis < 0:
    axis += x.dim()
  n = 1
  for i in range(axis):
    n *= x.size(i)
  m = 1
  for i in range(axis, x.dim()):
    m *= x.size(i)
  return x.reshape([n, m])
def Transpose(x: Tensor, *, perm: Optional[List[int]] = None) -> Tensor:
  if perm is None:
    perm = [x.dim() - 1 - i for i in range(x.dim())]
  return x.permute(perm)
def Squeeze(x: Tensor, axes: Optional[List[int]]) -> Tensor:
  return torch.squeeze(x) if axes is None or len(axes) == 0 else torch.squeeze(x, axes)
def Squeeze_12(x: Tensor, *, axes: Optional[List[int]] = None) -> Tensor:
  return Squeeze(x, axes)
def Squeeze__1(x: List[int], axes: Optional[List[int]]) -> int:
  return x[0]
def Squeeze_12__1(x: List[int], *, axes: Optional[List[int]] = None) -> int:
  return x[0]
def Unsqueeze(x: Tensor, axes: List[int]) -> Tensor:
  n = x.dim() + len(axes)
  at = [a + n if a < 0 else a for a in axes]
  at.sort()
  for a in at:
    x = x.unsqueeze(a)
  return x
def Unsqueeze_12(x: Tensor, *, axes: List[int]) -> Tensor:
  return Unsqueeze(x, axes)
def Unsqueeze__1(x: int, axes: List[int]) -> List[int]:
  return [x]
def Unsqueeze_12__1(x: int, *, axes: List[int]) -> List[int]:
  return [x]
def Concat(inputs: List[Tensor], *, axis: int = 1) -> Tensor:
  return torch.cat(inputs, axis)
def Concat__1(inputs: List[List[int]], *, axis: int = 1) -> List[int]:
  out: List[int] = []
  for i in inputs:
    out += i
  return out
def _split(x: Tensor, axis: int, sizes: Optional[List[int]], parts: int) -> List[Tensor]:
  if sizes is not None:
    return torch.split(x, sizes, axis)
  n = x.size(axis)
  each = (n + parts - 1) // parts
  equal: List[int] = []
  for i in range(parts):
    equal.append(max(0, min(each, n - i * each)))
  return torch.split(x, equal, axis)
def _gather_list(x: List[int], i: List[int]) -> List[int]:
  return [x[k] for k in i]
def _positive(i: Tensor, n: int) -> Tensor:
  return torch.where(i < 0, i + n, i)
def _positive_wide(i: Tensor, n: int) -> Tensor:
  w = i.to(torch.int64)
  return torch.where(w < 0, w + n, w)
def Gather(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
  n = x.size(axis)
  i = index.to(torch.int64)
  i = torch.where(i < 0, i + n, i)
  a = axis + x.dim() if axis < 0 else axis
  return x.index_select(a, i.reshape([-1])).reshape(x.shape[:a] + i.shape + x.shape[a + 1:])
def Gather_at(x: Tensor, index: int, *, axis: int = 0) -> Tensor:
  return x.select(axis, index)
def Gather__1(x: List[int], index: int, *, axis: int = 0) -> int:
  return x[index]
def Gather__2(x: List[int], index: List[int], *, axis: int = 0) -> List[int]:
  return _gather_list(x, index)
def GatherElements(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
  i = index.to(torch.int64)
  return torch.gather(x, axis, torch.where(i < 0, i + x.size(axis), i))
def _linear(sizes: List[int], index: Tensor) -> Tensor:
  out = torch.zeros(index.shape[:-1], dtype=torch.int64, device=index.device)
  for k in range(index.size(-1)):
    i = index.select(-1, k)
    out = out * sizes[k] + torch.where(i < 0, i + sizes[k], i)
  return out
def _product(sizes: List[int]) -> int:
  n = 1
  for s in sizes:
    n *= s
  return n
def GatherND(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
  i = index.to(torch.int64)
  k = i.size(-1)
  b = batch_dims
  batch = _product(x.shape[:b])
  inner = x.shape[b + k:]
  flat = x.reshape([batch * _product(x.shape[b:b + k]), _product(inner)])
  at = _linear(x.shape[b:b + k], i).reshape([batch, _product(i.shape[b:-1])])
  first = torch.arange(batch, device=at.device).unsqueeze(1) * _product(x.shape[b:b + k])
  return flat.index_select(0, (at + first).reshape([-1])).reshape(i.shape[:-1] + inner)
def ScatterND(x: Tensor, index: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
  i = index.to(torch.int64)
  k = i.size(-1)
  inner = _product(x.shape[k:])
  n = _product(i.shape[:-1])
  flat = x.reshape([_product(x.shape[:k]), inner])
  at = _linear(x.shape[:k], i).reshape([n, 1]).expand([n, inner])
  u = updates.reshape([n, inner])
  return _scatter(flat, 0, at, u, reduction).reshape(x.shape)
def _scatter(x: Tensor, axis: int, at: Tensor, u: Tensor, reduction: str) -> Tensor:
  if reduction == "none":
    return torch.scatter(x, axis, at, u)
  if reduction == "add":
    return torch.scatter_add(x, axis, at, u)
  if reduction == "mul":
    return torch.scatter_reduce(x, axis, at, u, "prod")
  if reduction == "max":
    return torch.scatter_reduce(x, axis, at, u, "amax")
  assert reduction == "min", "unknown reduction"
  return torch.scatter_reduce(x, axis, at, u, "amin")
def ScatterElements(x: Tensor, index: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
  i = index.to(torch.int64)
  return _scatter(x, axis, torch.where(i < 0, i + x.size(axis), i), updates, reduction)
def Expand(x: Tensor, shape: List[int]) -> Tensor:
  return x.expand(torch.broadcast_shapes(x.shape, shape))
def Expand_any(x: Tensor, shape: List[int]) -> Tensor:
  return Expand(x, shape)
def Expand__1(x: int, shape: List[int]) -> List[int]:
  return [x for i in range(shape[0])]
def Tile(x: Tensor, repeats: List[int]) -> Tensor:
  return x.repeat(repeats)
def Tile_5(x: Tensor, tiles: int, axis: int) -> Tensor:
  repeats = [1 for i in range(x.dim())]
  repeats[axis] = tiles
  return x.repeat(repeats)
def _clamp_slice(at: int, n: int, low: int, high: int) -> int:
  if at < 0:
    at += n
  return max(low, min(high, at))
def Slice(x: Tensor, starts: List[int], ends: List[int], axes: Optional[List[int]], steps: Optional[List[int]]) -> Tensor:
  for k in range(len(starts)):
    axis = k if axes is None else axes[k]
    step = 1 if steps is None else steps[k]
    if step > 0:
      x = torch.slice(x, axis, starts[k], ends[k], step)
    else:
      n = x.size(axis)
      begin = _clamp_slice(starts[k], n, 0, n - 1)
      end = _clamp_slice(ends[k], n, -1, n - 1)
      x = torch.slice(x.flip([axis]), axis, n - 1 - begin, max(n - 1 - begin, n - 1 - end), -step)
  return x
def Slice_9(x: Tensor, *, starts: List[int], ends: List[int], axes: Optional[List[int]] = None) -> Tensor:
  return Slice(x, starts, ends, axes, None)
def Slice__1(x: List[int], starts: List[int], ends: List[int], axes: Optional[List[int]], steps: Optional[List[int]]) -> List[int]:
  step = 1 if steps is None else steps[0]
  if step > 0:
    return x[starts[0]:ends[0]:step]
  out: List[int] = []
  n = len(x)
  i = _clamp_slice(starts[0], n, 0, n - 1)
  while i > _clamp_slice(ends[0], n, -1, n - 1):
    out.append(x[i])
    i += step
  return out
def Slice_9__1(x: List[int], *, starts: List[int], ends: List[int], axes: Optional[List[int]] = None) -> List[int]:
  return x[starts[0]:ends[0]]
def _reflect(i: int, n: int) -> int:
  if n == 1:
    return 0
  p = i % (2 * n - 2)
  return 2 * n - 2 - p if p >= n else p
def _pad_axis(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
  n = x.size(axis)
  at: List[int] = []
  for i in range(-before, n + after):
    if mode == "reflect":
      at.append(_reflect(i, n))
    elif mode == "edge":
      at.append(max(0, min(n - 1, i)))
    else:
      at.append(i % n)
  return x.index_select(axis, torch.tensor(at, dtype=torch.int64, device=x.device))
def _pad(x: Tensor, pads: List[int], value: number, axes: Optional[List[int]], mode: str) -> Tensor:
  n = len(pads) // 2
  before = [0 for i in range(x.dim())]
  after = [0 for i in range(x.dim())]
  for k in range(n):
    axis = k if axes is None else axes[k]
    before[axis] = pads[k]
    after[axis] = pads[n + k]
  # Negative ones cut off first.
  for d in range(x.dim()):
    if before[d] < 0 or after[d] < 0:
      x = torch.slice(x, d, max(0, -before[d]), x.size(d) - max(0, -after[d]), 1)
  if mode == "constant":
    flat: List[int] = []
    for d in range(x.dim()):
      flat.append(max(0, before[x.dim() - 1 - d]))
      flat.append(max(0, after[x.dim() - 1 - d]))
    return torch.constant_pad_nd(x, flat, value)
  for d in range(x.dim()):
    if before[d] > 0 or after[d] > 0:
      x = _pad_axis(x, d, max(0, before[d]), max(0, after[d]), mode)
  return x
def Pad(x: Tensor, pads: List[int], value: Optional[number], axes: Optional[List[int]], *, mode: str = "constant") -> Tensor:
  return _pad(x, pads, 0 if value is None else value, axes, mode)
def Pad_10(x: Tensor, *, pads: List[int], value: float = 0.0, mode: str = "constant") -> Tensor:
  return _pad(x, pads, value, None, mode)
def Pad_1(x: Tensor, *, paddings: List[int], value: float = 0.0, mode: str = "constant") -> Tensor:
  return _pad(x, paddings, value, None, mode)
def NonZero(x: Tensor) -> Tensor:
  return torch.nonzero(torch.atleast_1d(x)).t()
def Compress(x: Tensor, condition: Tensor, *, axis: Optional[int] = None) -> Tensor:
  at = torch.nonzero(condition.reshape([-1])).reshape([-1])
  return x.reshape([-1]).index_select(0, at) if axis is None else x.index_select(axis, at)
def Trilu(x: Tensor, k: Optional[int], *, upper: int = 1) -> Tensor:
  d = 0 if k is None else k
  return torch.triu(x, d) if upper == 1 else torch.tril(x, d)
def OneHot(index: Tensor, depth: int, values: Tensor, *, axis: int = -1) -> Tensor:
  i = index.to(torch.int64).unsqueeze(axis)
  i = torch.where(i < 0, i + depth, i)
  shape = [1 for k in range(i.dim())]
  shape[axis] = depth
  hot = i == torch.arange(depth, device=i.device).reshape(shape)
  return torch.where(hot, values[1], values[0])
def TopK(x: Tensor, k: int, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Tuple[Tensor, Tensor]:
  values, at = torch.sort(x, stable=True, dim=axis, descending=largest == 1)
  return values.narrow(axis, 0, k), at.narrow(axis, 0, k)
def TopK_9(x: Tensor, *, axis: int = -1, k: int) -> Tuple[Tensor, Tensor]:
  return TopK(x, k, axis=axis)
def ReverseSequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
  n = x.size(time_axis)
  t = torch.arange(n, device=x.device).unsqueeze(1)
  l = lengths.to(torch.int64).unsqueeze(0)
  at = torch.where(t < l, l - 1 - t, t)
  if batch_axis < time_axis:
    at = at.t()
  at = at.reshape([at.size(0), at.size(1)] + [1 for k in range(x.dim() - 2)]).expand(x.shape)
  return torch.gather(x, time_axis, at)
def DepthToSpace(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
  if mode == "CRD":
    return torch.pixel_shuffle(x, blocksize)
  b, c, h, w = x.size(0), x.size(1), x.size(2), x.size(3)
  s = blocksize
  y = x.reshape([b, s, s, c // (s * s), h, w]).permute([0, 3, 4, 1, 5, 2])
  return y.reshape([b, c // (s * s), h * s, w * s])
def SpaceToDepth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
  b, c, h, w = x.size(0), x.size(1), x.size(2), x.size(3)
  s = blocksize
  y = x.reshape([b, c, h // s, s, w // s, s])
  y = y.permute([0, 3, 5, 1, 2, 4]) if mode == "DCR" else y.permute([0, 1, 3, 5, 2, 4])
  return y.reshape([b, c * s * s, h // s, w // s])
def CenterCropPad(x: Tensor, shape: List[int], *, axes: Optional[List[int]] = None) -> Tensor:
  for k in range(len(shape)):
    d = k if axes is None else axes[k]
    n = x.size(d)
    if n > shape[k]:
      x = x.narrow(d, (n - shape[k]) // 2, shape[k])
    elif n < shape[k]:
      at = d + x.dim() if d < 0 else d
      before = (shape[k] - n) // 2
      flat = [0 for i in range(2 * (x.dim() - at))]
      flat[2 * (x.dim() - 1 - at)] = before
      flat[2 * (x.dim() - 1 - at) + 1] = shape[k] - n - before
      x = torch.constant_pad_nd(x, flat, 0)
  return x
def Range_tensor(start: Tensor, limit: Tensor, delta: Tensor, device: Device) -> Tensor:
  n = int(torch.ceil((limit - start) / delta).item())
  return start + torch.arange(max(0, n), device=device).to(start.dtype) * delta
def Range(start: int, limit: int, delta: int, device: Device) -> Tensor:
  end = max(start, limit) if delta > 0 else min(start, limit)
  return torch.arange(start, end, delta, dtype=torch.int64, device=device)
def EyeLike(x: Tensor, *, dtype: Optional[int] = None, k: int = 0) -> Tensor:
  one = torch.ones_like(x, dtype=x.dtype if dtype is None else dtype)
  return torch.triu(torch.tril(one, k), k)
def Unique(x: Tensor, *, axis: Optional[int] = None, sorted: int = 1) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
  flat = x.reshape([-1]) if axis is None else x
  d = 0 if axis is None else axis
  if axis is None:
    values, inverse, counts = torch._unique2(flat, True, True, True)
  else:
    values, inverse, counts = torch.unique_dim(flat, d, True, True, True)
  n = inverse.numel()
  at = torch.arange(n, device=x.device)
  first = torch.full([values.size(d)], n, dtype=torch.int64, device=x.device).scatter_reduce(0, inverse.reshape([-1]), at, "amin")
  if sorted == 0:
    order = torch.argsort(first)
    rank = torch.argsort(order)
    return values.index_select(d, order), first.index_select(0, order), rank.index_select(0, inverse.reshape([-1])), counts.index_select(0, order)
  return values, first, inverse.reshape([-1]), counts
def TensorScatter(past: Tensor, update: Tensor, at: Optional[Tensor], *, axis: int = -2, mode: str = "linear") -> Tensor:
  d = axis + past.dim() if axis < 0 else axis
  steps = torch.arange(update.size(d), device=past.device)
  i = steps.unsqueeze(0).expand([past.size(0), -1])
  if at is not None:
    i = i + at.to(torch.int64).unsqueeze(1)
  if mode == "circular":
    i = i % past.size(d)
  shape = [1 for k in range(past.dim())]
  shape[0] = past.size(0)
  shape[d] = update.size(d)
  return torch.scatter(past, d, i.reshape(shape).expand(update.shape), update)
def ConstantOfShape(shape: List[int], device: Device, value: number, dtype: int) -> Tensor:
  return torch.full(shape, value, dtype=dtype, device=device)
)py");

std::vector<ItemPtr> translate_constant(Builder& b, Call& c) {
  TENON_CHECK(c.attributes.size() == 1, ValueError, "it has ", c.attributes.size(),
              " attributes, expected one value");
  const auto& [name, a] = *c.attributes.begin();
  const ExternalData none;
  if (name == "value" && a->t().data_type() == pb::STRING) return {Builder::read_strings(a->t())};
  if (name == "value") {
    ItemPtr i = Builder::constant_item(b.read(a->t()));
    i->onnx_type = a->t().data_type();
    return {i};
  }
  if (name == "sparse_value")
    return {Builder::constant_item(read_sparse(a->sparse_tensor(), none))};
  if (name == "value_float") return {Builder::constant_item(full({}, a->f(), kFloat))};
  if (name == "value_int") return {Builder::constant_item(full({}, a->i(), kLong))};
  if (name == "value_ints")
    return {
        Builder::constant_item(tensor(std::vector<int64_t>(a->ints().begin(), a->ints().end())))};
  if (name == "value_floats")
    return {Builder::constant_item(
        tensor(std::vector<double>(a->floats().begin(), a->floats().end())).to(kFloat))};
  throw NotImplementedError("a constant of kind '" + name + "' is not supported");
}

std::vector<ItemPtr> translate_constant_of_shape(Builder& b, Call& c) {
  Tensor value = zeros({1}, kFloat);
  if (const auto* a = c.find("value")) value = b.read(a->t());
  TENON_CHECK(value.numel() == 1, ValueError, "its value has ", value.numel(), " elements");
  Value* v = b.call_text("ConstantOfShape",
                         {b.int_list(c.input(0)), b.device(), b.constant(value.reshape({}).item()),
                          b.constant(value.scalar_type())})
                 .at(0);
  ItemPtr out = Builder::item(v, value.scalar_type());
  if (const auto* a = c.find("value")) out->onnx_type = a->t().data_type();
  return {out};
}

bool is_one_number(Builder& b, const ItemPtr& list) {
  const auto numbers = b.constant_ints(list);
  return numbers && numbers->size() == 1;
}

std::vector<ItemPtr> translate_reshape(Builder& b, Call& c) {
  const auto shape = b.constant_ints(c.optional_input(1));
  const bool plain = c.integer("allowzero", 0) != 0 ||
                     (shape && std::find(shape->begin(), shape->end(), 0) == shape->end());
  // Of integers the one with one dimension stays a list; its form is named for Reshape.
  const bool ints = c.input(0)->ints != nullptr;
  if (ints && !is_one_number(b, c.optional_input(1)))
    return b.call_function(c, "Reshape_any", Gives::Same);
  return b.call_function(c, plain && !ints ? "Reshape_plain" : "Reshape", Gives::Same);
}

// An integer that becomes a tensor of one dimension stays a list.
std::vector<ItemPtr> translate_expand(Builder& b, Call& c) {
  return b.call_function(c, is_one_number(b, c.optional_input(1)) ? "Expand" : "Expand_any",
                         Gives::Same);
}

std::vector<ItemPtr> translate_gather(Builder& b, Call& c) {
  const auto index = b.constant_ints(c.optional_input(1));
  const Tensor& table = c.input(0)->constant;
  if (!index && table.defined() && table.dim() == 2 && table.is_floating_point() &&
      c.integer("axis", 0) == 0) {
    Value* at = b.tensor(c.input(1));
    const bool wide = c.input(1)->dtype == kLong;
    Value* i =
        b.call_text(wide ? "_positive" : "_positive_wide", {at, b.constant(table.size(0))}).at(0);
    return {
        Builder::item(b.emit1("aten::embedding", {b.tensor(c.input(0)), i}), c.input(0)->dtype)};
  }
  const bool one = index && c.input(1)->constant.dim() == 0 && !c.input(0)->ints;
  return b.call_function(c, one ? "Gather_at" : "Gather", Gives::Same);
}

// With axes that are known the views alone.
std::vector<ItemPtr> translate_unsqueeze(Builder& b, Call& c) {
  const bool input = c.version >= 13;
  std::vector<int64_t> axes = c.integers("axes");
  if (input) axes = b.constant_ints(c.input(1)).value_or(std::vector<int64_t>());
  std::sort(axes.begin(), axes.end());
  const bool known = !axes.empty() && (axes.size() == 1 || axes.front() >= 0);
  if (!known || (c.input(0)->is_int() && axes.size() == 1))
    return b.call_function(c, input ? "Unsqueeze" : "Unsqueeze_12", Gives::Same);
  Value* x = b.tensor(c.input(0));
  for (const int64_t a : axes) x = b.emit1("aten::unsqueeze", {x, b.constant(a)});
  return {Builder::item(x, c.input(0)->dtype)};
}

std::vector<ItemPtr> split_results(Builder& b, Call& c, Value* list) {
  jit::Node* n = b.insert("prim::ListUnpack", {list},
                          std::vector<jit::TypePtr>(c.n_outputs(), jit::Type::tensor()));
  std::vector<ItemPtr> out;
  for (Value* v : n->outputs()) out.push_back(Builder::item(v, c.input(0)->dtype));
  return out;
}

std::vector<ItemPtr> translate_split(Builder& b, Call& c) {
  const int64_t axis = c.integer("axis", 0);
  const auto parts = static_cast<int64_t>(c.n_outputs());
  const std::vector<int64_t> attribute = c.integers("split");
  Value* sizes = c.optional_input(1)  ? b.int_list(c.input(1))
                 : !attribute.empty() ? b.constant(attribute)
                                      : b.constant(IValue());
  const int64_t asked = c.integer("num_outputs", parts);
  TENON_CHECK(asked == parts, ValueError, "num_outputs is ", asked, ", and it has ", parts);
  return split_results(
      b, c,
      b.call_text("_split", {b.tensor(c.input(0)), b.constant(axis), sizes, b.constant(parts)})
          .at(0));
}

std::vector<ItemPtr> translate_range(Builder& b, Call& c) {
  bool ints = true;
  for (int i = 0; i < 3; ++i) {
    const ItemPtr& in = c.input(static_cast<std::size_t>(i));
    ints = ints && (in->ints || in->dtype == kLong);
  }
  if (!ints) {
    Value* v = b.call_text("Range_tensor", {b.tensor(c.input(0)), b.tensor(c.input(1)),
                                            b.tensor(c.input(2)), b.device()})
                   .at(0);
    return {Builder::item(v, c.input(0)->dtype)};
  }
  Value* v = b.call_text("Range", {b.integer(c.input(0)), b.integer(c.input(1)),
                                   b.integer(c.input(2)), b.device()})
                 .at(0);
  return {Builder::item(v, kLong)};
}

std::vector<ItemPtr> translate_optional_outputs(Builder& b, Call& c) {
  std::vector<ItemPtr> out = b.call_function(c, "Unique", Gives::Same);
  out.resize(std::min(out.size(), c.n_outputs()));
  return out;
}

// Inputs that are known to add nothing may have other sizes.
std::vector<ItemPtr> translate_concat(Builder& b, Call& c) {
  const int64_t axis = c.integer("axis", 1);
  std::vector<ItemPtr> kept;
  for (const ItemPtr& i : c.inputs) {
    const bool known = i && i->constant.defined() && i->constant.dim() > 0;
    const int64_t at = known && axis < 0 ? axis + i->constant.dim() : axis;
    if (!(known && at >= 0 && at < i->constant.dim() && i->constant.size(at) == 0) ||
        i->constant.dim() == 1)
      kept.push_back(i);
  }
  if (!kept.empty()) c.inputs = kept;
  return b.call_function(c, "Concat", Gives::Same);
}

constexpr Gives kSame = Gives::Same;
const Entry kShape[] = {
    {"Constant", 1, 0, Gives::Unknown, nullptr, translate_constant},
    {"ConstantOfShape", 9, 0, Gives::Unknown, nullptr, translate_constant_of_shape},
    {"Shape", 1, 0, Gives::Long},
    {"Size", 1, 0, Gives::Long},
    {"Reshape", 5, 0, kSame, nullptr, translate_reshape},
    {"Reshape", 1, 4, kSame, "Reshape_4"},
    {"Flatten", 1, 0, kSame},
    {"Transpose", 1, 0, kSame},
    {"Squeeze", 13, 0, kSame},
    {"Squeeze", 1, 12, kSame, "Squeeze_12"},
    {"Unsqueeze", 1, 0, kSame, nullptr, translate_unsqueeze},
    {"Concat", 1, 0, kSame, nullptr, translate_concat},
    {"Split", 1, 0, kSame, nullptr, translate_split},
    {"Gather", 1, 0, kSame, nullptr, translate_gather},
    {"GatherElements", 11, 0, kSame},
    {"GatherND", 11, 0, kSame},
    {"ScatterND", 11, 0, kSame},
    {"ScatterElements", 11, 0, kSame},
    {"Scatter", 9, 10, kSame, "ScatterElements"},
    {"Expand", 8, 0, kSame, nullptr, translate_expand},
    {"Tile", 6, 0, kSame},
    {"Tile", 1, 5, kSame, "Tile_5"},
    {"Slice", 10, 0, kSame},
    {"Slice", 1, 9, kSame, "Slice_9"},
    {"Pad", 11, 0, kSame},
    {"Pad", 2, 10, kSame, "Pad_10"},
    {"Pad", 1, 1, kSame, "Pad_1"},
    {"NonZero", 9, 0, Gives::Long},
    {"Compress", 9, 0, kSame},
    {"Trilu", 14, 0, kSame},
    {"OneHot", 9, 0},
    {"TopK", 10, 0, kSame},
    {"TopK", 1, 9, kSame, "TopK_9"},
    {"ReverseSequence", 10, 0, kSame},
    {"DepthToSpace", 1, 0, kSame},
    {"SpaceToDepth", 1, 0, kSame},
    {"CenterCropPad", 18, 0, kSame},
    {"Range", 11, 0, kSame, nullptr, translate_range},
    {"EyeLike", 9, 0},
    {"Unique", 11, 0, kSame, nullptr, translate_optional_outputs},
    {"TensorScatter", 24, 0, kSame},
};
const Entries kRegistered("", kShape, std::size(kShape));

}  // namespace
}  // namespace tenon::onnx
