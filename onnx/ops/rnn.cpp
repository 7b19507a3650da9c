// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers. What torch's layers compute too becomes their operator, the rest steps that are
// written out.
#include <cctype>

#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _activate(x: Tensor, name: str, alpha: float, beta: float) -> Tensor:
  f = name.lower()
  if f == "sigmoid":
    return torch.sigmoid(x)
  if f == "tanh":
    return torch.tanh(x)
  if f == "relu":
    return torch.relu(x)
  if f == "affine":
    return alpha * x + beta
  if f == "leakyrelu":
    return torch.leaky_relu(x, alpha)
  if f == "thresholdedrelu":
    return torch.threshold(x, alpha, 0.0)
  if f == "scaledtanh":
    return alpha * torch.tanh(beta * x)
  if f == "hardsigmoid":
    return torch.clamp(alpha * x + beta, 0.0, 1.0)
  if f == "elu":
    return torch.elu(x, alpha)
  if f == "softsign":
    return x / (1 + torch.abs(x))
  assert f == "softplus", "unknown activation"
  return torch.softplus(x)
def _clipped(x: Tensor, clip: float) -> Tensor:
  return torch.clamp(x, -clip, clip) if clip > 0.0 else x
def _named(names: List[str], i: int, default: str) -> str:
  return names[i] if i < len(names) else default
def _takes(name: str, second: bool) -> bool:
  f = name.lower()
  both = f == "affine" or f == "scaledtanh" or f == "hardsigmoid"
  return both or (not second and (f == "leakyrelu" or f == "thresholdedrelu" or f == "elu"))
def _parameter(values: List[float], i: int, name: str, second: bool) -> float:
  if _takes(name, second) and i < len(values):
    return values[i]
  f = name.lower()
  if second:
    return 0.5 if f == "hardsigmoid" else (1.0 if f == "scaledtanh" else 0.0)
  if f == "hardsigmoid":
    return 0.2
  return 0.01 if f == "leakyrelu" else 1.0
def _chosen(names: List[str], alphas: List[float], betas: List[float], i: int, default: str, alpha: int, beta: int) -> Tuple[str, float, float, int, int]:
  name = _named(names, i, default)
  a, b = _parameter(alphas, alpha, name, False), _parameter(betas, beta, name, True)
  return name, a, b, alpha + int(_takes(name, False)), beta + int(_takes(name, True))
def _keep(old: Tensor, new: Tensor, t: int, lengths: Optional[Tensor]) -> Tensor:
  if lengths is None:
    return new
  return torch.where((lengths > t).unsqueeze(1), new, old)
def _weight_sums(w: Tensor, scale: Optional[Tensor]) -> Optional[Tensor]:
  if scale is None:
    return None
  return torch.sum(_signed(w), [0], False, dtype=torch.int32)
def _weight_shift(w: Tensor, zero: Optional[Tensor]) -> Optional[Tensor]:
  if w.dtype != torch.uint8:
    return None if zero is None else zero.to(torch.int32)
  shift = torch.zeros([], dtype=torch.int32, device=w.device) if zero is None else zero.to(torch.int32)
  return shift - 128
def _by_weight(x: Tensor, w: Tensor, scale: Optional[Tensor], shift: Optional[Tensor], sums: Optional[Tensor]) -> Tensor:
  if scale is None or sums is None:
    return torch.matmul(x, w.t())
  q, s, z = DynamicQuantizeLinear(x)
  return _int_product_with(q, w, sums, z, shift).to(torch.float32) * (s * scale)
def _direction(x: Tensor, w: Tensor, r: Tensor, ws: Optional[Tensor], wz: Optional[Tensor], rs: Optional[Tensor], rz: Optional[Tensor], wb: Tensor, rb: Tensor, h: Tensor, c: Tensor, p: Optional[Tensor], lengths: Optional[Tensor], backward: bool, kind: str, f: List[str], alphas: List[float], betas: List[float], clip: float, before_reset: bool, input_forget: bool) -> Tuple[Tensor, Tensor, Tensor]:
  n = h.size(1)
  gates = _by_weight(x, w if ws is None else _signed(w), ws, _weight_shift(w, wz), _weight_sums(w, ws)) + wb
  sums, shift = _weight_sums(r, rs), _weight_shift(r, rz)  # once, not in each step
  if rs is not None:
    r = _signed(r)
  if kind != "gru":
    gates = gates + rb
  steps = x.size(0)
  out = [h for i in range(steps)]
  for k in range(steps):
    t = steps - 1 - k if backward else k
    g = gates.select(0, t)
    if kind == "rnn":
      new = _activate(_clipped(g + torch.matmul(h, r.t()), clip), f[0], alphas[0], betas[0])
    elif kind == "gru":
      zr = _clipped(g[:, :2 * n] + torch.matmul(h, r[:2 * n].t()) + rb[:2 * n], clip)
      zr = _activate(zr, f[0], alphas[0], betas[0])
      z, reset = zr[:, :n], zr[:, n:]
      if before_reset:
        inner = g[:, 2 * n:] + reset * (torch.matmul(h, r[2 * n:].t()) + rb[2 * n:])
      else:
        inner = g[:, 2 * n:] + torch.matmul(reset * h, r[2 * n:].t()) + rb[2 * n:]
      hidden = _activate(_clipped(inner, clip), f[1], alphas[1], betas[1])
      new = (1 - z) * hidden + z * h
    else:
      all = g + _by_weight(h, r, rs, shift, sums)
      i, o, forget, cell = all[:, :n], all[:, n:2 * n], all[:, 2 * n:3 * n], all[:, 3 * n:]
      if p is not None:
        i = i + p[:n] * c
        forget = forget + p[2 * n:] * c
      i = _activate(_clipped(i, clip), f[0], alphas[0], betas[0])
      forget = 1 - i if input_forget else _activate(_clipped(forget, clip), f[0], alphas[0], betas[0])
      cell = _activate(_clipped(cell, clip), f[1], alphas[1], betas[1])
      new_c = forget * c + i * cell
      if p is not None:
        o = o + p[n:2 * n] * new_c
      o = _activate(_clipped(o, clip), f[0], alphas[0], betas[0])
      new = o * _activate(new_c, f[2], alphas[2], betas[2])
      c = _keep(c, new_c, t, lengths)
    y = new
    if lengths is not None:
      y = torch.where((lengths > t).unsqueeze(1), new, torch.zeros_like(new))
    out[t] = y
    h = _keep(h, new, t, lengths)
  return torch.stack(out), h, c
def _recurrent(x: Tensor, w: Tensor, r: Tensor, ws: Optional[Tensor], wz: Optional[Tensor], rs: Optional[Tensor], rz: Optional[Tensor], b: Optional[Tensor], lengths: Optional[Tensor], h0: Optional[Tensor], c0: Optional[Tensor], p: Optional[Tensor], kind: str, activations: List[str], alphas: List[float], betas: List[float], clip: float, direction: str, layout: int, before_reset: int, input_forget: int) -> Tuple[Tensor, Tensor, Tensor]:
  if layout == 1:
    x = x.transpose(0, 1)
  n = r.size(2) if ws is None else r.size(1)
  dirs = w.size(0)
  each = 3 if kind == "lstm" else (2 if kind == "gru" else 1)
  ys: List[Tensor] = []
  hs: List[Tensor] = []
  cs: List[Tensor] = []
  alpha, beta = 0, 0  # activations take of the lists what they need, in order
  for d in range(dirs):
    gate = "Tanh" if kind == "rnn" else "Sigmoid"
    f0, a0, b0, alpha, beta = _chosen(activations, alphas, betas, d * each, gate, alpha, beta)
    f1, a1, b1, f2, a2, b2 = "", 0.0, 0.0, "", 0.0, 0.0
    if each > 1:
      f1, a1, b1, alpha, beta = _chosen(activations, alphas, betas, d * each + 1, "Tanh", alpha, beta)
    if each > 2:
      f2, a2, b2, alpha, beta = _chosen(activations, alphas, betas, d * each + 2, "Tanh", alpha, beta)
    f, fa, fb = [f0, f1, f2], [a0, a1, a2], [b0, b1, b2]
    zero = torch.zeros([x.size(1), n], dtype=x.dtype, device=x.device)
    h, c = zero, zero
    if h0 is not None:
      h = h0.select(1, d) if layout == 1 else h0[d]
    if c0 is not None:
      c = c0.select(1, d) if layout == 1 else c0[d]
    rows = w.size(1) if ws is None else w.size(2)
    wb = torch.zeros([rows], dtype=x.dtype, device=x.device)
    rb = wb
    if b is not None:
      wb, rb = b[d, :rows], b[d, rows:]
    y, h, c = _direction(x, w[d], r[d], None if ws is None else ws[d], None if wz is None else wz[d], None if rs is None else rs[d], None if rz is None else rz[d], wb, rb, h, c, None if p is None else p[d], lengths, direction == "reverse" or d == 1, kind, f, fa, fb, clip, before_reset != 0, input_forget != 0)
    ys.append(y)
    hs.append(h)
    cs.append(c)
  if layout == 1:
    return torch.stack(ys, 2).transpose(0, 1), torch.stack(hs, 1), torch.stack(cs, 1)
  return torch.stack(ys, 1), torch.stack(hs), torch.stack(cs)
def RNN(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], lengths: Optional[Tensor], h0: Optional[Tensor], *, activation_alpha: List[float] = [], activation_beta: List[float] = [], activations: List[str] = [], clip: float = 0.0, direction: str = "forward", hidden_size: int = 0, layout: int = 0, output_sequence: int = 0) -> Tuple[Tensor, Tensor]:
  y, h, c = _recurrent(x, w, r, None, None, None, None, b, lengths, h0, None, None, "rnn", activations, activation_alpha, activation_beta, clip, direction, layout, 0, 0)
  return y, h
def GRU(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], lengths: Optional[Tensor], h0: Optional[Tensor], *, activation_alpha: List[float] = [], activation_beta: List[float] = [], activations: List[str] = [], clip: float = 0.0, direction: str = "forward", hidden_size: int = 0, layout: int = 0, linear_before_reset: int = 0, output_sequence: int = 0) -> Tuple[Tensor, Tensor]:
  y, h, c = _recurrent(x, w, r, None, None, None, None, b, lengths, h0, None, None, "gru", activations, activation_alpha, activation_beta, clip, direction, layout, linear_before_reset, 0)
  return y, h
def LSTM(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], lengths: Optional[Tensor], h0: Optional[Tensor], c0: Optional[Tensor], p: Optional[Tensor], *, activation_alpha: List[float] = [], activation_beta: List[float] = [], activations: List[str] = [], clip: float = 0.0, direction: str = "forward", hidden_size: int = 0, input_forget: int = 0, layout: int = 0, output_sequence: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
  return _recurrent(x, w, r, None, None, None, None, b, lengths, h0, c0, p, "lstm", activations, activation_alpha, activation_beta, clip, direction, layout, 0, input_forget)
def DynamicQuantizeLSTM(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], lengths: Optional[Tensor], h0: Optional[Tensor], c0: Optional[Tensor], p: Optional[Tensor], w_scale: Tensor, w_zero: Optional[Tensor], r_scale: Tensor, r_zero: Optional[Tensor], *, activation_alpha: List[float] = [], activation_beta: List[float] = [], activations: List[str] = [], clip: float = 0.0, direction: str = "forward", hidden_size: int = 0, input_forget: int = 0) -> Tuple[Tensor, Tensor, Tensor]:
  return _recurrent(x, w, r, w_scale, w_zero, r_scale, r_zero, b, lengths, h0, c0, p, "lstm", activations, activation_alpha, activation_beta, clip, direction, 0, 0, input_forget)
def _order(w: Tensor, n: int, gates: List[int]) -> Tensor:
  return torch.cat([w[g * n:g * n + n] for g in gates])
def _states(x: Tensor, h: Optional[Tensor], dirs: int, n: int) -> Tensor:
  if h is not None:
    return h
  return torch.zeros([dirs, x.size(1), n], dtype=x.dtype, device=x.device)
def _whole(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h0: Optional[Tensor], c0: Optional[Tensor], kind: str, reverse: bool, gates: List[int]) -> Tuple[Tensor, Tensor, Tensor]:
  dirs, n = w.size(0), r.size(2)
  params: List[Tensor] = []
  for d in range(dirs):
    params.append(_order(w[d], n, gates))
    params.append(_order(r[d], n, gates))
    if b is not None:
      params.append(_order(b[d, :w.size(1)], n, gates))
      params.append(_order(b[d, w.size(1):], n, gates))
  if reverse:
    x = x.flip([0])
  h = _states(x, h0, dirs, n)
  c = _states(x, c0, dirs, n)
  if kind == "lstm":
    y, h, c = torch.lstm(x, [h, c], params, b is not None, 1, 0.0, False, dirs == 2, False)
  elif kind == "gru":
    y, h = torch.gru(x, h, params, b is not None, 1, 0.0, False, dirs == 2, False)
  else:
    y, h = torch.rnn_tanh(x, h, params, b is not None, 1, 0.0, False, dirs == 2, False)
  if reverse:
    y = y.flip([0])
  return y.unflatten(2, [dirs, n]).transpose(1, 2), h, c
)py");

std::string lower(std::string s) {
  for (char& ch : s) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return s;
}

// Converters write the activations that are the default, too. Only these take no parameters.
bool has_usual_activations(const Call& c) {
  const auto* a = c.find("activations");
  if (!a) return true;
  const std::size_t each = c.node.op_type() == "LSTM" ? 3 : c.node.op_type() == "GRU" ? 2 : 1;
  for (int i = 0; i < a->strings_size(); ++i) {
    const bool gate = each > 1 && static_cast<std::size_t>(i) % each == 0;
    if (lower(a->strings(i)) != (gate ? "sigmoid" : "tanh")) return false;
  }
  return true;
}

// Forms without lengths, peepholes, clipping, and other activations.
std::vector<ItemPtr> translate_rnn(Builder& b, Call& c) {
  const std::string& op = c.node.op_type();
  bool whole = !c.optional_input(4) && !c.optional_input(7) && c.real("clip", 0) == 0 &&
               c.integer("layout", 0) == 0 && c.integer("input_forget", 0) == 0 &&
               has_usual_activations(c) &&
               (op != "GRU" || c.integer("linear_before_reset", 0) != 0);
  const std::string direction = c.text("direction", "forward");
  TENON_CHECK(direction == "forward" || direction == "reverse" || direction == "bidirectional",
              ValueError, "direction is '", direction, "'");
  if (!whole) {
    std::vector<ItemPtr> out = b.call_function(c, op.c_str(), Gives::Same);
    for (ItemPtr& o : out) o->dtype = c.input(0)->dtype;
    return out;
  }
  const auto optional = [&](std::size_t i) {
    const ItemPtr in = c.optional_input(i);
    return in ? b.tensor(in) : b.constant(IValue());
  };
  // ONNX has the gates of LSTM as i, o, f, c and those of GRU as z, r, h; torch i, f, c, o and
  // r, z, h.
  const std::vector<int64_t> gates = op == "LSTM"  ? std::vector<int64_t>{0, 2, 3, 1}
                                     : op == "GRU" ? std::vector<int64_t>{1, 0, 2}
                                                   : std::vector<int64_t>{0};
  const std::string kind = op == "LSTM" ? "lstm" : op == "GRU" ? "gru" : "rnn";
  std::vector<ItemPtr> out;
  for (Value* v :
       b.call_text("_whole", {b.tensor(c.input(0)), b.tensor(c.input(1)), b.tensor(c.input(2)),
                              optional(3), optional(5), optional(6), b.constant(kind),
                              b.constant(direction == "reverse"), b.constant(gates)}))
    out.push_back(Builder::item(v, c.input(0)->dtype));
  return out;
}

const Entry kRecurrent[] = {
    {"RNN", 7, 0, Gives::Same, nullptr, translate_rnn},
    {"GRU", 7, 0, Gives::Same, nullptr, translate_rnn},
    {"LSTM", 7, 0, Gives::Same, nullptr, translate_rnn},
};
const Entries kRegistered("", kRecurrent, std::size(kRecurrent));
// Zero points that are 0 are left out: each step would subtract what they add.
std::vector<ItemPtr> translate_dynamic_lstm(Builder& b, Call& c) {
  for (const std::size_t zero : {std::size_t{9}, std::size_t{11}}) {
    const ItemPtr z = c.optional_input(zero);
    if (z && z->constant.defined() && !z->constant.ne(0).any().item<bool>())
      c.inputs[zero] = nullptr;
  }
  return b.call_function(c, "DynamicQuantizeLSTM", Gives::Same);
}

const Entry kQuantized[] = {
    {"DynamicQuantizeLSTM", 1, 0, Gives::Same, nullptr, translate_dynamic_lstm}};
const Entries kContrib("com.microsoft", kQuantized, std::size(kQuantized));

}  // namespace
}  // namespace tenon::onnx
