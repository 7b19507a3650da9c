// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks and warnings by libtorch's names; their parts may be anything with operator<<.
#pragma once

#include <c10/macros/Macros.h>
#include <c10/util/StringUtil.h>
#include <c10/util/warning_handler.h>
#include <torch/namespaces.h>

#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace c10 {

inline void warn_at(const std::string& text, const char* file, int line) {
  ::tenon::warn("user", text, file, line);
}

}  // namespace c10

// As libtorch's, they may be written without a semicolon after them.
#define TENON_COMPAT_THROW_UNLESS(cond, Class, ...)                        \
  if (TENON_UNLIKELY(!(cond))) {                                           \
    throw ::tenon::Class(::c10::detail::check_text(#cond, ##__VA_ARGS__)); \
  }
#define TORCH_CHECK(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, Error, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, IndexError, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, ValueError, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, TypeError, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) \
  TENON_COMPAT_THROW_UNLESS(cond, NotImplementedError, ##__VA_ARGS__)
#define TORCH_CHECK_WITH(Class, cond, ...)                               \
  if (TENON_UNLIKELY(!(cond))) {                                         \
    throw ::c10::Class(::c10::detail::check_text(#cond, ##__VA_ARGS__)); \
  }
#define TORCH_CHECK_ARG(cond, at, ...) \
  TORCH_CHECK(cond, "invalid argument ", at, ": ", ::c10::detail::check_text(#cond, ##__VA_ARGS__))
#define TORCH_INTERNAL_ASSERT(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, Error, ##__VA_ARGS__)
// As in libtorch, checked where the program is compiled without NDEBUG.
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) \
  do {                                              \
  } while (false && (cond))
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) TORCH_INTERNAL_ASSERT(cond, ##__VA_ARGS__)
#endif
#define AT_ASSERT(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, Error, ##__VA_ARGS__)
#define AT_ASSERTM(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, Error, ##__VA_ARGS__)
#define AT_CHECK(cond, ...) TENON_COMPAT_THROW_UNLESS(cond, Error, ##__VA_ARGS__)
#define TENON_COMPAT_CHECK_OP(a, b, op)                                                        \
  do {                                                                                         \
    const auto& torch_a = (a);                                                                 \
    const auto& torch_b = (b);                                                                 \
    TORCH_CHECK(torch_a op torch_b, "Check failed: " #a " " #op " " #b " (", torch_a, " vs. ", \
                torch_b, ").");                                                                \
  } while (0)
#define TORCH_CHECK_EQ(a, b) TENON_COMPAT_CHECK_OP(a, b, ==)
#define TORCH_CHECK_NE(a, b) TENON_COMPAT_CHECK_OP(a, b, !=)
#define TORCH_CHECK_LE(a, b) TENON_COMPAT_CHECK_OP(a, b, <=)
#define TORCH_CHECK_LT(a, b) TENON_COMPAT_CHECK_OP(a, b, <)
#define TORCH_CHECK_GE(a, b) TENON_COMPAT_CHECK_OP(a, b, >=)
#define TORCH_CHECK_GT(a, b) TENON_COMPAT_CHECK_OP(a, b, >)
// In a handler of `e`.
#define TORCH_RETHROW(e, ...)                 \
  do {                                        \
    (e).add_context(::c10::str(__VA_ARGS__)); \
    throw;                                    \
  } while (0)
#define C10_THROW_ERROR(Class, ...) throw ::c10::Class(::c10::str(__VA_ARGS__))
#define AT_ERROR(...) throw ::tenon::Error(::c10::str(__VA_ARGS__))
#define TORCH_WARN(...) ::c10::warn_at(::c10::str(__VA_ARGS__), __FILE__, __LINE__)
#define TORCH_WARN_DEPRECATION(...) \
  ::tenon::warn("deprecated", ::c10::str(__VA_ARGS__), __FILE__, __LINE__)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                           \
  if (::c10::WarningUtils::get_warnAlways()) {                                         \
    TORCH_WARN(__VA_ARGS__);                                                           \
  } else {                                                                             \
    [[maybe_unused]] static const bool torch_warned = (TORCH_WARN(__VA_ARGS__), true); \
  }
