// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forms of operators that write into a tensor of the caller's, by libtorch's names: *_out of
// operators that have none of their own here, and *_outf, which takes that tensor last.
#pragma once

#include <torch/namespaces.h>

#include <cstddef>
#include <tuple>
#include <utility>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace compat {

// `out` takes the sizes of the result. TypeError unless it has its dtype and device, as in
// libtorch.
inline Tensor& copy_result(const char* name, Tensor& out, const Tensor& result) {
  TENON_CHECK(out.scalar_type() == result.scalar_type(), TypeError, name, ": expected out to be ",
              toString(result.scalar_type()), ", got ", toString(out.scalar_type()));
  TENON_CHECK(out.device() == result.device(), ValueError, name, ": expected out on ",
              result.device().str(), ", got ", out.device().str());
  if (out.sizes() != result.sizes()) out.resize_(result.sizes());
  return out.copy_(result);
}

template <class F, class Arguments, std::size_t... I>
decltype(auto) call_out_last(const F& f, const Arguments& a, std::index_sequence<I...>) {
  return f(std::get<sizeof...(I)>(a), std::get<I>(a)...);
}

}  // namespace compat

#define TENON_OUT(name)                                                                \
  template <class... A>                                                                \
  auto name##_out(Tensor& out, A&&... a)->decltype(name(std::forward<A>(a)...), out) { \
    return compat::copy_result(#name "_out", out, name(std::forward<A>(a)...));        \
  }
TENON_OUT(adaptive_avg_pool1d)
TENON_OUT(avg_pool1d)
TENON_OUT(affine_grid_generator)
TENON_OUT(alias_copy)
TENON_OUT(as_strided_copy)
TENON_OUT(as_strided_scatter)
TENON_OUT(binary_cross_entropy_with_logits)
TENON_OUT(bincount)
TENON_OUT(binomial)
TENON_OUT(block_diag)
TENON_OUT(celu)
TENON_OUT(channel_shuffle)
TENON_OUT(clone)
TENON_OUT(constant_pad_nd)
TENON_OUT(conv_tbc)
TENON_OUT(convolution)
TENON_OUT(count_nonzero)
TENON_OUT(diag_embed)
TENON_OUT(diagonal_copy)
TENON_OUT(diagonal_scatter)
TENON_OUT(dist)
TENON_OUT(embedding)
TENON_OUT(embedding_dense_backward)
TENON_OUT(empty_like)
TENON_OUT(expand_copy)
TENON_OUT(fill)
TENON_OUT(flip)
TENON_OUT(full_like)
TENON_OUT(grid_sampler_2d)
TENON_OUT(grid_sampler_3d)
TENON_OUT(index_fill)
TENON_OUT(index_put)
TENON_OUT(isinf)
TENON_OUT(isnan)
TENON_OUT(linalg_matrix_exp)
TENON_OUT(masked_fill)
TENON_OUT(masked_scatter)
TENON_OUT(ones_like)
TENON_OUT(permute_copy)
TENON_OUT(pixel_shuffle)
TENON_OUT(pixel_unshuffle)
TENON_OUT(poisson)
TENON_OUT(put)
TENON_OUT(rand_like)
TENON_OUT(randint_like)
TENON_OUT(randn_like)
TENON_OUT(repeat_interleave)
TENON_OUT(roll)
TENON_OUT(rot90)
TENON_OUT(rsub)
TENON_OUT(scalar_tensor)
TENON_OUT(segment_reduce)
TENON_OUT(select_backward)
TENON_OUT(select_scatter)
TENON_OUT(slice_backward)
TENON_OUT(slice_scatter)
TENON_OUT(soft_margin_loss)
TENON_OUT(t_copy)
TENON_OUT(trace)
TENON_OUT(transpose_copy)
TENON_OUT(tril_indices)
TENON_OUT(triu_indices)
TENON_OUT(unfold_copy)
TENON_OUT(unsqueeze_copy)
TENON_OUT(zeros_like)
#undef TENON_OUT

#define TENON_OUTF(name)                                                        \
  template <class... A>                                                         \
  Tensor& name##_outf(A&&... a) {                                               \
    const auto f = [](auto&&... b) -> Tensor& { return name##_out(b...); };     \
    return compat::call_out_last(f, std::forward_as_tuple(a...),                \
                                 std::make_index_sequence<sizeof...(A) - 1>()); \
  }
TENON_OUTF(add)
TENON_OUTF(sub)
TENON_OUTF(mul)
TENON_OUTF(div)
TENON_OUTF(remainder)
TENON_OUTF(fmod)
TENON_OUTF(floor_divide)
TENON_OUTF(pow)
TENON_OUTF(atan2)
TENON_OUTF(maximum)
TENON_OUTF(minimum)
TENON_OUTF(fmax)
TENON_OUTF(fmin)
TENON_OUTF(eq)
TENON_OUTF(ne)
TENON_OUTF(lt)
TENON_OUTF(le)
TENON_OUTF(gt)
TENON_OUTF(ge)
TENON_OUTF(logical_and)
TENON_OUTF(logical_or)
TENON_OUTF(logical_xor)
TENON_OUTF(logical_not)
TENON_OUTF(bitwise_and)
TENON_OUTF(bitwise_or)
TENON_OUTF(bitwise_xor)
TENON_OUTF(bitwise_not)
TENON_OUTF(abs)
TENON_OUTF(neg)
TENON_OUTF(exp)
TENON_OUTF(exp2)
TENON_OUTF(expm1)
TENON_OUTF(log)
TENON_OUTF(log2)
TENON_OUTF(log10)
TENON_OUTF(log1p)
TENON_OUTF(sqrt)
TENON_OUTF(rsqrt)
TENON_OUTF(square)
TENON_OUTF(reciprocal)
TENON_OUTF(sign)
TENON_OUTF(sin)
TENON_OUTF(cos)
TENON_OUTF(tan)
TENON_OUTF(asin)
TENON_OUTF(acos)
TENON_OUTF(atan)
TENON_OUTF(sinh)
TENON_OUTF(cosh)
TENON_OUTF(tanh)
TENON_OUTF(asinh)
TENON_OUTF(acosh)
TENON_OUTF(atanh)
TENON_OUTF(sigmoid)
TENON_OUTF(erf)
TENON_OUTF(erfc)
TENON_OUTF(erfinv)
TENON_OUTF(floor)
TENON_OUTF(ceil)
TENON_OUTF(round)
TENON_OUTF(trunc)
TENON_OUTF(frac)
TENON_OUTF(clamp)
TENON_OUTF(clamp_min)
TENON_OUTF(clamp_max)
TENON_OUTF(lerp)
TENON_OUTF(addcmul)
TENON_OUTF(addcdiv)
TENON_OUTF(mm)
TENON_OUTF(bmm)
TENON_OUTF(addmm)
TENON_OUTF(addmv)
TENON_OUTF(addr)
TENON_OUTF(baddbmm)
TENON_OUTF(addbmm)
TENON_OUTF(mv)
TENON_OUTF(dot)
TENON_OUTF(matmul)
TENON_OUTF(sum)
TENON_OUTF(mean)
TENON_OUTF(prod)
TENON_OUTF(std)
TENON_OUTF(var)
TENON_OUTF(norm)
TENON_OUTF(any)
TENON_OUTF(all)
TENON_OUTF(argmax)
TENON_OUTF(argmin)
TENON_OUTF(cumsum)
TENON_OUTF(cumprod)
TENON_OUTF(logsumexp)
TENON_OUTF(softmax)
TENON_OUTF(log_softmax)
TENON_OUTF(cat)
TENON_OUTF(stack)
TENON_OUTF(hstack)
TENON_OUTF(vstack)
TENON_OUTF(index_select)
TENON_OUTF(gather)
TENON_OUTF(masked_select)
TENON_OUTF(take)
TENON_OUTF(where)
TENON_OUTF(tril)
TENON_OUTF(triu)
TENON_OUTF(diag)
TENON_OUTF(arange)
TENON_OUTF(range)
TENON_OUTF(linspace)
TENON_OUTF(logspace)
TENON_OUTF(zeros)
TENON_OUTF(ones)
TENON_OUTF(full)
TENON_OUTF(empty)
TENON_OUTF(eye)
TENON_OUTF(rand)
TENON_OUTF(randn)
TENON_OUTF(randint)
TENON_OUTF(randperm)
TENON_OUTF(normal)
TENON_OUTF(bernoulli)
TENON_OUTF(gelu)
TENON_OUTF(silu)
TENON_OUTF(mish)
TENON_OUTF(hardtanh)
TENON_OUTF(hardswish)
TENON_OUTF(hardsigmoid)
TENON_OUTF(leaky_relu)
TENON_OUTF(elu)
TENON_OUTF(softplus)
TENON_OUTF(logit)
TENON_OUTF(avg_pool2d)
TENON_OUTF(avg_pool3d)
TENON_OUTF(adaptive_avg_pool2d)
TENON_OUTF(upsample_nearest2d)
TENON_OUTF(upsample_bilinear2d)
TENON_OUTF(mse_loss)
TENON_OUTF(l1_loss)
TENON_OUTF(smooth_l1_loss)
TENON_OUTF(huber_loss)
TENON_OUTF(nll_loss)
TENON_OUTF(binary_cross_entropy)
TENON_OUTF(im2col)
TENON_OUTF(col2im)
#undef TENON_OUTF

}  // namespace tenon
