// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolution and its gradients: one walk over every pair of a result and a tap.
#include "number.h"
#include "tenon/sdk/ops/convolution.h"
#include "tenon/sdk/ops/convolution_backward.h"

namespace {

using namespace tenon::ref;

struct Geometry {
  Ints stride, padding, dilation;
  bool transposed;
  int64_t groups;
};

// A list of one number stands for all dimensions.
int64_t of(Ints list, int64_t d) { return list[list.size() == 1 ? 0 : d]; }

// f(position in input, position in weight, position in output) for each product of out[n, o, y] += in[n, c, x] * w.
// Transposed, input and output change places, and weight is [in, out / groups, ...].
template <class F>
void each_product(Ints input, Ints weight, Ints output, const Geometry& g, F f) {
  const Ints &wide = g.transposed ? output : input, &narrow = g.transposed ? input : output;
  const int64_t spatial = input.size() - 2;
  const int64_t per_wide = wide[1] / g.groups, per_narrow = narrow[1] / g.groups;
  each(narrow, [&](const Index& n) {
    const int64_t group = n[1] / per_narrow;
    each(weight, [&](const Index& w) {
      if (w[0] != n[1]) return;  // both layouts have the narrow side's channel first
      Index x = n;
      x[1] = group * per_wide + w[1];
      for (int64_t d = 0; d < spatial; ++d) {
        x[at(d + 2)] = n[at(d + 2)] * of(g.stride, d) - of(g.padding, d) + w[at(d + 2)] * of(g.dilation, d);
        if (x[at(d + 2)] < 0 || x[at(d + 2)] >= wide[d + 2]) return;
      }
      f(g.transposed ? n : x, w, g.transposed ? x : n);
    });
  });
}

class Sums {
 public:
  explicit Sums(const Tensor& t) : t_(t), sums_(t.defined() ? at(t.numel()) : 0, 0) {}
  void add(const Index& i, Real v) {
    if (!t_.defined()) return;
    int64_t flat = 0;
    for (int d = 0; d < t_.ndim(); ++d) flat = flat * t_.size(d) + i[at(d)];
    sums_[at(flat)] += v;
  }
  void write() {
    if (!t_.defined()) return;
    std::size_t next = 0;
    each(t_.sizes(), [&](const Index& i) { put(t_, i, sums_[next++]); });
  }

 private:
  Tensor t_;
  std::vector<Real> sums_;
};

tn_status convolution(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias, Ints stride, Ints padding,
                      Ints dilation, bool transposed, Ints, int64_t groups) {
  Sums sums(out);
  if (bias.defined()) each(out.sizes(), [&](const Index& o) { sums.add(o, get(bias, {o[1]})); });
  each_product(input.sizes(), weight.sizes(), out.sizes(), {stride, padding, dilation, transposed, groups},
               [&](const Index& x, const Index& w, const Index& o) { sums.add(o, get(input, x) * get(weight, w)); });
  sums.write();
  return TN_OK;
}

tn_status backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias, Tensor grad, Tensor input,
                   Tensor weight, std::optional<Ints>, Ints stride, Ints padding, Ints dilation, bool transposed, Ints,
                   int64_t groups, tenon::sdk::Bools) {
  Sums to_input(grad_input), to_weight(grad_weight), to_bias(grad_bias);
  each_product(input.sizes(), weight.sizes(), grad.sizes(), {stride, padding, dilation, transposed, groups},
               [&](const Index& x, const Index& w, const Index& o) {
                 to_input.add(x, get(grad, o) * get(weight, w));
                 to_weight.add(w, get(grad, o) * get(input, x));
               });
  each(grad.sizes(), [&](const Index& o) { to_bias.add({o[1]}, get(grad, o)); });
  to_input.write();
  to_weight.write();
  to_bias.write();
  return TN_OK;
}

}  // namespace

TN_KERNEL(convolution, convolution, any_strides());
TN_KERNEL(convolution_backward, backward, any_strides());
