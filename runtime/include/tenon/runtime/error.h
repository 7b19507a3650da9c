// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One hierarchy of exceptions. what() is the message; code() is stable and crosses the ABI as
// tn_status.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "tenon/abi/base.h"
#include "tenon/runtime/export.h"

namespace tenon {

class TENON_API Error : public std::exception {
 public:
  explicit Error(std::string message, tn_status code = TN_ERROR)
      : message_(std::move(message)), code_(code) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const char* what_without_backtrace() const noexcept { return message_.c_str(); }
  const std::string& msg() const noexcept { return message_; }
  tn_status code() const noexcept { return code_; }
  // The operator that the program called, where the message is of another one inside of it: "op: in
  // " before it. Of several calls the outermost remains. "add.Tensor" is the operator of "add: ..."
  // and "add_: ...".
  void set_called(std::string_view op);

 private:
  std::string message_;
  std::size_t called_ = 0;  // bytes of the message that set_called wrote
  tn_status code_;
};

#define TENON_ERROR_CLASS(Name, Code)                                       \
  class TENON_API Name : public Error {                                     \
   public:                                                                  \
    explicit Name(std::string message) : Error(std::move(message), Code) {} \
  };
TENON_ERROR_CLASS(IndexError, TN_ERROR_INDEX)
TENON_ERROR_CLASS(TypeError, TN_ERROR_TYPE)
TENON_ERROR_CLASS(ValueError, TN_ERROR_VALUE)
TENON_ERROR_CLASS(NotImplementedError, TN_ERROR_UNSUPPORTED)
TENON_ERROR_CLASS(OutOfMemoryError, TN_ERROR_MEMORY)
TENON_ERROR_CLASS(BackendError, TN_ERROR_BACKEND)
#undef TENON_ERROR_CLASS

template <class T>
class ArrayRef;

namespace core {

// Throws the class that belongs to `code`.
[[noreturn]] TENON_API TENON_COLD void throw_error(tn_status code, std::string message);
// In a handler: throws what it caught again, as an Error of this call. Lack of memory becomes an
// OutOfMemoryError.
[[noreturn]] TENON_API TENON_COLD void rethrow_called(std::string_view op);

// Joins anything that has a text form; for messages where fmt would cost a header in public code.
TENON_API std::string text(std::string_view v);
TENON_API std::string text(double v);
TENON_API std::string text(long long v);
TENON_API std::string text(unsigned long long v);
TENON_API std::string text(
    ArrayRef<int64_t> v);  // "[2, 3]"; before join, which finds only what is declared above it
inline std::string text(const char* v) { return text(std::string_view(v)); }
inline std::string text(const std::string& v) { return v; }
inline std::string text(bool v) { return v ? "true" : "false"; }
inline std::string text(char v) { return std::string(1, v); }
inline std::string text(int v) { return text(static_cast<long long>(v)); }
inline std::string text(long v) { return text(static_cast<long long>(v)); }
inline std::string text(unsigned v) { return text(static_cast<unsigned long long>(v)); }
inline std::string text(unsigned long v) { return text(static_cast<unsigned long long>(v)); }
inline std::string text(float v) { return text(static_cast<double>(v)); }

template <class... Parts>
std::string join(const Parts&... parts) {
  std::string out;
  ((out += text(parts)), ...);
  return out;
}

}  // namespace core
}  // namespace tenon

// TENON_CHECK(cond, ValueError, "add: size ", n, " is wrong")
#define TENON_CHECK(cond, Class, ...)                                                    \
  do {                                                                                   \
    if (TENON_UNLIKELY(!(cond))) throw ::tenon::Class(::tenon::core::join(__VA_ARGS__)); \
  } while (0)
