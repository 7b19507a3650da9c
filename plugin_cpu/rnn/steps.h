// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The pointwise part of a step of recurrent cells, for some sequences (rows) and some hidden units
// (columns). A matrix is a pointer to its first element and the elements between rows; gates of a
// row are `gate` elements apart. Gates are in the order of the parameters: input, forget, cell,
// output; or reset, update, new.
#pragma once

#include <cstdint>

namespace tenon::cpu::rnn {

enum class Cell : int64_t { Relu, Tanh, Lstm, Gru };  // as `mode` of _fused_rnn

template <class T>
struct Rows {
  T* data = nullptr;
  int64_t stride = 0;
  T* row(int64_t i) const { return data + i * stride; }
  explicit operator bool() const { return data != nullptr; }
};

// Gates are products and biases; h and c become the new states. c and c_before may be the same.
template <class T>
struct ForwardStep {
  Cell cell;
  bool keep;  // whether gates are overwritten with what the gradient needs
  int64_t rows, columns, gate;
  Rows<T> gates;            // of the input; with `keep` of a GRU there is room for a fourth
  Rows<const T> of_hidden;  // products with the hidden state
  int64_t of_hidden_gate;
  const T *bias_ih, *bias_hh;  // may be null
  Rows<const T> h_before, c_before;
  Rows<T> h, c;
};
void forward_step(const ForwardStep<float>& s);
void forward_step(const ForwardStep<double>& s);

// The gradient by the gates before their activation. What comes from the step after: `of_gates`,
// the product of its gradient with w_hh, and `carried`, what went around that product; both may be
// null, and both are added.
template <class T>
struct BackwardStep {
  Cell cell;
  int64_t rows, columns, gate;
  Rows<const T> grad_output, of_gates, carried;
  Rows<const T> gates, h, h_before, c, c_before;  // of the forward step
  Rows<T> grad_c;                                 // LSTM: in of this step, out of the one before
  Rows<T> carry;                                  // GRU: out; may be the memory of `carried`
  Rows<T> grad, grad_hidden;  // by the products with the input and, of a GRU, the hidden state
};
void backward_step(const BackwardStep<float>& s);
void backward_step(const BackwardStep<double>& s);

// to[j] = the sum of column j over the rows, in their order.
void sum_rows(int64_t rows, int64_t columns, Rows<const float> from, float* to);
void sum_rows(int64_t rows, int64_t columns, Rows<const double> from, double* to);

}  // namespace tenon::cpu::rnn
