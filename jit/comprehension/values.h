// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The nodes of one statement: expressions with the dtypes of C, where numbers in the text take the
// dtype of what they meet.
#pragma once

#include <string_view>

#include "jit/comprehension/ranges.h"

namespace tenon::jit::comprehension {

bool is_function(std::string_view name);

// A node, or a number that has no dtype yet (node -1).
struct Value {
  int node = -1;
  lp::Dtype dtype = lp::Dtype::kInt32;
  bool is_integer = true;
  int64_t integer = 0;
  double real = 0;
};

class Values {
 public:
  // `arrays`: by name, what can be read. `loops`: indices of the nest's loops by name; loop i
  // stands for begin + i.
  Values(lp::Nest& nest, const lp::Program& program, const Facts& facts, const Ranges& ranges,
         const std::map<std::string, int>& arrays, const std::map<std::string, int>& loops)
      : nest_(nest),
        program_(program),
        facts_(facts),
        ranges_(ranges),
        arrays_(arrays),
        loops_(loops) {}

  Value value_of(const Expression& e);
  int as(const Value& value, lp::Dtype dtype);  // a node of that dtype
  // What a value without dtype is stored as: int32 or float32.
  static lp::Dtype natural(const Value& value);

 private:
  int push(lp::Node node);
  Value typed(int node) const;
  Value unary(int code, int operand);
  Value binary(int code, int a, int b);
  Value name(const Expression& e);
  Value index(const std::string& name);
  Value read(const Expression& e);
  lp::Index subscript(const Expression& e, const SourceRange& where, std::size_t d, int64_t size,
                      const std::string& array);
  Value call(const Expression& e);
  Value operation(const Expression& e);
  Value arithmetic(std::string_view name, const Expression& e);
  int condition(const Expression& e);
  lp::Dtype common(const Value& a, const Value& b) const;

  lp::Nest& nest_;
  const lp::Program& program_;
  const Facts& facts_;
  const Ranges& ranges_;
  const std::map<std::string, int>& arrays_;
  const std::map<std::string, int>& loops_;
};

}  // namespace tenon::jit::comprehension
