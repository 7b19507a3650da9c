// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tenon/jit/foreign.h"

namespace tenon::jit::formats {

// Whether the bytes begin as a model of ONNX does: a message of protobuf whose first field is one
// of those that writers put first.
bool may_be_onnx(std::string_view head);

// Who reads a file that begins like this; null: nobody. What may be ONNX has libtenon_onnx opened,
// which lies beside this library or on the loader's path. If it cannot be, `reason` says why.
const ForeignFormat* find_foreign_format(std::string_view head, std::string& reason);

}  // namespace tenon::jit::formats
