// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layers of recurrent cells, step by step over other ops. Private to libtenon.
#pragma once

#include <array>
#include <vector>

#include "tenon/ops.h"

namespace tenon::rnn {

enum class Cell : int64_t { kRelu, kTanh, kLstm, kGru };  // as `mode` of _fused_rnn

inline int64_t gates_of(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

struct Weights {
  Tensor ih, hh;
  std::optional<Tensor> bias_ih, bias_hh;
  Tensor projection;  // undefined: hidden states are not projected
};

struct State {
  Tensor h, c;  // c: of LSTM cells
};

State one_step(const char* name, Cell cell, const Tensor& input, const State& s, const Weights& w);

// What the layers have in common.
struct Layers {
  const char* name;
  Cell cell;
  TensorList params;
  bool has_biases;
  int64_t count;
  double dropout;
  bool train;
  int64_t directions;

  bool projects() const {
    return cell == Cell::kLstm && params.size() == cells() * (has_biases ? 5U : 3U);
  }
  std::size_t cells() const { return static_cast<std::size_t>(count * directions); }
  Weights weights(std::size_t of_cell) const;
  void check_params() const;
};

// Outputs and last states; c is undefined unless cells are of an LSTM.
std::tuple<Tensor, Tensor, Tensor> over_layers(const Layers& l, const Tensor& input,
                                               const Tensor& h0, const Tensor& c0,
                                               bool batch_first);

// The shapes of all parameters without projections, in their order.
std::vector<std::vector<int64_t>> parameter_shapes(Cell cell, int64_t features, int64_t hidden,
                                                   int64_t layers, int64_t directions,
                                                   bool has_biases);

// The arguments of _fused_rnn.
struct Fused {
  Tensor input, weight, hx, cx;  // cx: of LSTM cells
  Cell cell;
  bool has_biases, bidirectional;
};
std::tuple<Tensor, Tensor, Tensor> over_layers(const Fused& f);
// By input, weight, hx and cx, those that are wanted; of outputs whose gradient is undefined none
// flows. Recorded with `create_graph`, so that the gradients have gradients.
std::array<Tensor, 4> gradients(const Fused& f, const std::array<Tensor, 3>& grads,
                                const std::array<bool, 4>& wanted, bool create_graph);

}  // namespace tenon::rnn
