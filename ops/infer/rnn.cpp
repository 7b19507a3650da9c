// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of layers of recurrent cells that are one call.
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// The arguments from `first` on; mode and the two flags from `codes` on.
struct Rnn {
  Infer& c;
  int first, codes;

  const TensorImpl& input() const { return c.tensor(first); }
  const TensorImpl& weight() const { return c.tensor(first + 1); }
  const TensorImpl& hx() const { return c.tensor(first + 2); }
  const TensorImpl* cx() const { return c.tensor_or_null(first + 3); }
  int64_t mode() const { return c.integer(codes); }
  bool is_lstm() const { return mode() == 2; }
  int64_t gates() const { return mode() < 2 ? 1 : is_lstm() ? 4 : 3; }
  int64_t directions() const { return c.flag(codes + 2) ? 2 : 1; }

  void check() const;
  int64_t weights() const;
  void check_like(int arg, IntArrayRef sizes) const;
};

int64_t Rnn::weights() const {
  const Size hidden = hx().size(2), cells = hx().size(0), d = directions(),
             biases = c.flag(codes + 1) ? 2 : 0;
  const Size above = hx().size(0) > directions() ? (cells - d) * (hidden * d) : Size(0);
  return c.take(gates() * hidden * (d * input().size(2) + above + cells * (hidden + biases)));
}

void Rnn::check_like(int arg, IntArrayRef sizes) const {
  const TensorImpl* t = c.tensor_or_null(arg);
  if (!t) return;
  if (t->sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have the shape ", sizes, ", got ", t->sizes());
  }
  if (t->dtype != input().dtype) {
    fail<TypeError>(c, "input has dtype ", dtype_name(input().dtype), " but ", c.arg(arg), " has ",
                    dtype_name(t->dtype));
  }
}

void Rnn::check() const {
  if (mode() < 0 || mode() > 3) {
    fail<ValueError>(c, c.arg(codes), " must be 0 (relu), 1 (tanh), 2 (LSTM) or 3 (GRU), got ",
                     mode());
  }
  const TensorImpl &x = input(), &h = hx();
  if (x.ndim() != 3 || x.size(0) < 1) {
    fail<ValueError>(c, c.arg(first),
                     " must be [time, batch, feature] with one step at least, got ", x.sizes());
  }
  if (h.ndim() != 3 || h.size(0) < 1 || h.size(0) % directions() != 0 || h.size(1) != x.size(1)) {
    fail<ValueError>(c, c.arg(first + 2),
                     " must have a state for each layer, direction and one of ", x.size(1),
                     " sequences, got ", h.sizes(), " for ", directions(), " directions");
  }
  if (is_lstm() != (cx() != nullptr)) {
    fail<ValueError>(c, c.arg(first + 3), is_lstm() ? " is needed by" : " is given, but is only of",
                     " mode 2 (LSTM)");
  }
  check_like(first + 2, h.sizes());
  check_like(first + 3, h.sizes());
  const int64_t expected[] = {weights()};
  check_like(first + 1, expected);
}

}  // namespace

TENON_INFER(fused_rnn) {
  const Rnn rnn{c, 0, 4};
  rnn.check();
  const ScalarType dtype = rnn.input().dtype;
  for (int k = 0; k < 3; ++k) c.set(k, IntArrayRef(), dtype);
  c.set(3, IntArrayRef(), kByte);
}

TENON_INFER(fused_rnn_backward) {
  const Rnn rnn{c, 3, 9};
  rnn.check();
  const TensorImpl &x = rnn.input(), &h = rnn.hx();
  const int64_t output[] = {x.size(0), x.size(1), c.take(Size(h.size(2)) * rnn.directions())};
  for (int arg : {0, 7}) rnn.check_like(arg, output);
  for (int arg : {1, 2}) rnn.check_like(arg, h.sizes());
  constexpr int kMask = 12;
  const TensorImpl* like[] = {&x, &rnn.weight(), &h, rnn.cx()};
  for (int k = 0; k < 4; ++k) {
    if (c.bit(kMask, k) && like[k])
      c.set(k, like[k]->sizes(), x.dtype);
    else
      c.set_undefined(k);
  }
}

}  // namespace tenon::core
