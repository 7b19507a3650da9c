// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolution and its gradients: one walk over every pair of a result and a tap.
#include "sums.h"
#include "tenon/sdk/ops/convolution.h"
#include "tenon/sdk/ops/convolution_backward.h"

namespace {

using namespace tenon::ref;

struct Geometry {
  Ints stride, padding, dilation;
  bool transposed;
  int64_t groups;
};

// A list of one integer stands for all dimensions.
int64_t of(Ints list, int64_t d) { return list[list.size() == 1 ? 0 : d]; }

// f(position in input, position in weight, position in output) for each product of out[n, o, y] +=
// in[n, c, x] * w. Transposed, input and output change places, and weight is [in, out / groups,
// ...].
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
        x[at(d + 2)] =
            n[at(d + 2)] * of(g.stride, d) - of(g.padding, d) + w[at(d + 2)] * of(g.dilation, d);
        if (x[at(d + 2)] < 0 || x[at(d + 2)] >= wide[d + 2]) return;
      }
      f(g.transposed ? n : x, w, g.transposed ? x : n);
    });
  });
}

tn_status convolution(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias, Ints stride,
                      Ints padding, Ints dilation, bool transposed, Ints, int64_t groups) {
  Sums sums(out.sizes());
  if (bias.defined()) each(out.sizes(), [&](const Index& o) { sums[o] += get(bias, {o[1]}); });
  each_product(input.sizes(), weight.sizes(), out.sizes(),
               {stride, padding, dilation, transposed, groups},
               [&](const Index& x, const Index& w, const Index& o) {
                 sums[o] += get(input, x) * get(weight, w);
               });
  sums.store(out);
  return TN_OK;
}

tn_status backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias, Tensor grad,
                   Tensor input, Tensor weight, std::optional<Ints>, Ints stride, Ints padding,
                   Ints dilation, bool transposed, Ints, int64_t groups, tenon::sdk::Bools) {
  const int64_t filters = grad.size(1);
  Sums to_input(input.sizes()), to_weight(weight.sizes()), to_bias(Ints(&filters, 1));
  each_product(input.sizes(), weight.sizes(), grad.sizes(),
               {stride, padding, dilation, transposed, groups},
               [&](const Index& x, const Index& w, const Index& o) {
                 to_input[x] += get(grad, o) * get(weight, w);
                 to_weight[w] += get(grad, o) * get(input, x);
               });
  each(grad.sizes(), [&](const Index& o) { to_bias[{o[1]}] += get(grad, o); });
  if (grad_input.defined()) to_input.store(grad_input);
  if (grad_weight.defined()) to_weight.store(grad_weight);
  if (grad_bias.defined()) to_bias.store(grad_bias);
  return TN_OK;
}

}  // namespace

TN_KERNEL(convolution, convolution, any_strides());
TN_KERNEL(convolution_backward, backward, any_strides());
