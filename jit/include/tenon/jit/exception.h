// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a program raised.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tenon/runtime/error.h"

namespace tenon::jit {

// what() is "ValueError: the message", then where the program raised it.
class TENON_API JITException : public Error {
 public:
  JITException(std::string message, std::string class_name, std::string original,
               SourceSite site = SourceSite::current())
      : Error(std::move(message), TN_ERROR, site),
        class_name_(std::move(class_name)),
        original_(std::move(original)) {}
  // As the program named it, also with its module: "builtins.ValueError".
  std::optional<std::string> getPythonClassName() const { return class_name_; }
  std::optional<std::string> getOriginalMsg() const { return original_; }

 private:
  std::string class_name_, original_;
};

// Throws it.
[[noreturn]] TENON_API void raise(std::string class_name, std::string message);

}  // namespace tenon::jit
