// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tokens of the language of programs, with the indentation of Python.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/source.h"

namespace tenon::jit::language {

constexpr int kMaxNesting = 200;  // of statements, brackets, expressions

enum class TokenKind : uint8_t { Name, Number, String, Operator, Newline, Indent, Dedent, End };

struct Token {
  TokenKind kind;
  SourceRange range;
  std::string_view text;    // of the source; of a String: what stands between the quotes
  bool raw = false;         // of a String: r"..."
  bool formatted = false;   // f"..."
  bool is_keyword = false;  // of a Name
};

struct TokenList {
  std::vector<Token> tokens;  // the last is End
  // "# type: ..." comments: what follows the colon, by the number of tokens before it.
  std::map<std::size_t, SourceRange> type_comments;
};

// The part [begin, end) of the source. `nested`: an expression inside of an f-string, without
// lines. ErrorReport shows the place.
TokenList tokenize(const SourcePtr& source, uint32_t begin, uint32_t end, bool nested = false);

}  // namespace tenon::jit::language
