// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "device_guard.h"

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>

namespace tenon::plugins {
namespace {

// What was thrown on this thread and not yet reported, and what was reported last. A pointer,
// because static thread-local space is scarce (docs/design/runtime.md). Few threads ever call such
// a plugin; never freed.
struct Texts {
  std::string thrown, reported;
};
thread_local Texts* t_texts = nullptr;

void note_exception(const char* function, const char* what) noexcept {
  try {
    if (!t_texts) t_texts = new Texts;
    t_texts->thrown = std::string("its function ") + function + " threw an exception" +
                      (what ? ": " : "") + (what ? what : "");
  } catch (...) {  // the status says that it failed
  }
}

// How a function of each return type reports a failure.
template <class R>
R failure() {
  if constexpr (std::is_same_v<R, tn_status>) return TN_ERROR_BACKEND;
  if constexpr (std::is_pointer_v<R>) return nullptr;
  if constexpr (std::is_same_v<R, tn_str>) return tn_str{nullptr, 0};
}

template <auto Function>
constexpr const char* kName = nullptr;

template <class T>
struct Guard;
template <class R, class... Args>
struct Guard<R (*tn_device_api::*)(void*, Args...)> {
  using Pointer = R (*tn_device_api::*)(void*, Args...);
  template <Pointer function>
  static R call(void* context, Args... args) {
    const tn_device_api& theirs = static_cast<GuardedDevice*>(context)->theirs;
    try {
      if constexpr (std::is_same_v<R, tn_status>) {
        const tn_status status = (theirs.*function)(theirs.context, args...);
        if (status != TN_OK && t_texts)
          t_texts->thrown.clear();  // its own message is about this failure
        return status;
      } else {
        return (theirs.*function)(theirs.context, args...);
      }
    } catch (const std::exception& e) {
      note_exception(kName<function>, e.what());
    } catch (...) {
      note_exception(kName<function>, nullptr);
    }
    return failure<R>();
  }
};

template <auto function>
void wrap(GuardedDevice& d) {
  if (d.theirs.*function) d.table.*function = Guard<decltype(function)>::template call<function>;
}

tn_str last_error(void* context) {
  if (t_texts && !t_texts->thrown.empty()) {
    t_texts->reported.swap(t_texts->thrown);
    t_texts->thrown.clear();
    return {t_texts->reported.data(), t_texts->reported.size()};
  }
  const bool has_message = static_cast<GuardedDevice*>(context)->theirs.last_error != nullptr;
  return has_message
             ? Guard<decltype(&tn_device_api::last_error)>::call<&tn_device_api::last_error>(
                   context)
             : tn_str{nullptr, 0};
}

#define TN_FUNCTION(f) \
  template <>          \
  constexpr const char* kName<&tn_device_api::f> = #f;
#include "device_functions.def"
#undef TN_FUNCTION

#define TN_FUNCTION(f) +1
constexpr std::size_t kFunctions = 0
#include "device_functions.def"
    ;
#undef TN_FUNCTION
static_assert(sizeof(tn_device_api) == (2 + kFunctions) * sizeof(void*),
              "device_functions.def lacks a function");

}  // namespace

void guard_device(GuardedDevice& d) {
  d.table = d.theirs;
  d.table.context = &d;
#define TN_FUNCTION(f) wrap<&tn_device_api::f>(d);
#include "device_functions.def"
#undef TN_FUNCTION
  d.table.last_error = last_error;
}

}  // namespace tenon::plugins
