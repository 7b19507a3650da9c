// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What decompositions share. They run without autograd, get the arguments as the user gave them,
// and core copies their results into the outputs, cast to the dtypes that the operator's infer
// function says. Private to libtenon.
#pragma once

#include <vector>

#include "tenon/abi/primitives.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"

namespace tenon::decomp {

using Both = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

using composite::as;
using composite::is_short_float;
using composite::wide;

inline TensorOptions options_of(const Tensor& t) { return t.options().requires_grad(std::nullopt); }
inline TensorOptions options_of(const Tensor& t, ScalarType dtype) {
  return options_of(t).dtype(dtype);
}
// A 0-dim tensor of `like`'s dtype, on its device.
inline Tensor scalar_like(const Scalar& v, const Tensor& like) {
  return full({}, v, options_of(like));
}
inline Tensor positions(int64_t n, const Tensor& like) {
  return arange(n, options_of(like, kLong));
}
// Host values, on the device of a tensor.
Tensor constants_like(const std::vector<int64_t>& v, IntArrayRef sizes, const Tensor& like);
Tensor constants_like(const std::vector<double>& v, IntArrayRef sizes, const Tensor& like,
                      ScalarType dtype);

inline int64_t wrapped(int64_t d, int64_t ndim) { return d < 0 ? d + (ndim > 0 ? ndim : 1) : d; }
inline int64_t size_of(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }
// Dimensions counted from the start, in ascending order; none means all.
std::vector<int64_t> dims_of(OptionalIntArrayRef dims, int64_t ndim);
int64_t count_of(const Tensor& t, const std::vector<int64_t>& dims);
// Reduced by a TN_REDUCE_ code, one dimension after the other.
Tensor reduced(const Tensor& t, const std::vector<int64_t>& dims, bool keepdim, int code);
inline Tensor summed(const Tensor& t, const std::vector<int64_t>& dims, bool keepdim) {
  return reduced(t, dims, keepdim, TN_REDUCE_SUM);
}
// The lowest and the highest value of a dtype, as a Scalar.
Scalar lowest(ScalarType t);
Scalar highest(ScalarType t);

// index_select of t along dim, index a vector. Negative indices are not checked.
Tensor gather_slices(const Tensor& t, int64_t dim, const Tensor& index);
// self with the slices of src added, set ... along dim by a TN_SCATTER_ code, index a vector.
Tensor scatter_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      int code);
// An index vector, counted along `dim` of a tensor of `sizes`, expanded to them.
Tensor index_like(const Tensor& index, int64_t dim, IntArrayRef sizes);

}  // namespace tenon::decomp
