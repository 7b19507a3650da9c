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

// The offset of a parameter in the weight space, in elements. As in the real one the layout is
// private: each cell has its recurrent matrices before those of the input, biases follow all
// matrices, and there are gaps between parameters. `id`: the gates of the input, then those of the
// hidden state.
int64_t offset_of(const Network& n, int64_t cell, int64_t id, bool bias);
int64_t weight_elements(const Network& n);

// Bytes.
int64_t reserve_bytes(const Network& n, int64_t time, int64_t batch);

struct Sequences {
  int64_t time, batch;
  const void *x, *hx, *cx, *weights;  // null: zero, or not read
};
// reserve: null if no gradient is needed.
void forward(const Network& n, const Sequences& s, void* y, void* hy, void* cy, void* reserve);

// Gradients of the input and the first states; null: not wanted. Null incoming gradients are zero.
// Overwrites the reserve for backward_weights: a second pass needs another copy.
void backward_data(const Network& n, const Sequences& s, const void* dy, const void* dhy,
                   const void* dcy, void* dx, void* dhx, void* dcx, void* reserve);
void backward_weights(const Network& n, const Sequences& s, void* dweights, const void* reserve);

}  // namespace tenon::fake
