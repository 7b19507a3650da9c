// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pooling in one dimension, which is pooling in two with a height of 1, and forms without indices.
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

int64_t single_entry(const char* name, const char* argument, IntArrayRef v) {
  TENON_CHECK(v.size() == 1, ValueError, name, ": ", argument, " needs 1 entry, got ", v);
  return v[0];
}

void check_line(const char* name, const Tensor& self) {
  bool fits = self.dim() == 2 || self.dim() == 3;
  for (int64_t d = self.dim() == 3 ? 1 : 0; fits && d < self.dim(); ++d) fits = self.size(d) > 0;
  TENON_CHECK(fits, ValueError, name,
              ": expected 2-D or 3-D input with sizes that are not zero, got ", self.dim(),
              "-D input of shape ", self.sizes());
}

// Without indices, where nobody differentiates and the device has a kernel for that.
Tensor largest(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, bool ceil_mode) {
  static const core::Op& values = core::get_op("_max_pool2d");
  const auto suffices = [&] {
    const bool trains = GradMode::is_enabled() && self.requires_grad();
    return !trains &&
           core::has_kernel(values, self.unsafeGetTensorImpl()->device_id.slot, self.scalar_type());
  };
  if (self.defined() && suffices())
    return tenon::_max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode);
  return std::get<0>(
      tenon::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

struct Line {
  int64_t kernel, stride, padding, dilation;
};
Line line_of(const char* name, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
             IntArrayRef padding, IntArrayRef dilation) {
  check_line(name, self);
  const int64_t k = single_entry(name, "kernel_size", kernel_size);
  return {k, stride.empty() ? k : single_entry(name, "stride", stride),
          single_entry(name, "padding", padding), single_entry(name, "dilation", dilation)};
}

void check_output_size(const char* name, const Tensor& self, IntArrayRef size, std::size_t nd) {
  TENON_CHECK(size.size() == nd, ValueError, name, ": output_size needs ", nd, " entries, got ",
              size);
  TENON_CHECK(
      self.dim() == static_cast<int64_t>(nd) + 1 || self.dim() == static_cast<int64_t>(nd) + 2,
      ValueError, name, ": expected ", nd + 1, "-D or ", nd + 2, "-D input, got ", self.dim(),
      "-D input of shape ", self.sizes());
  for (int64_t n : size) {
    TENON_CHECK(n >= 0, ValueError, name, ": output_size must not be negative, got ", size);
  }
}

}  // namespace

Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const Line l = line_of("max_pool1d", self, kernel_size, stride, padding, dilation);
  return largest(self.unsqueeze(-2), {1, l.kernel}, {1, l.stride}, {0, l.padding}, {1, l.dilation},
                 ceil_mode)
      .squeeze(-2);
}

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  const Line l = line_of("max_pool1d_with_indices", self, kernel_size, stride, padding, dilation);
  auto [out, indices] = tenon::max_pool2d_with_indices(
      self.unsqueeze(-2), {1, l.kernel}, {1, l.stride}, {0, l.padding}, {1, l.dilation}, ceil_mode);
  return {out.squeeze(-2), indices.squeeze(-2)};
}

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return largest(self, kernel_size, stride, padding, dilation, ceil_mode);
}

Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(
      tenon::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, bool ceil_mode, bool count_include_pad) {
  const char* name = "avg_pool1d";
  check_line(name, self);
  const int64_t k = single_entry(name, "kernel_size", kernel_size),
                s = stride.empty() ? k : single_entry(name, "stride", stride);
  return tenon::avg_pool2d(self.unsqueeze(-2), {1, k}, {1, s},
                           {0, single_entry(name, "padding", padding)}, ceil_mode,
                           count_include_pad, std::nullopt)
      .squeeze(-2);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_output_size("adaptive_avg_pool1d", self, output_size, 1);
  return tenon::_adaptive_avg_pool2d(self.unsqueeze(-2), {1, output_size[0]}).squeeze(-2);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  check_output_size("adaptive_avg_pool2d", self, output_size, 2);
  return tenon::_adaptive_avg_pool2d(self, output_size);
}

Tensor adaptive_avg_pool3d(const Tensor& self, IntArrayRef output_size) {
  check_output_size("adaptive_avg_pool3d", self, output_size, 3);
  return tenon::_adaptive_avg_pool3d(self, output_size);
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_output_size("adaptive_max_pool1d", self, output_size, 1);
  auto [out, indices] = tenon::adaptive_max_pool2d(self.unsqueeze(-2), {1, output_size[0]});
  return {out.squeeze(-2), indices.squeeze(-2)};
}

}  // namespace tenon::composite
