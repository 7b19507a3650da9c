// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolution in any number of dimensions: windows of the padded input are a view, their copy is
// multiplied with the weights, and gradients are added back into strided slices, one addition per
// offset of the kernel.
#include <numeric>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

using Sizes = std::vector<int64_t>;

int64_t product(const Sizes& v) {
  return std::accumulate(v.begin(), v.end(), int64_t{1}, std::multiplies<int64_t>());
}
Sizes concatenate(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Sizes expand_entries(IntArrayRef v, std::size_t n) {
  return v.size() == 1 ? Sizes(n, v[0]) : Sizes(v.begin(), v.end());
}
Sizes spatial_sizes(const Tensor& t) { return Sizes(t.sizes().begin() + 2, t.sizes().end()); }

struct Windows {
  Sizes kernel, stride, padding, dilation;
  std::size_t nd() const { return kernel.size(); }

  Sizes padded(const Sizes& in) const {
    Sizes out = in;
    for (std::size_t d = 0; d < nd(); ++d) out[d] += 2 * padding[d];
    return out;
  }
  // How many windows there are in an input.
  Sizes count(const Sizes& in) const {
    Sizes out = padded(in);
    for (std::size_t d = 0; d < nd(); ++d)
      out[d] = (out[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
    return out;
  }
  // [N, C, kernel..., windows...], a view of a padded copy.
  Tensor view(const Tensor& x) const {
    Sizes pads;
    for (std::size_t d = nd(); d-- > 0;) pads.insert(pads.end(), {padding[d], padding[d]});
    const bool any = product(padded(spatial_sizes(x))) != product(spatial_sizes(x));
    const Tensor p = any ? tenon::constant_pad_nd(x, pads, 0) : x.contiguous();
    Sizes sizes{x.size(0), x.size(1)}, strides{p.stride(0), p.stride(1)};
    const Sizes windows = count(spatial_sizes(x));
    for (std::size_t d = 0; d < nd(); ++d) {
      sizes.push_back(kernel[d]);
      strides.push_back(dilation[d] * p.stride(static_cast<int64_t>(2 + d)));
    }
    for (std::size_t d = 0; d < nd(); ++d) {
      sizes.push_back(windows[d]);
      strides.push_back(stride[d] * p.stride(static_cast<int64_t>(2 + d)));
    }
    return p.as_strided(sizes, strides, p.storage_offset());
  }
  // The sum of all windows where they came from: the reverse of view().
  Tensor fold(const Tensor& columns, const Sizes& in) const {
    const Sizes all = padded(in),
                windows(columns.sizes().end() - static_cast<int64_t>(nd()), columns.sizes().end());
    Tensor out = zeros(concatenate({columns.size(0), columns.size(1)}, all), options_of(columns));
    const int64_t taps = product(kernel);
    for (int64_t tap = 0; tap < taps; ++tap) {
      Tensor to = out, from = columns;
      int64_t rest = tap;
      for (std::size_t d = nd(); d-- > 0;) {
        const int64_t k = rest % kernel[d], at = k * dilation[d], dim = static_cast<int64_t>(2 + d);
        rest /= kernel[d];
        from = from.select(dim, k);
        to = to.slice(dim, at, at + (windows[d] - 1) * stride[d] + 1, stride[d]);
      }
      to.add_(from);
    }
    for (std::size_t d = 0; d < nd(); ++d)
      out = out.narrow(static_cast<int64_t>(2 + d), padding[d], in[d]);
    return out;
  }
};

// [N, G * C, rest...] as [G, C * kernel, N * places], or back; what lies between is one dimension.
Tensor by_group(const Tensor& t, int64_t groups, int64_t rows) {
  return t.reshape({t.size(0), groups, rows, -1}).permute({1, 2, 0, 3}).reshape({groups, rows, -1});
}
Tensor by_batch(const Tensor& t, int64_t n) {  // [G, rows, N * places] -> [N, G * rows, places]
  const int64_t groups = t.size(0), rows = t.size(1);
  return t.reshape({groups, rows, n, -1}).permute({2, 0, 1, 3}).reshape({n, groups * rows, -1});
}

struct Conv {
  // [G, rows, columns]: of the output's channels, or if it is transposed of the input's
  Tensor weight;
  Windows w;
  int64_t groups;
  int64_t rows() const { return weight.size(1); }
  int64_t columns() const { return weight.size(2); }

  // weight * windows of x: [N, G * rows, windows...]
  Tensor forward(const Tensor& x) const {
    const Tensor view = w.view(x);
    const int64_t n = x.size(0);
    Tensor out;
    if (groups == 1)
      out = weight.expand({n, rows(), columns()}).bmm(view.reshape({n, columns(), -1}));
    else
      out = by_batch(weight.bmm(by_group(view, groups, columns())), n);
    return out.reshape(concatenate({n, groups * rows()}, w.count(spatial_sizes(x))));
  }
  // The gradient of forward() for x of spatial sizes `in`.
  Tensor backward(const Tensor& g, const Sizes& in) const {
    const int64_t n = g.size(0);
    Tensor columns_of = by_batch(weight.transpose(1, 2).bmm(by_group(g, groups, rows())), n);
    const Sizes shape = concatenate(
        concatenate({n, groups * columns() / product(w.kernel)}, w.kernel), spatial_sizes(g));
    return w.fold(columns_of.reshape(shape), in);
  }
  // The gradient of forward() for the weight.
  Tensor weights(const Tensor& g, const Tensor& x) const {
    return by_group(g, groups, rows()).bmm(by_group(w.view(x), groups, columns()).transpose(1, 2));
  }
};

Conv make_conv(const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
               int64_t groups) {
  const Sizes kernel = spatial_sizes(weight);
  const std::size_t nd = kernel.size();
  Windows w{kernel, expand_entries(stride, nd), expand_entries(padding, nd),
            expand_entries(dilation, nd)};
  const int64_t columns = weight.size(1) * product(kernel);
  return {wide(weight).reshape({groups, weight.size(0) / groups, columns}), w, groups};
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  const Conv c = make_conv(weight, stride, padding, dilation, groups);
  const Tensor x = wide(input);
  const std::size_t nd = c.w.nd();
  Sizes out = spatial_sizes(input);
  const Sizes extra = expand_entries(output_padding, nd);
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  for (std::size_t d = 0; transposed && d < nd; ++d) {
    out[d] = (out[d] - 1) * c.w.stride[d] - 2 * c.w.padding[d] +
             c.w.dilation[d] * (c.w.kernel[d] - 1) + 1 + extra[d];
  }
  Tensor y;
  if (input.numel() == 0 || weight.numel() == 0)
    y = zeros(concatenate({input.size(0), channels}, transposed ? out : c.w.count(out)),
              options_of(x));
  else
    y = transposed ? c.backward(x, out) : c.forward(x);
  if (!bias || !bias->defined()) return y;
  return y + wide(*bias).reshape(concatenate({channels}, Sizes(nd, 1)));
}

Three convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                           OptionalIntArrayRef, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation, bool transposed, IntArrayRef, int64_t groups,
                           std::array<bool, 3> mask) {
  const Conv c = make_conv(weight, stride, padding, dilation, groups);
  const Tensor g = wide(grad_output), x = wide(input);
  const bool nothing_there = input.numel() == 0 || weight.numel() == 0 || g.numel() == 0;
  Three out;
  if (mask[0]) {
    std::get<0>(out) = nothing_there ? zeros(input.sizes(), options_of(x))
                       : transposed  ? c.forward(g)
                                     : c.backward(g, spatial_sizes(input));
  }
  if (mask[1]) {
    std::get<1>(out) =
        nothing_there ? zeros(weight.sizes(), options_of(x))
                      : (transposed ? c.weights(x, g) : c.weights(g, x)).reshape(weight.sizes());
  }
  if (mask[2]) {
    std::vector<int64_t> dims{0};
    for (int64_t d = 2; d < g.dim(); ++d) dims.push_back(d);
    std::get<2>(out) = summed(g, dims, false);
  }
  return out;
}

namespace {

Windows square(IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  return {expand_entries(kernel, 2), expand_entries(stride, 2), expand_entries(padding, 2),
          expand_entries(dilation, 2)};
}

}  // namespace

Tensor im2col(const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  const Windows w = square(kernel, dilation, padding, stride);
  const Tensor x = self.dim() == 3 ? self.unsqueeze(0) : self;
  const Tensor out = w.view(x).reshape(
      {x.size(0), x.size(1) * product(w.kernel), product(w.count(spatial_sizes(x)))});
  return self.dim() == 3 ? out.squeeze(0) : out;
}

Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
  const Windows w = square(kernel, dilation, padding, stride);
  const Sizes in = expand_entries(output_size, 2);
  const Tensor x = wide(self.dim() == 2 ? self.unsqueeze(0) : self);
  const Sizes shape =
      concatenate(concatenate({x.size(0), x.size(1) / product(w.kernel)}, w.kernel), w.count(in));
  const Tensor out = w.fold(x.reshape(shape), in);
  return self.dim() == 2 ? out.squeeze(0) : out;
}

}  // namespace tenon::decomp
