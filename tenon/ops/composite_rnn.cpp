// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent networks: two products, then pointwise gates.
#include "tenon/core/error.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;

// What both products add up to; `gates` blocks of the hidden size.
struct Products {
  Tensor of_input, of_hidden;
  Products(const char* name, const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
           const OptTensor& b_ih, const OptTensor& b_hh, int64_t gates) {
    TENON_CHECK(w_ih.dim() == 2 && w_hh.dim() == 2, ValueError, name, ": w_ih and w_hh must be matrices, got ",
                core::text(w_ih.sizes()), " and ", core::text(w_hh.sizes()));
    TENON_CHECK(input.dim() > 0 && input.size(-1) == w_ih.size(1), ValueError, name,
                ": input has inconsistent input_size: got ", core::text(input.sizes()), " expected ", w_ih.size(1));
    TENON_CHECK(hx.dim() > 0 && hx.size(-1) == w_hh.size(1), ValueError, name,
                ": hidden has inconsistent hidden_size: got ", core::text(hx.sizes()), " expected ", w_hh.size(1));
    TENON_CHECK(w_ih.size(0) == w_hh.size(0) && w_hh.size(0) == gates * w_hh.size(1), ValueError, name, ": expected ",
                gates, " gates of the hidden size ", w_hh.size(1), " in w_ih ", core::text(w_ih.sizes()), " and w_hh ",
                core::text(w_hh.sizes()));
    of_input = tenon::linear(input, w_ih, b_ih);
    of_hidden = tenon::linear(hx, w_hh, b_hh);
  }
};

}  // namespace

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptTensor& b_ih, const OptTensor& b_hh) {
  const Products p("rnn_tanh_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return tenon::tanh(p.of_input + p.of_hidden);
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptTensor& b_ih, const OptTensor& b_hh) {
  const Products p("rnn_relu_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return tenon::relu(p.of_input + p.of_hidden);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const OptTensor& b_ih, const OptTensor& b_hh) {
  TENON_CHECK(hx.size() == 2, ValueError, "lstm_cell expects two hidden states, got ", hx.size());
  TENON_CHECK(hx[0].sizes() == hx[1].sizes(), ValueError, "lstm_cell: hx ", core::text(hx[0].sizes()), " and cx ",
              core::text(hx[1].sizes()), " must have one shape");
  const Products p("lstm_cell", input, hx[0], w_ih, w_hh, b_ih, b_hh, 4);
  const auto gates = (p.of_input + p.of_hidden).chunk(4, -1);
  const Tensor cy = tenon::sigmoid(gates[1]) * hx[1] + tenon::sigmoid(gates[0]) * tenon::tanh(gates[2]);
  return {tenon::sigmoid(gates[3]) * tenon::tanh(cy), cy};
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const OptTensor& b_ih,
                const OptTensor& b_hh) {
  const Products p("gru_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 3);
  const auto in = p.of_input.chunk(3, -1), hidden = p.of_hidden.chunk(3, -1);
  const Tensor reset = tenon::sigmoid(in[0] + hidden[0]), update = tenon::sigmoid(in[1] + hidden[1]);
  const Tensor fresh = tenon::tanh(in[2] + reset * hidden[2]);
  return (hx - fresh) * update + fresh;
}

}  // namespace tenon::composite
