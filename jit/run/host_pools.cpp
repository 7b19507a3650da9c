// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pooling that the library composes: windows at random places, and pooling undone.
#include <array>

#include "jit/run/unboxed.h"
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// Values put where max pooling found them, in planes of the last dimensions of `size`.
Tensor unpool(const char* op, const Tensor& self, const Tensor& indices, IntArrayRef size) {
  const int64_t n = static_cast<int64_t>(size.size());
  TENON_CHECK(self.dim() == n + 1 || self.dim() == n + 2, ValueError, op, ": expected ", n + 1,
              " or ", n + 2, " dimensions, got ", self.dim());
  TENON_CHECK(indices.sizes() == self.sizes(), ValueError, op,
              ": indices must be of the input's shape ", self.sizes(), ", got ", indices.sizes());
  std::vector<int64_t> out(self.sizes().begin(), self.sizes().end() - n);
  out.insert(out.end(), size.begin(), size.end());
  return tenon::zeros(out, self.options().requires_grad(false))
      .flatten(-n)
      .scatter(-1, indices.flatten(-n), self.flatten(-n))
      .view(out);
}
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, const std::vector<int64_t>& size) {
  return unpool("max_unpool2d", self, indices, size);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, const std::vector<int64_t>& size,
                    const std::vector<int64_t>&, const std::vector<int64_t>&) {
  return unpool("max_unpool3d", self, indices, size);
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
  TENON_CHECK(self.dim() == n + 1 || self.dim() == n + 2, ValueError, op, ": expected ", n + 1,
              " or ", n + 2, " dimensions, got ", self.dim());
  const int64_t planes =
      self.numel() /
      std::max<int64_t>(core::product(self.sizes().data() + self.dim() - n, n).get(op, "a plane"),
                        1);
  TENON_CHECK(
      samples.dim() == 3 && samples.size(0) * samples.size(1) == planes && samples.size(2) == n,
      ValueError, op, ": expected ", n, " random samples for each of ", planes, " planes, got ",
      samples.sizes());
  const Tensor random = samples.detach().reshape({planes, n});
  // The position of every pixel of every window: [planes, out.., kernel..].
  Tensor where;
  std::vector<int64_t> shape{planes};
  shape.insert(shape.end(), out.begin(), out.end());
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const int64_t size = self.size(d - n);
    TENON_CHECK(kernel[i] > 0 && out[i] > 0 && out[i] + kernel[i] - 1 <= size, ValueError, op,
                ": a kernel of ", kernel[i], " does not fit ", out[i], " times into ", size);
    // The samples of two dimensions are those of the width first.
    const Tensor first = begins(random.select(1, n == 2 ? 1 - d : d), size, kernel[i], out[i]);
    const Tensor inside = tenon::arange(kernel[i], TensorOptions(kLong).device(self.device()));
    std::vector<int64_t> place(shape.size(), 1);
    place[0] = planes, place[1 + i] = out[i], place[1 + kernel.size() + i] = kernel[i];
    const Tensor at = (first.unsqueeze(2) + inside).view(place);
    where = where.defined() ? where * size + at : at;
  }
  where = where.expand(shape).reshape(
      {planes, -1, core::product(kernel.data(), n).get(op, "a window")});
  const Tensor taken = self.reshape({planes, -1}).gather(1, where.flatten(1)).view(where.sizes());
  const auto [values, best] = taken.max(-1);
  std::vector<int64_t> result(self.sizes().begin(), self.sizes().end() - n);
  result.insert(result.end(), out.begin(), out.end());
  return {values.reshape(result), where.gather(-1, best.unsqueeze(-1)).reshape(result)};
}
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self,
                                                 const std::vector<int64_t>& kernel,
                                                 const std::vector<int64_t>& out,
                                                 const Tensor& samples) {
  return fractional_max_pool("fractional_max_pool2d", self, kernel, out, samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& self,
                                                 const std::vector<int64_t>& kernel,
                                                 const std::vector<int64_t>& out,
                                                 const Tensor& samples) {
  return fractional_max_pool("fractional_max_pool3d", self, kernel, out, samples);
}

const HostOperator list[] = {
    {"aten::max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor",
     unboxed<max_unpool2d>},
    {"aten::max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] "
     "padding) -> Tensor",
     unboxed<max_unpool3d>},
    {"aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     unboxed<fractional_max_pool2d>},
    {"aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     unboxed<fractional_max_pool3d>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
