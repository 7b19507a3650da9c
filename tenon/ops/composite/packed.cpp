// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sequences of decreasing lengths whose elements lie time by time, and recurrent layers over them.
#include <algorithm>
#include <vector>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/rnn_layers.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using rnn::Cell;
using rnn::Layers;
using rnn::State;
using Ints = std::vector<int64_t>;

Ints numbers_of(const char* op, const Tensor& t) {
  TENON_CHECK(t.dim() == 1 && isIntegralType(t.scalar_type()), ValueError, op,
              ": expected a vector of integers, got ", t.sizes(), " of ",
              toString(t.scalar_type()));
  const Tensor host = t.detach().to(kCPU).to(kLong).contiguous();
  return {host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + host.numel()};
}

Ints check_batch_sizes(const char* op, const Tensor& data, const Tensor& batch_sizes) {
  const Ints sizes = numbers_of(op, batch_sizes);
  TENON_CHECK(!sizes.empty(), ValueError, op, ": expected at least one batch size");
  TENON_CHECK(data.dim() >= 1, ValueError, op, ": expected data of at least 1 dimension");
  int64_t rest = data.size(0);
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    TENON_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]) && sizes[t] <= rest,
                ValueError, op, ": batch sizes must decrease and add up to ", data.size(0),
                ", got ", IntArrayRef(sizes));
    rest -= sizes[t];
  }
  TENON_CHECK(rest == 0, ValueError, op, ": batch sizes add up to ", data.size(0) - rest,
              ", but there are ", data.size(0), " elements");
  return sizes;
}

State part(const State& s, int64_t from, int64_t n) {
  return {s.h.narrow(0, from, n), s.c.defined() ? s.c.narrow(0, from, n) : Tensor()};
}
State joined(const State& a, const State& b) {
  return {tenon::cat({a.h, b.h}), a.c.defined() ? tenon::cat({a.c, b.c}) : Tensor()};
}

struct Run {
  Tensor out;
  State last;
};

Run forward(const Layers& l, const rnn::Weights& w, const Tensor& data, const Ints& sizes,
            State s) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const int64_t n : sizes) {
    const State now = rnn::one_step(l.name, l.cell, data.narrow(0, at, n), part(s, 0, n), w);
    s = joined(now, part(s, n, s.h.size(0) - n));  // shorter sequences have ended
    out.push_back(now.h);
    at += n;
  }
  return {tenon::cat(out), s};
}
Run backward(const Layers& l, const rnn::Weights& w, const Tensor& data, const Ints& sizes,
             const State& first) {
  std::vector<Tensor> out(sizes.size());
  int64_t at = data.size(0);
  State s = part(first, 0, 0);
  for (std::size_t t = sizes.size(); t-- > 0;) {
    const int64_t n = sizes[t], known = s.h.size(0);
    at -= n;
    if (n > known) s = joined(s, part(first, known, n - known));  // shorter sequences begin
    s = rnn::one_step(l.name, l.cell, data.narrow(0, at, n), s, w);
    out[t] = s.h;
  }
  return {tenon::cat(out), s};
}

std::tuple<Tensor, Tensor, Tensor> over_packed(const Layers& l, const Tensor& data,
                                               const Tensor& batch_sizes, const Tensor& h0,
                                               const Tensor& c0) {
  l.check_params();
  const Ints sizes = check_batch_sizes(l.name, data, batch_sizes);
  TENON_CHECK(
      h0.dim() == 3 && h0.size(0) == static_cast<int64_t>(l.cells()) && h0.size(1) == sizes[0],
      ValueError, l.name, ": expected a hidden state [", l.cells(), ", ", sizes[0],
      ", features], got ", h0.sizes());
  Tensor x = data;
  std::vector<Tensor> h, c;
  for (int64_t layer = 0; layer < l.count; ++layer) {
    std::vector<Tensor> sides;
    for (int64_t side = 0; side < l.directions; ++side) {
      const int64_t k = layer * l.directions + side;
      const State s{h0.select(0, k), c0.defined() ? c0.select(0, k) : Tensor()};
      const rnn::Weights w = l.weights(static_cast<std::size_t>(k));
      const Run made = side ? backward(l, w, x, sizes, s) : forward(l, w, x, sizes, s);
      sides.push_back(made.out);
      h.push_back(made.last.h);
      if (c0.defined()) c.push_back(made.last.c);
    }
    x = l.directions == 2 ? tenon::cat(sides, -1) : sides[0];
    if (l.train && l.dropout > 0 && layer + 1 < l.count) x = tenon::dropout(x, l.dropout, true);
  }
  return {x, tenon::stack(h), c0.defined() ? tenon::stack(c) : Tensor()};
}

std::tuple<Tensor, Tensor> without_cells(const std::tuple<Tensor, Tensor, Tensor>& made) {
  return {std::get<0>(made), std::get<1>(made)};
}

}  // namespace

std::tuple<Tensor, Tensor> rnn_tanh_data(const Tensor& data, const Tensor& batch_sizes,
                                         const Tensor& hx, TensorList params, bool has_biases,
                                         int64_t layers, double dropout, bool train,
                                         bool bidirectional) {
  return without_cells(over_packed(
      {"rnn_tanh", Cell::kTanh, params, has_biases, layers, dropout, train, bidirectional ? 2 : 1},
      data, batch_sizes, hx, Tensor()));
}
std::tuple<Tensor, Tensor> rnn_relu_data(const Tensor& data, const Tensor& batch_sizes,
                                         const Tensor& hx, TensorList params, bool has_biases,
                                         int64_t layers, double dropout, bool train,
                                         bool bidirectional) {
  return without_cells(over_packed(
      {"rnn_relu", Cell::kRelu, params, has_biases, layers, dropout, train, bidirectional ? 2 : 1},
      data, batch_sizes, hx, Tensor()));
}
std::tuple<Tensor, Tensor> gru_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    TensorList params, bool has_biases, int64_t layers,
                                    double dropout, bool train, bool bidirectional) {
  return without_cells(over_packed(
      {"gru", Cell::kGru, params, has_biases, layers, dropout, train, bidirectional ? 2 : 1}, data,
      batch_sizes, hx, Tensor()));
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             TensorList hx, TensorList params, bool has_biases,
                                             int64_t layers, double dropout, bool train,
                                             bool bidirectional) {
  TENON_CHECK(hx.size() == 2, ValueError, "lstm: expects two hidden states, got ", hx.size());
  return over_packed(
      {"lstm", Cell::kLstm, params, has_biases, layers, dropout, train, bidirectional ? 2 : 1},
      data, batch_sizes, hx[0], hx[1]);
}

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                 bool batch_first) {
  const char* name = "_pack_padded_sequence";
  TENON_CHECK(input.dim() >= 2, ValueError, name, ": expected at least 2 dimensions, got ",
              input.dim());
  const Tensor x = batch_first ? input.transpose(0, 1) : input;
  const Ints n = numbers_of(name, lengths);
  TENON_CHECK(static_cast<int64_t>(n.size()) == x.size(1), ValueError, name,
              ": Expected `len(lengths)` to be equal to batch_size, but got ", n.size(),
              " (batch_size=", x.size(1), ")");
  TENON_CHECK(!n.empty() && n.back() > 0, ValueError, name,
              ": Length of all samples has to be greater than 0");
  TENON_CHECK(std::is_sorted(n.rbegin(), n.rend()), ValueError, name,
              ": `lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
              "You can pass `enforce_sorted=False` to pack_padded_sequence and pack_sequence, "
              "which then sort the sequences; got ",
              IntArrayRef(n));
  TENON_CHECK(n[0] <= x.size(0), ValueError, name, ": length ", n[0], " is greater than ",
              x.size(0));
  std::vector<Tensor> steps;
  Ints sizes;
  for (int64_t t = 0; t < n[0]; ++t) {
    const auto live = std::count_if(n.begin(), n.end(), [t](int64_t length) { return length > t; });
    sizes.push_back(live);
    steps.push_back(x.select(0, t).narrow(0, 0, live));
  }
  return {tenon::cat(steps), tenon::tensor(sizes, TensorOptions(kLong))};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                                bool batch_first, const Scalar& value,
                                                int64_t total_length) {
  const char* name = "_pad_packed_sequence";
  const Ints sizes = check_batch_sizes(name, data, batch_sizes);
  auto time = static_cast<int64_t>(sizes.size());
  TENON_CHECK(total_length <= 0 || total_length >= time, ValueError, name,
              ": Expected total_length to be at least the length of the longest sequence in input, "
              "but got total_length=",
              total_length, " and max sequence length being ", time);
  time = std::max(time, total_length);
  std::vector<Tensor> steps;
  Ints lengths(static_cast<std::size_t>(sizes[0]), 0);
  int64_t at = 0;
  for (const int64_t n : sizes) {
    Ints amounts(static_cast<std::size_t>(2 * data.dim()), 0);
    amounts.back() = sizes[0] - n;
    steps.push_back(tenon::constant_pad_nd(data.narrow(0, at, n), amounts, value));
    for (int64_t i = 0; i < n; ++i) ++lengths[static_cast<std::size_t>(i)];
    at += n;
  }
  Tensor made = tenon::stack(steps);
  Ints amounts(static_cast<std::size_t>(2 * made.dim()), 0);
  amounts.back() = time - made.size(0);
  if (amounts.back() > 0) made = tenon::constant_pad_nd(made, amounts, value);
  return {batch_first ? made.transpose(0, 1) : made, tenon::tensor(lengths, TensorOptions(kLong))};
}

}  // namespace tenon::composite
