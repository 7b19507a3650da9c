// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Methods of a tensor that libtorch has as functions, too.
#pragma once

#include <ATen/ATen.h>
#include <ATen/out_functions.h>

#include <utility>

namespace tenon {

inline int64_t numel(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline int64_t stride(const Tensor& x, int64_t dim) { return x.stride(dim); }
inline bool is_complex(const Tensor& x) { return x.is_complex(); }
inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline bool is_signed(const Tensor& x) { return x.is_signed(); }
inline bool is_inference(const Tensor& x) { return x.is_inference(); }
inline bool is_conj(const Tensor& x) { return x.is_conj(); }
inline bool is_neg(const Tensor& x) { return x.is_neg(); }
inline bool is_distributed(const Tensor&) { return false; }
inline Tensor& detach_(Tensor& x) { return x.detach_(); }
inline const Tensor& resize_as_(const Tensor& x, const Tensor& like) { return x.resize_as_(like); }

// What a method draws in place, in a new tensor of the same sizes and dtype.
#define TENON_DRAWN(name)                             \
  template <class... A>                               \
  Tensor name(const Tensor& self, A&&... arguments) { \
    Tensor out = empty_like(self);                    \
    out.name##_(std::forward<A>(arguments)...);       \
    return out;                                       \
  }
TENON_DRAWN(random)
TENON_DRAWN(uniform)
TENON_DRAWN(exponential)
TENON_DRAWN(geometric)
TENON_DRAWN(log_normal)
TENON_DRAWN(cauchy)
#undef TENON_DRAWN

}  // namespace tenon
