// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/lexer.h"

#include <limits>

namespace tenon::jit::comprehension {
namespace {

// Longest first. "max=" and "min=" are names followed by "=".
constexpr std::string_view kOperators[] = {
    "+=!", "*=!", "->", "=!", "+=", "*=", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/",
    "%",   "<",   ">",  "!",  "?",  ":",  "=",  "(",  ")",  "{",  "}",  "[",  "]", ",", ".", ";"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(const SourcePtr& source) : source_(source), text_(source->text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#')
        while (at_ < text_.size() && peek() != '\n') ++at_;
      else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        ++at_;
      else if (is_letter(c))
        word();
      else if (is_digit(c) || (c == '.' && is_digit(peek(1)) && !follows_name()))
        number();
      else
        operation();
    }
    push(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  char peek(uint32_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void push(TokenKind kind, uint32_t begin) {
    tokens_.push_back({kind, {source_, begin, at_}, text_.substr(begin, at_ - begin)});
  }

  // In A.0 the point is an operator.
  bool follows_name() const {
    return !tokens_.empty() && tokens_.back().kind == TokenKind::kName &&
           tokens_.back().where.end == at_;
  }

  void word() {
    const uint32_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    push(TokenKind::kName, begin);
  }

  void digits() {
    while (is_digit(peek())) ++at_;
  }

  void number() {
    const uint32_t begin = at_;
    digits();
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      const uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) at_ += 1 + sign, digits();
    }
    push(TokenKind::kNumber, begin);
    if (peek() == 'f') ++at_;  // as in C
  }

  void operation() {
    for (const std::string_view op : kOperators) {
      if (text_.substr(at_, op.size()) != op || (op == "=!" && peek(2) == '=')) continue;
      const uint32_t begin = at_;
      at_ += static_cast<uint32_t>(op.size());
      push(TokenKind::kOperator, begin);
      return;
    }
    throw ErrorReport({source_, at_, at_ + 1}, "unexpected character");
  }

  const SourcePtr& source_;
  std::string_view text_;
  uint32_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const SourcePtr& source) {
  TENON_CHECK(source->text.size() < std::numeric_limits<uint32_t>::max(), ValueError,
              "tc::define: a text of ", source->text.size(), " bytes; at most 4 GiB are read");
  return Lexer(source).run();
}

}  // namespace tenon::jit::comprehension
