// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of scatter_reduce and index_reduce: the second is the first with its index expanded
// over the slices.
#include "tenon/autograd/formulas/indexing.h"
#include "tenon/batching/level.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::formulas {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

Tensor untouched(const Tensor& self, int64_t dim, const Tensor& index) {
  return batching::writable_for(ones_like(self), index).scatter_(dim, index, 0);
}

// Products: the gradient of a factor is the product of the others, for which zeros are counted and
// left out.
Pair prod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor& src, bool include_self) {
  Tensor own = include_self ? self : self.scatter(dim, index, 1);
  Tensor own_zero = own.eq(0), src_zero = src.eq(0);
  Tensor zeros_in =
      own_zero.to(self.scalar_type()).scatter_add(dim, index, src_zero.to(self.scalar_type()));
  Tensor rest = own.masked_fill(own_zero, 1)
                    .scatter_reduce(dim, index, src.masked_fill(src_zero, 1), "prod", true);
  // With one zero among the factors only the zero itself has a gradient, with more none has.
  auto share = [](const Tensor& product, const Tensor& n_zero, const Tensor& factor,
                  const Tensor& is_zero) {
    Tensor alone = (product / factor.masked_fill(is_zero, 1)).masked_fill(n_zero.ne(0), 0);
    return where(is_zero, product.masked_fill(n_zero.ne(1), 0), alone);
  };
  Tensor grad_self = grad * share(rest, zeros_in, own, own_zero);
  Tensor grad_src = (grad.gather(dim, index)) *
                    share(rest.gather(dim, index), zeros_in.gather(dim, index), src, src_zero);
  if (!include_self) grad_self = grad_self.scatter(dim, index, 0);
  return {grad_self, grad_src};
}

// Ties share the gradient equally.
Pair extreme_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                      const Tensor& src, bool include_self, const Tensor& result) {
  Tensor value = result.gather(dim, index);
  Tensor src_is = src.eq(value).to(self.scalar_type()), outside = untouched(self, dim, index);
  Tensor self_is = include_self ? self.eq(result).to(self.scalar_type()) : zeros_like(self);
  Tensor each = grad / self_is.scatter_add(dim, index, src_is).clamp_min(1);
  return {self_is * each * (1 - outside) + grad * outside, src_is * each.gather(dim, index)};
}

}  // namespace

Pair scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                             const Tensor& index, const Tensor& src, std::string_view reduce,
                             bool include_self, const Tensor& result) {
  if (index.numel() == 0) return {grad, zeros_like(src)};
  TENON_CHECK(index.sizes() == src.sizes(), NotImplementedError,
              "scatter_reduce: the derivative for a 'src' larger than 'index' is not implemented");
  if (reduce == "sum")
    return {include_self ? grad : grad.scatter(dim, index, 0), grad.gather(dim, index)};
  if (reduce == "prod") return prod_backward(grad, self, dim, index, src, include_self);
  if (reduce == "mean") {
    Tensor start = include_self ? ones_like(self) : zeros_like(self);
    Tensor count = start.scatter_add(dim, index, ones_like(src)).clamp_min(1);
    Tensor each = grad / count;
    return {include_self ? each : grad.scatter(dim, index, 0), each.gather(dim, index)};
  }
  return extreme_backward(grad, self, dim, index, src, include_self, result);
}

Pair index_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& source, std::string_view reduce, bool include_self,
                           const Tensor& result) {
  if (self.dim() == 0) {
    Pair p = index_reduce_backward(grad.reshape({1}), self.reshape({1}), 0, index,
                                   source.reshape({-1}), reduce, include_self, result.reshape({1}));
    return {std::get<0>(p).reshape(IntArrayRef()), std::get<1>(p).reshape(source.sizes())};
  }
  std::vector<int64_t> shape(static_cast<std::size_t>(self.dim()), 1);
  shape[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = index.numel();
  Tensor wide = index.reshape(shape).expand(source.sizes());
  return scatter_reduce_backward(grad, self, dim, wide, source, reduce, include_self, result);
}

}  // namespace tenon::autograd::formulas
