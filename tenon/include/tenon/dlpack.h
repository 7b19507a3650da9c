// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Exchange of tensors with other libraries of the process, without a copy. The structs are those of
// DLPack's own header; tenon/dlpack_abi.h has them where that is not at hand.
#pragma once

#include <cstdint>

#include "tenon/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tenon {

// A tensor for a consumer, which calls its deleter; the memory lives until then. Autograd does not
// cross. TypeError for a layout that is not strided, NotImplementedError for a device or dtype that
// DLPack has no number for. Work that was submitted to a stream before is the caller's to wait for.
TENON_API DLManagedTensor* toDLPack(const Tensor& src);

// The same with a version and flags: DLPACK_FLAG_BITMASK_READ_ONLY tells the consumer not to write,
// DLPACK_FLAG_BITMASK_IS_COPIED hands out a copy.
TENON_API DLManagedTensorVersioned* toDLPackVersioned(const Tensor& src, uint64_t flags = 0);

// A tensor in the memory of the producer, whose deleter runs when the last tensor in it goes. On an
// error the caller keeps `src`. ValueError for a null pointer, negative sizes or strides;
// NotImplementedError for vectors of lanes, an unknown device or an unknown dtype.
TENON_API Tensor fromDLPack(DLManagedTensor* src);

// ValueError for a major version other than 1. Memory that is marked read-only is copied, as every
// tensor may be written.
TENON_API Tensor fromDLPackVersioned(DLManagedTensorVersioned* src);

}  // namespace tenon
