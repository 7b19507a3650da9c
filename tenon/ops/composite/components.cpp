// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/composite/components.h"

#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

const Tensor& of_layout(const char* op, const Tensor& t, Layout layout) {
  TENON_CHECK(t.layout() == layout, TypeError, op, ": expected a tensor of layout ",
              core::layout_name(static_cast<int>(layout)), ", got one of layout ",
              core::layout_name(static_cast<int>(t.layout())));
  return t;
}

Tensor part_of(const char* op, const Tensor& t, std::string_view name) {
  TENON_CHECK(t.layout() != kStrided, TypeError, op, ": expected a tensor with ", name,
              ", got a strided one");
  return t.component(name);
}

Tensor coalesced_part(const char* op, const Tensor& t) {
  const Tensor part = part_of(op, t, op);
  TENON_CHECK(t.layout_flag("coalesced"), ValueError, op, ": cannot get ", op,
              " on an uncoalesced tensor, please call .coalesce() first");
  return part;
}

Tensor values_on(const Tensor& values, const TensorOptions& o) {
  return values.to(TensorOptions().dtype(o.dtype_opt()).device(o.device_opt()));
}

Tensor components_on(const Tensor& indices, const Tensor& values, const TensorOptions& o) {
  if (!o.device_opt()) return indices.to(TensorOptions().dtype(kLong));
  return indices.to(TensorOptions().dtype(kLong).device(values_on(values, o).device()));
}

std::vector<int64_t> size_of_components(const Tensor& indices, const Tensor& values) {
  TENON_CHECK(indices.dim() == 2, ValueError,
              "indices must be a matrix, a column for each value; got a tensor of ",
              indices.sizes());
  TENON_CHECK(values.dim() > 0, ValueError, "values must have one dimension or more");
  std::vector<int64_t> sizes(static_cast<std::size_t>(indices.size(0)), 0);
  if (indices.size(1) > 0) {
    const Tensor largest = indices.amax({1}).to(kCPU).to(kLong);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = std::max<int64_t>(largest[static_cast<int64_t>(i)].item<int64_t>() + 1, 0);
    }
  }
  for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
  return sizes;
}

}  // namespace tenon::composite
