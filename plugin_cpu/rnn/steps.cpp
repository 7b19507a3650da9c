// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rnn/steps.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rnn/steps.cpp"
#include "isa/targets.h"

#include "plugin_cpu/simd/partial-inl.h"
#include "plugin_cpu/simd/vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

using rnn::BackwardStep;
using rnn::Cell;
using rnn::ForwardStep;
using rnn::Rows;

// The columns [at, at + lanes) of a step, as far as there are any. No load or store goes beyond.
template <class T>
struct Columns {
  using V = Vec<T>;
  int64_t at, n;

  HWY_INLINE V load(const T* row) const {
    if (HWY_LIKELY(n >= V::lanes())) return V::load(row + at);
    return V(load_first(typename V::D(), n, row + at));
  }
  HWY_INLINE V load_or_zero(const T* row) const { return row ? load(row) : V(0); }
  HWY_INLINE void store(V v, T* row) const {
    if (HWY_LIKELY(n >= V::lanes())) return v.store(row + at);
    store_first(v.v, typename V::D(), n, row + at);
  }
};

template <class T>
HWY_INLINE T* row_or_null(const Rows<T>& m, int64_t i) {
  return m ? m.row(i) : nullptr;
}

// One row of a forward step.
template <class T>
struct ForwardRow {
  using V = Vec<T>;
  const ForwardStep<T>& s;
  T *gates, *h, *c;
  const T *of_hidden, *h_before, *c_before;

  HWY_INLINE ForwardRow(const ForwardStep<T>& step, int64_t i)
      : s(step),
        gates(s.gates.row(i)),
        h(s.h.row(i)),
        c(row_or_null(s.c, i)),
        of_hidden(s.of_hidden.row(i)),
        h_before(s.h_before.row(i)),
        c_before(row_or_null(s.c_before, i)) {}

  HWY_INLINE V of_input(const Columns<T>& at, int64_t g) const {
    const V x = at.load(gates + g * s.gate);
    return s.bias_ih ? x + at.load(s.bias_ih + g * s.gate) : x;
  }
  HWY_INLINE V of_state(const Columns<T>& at, int64_t g) const {
    const V x = at.load(of_hidden + g * s.of_hidden_gate);
    return s.bias_hh ? x + at.load(s.bias_hh + g * s.gate) : x;
  }
  HWY_INLINE V sum(const Columns<T>& at, int64_t g) const {
    return of_input(at, g) + of_state(at, g);
  }
  HWY_INLINE void keep(const Columns<T>& at, int64_t g, V v) const {
    if (s.keep) at.store(v, gates + g * s.gate);
  }

  HWY_INLINE void simple(const Columns<T>& at) const {
    const V x = sum(at, 0);
    at.store(s.cell == Cell::Relu ? maximum(x, V(0)) : tanh(x), h);
  }
  HWY_INLINE void lstm(const Columns<T>& at) const {
    const V i = sigmoid(sum(at, 0)), f = sigmoid(sum(at, 1)), g = tanh(sum(at, 2)),
            o = sigmoid(sum(at, 3));
    const V state = fma(f, at.load(c_before), i * g);
    keep(at, 0, i);
    keep(at, 1, f);
    keep(at, 2, g);
    keep(at, 3, o);
    at.store(state, c);
    at.store(o * tanh(state), h);
  }
  HWY_INLINE void gru(const Columns<T>& at) const {
    const V r = sigmoid(sum(at, 0)), z = sigmoid(sum(at, 1)), product = of_state(at, 2);
    const V fresh = tanh(fma(r, product, of_input(at, 2)));
    keep(at, 0, r);
    keep(at, 1, z);
    keep(at, 2, fresh);
    keep(at, 3, product);
    at.store(fma(at.load(h_before) - fresh, z, fresh), h);
  }
};

// One row of a backward step.
template <class T>
struct BackwardRow {
  using V = Vec<T>;
  const BackwardStep<T>& s;
  const T *grad_output, *of_gates, *carried, *gates, *h, *h_before, *c, *c_before;
  T *grad_c, *carry, *grad, *grad_hidden;

  HWY_INLINE BackwardRow(const BackwardStep<T>& step, int64_t i)
      : s(step),
        grad_output(s.grad_output.row(i)),
        of_gates(row_or_null(s.of_gates, i)),
        carried(row_or_null(s.carried, i)),
        gates(row_or_null(s.gates, i)),
        h(s.h.row(i)),
        h_before(s.h_before.row(i)),
        c(row_or_null(s.c, i)),
        c_before(row_or_null(s.c_before, i)),
        grad_c(row_or_null(s.grad_c, i)),
        carry(row_or_null(s.carry, i)),
        grad(s.grad.row(i)),
        grad_hidden(row_or_null(s.grad_hidden, i)) {}

  HWY_INLINE V grad_h(const Columns<T>& at) const {
    return at.load(grad_output) + (at.load_or_zero(of_gates) + at.load_or_zero(carried));
  }
  HWY_INLINE V gate(const Columns<T>& at, int64_t g) const { return at.load(gates + g * s.gate); }
  HWY_INLINE void store(const Columns<T>& at, int64_t g, V v) const {
    at.store(v, grad + g * s.gate);
  }

  HWY_INLINE void simple(const Columns<T>& at) const {
    const V y = at.load(h), dh = grad_h(at);
    store(at, 0, s.cell == Cell::Relu ? select(y <= V(0), V(0), dh) : dh * (V(1) - y * y));
  }
  HWY_INLINE void lstm(const Columns<T>& at) const {
    const V i = gate(at, 0), f = gate(at, 1), g = gate(at, 2), o = gate(at, 3);
    const V dh = grad_h(at), y = tanh(at.load(c));
    const V dc = fma(dh * o, V(1) - y * y, at.load(grad_c));
    store(at, 0, dc * g * i * (V(1) - i));
    store(at, 1, dc * at.load(c_before) * f * (V(1) - f));
    store(at, 2, dc * i * (V(1) - g * g));
    store(at, 3, dh * y * o * (V(1) - o));
    at.store(dc * f, grad_c);
  }
  HWY_INLINE void gru(const Columns<T>& at) const {
    const V r = gate(at, 0), z = gate(at, 1), fresh = gate(at, 2), product = gate(at, 3);
    const V dh = grad_h(at), dn = dh * (V(1) - z) * (V(1) - fresh * fresh);
    const V dr = dn * product * r * (V(1) - r),
            dz = dh * (at.load(h_before) - fresh) * z * (V(1) - z);
    store(at, 0, dr);
    store(at, 1, dz);
    store(at, 2, dn);
    at.store(dr, grad_hidden);
    at.store(dz, grad_hidden + s.gate);
    at.store(dn * r, grad_hidden + 2 * s.gate);
    at.store(dh * z, carry);
  }
};

template <class T, class Row, class Step>
HWY_INLINE void each_row(const Step& s) {
  const int64_t lanes = Vec<T>::lanes();
  for (int64_t i = 0; i < s.rows; ++i) {
    const Row row(s, i);
    for (int64_t j = 0; j < s.columns; j += lanes) {
      const Columns<T> at{j, s.columns - j};
      if (s.cell == Cell::Lstm)
        row.lstm(at);
      else if (s.cell == Cell::Gru)
        row.gru(at);
      else
        row.simple(at);
    }
  }
}

template <class T>
HWY_INLINE void forward(const ForwardStep<T>& s) {
  each_row<T, ForwardRow<T>>(s);
}
template <class T>
HWY_INLINE void backward(const BackwardStep<T>& s) {
  each_row<T, BackwardRow<T>>(s);
}

template <class T>
HWY_INLINE void sum(int64_t rows, int64_t columns, const Rows<const T>& from, T* to) {
  const int64_t lanes = Vec<T>::lanes();
  std::fill(to, to + columns, T(0));
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = from.row(i);
    for (int64_t j = 0; j < columns; j += lanes) {
      const Columns<T> at{j, columns - j};
      at.store(at.load(to) + at.load(row), to);
    }
  }
}

void forward_f32(const ForwardStep<float>& s) { forward(s); }
void forward_f64(const ForwardStep<double>& s) { forward(s); }
void backward_f32(const BackwardStep<float>& s) { backward(s); }
void backward_f64(const BackwardStep<double>& s) { backward(s); }
void sum_f32(int64_t rows, int64_t columns, const Rows<const float>& from, float* to) {
  sum(rows, columns, from, to);
}
void sum_f64(int64_t rows, int64_t columns, const Rows<const double>& from, double* to) {
  sum(rows, columns, from, to);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(forward_f32);
TENON_EXPORT(forward_f64);
TENON_EXPORT(backward_f32);
TENON_EXPORT(backward_f64);
TENON_EXPORT(sum_f32);
TENON_EXPORT(sum_f64);

namespace rnn {

void forward_step(const ForwardStep<float>& s) { TENON_DISPATCH(forward_f32)(s); }
void forward_step(const ForwardStep<double>& s) { TENON_DISPATCH(forward_f64)(s); }
void backward_step(const BackwardStep<float>& s) { TENON_DISPATCH(backward_f32)(s); }
void backward_step(const BackwardStep<double>& s) { TENON_DISPATCH(backward_f64)(s); }
void sum_rows(int64_t rows, int64_t columns, Rows<const float> from, float* to) {
  TENON_DISPATCH(sum_f32)(rows, columns, from, to);
}
void sum_rows(int64_t rows, int64_t columns, Rows<const double> from, double* to) {
  TENON_DISPATCH(sum_f64)(rows, columns, from, to);
}

}  // namespace rnn
}  // namespace tenon::cpu
#endif
