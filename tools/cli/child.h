// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs what may crash or hang in a separate process.
#pragma once

#include <functional>
#include <string>

namespace tenon::command {

struct ChildResult {
  std::string text;  // what it sent
  // Empty, or "crashed with signal 11 (Segmentation fault)", "did not end within 10 s", ...
  std::string failure;
};

// body(send) runs in a fork with no standard input or output; send may be called several times. A
// body that throws sends nothing further, and the child ends with the exception's text as its
// failure.
using Send = std::function<void(const std::string&)>;
ChildResult run_in_child(const std::function<void(const Send&)>& body, int seconds);

}  // namespace tenon::command
