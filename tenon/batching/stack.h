// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Between a batched tensor and its slices. There are two histories: that of the values, which
// autograd outside of vmap sees, and that of what the function under vmap computes, in which a
// tensor stands for one slice. Private to libtenon.
#pragma once

#include <vector>

#include "tenon/batching/level.h"

namespace tenon::batching {

// One tensor per slice, with the history of the values; the tensor itself if it is not batched.
std::vector<Tensor> value_slices(const Tensor& t, BatchLevel& level);
// The same elements with the history of the function, in which each slice has a gradient of its
// own.
std::vector<Tensor> recorded_slices(const Tensor& t, BatchLevel& level);
// A result of such slices, its values being `values`. `twice`: they have a history, too; then the
// gradient cannot be differentiated again.
Tensor stack_recorded(const Tensor& values, const std::vector<Tensor>& slices, BatchLevel& level,
                      bool twice);

}  // namespace tenon::batching
