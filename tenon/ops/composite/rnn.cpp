// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent cells and layers of them over a sequence: one call if the device has a kernel for all
// of it.
#include <algorithm>

#include "tenon/autograd.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/rnn_layers.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using rnn::Cell;
using rnn::Layers;
using rnn::one_step;
using rnn::State;
using OptTensor = std::optional<Tensor>;

// Whether all of it is of one dtype, device and the shapes that belong together, and the device has
// a kernel. Invalid arguments are left to the decomposition, whose errors say more.
bool is_fusable(const Layers& l, const Tensor& x, const Tensor& h0, const Tensor& c0) {
  const core::Op& op = core::get_op("_fused_rnn");
  if (x.layout() != kStrided ||
      !core::has_kernel(op, x.unsafeGetTensorImpl()->device_id.slot, x.scalar_type()))
    return false;
  if (l.projects() || (l.train && l.dropout > 0 && l.count > 1)) return false;
  if (core::deterministic() && !x.is_cpu()) return false;  // only the host's sums have an order
  if (l.count < 1 || x.dim() != 3 || x.size(0) < 1 || h0.dim() != 3) return false;
  const int64_t hidden = h0.size(2), cells = static_cast<int64_t>(l.cells());
  const auto is_uniform = [&](const Tensor& t, IntArrayRef sizes) {
    return t.sizes() == sizes && t.scalar_type() == x.scalar_type() && t.device() == x.device() &&
           t.layout() == kStrided;
  };
  if (!is_uniform(h0, {cells, x.size(1), hidden}) || (c0.defined() && !is_uniform(c0, h0.sizes())))
    return false;
  const auto shapes =
      rnn::parameter_shapes(l.cell, x.size(2), hidden, l.count, l.directions, l.has_biases);
  if (shapes.size() != l.params.size()) return false;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (!is_uniform(l.params[k], shapes[k])) return false;
  }
  return true;
}

bool records_gradients(const Layers& l, const Tensor& x, const Tensor& h0, const Tensor& c0) {
  const auto needs = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  return GradMode::is_enabled() && (needs(x) || needs(h0) || needs(c0) ||
                                    std::any_of(l.params.begin(), l.params.end(), needs));
}

// The host's kernel gathers and packs the weights in each call, which few rows do not pay for; the
// operators keep packed weights between calls. Gradients make up for it.
bool is_worth_packing(const Layers& l, const Tensor& x) {
  constexpr int64_t kRows = 256, kSmall = 1 << 14;
  int64_t weights = 0;
  for (const Tensor& p : l.params) weights += p.numel();
  return x.size(0) * x.size(1) >= kRows || weights <= kSmall;
}

std::tuple<Tensor, Tensor, Tensor> run_layers(const Layers& l, const Tensor& input,
                                              const Tensor& h0, const Tensor& c0,
                                              bool batch_first) {
  const Tensor x = batch_first && input.dim() == 3 ? input.transpose(0, 1) : input;
  const bool train = records_gradients(l, x, h0, c0);
  if (!is_fusable(l, x, h0, c0) || (x.is_cpu() && !train && !is_worth_packing(l, x)))
    return rnn::over_layers(l, input, h0, c0, batch_first);
  std::vector<Tensor> flat;
  for (const Tensor& p : l.params) flat.push_back(p.reshape({-1}));
  const Tensor weight = tenon::cat(flat);
  const auto [out, h, c, reserve] =
      tenon::_fused_rnn(x, weight, h0, c0.defined() ? OptTensor(c0) : std::nullopt,
                        static_cast<int64_t>(l.cell), l.has_biases, l.directions == 2, train);
  return {batch_first ? out.transpose(0, 1) : out, h, c0.defined() ? c : Tensor()};
}

}  // namespace

#define TENON_CELL(name, cell)                                                               \
  Tensor name(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, \
              const OptTensor& b_ih, const OptTensor& b_hh) {                                \
    return one_step(#name, cell, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).h;           \
  }
TENON_CELL(rnn_tanh_cell, Cell::kTanh)
TENON_CELL(rnn_relu_cell, Cell::kRelu)
TENON_CELL(gru_cell, Cell::kGru)
#undef TENON_CELL

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const OptTensor& b_ih,
                                     const OptTensor& b_hh) {
  TENON_CHECK(hx.size() == 2, ValueError, "lstm_cell expects two hidden states, got ", hx.size());
  TENON_CHECK(hx[0].sizes() == hx[1].sizes(), ValueError, "lstm_cell: hx ", hx[0].sizes(),
              " and cx ", hx[1].sizes(), " must have one shape");
  const State s =
      one_step("lstm_cell", Cell::kLstm, input, {hx[0], hx[1]}, {w_ih, w_hh, b_ih, b_hh, {}});
  return {s.h, s.c};
}

#define TENON_LAYERS(name, cell)                                                              \
  std::tuple<Tensor, Tensor> name##_input(                                                    \
      const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,              \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { \
    const Layers l{#name,      cell,    params, has_biases,                                   \
                   num_layers, dropout, train,  bidirectional ? 2 : 1};                       \
    const auto [out, h, c] = run_layers(l, input, hx, {}, batch_first);                       \
    return {out, h};                                                                          \
  }
TENON_LAYERS(rnn_tanh, Cell::kTanh)
TENON_LAYERS(rnn_relu, Cell::kRelu)
TENON_LAYERS(gru, Cell::kGru)
#undef TENON_LAYERS

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, TensorList hx, TensorList params,
                                              bool has_biases, int64_t num_layers, double dropout,
                                              bool train, bool bidirectional, bool batch_first) {
  TENON_CHECK(hx.size() == 2, ValueError, "lstm expects two hidden states, got ", hx.size());
  const Layers l{"lstm",     Cell::kLstm, params, has_biases,
                 num_layers, dropout,     train,  bidirectional ? 2 : 1};
  return run_layers(l, input, hx[0], hx[1], batch_first);
}

}  // namespace tenon::composite
