// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _fused_rnn: of each cell one product of all steps with the input's weights, then step by step the
// product with the hidden state and the gates. Overwritten: the outputs and the reserve.
#include <algorithm>
#include <utility>

#include "plugin_cpu/rnn/arguments.h"
#include "plugin_cpu/rnn/step_product.h"
#include "tenon/sdk/ops/_fused_rnn.h"

namespace tenon::cpu::rnn {
namespace {

using namespace sdk;

// The product of every step: the columns of all gates, and of the hidden units for each gate.
template <class T>
StepProduct<T> product_of_gates(const Geometry& g, const T* hh) {
  return {g.time, g.batch, g.gates(), g.hidden, g.hidden, {hh, 1, g.hidden}, g.hidden * g.hidden};
}

// Gates of one cell that nothing keeps, outputs of layers that are not the last, packed weights.
template <class T>
struct Workspace {
  T *gates = nullptr, *outputs[2] = {};
  StepProduct<T> product;

  Workspace(const Geometry& g, bool train, Parts& p) : product(product_of_gates<T>(g, nullptr)) {
    if (!train || Reserve<T>::columns(g) == 0) gates = p.take<T>(g.rows() * g.width());
    for (int64_t k = 0; k < 2 && !train && k + 1 < g.layers; ++k)
      outputs[k] = p.take<T>(g.rows() * g.outputs());
    product.take_memory(p);
  }
};

template <class T>
struct Forward {
  Geometry g;
  bool train;
  const T *input, *weight, *hx, *cx;
  T *output, *hy, *cy;
  Workspace<T> work;
  Reserve<T> reserve;

  T* outputs_of(int64_t layer) const {
    if (layer + 1 == g.layers) return output;
    return train ? reserve.outputs(layer) : work.outputs[layer % 2];
  }
  void run() {
    const T* x = input;
    for (int64_t layer = 0; layer < g.layers; ++layer) {
      T* const y = outputs_of(layer);
      for (int64_t d = 0; d < g.directions; ++d) run_cell(layer, d, x, y + d * g.hidden);
      x = y;
    }
  }
  // All steps of one cell. Rows of x are its inputs, rows of y the outputs of both directions.
  void run_cell(int64_t layer, int64_t direction, const T* x, T* y) {
    const int64_t k = layer * g.directions + direction, inputs = g.inputs(layer);
    const Weights<const T> w(g, weight, layer, direction);
    const bool keep = train && Reserve<T>::columns(g) != 0;
    const int64_t stride = keep ? Reserve<T>::columns(g) : g.width();
    T* const gates = keep ? reserve.gates(k) : work.gates;
    gemm(g.rows(), g.width(), inputs, T(1), Mat<const T>{x, inputs, 1},
         Mat<const T>{w.ih, 1, inputs}, T(0), Mat<T>{gates, stride, 1});
    work.product.set_weights(w.hh);

    Rows<const T> h_before{hx + k * g.state(), g.hidden}, c_before{};
    Rows<T> c{};
    if (cx) c_before = {cx + k * g.state(), g.hidden};
    for (int64_t i = 0; i < g.time; ++i) {
      const int64_t at = (direction ? g.time - 1 - i : i) * g.batch;
      const Rows<T> h{y + at * g.outputs(), g.outputs()};
      if (cx) c = {keep ? reserve.states(k) + at * g.hidden : cy + k * g.state(), g.hidden};
      step({g.cell,
            keep,
            0,
            0,
            g.hidden,
            {gates + at * stride, stride},
            {},
            0,
            w.bias_ih,
            w.bias_hh,
            h_before,
            c_before,
            h,
            c});
      h_before = {h.data, h.stride};
      c_before = {c.data, c.stride};
    }
    for (int64_t i = 0; i < g.batch; ++i)
      std::copy_n(h_before.row(i), g.hidden, hy + k * g.state() + i * g.hidden);
    if (cx && keep) std::copy_n(c_before.data, g.state(), cy + k * g.state());
  }
  void step(const ForwardStep<T>& all) {
    work.product.each({all.h_before.data, all.h_before.stride, 1},
                      [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                          Rows<const T> product, int64_t gate) {
                        ForwardStep<T> s = all;
                        const auto move = [&](auto& m) {
                          if (m) m.data = m.row(row) + column;
                        };
                        s.rows = rows, s.columns = columns;
                        s.of_hidden = product, s.of_hidden_gate = gate;
                        move(s.gates), move(s.h_before), move(s.c_before), move(s.h), move(s.c);
                        if (s.bias_ih) s.bias_ih += column, s.bias_hh += column;
                        forward_step(s);
                      });
  }
};

tn_status workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Arguments a(c, 0, 4);
    if (!a.is_served()) return TN_DECLINED;
    Parts p(nullptr);
    a.visit([&](auto t) { Workspace<decltype(t)>(a.g, c->in[7].u.i64, p); });
    *bytes = p.used();
    return TN_OK;
  });
}

tn_status fused_rnn(Call& call, Tensor, Tensor, Tensor, Tensor, Tensor input, Tensor weight,
                    Tensor hx, OptTensor cx, int64_t, bool, bool, bool train) {
  const Arguments a(call.abi(), 0, 4);
  const Geometry& g = a.g;
  if (!a.is_served()) return TN_DECLINED;
  return a.visit([&](auto t) {
    using T = decltype(t);
    const int64_t sizes[] = {g.time, g.batch, g.outputs()}, none = 0,
                  kept = train ? static_cast<int64_t>(Reserve<T>(g, nullptr).bytes()) : 0;
    const DType dtype = input.dtype();
    const Tensor output = call.alloc_out(0, Ints(sizes, 3), dtype),
                 hy = call.alloc_out(1, hx.sizes(), dtype),
                 cy = call.alloc_out(2, cx.defined() ? hx.sizes() : Ints(&none, 1), dtype),
                 reserve = call.alloc_out(3, Ints(&kept, 1), kUInt8);
    Parts p(call.workspace());
    Forward<T>{g,
               train,
               input.data<T>(),
               weight.data<T>(),
               hx.data<T>(),
               data_or_null<T>(cx),
               output.data<T>(),
               hy.data<T>(),
               cx.defined() ? cy.data<T>() : nullptr,
               Workspace<T>(g, train, p),
               Reserve<T>(g, train ? reserve.data() : nullptr)}
        .run();
    return TN_OK;
  });
}

}  // namespace

TN_KERNEL(_fused_rnn, fused_rnn, dtypes("float32,float64").dynamic().workspace(workspace));

}  // namespace tenon::cpu::rnn
