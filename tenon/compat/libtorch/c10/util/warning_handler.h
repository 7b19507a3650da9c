// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Handlers of warnings by libtorch's names: an object for a thread instead of a function for all.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "tenon/runtime/log.h"

namespace c10 {

struct SourceLocation {
  const char* function;
  const char* file;
  uint32_t line;
};

class Warning {
 public:
  class UserWarning {};
  class DeprecationWarning {};
  using warning_variant_t = std::variant<UserWarning, DeprecationWarning>;

  Warning(warning_variant_t type, const SourceLocation& source, std::string text, bool verbatim)
      : type_(type), source_(source), text_(std::move(text)), verbatim_(verbatim) {}

  warning_variant_t type() const { return type_; }
  const SourceLocation& source_location() const { return source_; }
  const std::string& msg() const { return text_; }
  bool verbatim() const { return verbatim_; }

 private:
  warning_variant_t type_;
  SourceLocation source_;
  std::string text_;
  bool verbatim_;
};

class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  // Warnings that a thread has no handler for go to that of tenon::set_warning_handler.
  virtual void process(const Warning&) {}
};

namespace detail {

inline thread_local WarningHandler* thread_handler = nullptr;
inline ::tenon::WarningCallback& handler_of_all() {
  static ::tenon::WarningCallback function = nullptr;
  return function;
}
inline std::atomic<bool> warn_always = false;
inline WarningHandler* no_handler() {
  static WarningHandler none;
  return &none;
}

inline void hand_over(const ::tenon::WarningMessage& w) {
  if (!thread_handler || thread_handler == no_handler()) {
    if (handler_of_all()) handler_of_all()(w);
    return;
  }
  Warning::warning_variant_t type = Warning::UserWarning();
  if (w.category == "deprecated") type = Warning::DeprecationWarning();
  thread_handler->process(Warning(type, {"", w.file ? w.file : "", static_cast<uint32_t>(w.line)},
                                  std::string(w.message), false));
}

}  // namespace detail

namespace WarningUtils {

// Whether TORCH_WARN_ONCE warns each time.
inline bool get_warnAlways() noexcept { return detail::warn_always; }
inline void set_warnAlways(bool on) noexcept { detail::warn_always = on; }

inline WarningHandler* get_warning_handler() noexcept {
  return detail::thread_handler ? detail::thread_handler : detail::no_handler();
}
// For this thread, until it is set again; not owned.
inline void set_warning_handler(WarningHandler* handler) noexcept {
  detail::thread_handler = handler;
  const ::tenon::WarningCallback before = ::tenon::set_warning_handler(&detail::hand_over);
  if (before != &detail::hand_over) detail::handler_of_all() = before;
}

class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : before_(get_warning_handler()) {
    set_warning_handler(handler);
  }
  ~WarningHandlerGuard() { set_warning_handler(before_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;
  WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* before_;
};

}  // namespace WarningUtils
}  // namespace c10

namespace tenon {
using c10::Warning;
using c10::WarningHandler;
namespace WarningUtils = c10::WarningUtils;
}  // namespace tenon
