// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of recurrent layers, where the parameters of a cell are in the flat weight of _fused_rnn,
// and what its reserve holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin_cpu/rnn/steps.h"

namespace tenon::cpu::rnn {

struct Geometry {
  Cell cell;
  bool has_biases;
  int64_t time, batch, features, hidden, layers, directions;

  int64_t gates() const { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }
  // Columns of all gates of a step.
  int64_t width() const { return gates() * hidden; }
  int64_t rows() const { return time * batch; }
  int64_t state() const { return batch * hidden; }
  int64_t cells() const { return layers * directions; }
  int64_t inputs(int64_t layer) const { return layer == 0 ? features : hidden * directions; }
  // Columns of a row of outputs, which the directions share.
  int64_t outputs() const { return hidden * directions; }
};

// The parameters of one cell: w_ih [width, inputs], w_hh [width, hidden] and the biases [width],
// which are null if there are none.
template <class T>
struct Weights {
  T *ih, *hh, *bias_ih, *bias_hh;

  Weights(const Geometry& g, T* flat, int64_t layer, int64_t direction) {
    const int64_t biases = g.has_biases ? 2 * g.width() : 0;
    const auto elements = [&](int64_t of_layer) {
      return g.width() * (g.inputs(of_layer) + g.hidden) + biases;
    };
    for (int64_t k = 0; k < layer; ++k) flat += g.directions * elements(k);
    ih = flat + direction * elements(layer);
    hh = ih + g.width() * g.inputs(layer);
    bias_ih = g.has_biases ? hh + g.width() * g.hidden : nullptr;
    bias_hh = g.has_biases ? bias_ih + g.width() : nullptr;
  }
};

// Takes parts of one block of memory, each on a cache line of its own; of a null block only the
// sizes.
class Parts {
 public:
  explicit Parts(void* base) : base_(static_cast<char*>(base)) {}
  template <class T>
  T* take(int64_t elements) {
    char* const at = base_ ? base_ + used_ : nullptr;
    used_ += (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

// What the gradient needs beside arguments and outputs. Of LSTM cells: the four activated gates and
// the cell state of each step; of GRU cells: the three gates and the new gate's product with the
// hidden state. And the outputs of all layers but the last. It is never empty: an empty reserve
// says that no kernel has filled it.
template <class T>
struct Reserve {
  // `base` may be null; else it is aligned for T.
  Reserve(const Geometry& g, void* base) : g_(g), parts_(base) {
    const int64_t each = columns(g);
    (void)parts_.template take<T>(1);
    gates_ = parts_.template take<T>(each ? g.cells() * g.rows() * each : 0);
    states_ = parts_.template take<T>(g.cell == Cell::Lstm ? g.cells() * g.rows() * g.hidden : 0);
    outputs_ = parts_.template take<T>((g.layers - 1) * g.rows() * g.outputs());
  }
  static int64_t columns(const Geometry& g) {
    return g.cell == Cell::Lstm || g.cell == Cell::Gru ? 4 * g.hidden : 0;
  }
  std::size_t bytes() const { return parts_.used(); }
  // [rows, columns] of cell k.
  T* gates(int64_t k) const { return gates_ + k * g_.rows() * columns(g_); }
  // [rows, hidden] of cell k.
  T* states(int64_t k) const { return states_ + k * g_.rows() * g_.hidden; }
  // [rows, outputs] of a layer.
  T* outputs(int64_t layer) const { return outputs_ + layer * g_.rows() * g_.outputs(); }

 private:
  Geometry g_;
  Parts parts_;
  T *gates_, *states_, *outputs_;
};

}  // namespace tenon::cpu::rnn
