// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The running mean and variance of normalizations over batches. Private to libtenon.
#pragma once

#include <optional>

#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::composite {

inline bool given(const std::optional<Tensor>& t) { return t && t->defined(); }

// To be called before one of them is written, when it is not too late to refuse the other.
inline void check_running(const char* op, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, int64_t channels,
                          bool written) {
  for (const auto& running : {running_mean, running_var}) {
    if (!given(running)) continue;
    TENON_CHECK(isFloatingType(running->scalar_type()), TypeError, op,
                ": running_mean and running_var must be floating, got ",
                toString(running->scalar_type()));
    TENON_CHECK(running->dim() == 1 && running->size(0) == channels, ValueError, op,
                ": running_mean and running_var must have one element per channel, ", channels,
                ", got shape ", running->sizes());
    TENON_CHECK(!written || running->numel() <= 1 ||
                    !(running->unsafeGetTensorImpl()->view.flags & TN_TENSOR_OVERLAPPING),
                ValueError, op,
                ": elements of running_mean or running_var, which are written, share memory (a "
                "stride of 0); clone() it first");
  }
}

}  // namespace tenon::composite
