// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schemas as text, from the entries of the op table and as people read them.
#pragma once

#include <string>
#include <string_view>

#include "tenon/core/op.h"

namespace tenon::check {

// Written from the name, the arguments and the results of the entry.
std::string schema_text(const core::Op& op);
// A printed schema without what the table does not keep: which results share memory with which
// arguments, and the `?` of types that are always optional in it.
std::string plain_schema(std::string_view text);

}  // namespace tenon::check
