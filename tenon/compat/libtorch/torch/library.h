// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TORCH_LIBRARY compiles. Its block does not run at the start, because an exception there would end
// the process; the first look-up in the dispatcher runs it and throws.
#pragma once

#include <torch/missing.h>
#include <torch/namespaces.h>

#include <string>
#include <utility>
#include <vector>

namespace torch {

class Library {
 public:
  explicit Library(const char* ns) : ns_(ns) {}
  template <class... Args>
  Library& def(const std::string& schema, Args&&...) & {
    refuse("def(\"" + schema + "\")");
  }
  template <class... Args>
  Library& impl(const std::string& name, Args&&...) & {
    refuse("impl(\"" + name + "\")");
  }
  template <class... Args>
  Library& fallback(Args&&...) & {
    refuse("fallback()");
  }
  template <class T>
  Library& class_(const std::string& name) & {
    refuse("class_(\"" + name + "\")");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    tenon::compat::missing(
        ("TORCH_LIBRARY(" + ns_ + "): " + what).c_str(),
        "operators of a third party are registered by a plugin through tn_host.register_op");
  }
  std::string ns_;
};

namespace detail {

struct LibraryBlock {
  const char* ns;
  void (*run)(Library&);
};
inline std::vector<LibraryBlock>& library_blocks() {
  static std::vector<LibraryBlock> blocks;
  return blocks;
}
struct RegisterLibrary {
  RegisterLibrary(const char* ns, void (*run)(Library&)) { library_blocks().push_back({ns, run}); }
};

}  // namespace detail
}  // namespace torch

#define TORCH_LIBRARY(ns, m) TENON_COMPAT_LIBRARY(ns, m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TENON_COMPAT_LIBRARY(ns, m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(ns, key, m) TENON_COMPAT_LIBRARY(ns, m, __COUNTER__)
#define TENON_COMPAT_LIBRARY(ns, m, n) TENON_COMPAT_LIBRARY_2(ns, m, n)
#define TENON_COMPAT_LIBRARY_2(ns, m, n)                                           \
  static void torch_library_##ns##_##n(::torch::Library&);                         \
  static const ::torch::detail::RegisterLibrary torch_library_register_##ns##_##n( \
      #ns, torch_library_##ns##_##n);                                              \
  static void torch_library_##ns##_##n([[maybe_unused]] ::torch::Library& m)

namespace c10 {

struct OperatorName {
  std::string name, overload_name;
};
class OperatorHandle {
 public:
  template <class F>
  const OperatorHandle& typed() const {
    return *this;
  }
  template <class... Args>
  void call(Args&&...) const {
    tenon::compat::missing("OperatorHandle::call", "call the function of tenon:: instead");
  }
};
class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher d;
    return d;
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char*) {
    for (const auto& block : torch::detail::library_blocks()) {
      torch::Library library(block.ns);
      block.run(library);
    }
    tenon::compat::missing((std::string("Dispatcher::findSchemaOrThrow(\"") + name + "\")").c_str(),
                           "operators are called as functions of tenon::");
  }
};

}  // namespace c10
