// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The text of a program, and places in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/runtime/error.h"

namespace tenon::jit {

struct Source {
  std::string text;
  std::string file;    // may be empty
  int first_line = 1;  // of the text, in the file
};
using SourcePtr = std::shared_ptr<const Source>;

struct TENON_API SourceRange {
  SourcePtr source;  // null: unknown
  uint32_t begin = 0, end = 0;

  std::string_view text() const;
  int line() const;    // 1-based; 0 if unknown
  int column() const;  // 0-based, in bytes
  // "  File "code/__torch__.py", line 7\n    y = x + z\n            ~ <--- HERE\n", with two lines
  // before and after; empty if unknown
  std::string highlight() const;
};

// An error in a program: the message, then the line with a caret.
class TENON_API ErrorReport : public Error {
 public:
  ErrorReport(const SourceRange& where, const std::string& message);
  const SourceRange& where() const noexcept { return where_; }

 private:
  SourceRange where_;
};

// TENON_PROGRAM_CHECK(cond, range, "undefined value ", name)
#define TENON_PROGRAM_CHECK(cond, range, ...)                                   \
  do {                                                                          \
    if (TENON_UNLIKELY(!(cond)))                                                \
      throw ::tenon::jit::ErrorReport(range, ::tenon::core::join(__VA_ARGS__)); \
  } while (0)

}  // namespace tenon::jit
