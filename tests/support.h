// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What several tests need.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>

#include "tenon/core/error.h"

namespace tenon::test {

// The text of the E that f throws, empty if it throws nothing.
template <class E = Error, class F>
std::string text_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

inline bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* w : words) EXPECT_TRUE(has(text, w)) << "'" << w << "' is not in: '" << text << "'";
}

// Of contiguous tensors.
template <class T>
bool same_bits(const T& a, const T& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

}  // namespace tenon::test
