// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads the small languages of types, schemas and graphs from a text, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tenon/jit/schema.h"

namespace tenon::jit {

class Cursor {
 public:
  // `what` begins messages: "parse_schema".
  Cursor(std::string_view text, const char* what) : text_(text), what_(what) {}

  bool at_end();
  char peek();  // the next character that is not a space; 0 at the end
  bool starts_with(std::string_view s);
  bool take(std::string_view s);  // and whether it was there
  void expect(std::string_view s);
  // The keyword, not followed by a letter, digit or dot.
  bool take_word(std::string_view s);
  // [A-Za-z_][A-Za-z0-9_.]*; empty if none begins here.
  std::string name(bool dots);
  std::string expect_name(const char* of, bool dots);
  int64_t integer();
  // A number: int, or double where there is a point or an exponent, or inf or nan.
  IValue number();
  std::string quoted();  // "..." or '...', escapes resolved
  std::string_view rest() const { return text_.substr(at_); }
  std::size_t position() const noexcept { return at_; }
  void seek(std::size_t at) noexcept { at_ = at; }
  void skip_spaces();
  [[noreturn]] void fail(const std::string& expected);

  // Nesting of types and values is bounded: one of these lives in each function that recurs.
  struct Depth {
    explicit Depth(Cursor& c);
    ~Depth() { --cursor.depth_; }
    Depth(const Depth&) = delete;
    Cursor& cursor;
  };

 private:
  void escape(std::string& out);
  std::string_view text_;
  const char* what_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// The type that a name with a dot stands for; null: unknown.
using FindType = std::function<TypePtr(const std::string&)>;

struct ParsedType {
  TypePtr type;
  AliasInfo alias;
  int fixed_length = 0;
  bool is_enumeration = false;  // ScalarType, Layout, MemoryFormat: defaults may be words
};
ParsedType parse_type(Cursor& c, const FindType& find);
// Of Optional and List: how members are read in brackets and parentheses.
std::vector<TypePtr> parse_types(Cursor& c, std::string_view close, const FindType& find);
FindType find_in(const CompilationUnit* unit);

// A constant as graphs and schemas write it. `type` (may be null) tells int from float and what
// empty lists hold. "a\n", 1, 2., [1, 2], {"a": 1}, (1, 2), True, None.
IValue parse_value(Cursor& c, const TypePtr& type);

}  // namespace tenon::jit
