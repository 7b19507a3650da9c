// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/decomp/decomp.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon::decomp {

Tensor constants_like(const std::vector<int64_t>& v, IntArrayRef sizes, const Tensor& like) {
  Tensor host = from_blob(const_cast<int64_t*>(v.data()), sizes, TensorOptions().dtype(kLong));
  return host.clone().to(like.device());
}
Tensor constants_like(const std::vector<double>& v, IntArrayRef sizes, const Tensor& like,
                      ScalarType dtype) {
  Tensor host = from_blob(const_cast<double*>(v.data()), sizes, TensorOptions().dtype(kDouble));
  return host.to(dtype, false, true).to(like.device());
}

std::vector<int64_t> dims_of(OptionalIntArrayRef dims, int64_t ndim) {
  std::vector<int64_t> out;
  if (dims && !dims->empty()) {
    for (int64_t d : *dims) out.push_back(wrapped(d, ndim));
    std::sort(out.begin(), out.end());
  } else {
    out.resize(static_cast<std::size_t>(ndim));
    std::iota(out.begin(), out.end(), 0);
  }
  return out;
}

int64_t count_of(const Tensor& t, const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= size_of(t, d);
  return n;
}

Tensor reduced(const Tensor& t, const std::vector<int64_t>& dims, bool keepdim, int code) {
  const int64_t ndim = t.dim();
  if (static_cast<int64_t>(dims.size()) == ndim && ndim > 1) {
    Tensor all = tenon::prim_reduce(t.reshape({-1}), 0, code);
    return all.reshape(keepdim ? std::vector<int64_t>(static_cast<std::size_t>(ndim), 1)
                               : std::vector<int64_t>());
  }
  Tensor out = ndim == 0 ? tenon::prim_reduce(t, 0, code) : t;
  for (std::size_t k = dims.size(); ndim > 0 && k-- > 0;) {
    out = tenon::prim_reduce(out, dims[k], code);
    if (!keepdim) out = out.squeeze(dims[k]);
  }
  return out;
}

namespace {

Scalar bound(ScalarType t, bool high) {
  switch (t) {
    case kBool:
      return high;
    case kByte:
      return high ? 255 : 0;
    case kChar:
      return high ? INT8_MAX : INT8_MIN;
    case kShort:
      return high ? INT16_MAX : INT16_MIN;
    case kInt:
      return high ? INT32_MAX : INT32_MIN;
    case kLong:
      return high ? INT64_MAX : INT64_MIN;
    default:
      return high ? std::numeric_limits<double>::infinity()
                  : -std::numeric_limits<double>::infinity();
  }
}

}  // namespace

Scalar lowest(ScalarType t) { return bound(t, false); }
Scalar highest(ScalarType t) { return bound(t, true); }

Tensor index_like(const Tensor& index, int64_t dim, IntArrayRef sizes) {
  std::vector<int64_t> shape(sizes.size(), 1);
  if (shape.empty()) return index.reshape(shape);
  shape[static_cast<std::size_t>(dim)] = index.numel();
  std::vector<int64_t> full(sizes.begin(), sizes.end());
  full[static_cast<std::size_t>(dim)] = index.numel();
  return index.reshape(shape).expand(full);
}

Tensor gather_slices(const Tensor& t, int64_t dim, const Tensor& index) {
  return t.gather(dim, index_like(index, dim, t.sizes()));
}

Tensor scatter_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      int code) {
  return tenon::prim_scatter(self, dim, index_like(index, dim, src.sizes()), src, code);
}

}  // namespace tenon::decomp
