// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Bytes between host and devices, whatever they mean. Private to core.
#pragma once

#include "tenon/core/tensor_impl.h"

namespace tenon::core {

// Bytes from one place to another; at least one side is the host or both are of one device type.
void copy_bytes(TensorImpl& dst, uint64_t dst_offset, TensorImpl& src, uint64_t src_offset,
                uint64_t bytes, bool wait);
// One dtype and shape, both row-major: a copy of the bytes is a copy of the tensor.
bool plain(const TensorImpl& dst, const TensorImpl& src);
// NotImplementedError for a tensor of the device "meta".
void refuse_without_data(const TensorImpl& src);
// A host copy of a device's tensor, and back.
Impl to_host(TensorImpl& tensor);
void from_host(TensorImpl& dst, TensorImpl& host);

}  // namespace tenon::core
