// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The arguments that _fused_rnn and its gradient share.
#pragma once

#include "plugin_cpu/rnn/geometry.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu::rnn {

inline sdk::Tensor tensor_of(const tn_value& v) {
  return sdk::Tensor(v.tag == TN_TAG_TENSOR ? v.u.tensor : nullptr);
}
template <class T>
T* data_or_null(sdk::Tensor t) {
  return t.defined() ? t.data<T>() : nullptr;
}

struct Arguments {
  sdk::Tensor input, weight, hx, cx;
  Geometry g{};

  // Tensors from argument `first` on, mode and the two flags from `codes` on.
  Arguments(const tn_call* c, int first, int codes)
      : input(tensor_of(c->in[first])),
        weight(tensor_of(c->in[first + 1])),
        hx(tensor_of(c->in[first + 2])),
        cx(tensor_of(c->in[first + 3])) {
    g.cell = static_cast<Cell>(c->in[codes].u.i64);
    g.has_biases = c->in[codes + 1].u.i64;
    g.directions = c->in[codes + 2].u.i64 ? 2 : 1;
    g.time = input.size(0);
    g.batch = input.size(1);
    g.features = input.size(2);
    g.hidden = hx.size(2);
    g.layers = hx.size(0) / g.directions;
  }
  // Sizes of 0 are left to the decomposition.
  bool is_served() const { return g.batch > 0 && g.features > 0 && g.hidden > 0; }
  bool is_double() const { return input.dtype().bits == 64; }

  // f(T()) with the element type.
  template <class F>
  auto visit(F&& f) const {
    return is_double() ? f(double()) : f(float());
  }
};

}  // namespace tenon::cpu::rnn
