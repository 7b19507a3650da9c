// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: copies between it and a device need not be waited for.
#pragma once

#include <cstdint>

#include "tenon/runtime/storage.h"

namespace tenon::core {

// From a device that can pin; plain host memory where none can. OutOfMemoryError after one retry
// with all kept memory given back.
TENON_API Ref<Storage> make_pinned(uint64_t bytes);
// The stream was given work that reads or writes the pinned memory, and the host does not wait for
// it: no other tensor gets the memory before the stream passed its present end.
TENON_API void record_pinned_use(const Storage& storage, DeviceId device,
                                 tn_stream* stream) noexcept;

}  // namespace tenon::core
