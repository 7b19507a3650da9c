// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tokens of the comprehension language.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/jit/source.h"

namespace tenon::jit::comprehension {

enum class TokenKind { kName, kNumber, kOperator, kEnd };

struct Token {
  TokenKind kind;
  SourceRange where;
  std::string_view text;
};

// The last is kEnd. ErrorReport at a character that begins no token.
std::vector<Token> tokenize(const SourcePtr& source);

}  // namespace tenon::jit::comprehension
