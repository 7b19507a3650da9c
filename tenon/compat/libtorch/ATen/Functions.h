// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Methods of a tensor that libtorch has as functions, too.
#pragma once

#include <ATen/ATen.h>

namespace tenon {

inline int64_t numel(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline int64_t stride(const Tensor& x, int64_t dim) { return x.stride(dim); }
inline bool is_complex(const Tensor& x) { return x.is_complex(); }
inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline bool is_signed(const Tensor& x) { return x.is_signed(); }
inline bool is_inference(const Tensor& x) { return x.is_inference(); }

}  // namespace tenon
