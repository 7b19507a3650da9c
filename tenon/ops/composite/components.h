// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions for the `body` lines of ops/*.ops.
#pragma once

#include "tenon/ops/composite.gen.h"
#include "tenon/ops/factory.h"

namespace tenon::composite {

// ValueError naming `op` unless t has the layout.
const Tensor& of_layout(const char* op, const Tensor& t, Layout layout);
// A component of a tensor that has one of this name; TypeError naming `op`.
Tensor part_of(const char* op, const Tensor& t, std::string_view name);
// The same, of a tensor whose flag "coalesced" is set.
Tensor coalesced_part(const char* op, const Tensor& t);

// Options without a layout, and without a history.
inline TensorOptions strided(const TensorOptions& o) { return plain(o).layout(std::nullopt); }
// The components of a tensor that is made with these options: its values with their dtype and
// device, its indices on the same device.
Tensor values_on(const Tensor& values, const TensorOptions& o);
Tensor components_on(const Tensor& indices, const Tensor& values, const TensorOptions& o);
// Sizes that the largest index of each row asks for, then those of a value.
std::vector<int64_t> size_of_components(const Tensor& indices, const Tensor& values);

}  // namespace tenon::composite
