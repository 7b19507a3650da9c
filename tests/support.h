// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What several tests need.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>

#include "tenon/runtime/error.h"
#include "tenon/runtime/threads.h"

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

inline bool has(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* w : words)
    EXPECT_TRUE(has(text, w)) << "'" << w << "' is not in: '" << text << "'";
}

// `call` throws an Error whose text has `words`.
#define EXPECT_TEXT(call, words) \
  tenon::test::expect_words(tenon::test::text_of([&] { call; }), {words})

// Of contiguous tensors.
template <class T>
bool same_bits(const T& a, const T& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

// `run` returns a list of contiguous tensors: on so many threads with the bits that they have on
// one.
template <class Run>
void expect_same_bits_on(int threads, Run&& run, const std::string& what = "") {
  const int before = core::num_threads();
  core::set_num_threads(1);
  const auto one = run();
  core::set_num_threads(threads);
  const auto many = run();
  core::set_num_threads(before);
  ASSERT_EQ(one.size(), many.size()) << what;
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(same_bits(one[i], many[i])) << what << ", result " << i;
}

}  // namespace tenon::test
