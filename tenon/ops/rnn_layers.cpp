// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Two products and pointwise gates per step; the products with the inputs of all steps are one.
#include "tenon/ops/rnn_layers.h"

#include "tenon/autograd.h"
#include "tenon/core/sizes.h"
#include "tenon/runtime/error.h"

namespace tenon::rnn {

namespace {

void check(const char* name, Cell cell, const Tensor& input, const State& s, const Weights& w) {
  TENON_CHECK(w.ih.dim() == 2 && w.hh.dim() == 2, ValueError, name,
              ": w_ih and w_hh must be matrices, got ", w.ih.sizes(), " and ", w.hh.sizes());
  TENON_CHECK(input.dim() > 0 && input.size(-1) == w.ih.size(1), ValueError, name,
              ": input has inconsistent input_size: got ", input.sizes(), " expected ",
              w.ih.size(1));
  TENON_CHECK(s.h.dim() > 0 && s.h.size(-1) == w.hh.size(1), ValueError, name,
              ": hidden has inconsistent hidden_size: got ", s.h.sizes(), " expected ",
              w.hh.size(1));
  const int64_t hidden = s.c.defined() ? s.c.size(-1) : s.h.size(-1),
                rows = gates_of(cell) * hidden;
  TENON_CHECK(w.ih.size(0) == rows && w.hh.size(0) == rows, ValueError, name, ": expected ",
              gates_of(cell), " gates of the hidden size ", hidden, " in w_ih ", w.ih.sizes(),
              " and w_hh ", w.hh.sizes());
}

// One step: `of_input` is the product with the input.
State step(Cell cell, const Tensor& of_input, const State& s, const Weights& w) {
  const Tensor of_hidden = tenon::linear(s.h, w.hh, w.bias_hh);
  if (cell == Cell::kTanh) return {tenon::tanh(of_input + of_hidden), {}};
  if (cell == Cell::kRelu) return {tenon::relu(of_input + of_hidden), {}};
  if (cell == Cell::kLstm) {
    const auto gates = (of_input + of_hidden).chunk(4, -1);
    const Tensor c =
        tenon::sigmoid(gates[1]) * s.c + tenon::sigmoid(gates[0]) * tenon::tanh(gates[2]);
    const Tensor h = tenon::sigmoid(gates[3]) * tenon::tanh(c);
    return {w.projection.defined() ? tenon::matmul(h, w.projection.t()) : h, c};
  }
  const auto in = of_input.chunk(3, -1), hidden = of_hidden.chunk(3, -1);
  const Tensor reset = tenon::sigmoid(in[0] + hidden[0]),
               update = tenon::sigmoid(in[1] + hidden[1]);
  const Tensor fresh = tenon::tanh(in[2] + reset * hidden[2]);
  return {(s.h - fresh) * update + fresh, {}};
}

// All steps of one cell; outputs [time, batch, feature] in the order of the input.
std::pair<Tensor, State> over_time(const Layers& l, const Tensor& input, State s, const Weights& w,
                                   bool backwards) {
  check(l.name, l.cell, input, s, w);
  const std::vector<Tensor> products = tenon::linear(input, w.ih, w.bias_ih).unbind(0);
  const std::size_t n = products.size();
  std::vector<Tensor> outputs(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t t = backwards ? n - 1 - i : i;
    s = step(l.cell, products[t], s, w);
    outputs[t] = s.h;
  }
  return {tenon::stack(outputs, 0), s};
}

}  // namespace

State one_step(const char* name, Cell cell, const Tensor& input, const State& s, const Weights& w) {
  check(name, cell, input, s, w);
  return step(cell, tenon::linear(input, w.ih, w.bias_ih), s, w);
}

Weights Layers::weights(std::size_t of_cell) const {
  const std::size_t each = params.size() / cells(), at = of_cell * each;
  Weights w{params[at], params[at + 1], std::nullopt, std::nullopt, {}};
  if (has_biases) w.bias_ih = params[at + 2], w.bias_hh = params[at + 3];
  if (projects()) w.projection = params[at + each - 1];
  return w;
}

void Layers::check_params() const {
  // Before counts of cells and weights are multiplied.
  TENON_CHECK(count > 0 && static_cast<std::size_t>(count) <= params.size(), ValueError, name,
              ": expected weights for ", count, " layers, got ", params.size());
  const std::size_t plain = cells() * (has_biases ? 4U : 2U);
  TENON_CHECK(params.size() == plain || projects(), ValueError, name, ": expected ", plain,
              " weights for ", count, " layers and ", directions, " directions, got ",
              params.size());
}

std::tuple<Tensor, Tensor, Tensor> over_layers(const Layers& l, const Tensor& input,
                                               const Tensor& h0, const Tensor& c0,
                                               bool batch_first) {
  l.check_params();
  TENON_CHECK(input.dim() == 3, ValueError, l.name, ": input must have 3 dimensions, got ",
              input.dim());
  Tensor x = batch_first ? input.transpose(0, 1) : input;
  TENON_CHECK(x.size(0) > 0, ValueError, l.name, ": expected sequence length to be larger than 0");
  for (const Tensor& t : {h0, c0}) {
    TENON_CHECK(!t.defined() || (t.dim() == 3 && t.size(0) == static_cast<int64_t>(l.cells()) &&
                                 t.size(1) == x.size(1)),
                ValueError, l.name, ": expected hidden states of ", l.cells(), " cells and ",
                x.size(1), " sequences, got ", t.sizes());
  }
  std::vector<Tensor> last_h, last_c;
  for (int64_t layer = 0; layer < l.count; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < l.directions; ++d) {
      const int64_t k = layer * l.directions + d;
      const State start{h0.select(0, k), c0.defined() ? c0.select(0, k) : Tensor()};
      const auto [out, end] =
          over_time(l, x, start, l.weights(static_cast<std::size_t>(k)), d == 1);
      outputs.push_back(out);
      last_h.push_back(end.h);
      if (end.c.defined()) last_c.push_back(end.c);
    }
    x = outputs.size() == 1 ? outputs[0] : tenon::cat(outputs, -1);
    if (l.train && l.dropout > 0 && layer + 1 < l.count) x = tenon::dropout(x, l.dropout, true);
  }
  return {batch_first ? x.transpose(0, 1) : x, tenon::stack(last_h, 0),
          last_c.empty() ? Tensor() : tenon::stack(last_c, 0)};
}

std::vector<std::vector<int64_t>> parameter_shapes(Cell cell, int64_t features, int64_t hidden,
                                                   int64_t layers, int64_t directions,
                                                   bool has_biases) {
  const int64_t rows = (core::Size(gates_of(cell)) * hidden).get("rnn", "hidden_size");
  const int64_t cells = (core::Size(layers) * directions).get("rnn", "num_layers");
  core::check_room("rnn", "layers", cells, 4 * sizeof(core::TensorImpl));
  std::vector<std::vector<int64_t>> shapes;
  for (int64_t k = 0; k < cells; ++k) {
    shapes.push_back({rows, k < directions ? features : hidden * directions});
    shapes.push_back({rows, hidden});
    if (has_biases) shapes.insert(shapes.end(), 2, {rows});
  }
  return shapes;
}

std::tuple<Tensor, Tensor, Tensor> over_layers(const Fused& f) {
  const int64_t directions = f.bidirectional ? 2 : 1, layers = f.hx.size(0) / directions;
  std::vector<Tensor> params;
  int64_t at = 0;
  for (const auto& shape :
       parameter_shapes(f.cell, f.input.size(2), f.hx.size(2), layers, directions, f.has_biases)) {
    const int64_t n = shape[0] * (shape.size() > 1 ? shape[1] : 1);
    params.push_back(f.weight.narrow(0, at, n).view(shape));
    at += n;
  }
  return over_layers({"_fused_rnn", f.cell, params, f.has_biases, layers, 0, false, directions},
                     f.input, f.hx, f.cx, false);
}

std::array<Tensor, 4> gradients(const Fused& f, const std::array<Tensor, 3>& grads,
                                const std::array<bool, 4>& wanted, bool create_graph) {
  const EnableGradGuard record;
  const auto [y, h, c] = over_layers(f);
  const Tensor results[] = {y, h, c}, arguments[] = {f.input, f.weight, f.hx, f.cx};
  autograd::variable_list outputs, inputs, weights;
  for (std::size_t k = 0; k < 3; ++k) {
    if (!grads[k].defined() || !results[k].defined()) continue;
    outputs.push_back(results[k]);
    weights.push_back(grads[k].to(results[k].scalar_type()));
  }
  for (std::size_t k = 0; k < 4; ++k) {
    if (wanted[k] && arguments[k].defined()) inputs.push_back(arguments[k]);
  }
  std::array<Tensor, 4> out;
  if (inputs.empty()) return out;
  auto found = autograd::grad(outputs, inputs, weights, std::nullopt, create_graph, true);
  for (std::size_t k = 0, i = 0; k < 4; ++k) {
    if (!wanted[k] || !arguments[k].defined()) continue;
    out[k] = found[i].defined() ? found[i] : zeros_like(arguments[k]);
    ++i;
  }
  return out;
}

}  // namespace tenon::rnn
