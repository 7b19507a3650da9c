// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that plugins register. Private to core.
#pragma once

#include "tenon/abi/host.h"
#include "tenon/core/op.h"

namespace tenon::core {

using InferOutputs = decltype(tn_schema::infer);

// Adds an op, or brings back one with the same schema that was withdrawn; returns its index.
// `infer` is its shape rule. ValueError if the schema cannot be read, the name is taken, or no
// registration is under way.
int add_registered_op(const tn_schema& schema, InferFn infer);
// What the shape rule calls; null if the schema has none. NotImplementedError where the plugin is
// closed.
InferOutputs infer_callback(const Op& op);

}  // namespace tenon::core
