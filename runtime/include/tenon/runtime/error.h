// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One hierarchy of exceptions. what() is the message; code() is stable and crosses the ABI as
// tn_status; op() and file() with line() say where it comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/base.h"
#include "tenon/runtime/export.h"

namespace tenon {

// A source file and a line of it, by default those of the call whose default argument this is.
struct SourceSite {
  const char* file;  // of static storage
  int line;
  static constexpr SourceSite current(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

class TENON_API Error : public std::exception {
 public:
  explicit Error(std::string message, tn_status code = TN_ERROR,
                 SourceSite site = SourceSite::current())
      : message_(std::move(message)), code_(code), site_(site) {}
  // By libtorch's arguments: no backtrace is recorded.
  Error(std::string message, std::nullptr_t /*backtrace*/, const void* /*caller*/ = nullptr,
        SourceSite site = SourceSite::current())
      : Error(std::move(message), TN_ERROR, site) {}
  const char* what() const noexcept override {
    return context_.empty() ? message_.c_str() : with_context_.c_str();
  }
  const char* what_without_backtrace() const noexcept { return what(); }
  const std::string& msg() const noexcept { return message_; }
  std::string backtrace() const { return {}; }  // by libtorch's name; none is recorded
  tn_status code() const noexcept { return code_; }
  // The operator that the program called, by its full name ("add.Tensor"); empty where the fault is
  // of no operator.
  const std::string& op() const noexcept { return op_; }
  void set_op(std::string_view op) { op_ = op; }
  // Where it was thrown: the file as it was named to the compiler (those of the library from the
  // root of its sources) and the line, 1-based. For a fault that a plugin reports the place that
  // received it.
  const char* file() const noexcept { return site_.file; }
  int line() const noexcept { return site_.line; }
  void set_site(SourceSite site) noexcept { site_ = site; }
  // The operator that the program called, where the message is of another one inside of it: "op: in
  // " before it, and after it, where a value or an index was wrong, the shapes that the program
  // gave
  // ("self [2, 3], target [4]"). Of several calls the outermost remains. "add.Tensor" is the
  // operator of "add: ..." and "add_: ...".
  void set_called(std::string_view op, std::string_view shapes = {});
  // What the program did when it came to that, for what() after the message: "message (text)", and
  // of several each on a line.
  void add_context(std::string text);
  const std::vector<std::string>& context() const noexcept { return context_; }

 private:
  void write_context();
  std::string message_, op_, with_context_;
  std::vector<std::string> context_;
  std::size_t called_ = 0, given_ = 0;  // bytes before and after it that set_called wrote
  tn_status code_;
  SourceSite site_;
};

#define TENON_ERROR_CLASS(Name, Code)                                           \
  class TENON_API Name : public Error {                                         \
   public:                                                                      \
    explicit Name(std::string message, SourceSite site = SourceSite::current()) \
        : Error(std::move(message), Code, site) {}                              \
    Name(std::string message, std::nullptr_t, const void* = nullptr,            \
         SourceSite site = SourceSite::current())                               \
        : Error(std::move(message), Code, site) {}                              \
  };
TENON_ERROR_CLASS(IndexError, TN_ERROR_INDEX)
TENON_ERROR_CLASS(TypeError, TN_ERROR_TYPE)
TENON_ERROR_CLASS(ValueError, TN_ERROR_VALUE)
TENON_ERROR_CLASS(NotImplementedError, TN_ERROR_UNSUPPORTED)
TENON_ERROR_CLASS(OutOfMemoryError, TN_ERROR_MEMORY)
TENON_ERROR_CLASS(BackendError, TN_ERROR_BACKEND)
// A matrix without what was asked for: singular, not positive definite, or no convergence.
TENON_ERROR_CLASS(LinAlgError, TN_ERROR_VALUE)
#undef TENON_ERROR_CLASS

template <class T>
class ArrayRef;

namespace core {

// Throws the class that belongs to `code`.
[[noreturn]] TENON_API TENON_COLD void throw_error(tn_status code, std::string message,
                                                   SourceSite site = SourceSite::current());
// Throws an error of this operator.
template <class E>
[[noreturn]] TENON_COLD void throw_of(std::string_view op, E error) {
  error.set_op(op);
  throw error;
}
// In a handler: throws what it caught again, as an Error of this call. Lack of memory becomes an
// OutOfMemoryError.
[[noreturn]] TENON_API TENON_COLD void rethrow_called(std::string_view op,
                                                      std::string_view shapes = {});

// "[2, 3]"
TENON_API std::string text(ArrayRef<std::int64_t> v);

// One part of a message. It refers to what it was made from, and so is made in the call that takes
// it. A number is written in decimal, a double by the shortest digits that read back as the same, a
// list as "[2, 3]"; any other class by the function text() that takes it.
class MessagePart {
 public:
  constexpr MessagePart(std::string_view v) : chars_(v.data()), how_(Chars | v.size() << 3) {}
  constexpr MessagePart(const char* v) : MessagePart(std::string_view(v)) {}
  MessagePart(const std::string& v) : MessagePart(std::string_view(v)) {}
  MessagePart(const ArrayRef<std::int64_t>& v);
  constexpr MessagePart(bool v) : MessagePart(v ? "true" : "false") {}
  constexpr MessagePart(char v) : integer_(v), how_(Char) {}
  constexpr MessagePart(int v) : integer_(v), how_(Integer) {}
  constexpr MessagePart(long v) : integer_(v), how_(Integer) {}
  constexpr MessagePart(long long v) : integer_(v), how_(Integer) {}
  constexpr MessagePart(unsigned v) : unsigned_(v), how_(Unsigned) {}
  constexpr MessagePart(unsigned long v) : unsigned_(v), how_(Unsigned) {}
  constexpr MessagePart(unsigned long long v) : unsigned_(v), how_(Unsigned) {}
  constexpr MessagePart(double v) : double_(v), how_(Double) {}
  template <class T>
  MessagePart(const T*) = delete;  // which would be a bool
  // `made` lives until the end of the full expression, as a caller's own temporary does.
  template <class T,
            class = std::enable_if_t<std::is_class_v<T> ||
                                     (std::is_enum_v<T> && !std::is_convertible_v<T, int>)>>
  MessagePart(const T& v, std::string&& made = std::string())
      : MessagePart(std::string_view(made = text(v))) {}

  void append_to(std::string& out) const;

 private:
  enum How : std::size_t { Chars, Integer, Unsigned, Double, Char, Integers };

  union {
    const char* chars_;
    const std::int64_t* integers_;
    long long integer_;
    unsigned long long unsigned_;
    double double_;
  };
  std::size_t how_;  // a How, and above its three bits the length of Chars and Integers
};

TENON_API std::string join(std::initializer_list<MessagePart> parts);

// Joins anything that has a text form; for messages where fmt would cost a header in public code.
template <class... Parts>
TENON_INLINE std::string join(const Parts&... parts) {
  return join(std::initializer_list<MessagePart>{MessagePart(parts)...});
}

// Throws an E of these parts.
template <class E>
[[noreturn]] TENON_COLD void throw_parts(std::initializer_list<MessagePart> parts,
                                         SourceSite site = SourceSite::current()) {
  E error(join(parts));
  error.set_site(site);
  throw error;
}
#define TENON_THROWN_BY_CORE(Class) \
  extern template TENON_API void throw_parts<Class>(std::initializer_list<MessagePart>, SourceSite);
TENON_THROWN_BY_CORE(Error)
TENON_THROWN_BY_CORE(IndexError)
TENON_THROWN_BY_CORE(TypeError)
TENON_THROWN_BY_CORE(ValueError)
TENON_THROWN_BY_CORE(NotImplementedError)
TENON_THROWN_BY_CORE(OutOfMemoryError)
TENON_THROWN_BY_CORE(BackendError)
TENON_THROWN_BY_CORE(LinAlgError)
#undef TENON_THROWN_BY_CORE

}  // namespace core
}  // namespace tenon

// TENON_CHECK(cond, ValueError, "add: size ", n, " is wrong")
#define TENON_CHECK(cond, Class, ...)                                                       \
  do {                                                                                      \
    if (TENON_UNLIKELY(!(cond))) ::tenon::core::throw_parts<::tenon::Class>({__VA_ARGS__}); \
  } while (0)
