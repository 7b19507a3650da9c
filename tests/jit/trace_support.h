// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of tracing.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tenon/jit.h"
#include "tenon/jit/trace.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"

namespace tenon::jit::trace_test {

inline void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_TRUE(a.defined() && b.defined());
  ASSERT_EQ(a.sizes().vec(), b.sizes().vec());
  EXPECT_TRUE(a.allclose(b, 1e-6, 1e-6, true)) << a << "\n" << b;
}

// Collects the warnings of tracing.
class Warnings {
 public:
  Warnings() : before_(set_warning_handler(&add)) { texts().clear(); }
  ~Warnings() { set_warning_handler(before_); }
  static std::vector<std::string>& texts() {
    static std::vector<std::string> list;
    return list;
  }

 private:
  static void add(const WarningMessage& w) {
    if (w.category == "trace") texts().emplace_back(w.message);
  }
  WarningCallback before_;
};

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

inline Module saved_and_loaded(const Module& m) {
  std::stringstream file;
  m.save(file);
  return load(file);
}

}  // namespace tenon::jit::trace_test
