// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A table of messages: what a program does, the class of the error that it gets, and words that
// people search for.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tenon/call.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::messages {

struct Row {
  const char* id;
  std::function<std::string()> text;  // of the error or of the warnings; empty if there is none
  std::vector<const char*> words;
};
inline std::ostream& operator<<(std::ostream& out, const Row& r) { return out << r.id; }

// `program` throws an E.
template <class E = Error, class F>
Row error(const char* id, F program, std::vector<const char*> words) {
  return {id, [program] { return test::text_of<E>(program); }, std::move(words)};
}

// `program` gives one warning that has the first of the words.
template <class F>
Row warning(const char* id, F program, std::vector<const char*> words) {
  static std::vector<std::string> heard;
  return {id,
          [program, first = words.front()] {
            heard.clear();
            const WarningCallback before =
                set_warning_handler([](const WarningMessage& w) { heard.emplace_back(w.message); });
            program();
            set_warning_handler(before);
            std::string text;
            for (const std::string& w : heard) {
              if (!test::has(w, first)) continue;
              EXPECT_EQ(text, "") << "the second of its kind";
              text = w;
            }
            return text;
          },
          words};
}

class Messages : public testing::TestWithParam<Row> {};

inline std::string name_of(const testing::TestParamInfo<Row>& row) { return row.param.id; }

}  // namespace tenon::messages
