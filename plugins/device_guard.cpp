// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "device_guard.h"

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>

namespace tenon::plugins {
namespace {

// What was thrown on this thread and not told yet, and what was told last. A pointer: static thread-local space is
// scarce (docs/design/core.md). Of the few threads that meet such a plugin; never freed.
struct Texts {
  std::string thrown, told;
};
thread_local Texts* t_texts = nullptr;

void keep(const char* function, const char* what) noexcept {
  try {
    if (!t_texts) t_texts = new Texts;
    t_texts->thrown =
        std::string("its function ") + function + " threw an exception" + (what ? ": " : "") + (what ? what : "");
  } catch (...) {  // the status says that it failed
  }
}

// The failure as each function can tell it.
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
        if (status != TN_OK && t_texts) t_texts->thrown.clear();  // its own words are about this failure
        return status;
      } else {
        return (theirs.*function)(theirs.context, args...);
      }
    } catch (const std::exception& e) {
      keep(kName<function>, e.what());
    } catch (...) {
      keep(kName<function>, nullptr);
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
    t_texts->told.swap(t_texts->thrown);
    t_texts->thrown.clear();
    return {t_texts->told.data(), t_texts->told.size()};
  }
  const bool has_words = static_cast<GuardedDevice*>(context)->theirs.last_error != nullptr;
  return has_words ? Guard<decltype(&tn_device_api::last_error)>::call<&tn_device_api::last_error>(context)
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
static_assert(sizeof(tn_device_api) == (2 + kFunctions) * sizeof(void*), "device_functions.def lacks a function");

}  // namespace

void guard(GuardedDevice& d) {
  d.table = d.theirs;
  d.table.context = &d;
#define TN_FUNCTION(f) wrap<&tn_device_api::f>(d);
#include "device_functions.def"
#undef TN_FUNCTION
  d.table.last_error = last_error;
}

}  // namespace tenon::plugins
