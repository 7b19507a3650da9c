// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Windows at random places, and pooling undone.
#include <algorithm>
#include <vector>

#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

void check_planes(const char* op, const Tensor& self, int64_t n) {
  TENON_CHECK(self.dim() == n + 1 || self.dim() == n + 2, ValueError, op, ": expected ", n + 1,
              " or ", n + 2, " dimensions, got ", self.dim());
  for (int64_t d = self.dim() - n - 1; d < self.dim(); ++d)
    TENON_CHECK(self.size(d) > 0, ValueError, op,
                ": expected input to have non-zero size for non-batch dimensions, got ",
                self.sizes());
}

// Values put where max pooling found them, in planes of the last dimensions of `size`.
Tensor unpool(const char* op, const Tensor& self, const Tensor& indices, IntArrayRef size) {
  const int64_t n = static_cast<int64_t>(size.size());
  check_planes(op, self, n);
  TENON_CHECK(indices.scalar_type() == kLong, TypeError, op,
              ": elements in indices should be type int64, got ", toString(indices.scalar_type()));
  TENON_CHECK(indices.sizes() == self.sizes(), ValueError, op,
              ": Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  const int64_t plane = core::product(size.data(), n).get(op, "argument 'output_size'");
  if (indices.numel() > 0) {
    const int64_t low = indices.min().item<int64_t>(), high = indices.max().item<int64_t>();
    TENON_CHECK(low >= 0 && high < plane, ValueError, op,
                ": Found an invalid max index: ", low < 0 ? low : high,
                " (output volumes are of size ", size, ")");
  }
  std::vector<int64_t> out(self.sizes().begin(), self.sizes().end() - n);
  std::vector<int64_t> flat = out;
  out.insert(out.end(), size.begin(), size.end());
  flat.push_back(plane);
  return tenon::zeros(flat, self.options().requires_grad(false))
      .scatter(-1, indices.flatten(-n), self.flatten(-n))
      .view(out);
}
// Where the windows of one direction begin: [planes, out]; the last one ends at the end.
Tensor begins(const Tensor& sample, int64_t size, int64_t kernel, int64_t out) {
  const TensorOptions places = TensorOptions(kLong).device(sample.device());
  const Tensor end = tenon::full({sample.size(0), 1}, size - kernel, places);
  if (out == 1) return end;
  const double step = static_cast<double>(size - kernel) / static_cast<double>(out - 1);
  const Tensor at = tenon::arange(out - 1, sample.options()).unsqueeze(0), u = sample.unsqueeze(1);
  return tenon::cat({((at + u) * step).to(kLong) - (u * step).to(kLong), end}, 1);
}

std::tuple<Tensor, Tensor> fractional_max_pool(const char* op, const Tensor& self,
                                               IntArrayRef kernel, IntArrayRef out,
                                               const Tensor& samples) {
  const int64_t n = static_cast<int64_t>(kernel.size());
  check_planes(op, self, n);
  const int64_t batch = self.dim() == n + 1 ? 1 : self.size(0), channels = self.size(-n - 1);
  const int64_t planes = batch * channels;
  TENON_CHECK(samples.dim() == 3 && samples.size(0) >= batch && samples.size(1) == channels &&
                  samples.size(2) == n,
              ValueError, op, ": expected ", n, " random samples for each of ", planes,
              " planes, a tensor [", batch, " or more, ", channels, ", ", n, "], got ",
              samples.sizes());
  const Tensor random = samples.detach().narrow(0, 0, batch).reshape({planes, n});
  // The position of every pixel of every window: [planes, out.., kernel..].
  Tensor where;
  std::vector<int64_t> shape{planes};
  shape.insert(shape.end(), out.begin(), out.end());
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const int64_t size = self.size(d - n);
    TENON_CHECK(kernel[i] > 0 && out[i] > 0 && kernel[i] <= size && out[i] <= size - kernel[i] + 1,
                ValueError, op, ": a kernel of ", kernel[i], " does not fit ", out[i],
                " times into ", size);
    // The samples of two dimensions are those of the width first.
    const Tensor first = begins(random.select(1, n == 2 ? 1 - d : d), size, kernel[i], out[i]);
    const Tensor inside = tenon::arange(kernel[i], TensorOptions(kLong).device(self.device()));
    std::vector<int64_t> place(shape.size(), 1);
    place[0] = planes, place[1 + i] = out[i], place[1 + kernel.size() + i] = kernel[i];
    const Tensor at = (first.unsqueeze(2) + inside).view(place);
    where = where.defined() ? where * size + at : at;
  }
  const int64_t plane = core::product(self.sizes().data() + self.dim() - n, n).get(op, "a plane");
  where = where.expand(shape).reshape({planes, core::product(out.data(), n).get(op, "the windows"),
                                       core::product(kernel.data(), n).get(op, "a window")});
  const Tensor taken =
      self.reshape({planes, plane}).gather(1, where.flatten(1)).view(where.sizes());
  const auto [values, best] = taken.max(-1);
  std::vector<int64_t> result(self.sizes().begin(), self.sizes().end() - n);
  result.insert(result.end(), out.begin(), out.end());
  return {values.reshape(result), where.gather(-1, best.unsqueeze(-1)).reshape(result)};
}

Tensor put_back(const char* op, const Tensor& grad, const Tensor& self, const Tensor& indices,
                int64_t n) {
  TENON_CHECK(grad.sizes() == indices.sizes(), ValueError, op, ": expected grad_output of shape ",
              indices.sizes(), ", got ", grad.sizes());
  return tenon::zeros_like(self)
      .flatten(-n)
      .scatter_add(-1, indices.flatten(-n), grad.flatten(-n))
      .view(self.sizes());
}

}  // namespace

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  TENON_CHECK(output_size.size() == 2, ValueError, "max_unpool2d: There should be exactly two ",
              "elements (height, width) in output_size, but got ", output_size.size());
  const Tensor out = unpool("max_unpool2d", self, indices, output_size);
  return self.dim() == 4 ? out.contiguous(self.suggest_memory_format()) : out;
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntArrayRef output_size,
                    IntArrayRef stride, IntArrayRef) {
  for (const int64_t s : stride)
    TENON_CHECK(s > 0, ValueError, "max_unpool3d: strides should be greater than zero, got ",
                stride);
  return unpool("max_unpool3d", self, indices, output_size);
}
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel,
                                                 IntArrayRef out, const Tensor& samples) {
  return fractional_max_pool("fractional_max_pool2d", self, kernel, out, samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& self, IntArrayRef kernel,
                                                 IntArrayRef out, const Tensor& samples) {
  return fractional_max_pool("fractional_max_pool3d", self, kernel, out, samples);
}
Tensor fractional_max_pool2d_backward(const Tensor& grad, const Tensor& self, IntArrayRef,
                                      IntArrayRef, const Tensor& indices) {
  return put_back("fractional_max_pool2d_backward", grad, self, indices, 2);
}
Tensor fractional_max_pool3d_backward(const Tensor& grad, const Tensor& self, IntArrayRef,
                                      IntArrayRef, const Tensor& indices) {
  return put_back("fractional_max_pool3d_backward", grad, self, indices, 3);
}

}  // namespace tenon::composite
