// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and their gradients in plain loops. Sequences are [time, batch, width].
#pragma once

#include <cudnn.h>

#include <cstdint>

namespace tenon::fake {

struct Network {
  cudnnDataType_t type;
  cudnnRNNMode_t mode;
  int64_t features, hidden, layers, directions;
  bool biases;

  int64_t cells() const { return layers * directions; }
  int64_t gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  int64_t inputs(int64_t cell) const { return cell < directions ? features : hidden * directions; }
};

// Where a parameter lies in the space of weights, in elements. As in the real one nothing but this function says so:
// each cell has its recurrent matrices before those of the input, its biases lie behind all matrices, and parameters
// have gaps between them. `id`: the gates of the input, then those of the hidden state.
int64_t place_of(const Network& n, int64_t cell, int64_t id, bool bias);
int64_t weight_elements(const Network& n);

// Bytes.
int64_t reserve_bytes(const Network& n, int64_t time, int64_t batch);

struct Sequences {
  int64_t time, batch;
  const void *x, *hx, *cx, *weights;  // null: zero, or not read
};
// reserve: null where no gradient will be asked for.
void forward(const Network& n, const Sequences& s, void* y, void* hy, void* cy, void* reserve);

// Gradients of the input and the first states, null where they are not wanted; null is zero in those that are given.
// The reserve becomes what backward_weights reads: a second pass needs another copy.
void backward_data(const Network& n, const Sequences& s, const void* dy, const void* dhy, const void* dcy, void* dx,
                   void* dhx, void* dcx, void* reserve);
void backward_weights(const Network& n, const Sequences& s, void* dweights, const void* reserve);

}  // namespace tenon::fake
