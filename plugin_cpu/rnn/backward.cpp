// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _fused_rnn_backward: of each cell, from its last step to its first, the gradient by the gates and
// its product with the hidden state's weights; then one product of all steps for each of the
// gradients by input and weights. Overwritten: the outputs. Everything is summed in the order of
// the steps, whatever the number of threads.
#include <algorithm>
#include <utility>

#include "plugin_cpu/rnn/arguments.h"
#include "plugin_cpu/rnn/step_product.h"
#include "tenon/sdk/ops/_fused_rnn_backward.h"

namespace tenon::cpu::rnn {
namespace {

using namespace sdk;

struct Gradients : Arguments {
  Tensor grad_output, grad_hy, grad_cy, output, reserve, grad_input, grad_weight, grad_hx, grad_cx;

  explicit Gradients(const tn_call* c)
      : Arguments(c, 3, 9),
        grad_output(tensor_of(c->in[0])),
        grad_hy(tensor_of(c->in[1])),
        grad_cy(tensor_of(c->in[2])),
        output(tensor_of(c->in[7])),
        reserve(tensor_of(c->in[8])),
        grad_input(tensor_of(c->out[0])),
        grad_weight(tensor_of(c->out[1])),
        grad_hx(tensor_of(c->out[2])),
        grad_cx(tensor_of(c->out[3])) {}

  // A reserve of another size is not from this kernel.
  bool is_served() const {
    if (!Arguments::is_served() || reserve.dtype().bits != 8) return false;
    return visit([&](auto t) {
      using T = decltype(t);
      return static_cast<std::size_t>(reserve.numel()) == Reserve<T>(g, nullptr).bytes() &&
             reinterpret_cast<uintptr_t>(reserve.data()) % alignof(T) == 0;
    });
  }
};

template <class T>
struct Workspace {
  T *grad, *grad_hidden, *grad_c = nullptr, *carry = nullptr, *layers[2] = {};
  StepProduct<T> product;

  Workspace(const Geometry& g, Parts& p)
      : grad(p.take<T>(g.rows() * g.width())),
        grad_hidden(g.cell == Cell::Gru ? p.take<T>(g.rows() * g.width()) : grad),
        product(g.time, g.batch, 1, g.hidden, g.width(), {nullptr, g.hidden, 1}, 0) {
    if (g.cell == Cell::Lstm) grad_c = p.take<T>(g.state());
    if (g.cell == Cell::Gru) carry = p.take<T>(g.state());
    for (int64_t k = 0; k < 2 && k + 1 < g.layers; ++k)
      layers[k] = p.take<T>(g.rows() * g.outputs());
    product.take_memory(p);
  }
};

template <class T>
struct Backward {
  Geometry g;
  const T *input, *weight, *hx, *cx, *output, *grad_output, *grad_hy, *grad_cy;
  T *grad_input, *grad_weight, *grad_hx, *grad_cx;
  Workspace<T> work;
  Reserve<T> reserve;

  // What the steps of one cell read; rows of x, y and grad_y are those of all its layer's cells.
  struct CellOf {
    int64_t k, layer, direction;
    const T *x, *y, *grad_y;
    Weights<const T> w;
  };

  void run() {
    const T* grad_y = grad_output;
    for (int64_t layer = g.layers - 1; layer >= 0; --layer) {
      const T* x = layer ? reserve.outputs(layer - 1) : input;
      const T* y = layer + 1 == g.layers ? output : reserve.outputs(layer);
      T* const grad_x = layer ? work.layers[(layer - 1) % 2] : grad_input;
      for (int64_t d = 0; d < g.directions; ++d) {
        const CellOf cell{layer * g.directions + d,
                          layer,
                          d,
                          x,
                          y + d * g.hidden,
                          grad_y + d * g.hidden,
                          Weights<const T>(g, weight, layer, d)};
        run_steps(cell);
        if (grad_x) of_input(cell, grad_x);
        if (grad_weight) of_weights(cell);
      }
      grad_y = grad_x;
    }
  }

  // The row of step i in the cell's order.
  int64_t row_of(const CellOf& c, int64_t i) const {
    return (c.direction ? g.time - 1 - i : i) * g.batch;
  }

  void run_steps(const CellOf& c) {
    const int64_t at = c.k * g.state(), stride = Reserve<T>::columns(g);
    work.product.set_weights(c.w.hh);
    T* const grad_c = grad_cx ? grad_cx + at : work.grad_c;
    if (grad_c && grad_cy) std::copy_n(grad_cy + at, g.state(), grad_c);
    if (grad_c && !grad_cy) std::fill_n(grad_c, g.state(), T(0));

    Rows<const T> carried{};
    if (grad_hy) carried = {grad_hy + at, g.hidden};
    for (int64_t i = g.time - 1; i >= 0; --i) {
      const int64_t row = row_of(c, i), before = i ? row_of(c, i - 1) : 0;
      const auto states = [&](int64_t r) {
        return Rows<const T>{cx ? reserve.states(c.k) + r * g.hidden : nullptr, g.hidden};
      };
      const auto outputs = [&](int64_t r) {
        return Rows<const T>{c.y + r * g.outputs(), g.outputs()};
      };
      BackwardStep<T> s{};
      s.cell = g.cell, s.gate = g.hidden;
      s.grad_output = {c.grad_y + row * g.outputs(), g.outputs()};
      s.carried = carried;
      if (stride) s.gates = {reserve.gates(c.k) + row * stride, stride};
      s.h = outputs(row), s.c = states(row);
      s.h_before = i ? outputs(before) : Rows<const T>{hx + at, g.hidden};
      s.c_before = i ? states(before) : Rows<const T>{cx ? cx + at : nullptr, g.hidden};
      s.grad_c = {grad_c, g.hidden}, s.carry = {work.carry, g.hidden};
      s.grad = {work.grad + row * g.width(), g.width()};
      if (work.carry) s.grad_hidden = {work.grad_hidden + row * g.width(), g.width()};
      step(s, i + 1 < g.time ? work.grad_hidden + row_of(c, i + 1) * g.width() : nullptr);
      carried = {work.carry, g.hidden};
    }
    if (grad_hx) of_first_state(c, grad_hx + at);
  }

  // `after`: the gradient by the gates of the step after, null at the last.
  void step(const BackwardStep<T>& all, const T* after) {
    const auto part = [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                          Rows<const T> product, int64_t) {
      BackwardStep<T> s = all;
      const auto move = [&](auto& m) {
        if (m) m.data = m.row(row) + column;
      };
      s.rows = rows, s.columns = columns, s.of_gates = product;
      move(s.grad_output), move(s.carried), move(s.gates), move(s.h), move(s.h_before), move(s.c),
          move(s.c_before), move(s.grad_c), move(s.carry), move(s.grad), move(s.grad_hidden);
      backward_step(s);
    };
    if (after)
      work.product.each({after, g.width(), 1}, part);
    else
      part(0, g.batch, 0, g.hidden, {}, 0);
  }

  void of_first_state(const CellOf& c, T* to) {
    work.product.each({work.grad_hidden + row_of(c, 0) * g.width(), g.width(), 1},
                      [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                          Rows<const T> product, int64_t) {
                        for (int64_t i = 0; i < rows; ++i) {
                          const int64_t at = (row + i) * g.hidden + column;
                          const T* p = product.row(i);
                          for (int64_t j = 0; j < columns; ++j)
                            to[at + j] = work.carry ? p[j] + work.carry[at + j] : p[j];
                        }
                      });
  }

  void of_input(const CellOf& c, T* to) {
    const int64_t n = g.inputs(c.layer);
    gemm(g.rows(), n, g.width(), T(1), Mat<const T>{work.grad, g.width(), 1},
         Mat<const T>{c.w.ih, n, 1}, c.direction ? T(1) : T(0), Mat<T>{to, n, 1});
  }

  void of_weights(const CellOf& c) {
    const Weights<T> to(g, grad_weight, c.layer, c.direction);
    const int64_t n = g.inputs(c.layer), width = g.width();
    gemm(width, n, g.rows(), T(1), Mat<const T>{work.grad, 1, width}, Mat<const T>{c.x, n, 1}, T(0),
         Mat<T>{to.ih, n, 1});
    // Each step but the first with the output before it, the first with hx.
    const Mat<T> hh{to.hh, g.hidden, 1};
    const int64_t rest = (g.time - 1) * g.batch, later = c.direction ? 0 : g.batch,
                  earlier = c.direction ? g.batch : 0;
    gemm(width, g.hidden, rest, T(1), Mat<const T>{work.grad_hidden + later * width, 1, width},
         Mat<const T>{c.y + earlier * g.outputs(), g.outputs(), 1}, T(0), hh);
    gemm(width, g.hidden, g.batch, T(1),
         Mat<const T>{work.grad_hidden + row_of(c, 0) * width, 1, width},
         Mat<const T>{hx + c.k * g.state(), g.hidden, 1}, T(1), hh);
    if (!g.has_biases) return;
    sum_columns(work.grad, to.bias_ih);
    if (work.grad_hidden == work.grad)
      std::copy_n(to.bias_ih, width, to.bias_hh);
    else
      sum_columns(work.grad_hidden, to.bias_hh);
  }
  void sum_columns(const T* from, T* to) {
    const int64_t grain = std::max<int64_t>(64, 262144 / g.rows() / 64 * 64);
    parallel_for(g.width(), grain, [&](int64_t begin, int64_t end) {
      sum_rows(g.rows(), end - begin, Rows<const T>{from + begin, g.width()}, to + begin);
    });
  }
};

tn_status workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Gradients a(c);
    if (!a.is_served()) return TN_DECLINED;
    Parts p(nullptr);
    a.visit([&](auto t) { Workspace<decltype(t)>(a.g, p); });
    *bytes = p.used();
    return TN_OK;
  });
}

tn_status fused_rnn_backward(Call& call, Tensor, Tensor, Tensor, Tensor, Tensor, OptTensor,
                             OptTensor, Tensor, Tensor, Tensor, OptTensor, Tensor, Tensor, int64_t,
                             bool, bool, Bools) {
  const Gradients a(call.abi());
  if (!a.is_served()) return TN_DECLINED;
  return a.visit([&](auto t) {
    using T = decltype(t);
    Parts p(call.workspace());
    Backward<T>{a.g,
                a.input.data<T>(),
                a.weight.data<T>(),
                a.hx.data<T>(),
                data_or_null<T>(a.cx),
                a.output.data<T>(),
                a.grad_output.data<T>(),
                data_or_null<T>(a.grad_hy),
                data_or_null<T>(a.grad_cy),
                data_or_null<T>(a.grad_input),
                data_or_null<T>(a.grad_weight),
                data_or_null<T>(a.grad_hx),
                data_or_null<T>(a.grad_cx),
                Workspace<T>(a.g, p),
                Reserve<T>(a.g, a.reserve.data())}
        .run();
    return TN_OK;
  });
}

}  // namespace

TN_KERNEL(_fused_rnn_backward, fused_rnn_backward, dtypes("float32,float64").workspace(workspace));

}  // namespace tenon::cpu::rnn
