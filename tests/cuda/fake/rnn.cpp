// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "rnn.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numbers.h"

namespace tenon::fake {
namespace {

using Numbers = std::vector<double>;
constexpr int64_t kGap = 8;  // elements

int64_t padded(int64_t n) { return (n + kGap) / kGap * kGap; }
std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }
double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

Numbers read_or_zero(cudnnDataType_t type, const void* p, int64_t n) {
  return p ? read(type, p, n) : Numbers(at(n));
}

int64_t matrices(const Network& n, int64_t cell) {
  return padded(n.gates() * n.hidden * n.hidden) + padded(n.gates() * n.hidden * n.inputs(cell));
}

// The reserve of a forward pass: whether backward_data has used it, the outputs of every layer, and
// per cell and step its gates and one more value: an LSTM's state, or what the reset gate of a GRU
// scales. After backward_data: the gradients of the gates and of that value.
constexpr double kForward = 1, kBackward = 2;
struct Reserve {
  const Network& n;
  int64_t time, batch;
  Numbers all;

  Reserve(const Network& network, const Sequences& s)
      : n(network), time(s.time), batch(s.batch), all(at(reserve_bytes(n, time, batch) / 8)) {}
  double& state() { return all[0]; }
  double* output(int64_t layer, int64_t t, int64_t b) {
    const int64_t width = n.hidden * n.directions;
    return &all[at(1 + ((layer * time + t) * batch + b) * width)];
  }
  double* gates(int64_t cell, int64_t t, int64_t b) {
    const int64_t outputs = n.layers * time * batch * n.hidden * n.directions;
    return &all[at(1 + outputs + ((cell * time + t) * batch + b) * (n.gates() + 1) * n.hidden)];
  }
  double* extra(int64_t cell, int64_t t, int64_t b) {
    return gates(cell, t, b) + n.gates() * n.hidden;
  }
};

// A cell of a layer: steps run in reverse for the second direction.
struct Cell {
  const Network& n;
  int64_t index, time;

  int64_t layer() const { return index / n.directions; }
  int64_t direction() const { return index % n.directions; }
  int64_t step(int64_t i) const { return direction() ? time - 1 - i : i; }
  int64_t before(int64_t t) const { return direction() ? t + 1 : t - 1; }
  bool first(int64_t t) const { return before(t) < 0 || before(t) >= time; }
  int64_t matrix(int64_t id, int64_t row) const {
    return offset_of(n, index, id, false) + row * (id < n.gates() ? n.inputs(index) : n.hidden);
  }
};

struct Pass {
  const Network& n;
  const Sequences& s;
  Numbers x, hx, cx;
  Reserve kept;

  Pass(const Network& network, const Sequences& sequences)
      : n(network),
        s(sequences),
        x(read_or_zero(n.type, s.x, s.time * s.batch * n.features)),
        hx(read_or_zero(n.type, s.hx, n.cells() * s.batch * n.hidden)),
        cx(read_or_zero(n.type, s.cx, n.cells() * s.batch * n.hidden)),
        kept(n, s) {}

  const double* input(const Cell& c, int64_t t, int64_t b) {
    return c.layer() == 0 ? &x[at((t * s.batch + b) * n.features)]
                          : kept.output(c.layer() - 1, t, b);
  }
  int64_t state(const Cell& c, int64_t b) const { return (c.index * s.batch + b) * n.hidden; }
  double* output(const Cell& c, int64_t t, int64_t b) {
    return kept.output(c.layer(), t, b) + c.direction() * n.hidden;
  }
  const double* hidden_before(const Cell& c, int64_t t, int64_t b) {
    return c.first(t) ? &hx[at(state(c, b))] : output(c, c.before(t), b);
  }
  const double* cell_before(const Cell& c, int64_t t, int64_t b) {
    return c.first(t) ? &cx[at(state(c, b))] : kept.extra(c.index, c.before(t), b);
  }
};

double product(const Cell& c, const Numbers& w, int64_t id, int64_t row, const double* v) {
  const int64_t width = id < c.n.gates() ? c.n.inputs(c.index) : c.n.hidden,
                begin = c.matrix(id, row);
  double sum = c.n.biases ? w[at(offset_of(c.n, c.index, id, true) + row)] : 0;
  for (int64_t k = 0; k < width; ++k) sum += w[at(begin + k)] * v[k];
  return sum;
}

void step_forward(Pass& p, const Cell& c, const Numbers& w, int64_t t, int64_t b) {
  const Network& n = p.n;
  const double *in = p.input(c, t, b), *h = p.hidden_before(c, t, b),
               *before = p.cell_before(c, t, b);
  double *gates = p.kept.gates(c.index, t, b), *more = p.kept.extra(c.index, t, b),
         *out = p.output(c, t, b);
  for (int64_t j = 0; j < n.hidden; ++j) {
    double of_input[4], of_state[4];
    for (int64_t g = 0; g < n.gates(); ++g) {
      of_input[g] = product(c, w, g, j, in);
      of_state[g] = product(c, w, n.gates() + g, j, h);
    }
    const auto gate = [&](int64_t g) -> double& { return gates[g * n.hidden + j]; };
    const double sum = of_input[0] + of_state[0];
    if (n.mode == CUDNN_LSTM) {
      for (int64_t g = 0; g < 4; ++g) {
        gate(g) =
            g == 2 ? std::tanh(of_input[g] + of_state[g]) : sigmoid(of_input[g] + of_state[g]);
      }
      more[j] = gate(1) * before[j] + gate(0) * gate(2);
      out[j] = gate(3) * std::tanh(more[j]);
    } else if (n.mode == CUDNN_GRU) {
      gate(0) = sigmoid(sum);
      gate(1) = sigmoid(of_input[1] + of_state[1]);
      more[j] = of_state[2];
      gate(2) = std::tanh(of_input[2] + gate(0) * of_state[2]);
      out[j] = (1 - gate(1)) * gate(2) + gate(1) * h[j];
    } else {
      out[j] = gate(0) = n.mode == CUDNN_RNN_TANH ? std::tanh(sum) : sum > 0 ? sum : 0;
    }
  }
}

// The gates' gradients replace the gates; dh and dc become those of the step before, but for what
// the gates pass on.
void step_backward(Pass& p, const Cell& c, int64_t t, int64_t b, double* dh, double* dc) {
  const Network& n = p.n;
  double *gates = p.kept.gates(c.index, t, b), *more = p.kept.extra(c.index, t, b);
  const double *h = p.hidden_before(c, t, b), *before = p.cell_before(c, t, b),
               *out = p.output(c, t, b);
  for (int64_t j = 0; j < n.hidden; ++j) {
    const auto gate = [&](int64_t g) -> double& { return gates[g * n.hidden + j]; };
    const double d = dh[j];
    dh[j] = 0;
    if (n.mode == CUDNN_LSTM) {
      const double i = gate(0), f = gate(1), g = gate(2), o = gate(3), tc = std::tanh(more[j]);
      const double dcell = dc[j] + d * o * (1 - tc * tc);
      gate(0) = dcell * g * i * (1 - i);
      gate(1) = dcell * before[j] * f * (1 - f);
      gate(2) = dcell * i * (1 - g * g);
      gate(3) = d * tc * o * (1 - o);
      dc[j] = dcell * f;
    } else if (n.mode == CUDNN_GRU) {
      const double r = gate(0), z = gate(1), m = gate(2), dm = d * (1 - z) * (1 - m * m);
      gate(0) = dm * more[j] * r * (1 - r);
      gate(1) = d * (h[j] - m) * z * (1 - z);
      gate(2) = dm;
      more[j] = dm * r;
      dh[j] = d * z;
    } else {
      gate(0) = n.mode == CUDNN_RNN_TANH ? d * (1 - out[j] * out[j]) : out[j] > 0 ? d : 0;
    }
  }
}

// Of the product of gate `g` with the hidden state.
double of_hidden(const Network& n, const double* gates, const double* more, int64_t g, int64_t j) {
  return n.mode == CUDNN_GRU && g == 2 ? more[j] : gates[g * n.hidden + j];
}

// Passes the gates' gradients on to the layer's input and the step before.
void pass_on(Pass& p, const Cell& c, const Numbers& w, int64_t t, int64_t b, double* dx,
             double* dh) {
  const Network& n = p.n;
  const double *gates = p.kept.gates(c.index, t, b), *more = p.kept.extra(c.index, t, b);
  for (int64_t g = 0; g < n.gates(); ++g) {
    for (int64_t j = 0; j < n.hidden; ++j) {
      const double d = gates[g * n.hidden + j], r = of_hidden(n, gates, more, g, j);
      for (int64_t k = 0; k < n.inputs(c.index); ++k) dx[k] += w[at(c.matrix(g, j) + k)] * d;
      for (int64_t k = 0; k < n.hidden; ++k) dh[k] += w[at(c.matrix(n.gates() + g, j) + k)] * r;
    }
  }
}

}  // namespace

int64_t offset_of(const Network& n, int64_t cell, int64_t id, bool bias) {
  const bool recurrent = id >= n.gates();
  const int64_t gate = id % n.gates();
  int64_t place = 0;
  for (int64_t k = 0; k < (bias ? n.cells() : cell); ++k) place += matrices(n, k);
  if (bias) return place + (cell * 2 + recurrent) * padded(n.gates() * n.hidden) + gate * n.hidden;
  if (!recurrent) place += padded(n.gates() * n.hidden * n.hidden);
  return place + gate * n.hidden * (recurrent ? n.hidden : n.inputs(cell));
}

int64_t weight_elements(const Network& n) {
  int64_t all = n.biases ? n.cells() * 2 * padded(n.gates() * n.hidden) : 0;
  for (int64_t k = 0; k < n.cells(); ++k) all += matrices(n, k);
  return all;
}

int64_t reserve_bytes(const Network& n, int64_t time, int64_t batch) {
  const int64_t outputs = n.layers * n.hidden * n.directions,
                cells = n.cells() * (n.gates() + 1) * n.hidden;
  return 8 * (1 + time * batch * (outputs + cells));
}

void forward(const Network& n, const Sequences& s, void* y, void* hy, void* cy, void* reserve) {
  Pass p(n, s);
  const Numbers w = read(n.type, s.weights, weight_elements(n));
  Numbers last_h(p.hx.size()), last_c(p.cx.size());
  for (int64_t k = 0; k < n.cells(); ++k) {
    const Cell c{n, k, s.time};
    for (int64_t i = 0; i < s.time; ++i) {
      for (int64_t b = 0; b < s.batch; ++b) step_forward(p, c, w, c.step(i), b);
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < n.hidden; ++j) {
        last_h[at(p.state(c, b) + j)] = p.output(c, c.step(s.time - 1), b)[j];
        last_c[at(p.state(c, b) + j)] = p.kept.extra(k, c.step(s.time - 1), b)[j];
      }
    }
  }
  const double* top = p.kept.output(n.layers - 1, 0, 0);
  write(n.type, Numbers(top, top + s.time * s.batch * n.hidden * n.directions), y);
  write(n.type, last_h, hy);
  if (n.mode == CUDNN_LSTM) write(n.type, last_c, cy);
  p.kept.state() = kForward;
  if (reserve) std::copy(p.kept.all.begin(), p.kept.all.end(), static_cast<double*>(reserve));
}

void backward_data(const Network& n, const Sequences& s, const void* dy, const void* dhy,
                   const void* dcy, void* dx, void* dhx, void* dcx, void* reserve) {
  Pass p(n, s);
  const auto* from = static_cast<const double*>(reserve);
  std::copy(from, from + p.kept.all.size(), p.kept.all.begin());
  const Numbers w = read(n.type, s.weights, weight_elements(n));
  Numbers dh = read_or_zero(n.type, dhy, n.cells() * s.batch * n.hidden);
  Numbers dc = read_or_zero(n.type, dcy, n.cells() * s.batch * n.hidden);
  Numbers above = read(n.type, dy, s.time * s.batch * n.hidden * n.directions);
  const bool valid = p.kept.state() == kForward;
  for (int64_t layer = n.layers - 1; layer >= 0; --layer) {
    const int64_t width = n.inputs(layer * n.directions);
    Numbers below(at(s.time * s.batch * width));
    for (int64_t d = 0; d < n.directions; ++d) {
      const Cell c{n, layer * n.directions + d, s.time};
      for (int64_t i = s.time - 1; i >= 0; --i) {
        for (int64_t b = 0; b < s.batch; ++b) {
          const int64_t t = c.step(i), place = t * s.batch + b;
          double *h = &dh[at(p.state(c, b))], *cell = &dc[at(p.state(c, b))];
          for (int64_t j = 0; j < n.hidden; ++j)
            h[j] += above[at((place * n.directions + d) * n.hidden + j)];
          step_backward(p, c, t, b, h, cell);
          pass_on(p, c, w, t, b, &below[at(place * width)], h);
        }
      }
    }
    above = below;
  }
  if (!valid) above.assign(above.size(), std::numeric_limits<double>::quiet_NaN());
  write(n.type, above, dx);
  if (dhx) write(n.type, dh, dhx);
  if (dcx) write(n.type, dc, dcx);
  p.kept.state() = kBackward;
  std::copy(p.kept.all.begin(), p.kept.all.end(), static_cast<double*>(reserve));
}

void backward_weights(const Network& n, const Sequences& s, void* dweights, const void* reserve) {
  Pass p(n, s);
  const auto* from = static_cast<const double*>(reserve);
  std::copy(from, from + p.kept.all.size(), p.kept.all.begin());
  Numbers w = read(n.type, dweights, weight_elements(n));  // is added to
  if (p.kept.state() != kBackward) w.assign(w.size(), std::numeric_limits<double>::quiet_NaN());
  for (int64_t k = 0; k < n.cells(); ++k) {
    const Cell c{n, k, s.time};
    for (int64_t place = 0; place < s.time * s.batch; ++place) {
      const int64_t t = place / s.batch, b = place % s.batch;
      const double *in = p.input(c, t, b), *h = p.hidden_before(c, t, b);
      const double *gates = p.kept.gates(k, t, b), *more = p.kept.extra(k, t, b);
      for (int64_t g = 0; g < n.gates(); ++g) {
        for (int64_t j = 0; j < n.hidden; ++j) {
          const double d = gates[g * n.hidden + j], r = of_hidden(n, gates, more, g, j);
          for (int64_t i = 0; i < n.inputs(k); ++i) w[at(c.matrix(g, j) + i)] += d * in[i];
          for (int64_t i = 0; i < n.hidden; ++i) w[at(c.matrix(n.gates() + g, j) + i)] += r * h[i];
          if (!n.biases) continue;
          w[at(offset_of(n, k, g, true) + j)] += d;
          w[at(offset_of(n, k, n.gates() + g, true) + j)] += r;
        }
      }
    }
  }
  write(n.type, w, dweights);
}

}  // namespace tenon::fake
