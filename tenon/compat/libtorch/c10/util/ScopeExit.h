// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <type_traits>
#include <utility>

namespace c10 {

// Calls a function when it goes, unless it was released.
template <class F>
class scope_exit {
 public:
  template <class G>
  explicit scope_exit(G&& f) : f_(std::forward<G>(f)) {}
  scope_exit(scope_exit&& o) : f_(std::move(o.f_)), on_(std::exchange(o.on_, false)) {}
  ~scope_exit() {
    if (on_) f_();
  }
  scope_exit& operator=(const scope_exit&) = delete;
  void release() { on_ = false; }

 private:
  F f_;
  bool on_ = true;
};
template <class F>
scope_exit<std::decay_t<F>> make_scope_exit(F&& f) {
  return scope_exit<std::decay_t<F>>(std::forward<F>(f));
}

}  // namespace c10
