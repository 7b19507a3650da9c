// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What ends a rule.
#pragma once

#include <string>

namespace tenon::onnx::exporting {

// The reason, to which operator and place are added.
struct Refusal {
  std::string reason;
};
// Thrown where a value is needed that could not be exported, which was told where it is made.
struct Missing {};

[[noreturn]] inline void refuse(const std::string& reason) { throw Refusal{reason}; }
inline void need(bool ok, const std::string& reason) {
  if (!ok) refuse(reason);
}

}  // namespace tenon::onnx::exporting
