// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::jit::formats {

// A guard of an exported program as nodes of a graph: comparisons of integers that sizes of the
// arguments give, joined by `and` and `or`.
class GuardReader {
 public:
  using Apply = std::function<Value*(const char* full_name, const std::vector<Value*>&)>;
  using Constant = std::function<Value*(int64_t)>;
  // The size of a dimension of L['name'] or of a part of it, "[0]['k']"; dimension -1: the argument
  // itself, a number. Null where there is none.
  using Size = std::function<Value*(const std::string& name, const std::string& path, int64_t dim)>;

  GuardReader(std::string_view text, Apply apply, Constant constant, Size size);
  // A bool; null for what is not of this form.
  Value* read();

 private:
  void skip_spaces();
  bool take(std::string_view token);
  Value* joined(const char* word, const char* name, Value* (GuardReader::*part)());
  Value* of_integers(const char* name, Value* a, Value* b);
  Value* of_two(const char* name);
  Value* disjunction();
  Value* conjunction();
  Value* comparison();
  Value* sum();
  Value* product();
  Value* factor();
  Value* number();
  Value* size();

  std::string_view rest_;
  Apply apply_;
  Constant constant_;
  Size size_;
  int depth_ = 0;
};

}  // namespace tenon::jit::formats
