// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/lexer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tenon::jit::language {
namespace {

constexpr std::string_view kKeywords[] = {
    "and",    "as",     "assert", "break",   "class",    "continue", "def",    "del",  "elif",
    "else",   "except", "False",  "finally", "for",      "from",     "global", "if",   "import",
    "in",     "is",     "lambda", "None",    "nonlocal", "not",      "or",     "pass", "raise",
    "return", "True",   "try",    "while",   "with",     "yield",    "async",  "await"};

// Longest first.
constexpr std::string_view kOperators[] = {
    "**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "="};

bool is_letter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}
bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(const SourcePtr& source, uint32_t begin, uint32_t end, bool nested)
      : source_(source), text_(source->text), at_(begin), end_(end), nested_(nested) {}

  TokenList run() {
    if (!nested_) begin_line();
    while (at_ < end_) token();
    if (!nested_) {
      if (!out_.tokens.empty() && last().kind != TokenKind::Newline &&
          last().kind != TokenKind::Dedent)
        push(TokenKind::Newline, at_);
      for (; indents_.size() > 1; indents_.pop_back()) push(TokenKind::Dedent, at_);
    }
    TENON_PROGRAM_CHECK(brackets_.empty(), brackets_.back().where, "'", brackets_.back().open,
                        "' was never closed");
    push(TokenKind::End, at_);
    return std::move(out_);
  }

 private:
  struct Bracket {
    char open;
    SourceRange where;
  };

  Token& last() { return out_.tokens.back(); }
  char peek(uint32_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }
  SourceRange range(uint32_t begin) const { return {source_, begin, std::max(at_, begin)}; }
  Token& push(TokenKind kind, uint32_t begin) {
    Token t{kind, range(begin), {}};
    t.text = text_.substr(begin, at_ - begin);
    out_.tokens.push_back(std::move(t));
    return last();
  }

  // At the first column of a line that is not inside of brackets: its indentation.
  void begin_line() {
    while (at_ < end_) {
      int width = 0;
      uint32_t begin = at_;
      for (;; ++at_) {
        const char c = peek();
        if (c == ' ')
          ++width;
        else if (c == '\t')
          width = width / 8 * 8 + 8;
        else if (c == '\f')
          width = 0;
        else
          break;
      }
      if (peek() == '#') comment();
      if (peek() == '\r') ++at_;
      if (at_ < end_ && peek() == '\n') {
        ++at_;
        continue;  // an empty line
      }
      if (at_ >= end_) return;
      indent(width, begin);
      return;
    }
  }

  void indent(int width, uint32_t begin) {
    if (indents_.empty()) indents_.push_back(width);  // the text may stand indented as a whole
    if (width > indents_.back()) {
      indents_.push_back(width);
      TENON_PROGRAM_CHECK(indents_.size() <= kMaxNesting, range(begin), "more than ", kMaxNesting,
                          " levels of indentation");
      push(TokenKind::Indent, begin);
    }
    while (width < indents_.back() && indents_.size() > 1) {
      indents_.pop_back();
      push(TokenKind::Dedent, begin);
    }
    TENON_PROGRAM_CHECK(width == indents_.back(), range(begin),
                        "the indentation does not match that of any outer block");
  }

  void comment() {
    const uint32_t begin = at_;
    while (at_ < end_ && peek() != '\n') ++at_;
    std::string_view line = text_.substr(begin + 1, at_ - begin - 1);
    const std::size_t skip = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(skip);
    if (line.substr(0, 5) != "type:") return;
    std::string_view type = line.substr(5);
    type.remove_prefix(std::min(type.find_first_not_of(' '), type.size()));
    if (type.empty() || type.substr(0, 6) == "ignore") return;
    const auto from = static_cast<uint32_t>(type.data() - text_.data());
    out_.type_comments[out_.tokens.size()] = {source_, from, at_};
  }

  void token() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '\n') {
      new_line();
    } else if (c == '#') {
      comment();
    } else if (c == '\\') {
      const uint32_t begin = at_++;
      if (peek() == '\r') ++at_;
      TENON_PROGRAM_CHECK(peek() == '\n', range(begin), "unexpected character after '\\'");
      ++at_;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (const int prefix = string_prefix(); prefix >= 0) {
      string(prefix);
    } else if (is_letter(c)) {
      name();
    } else {
      operation();
    }
  }

  void new_line() {
    const uint32_t begin = at_++;
    if (!brackets_.empty() || nested_) return;
    if (!out_.tokens.empty() && last().kind != TokenKind::Newline) {
      push(TokenKind::Newline, begin);
    }
    begin_line();
  }

  void name() {
    const uint32_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    Token& t = push(TokenKind::Name, begin);
    t.is_keyword = std::any_of(std::begin(kKeywords), std::end(kKeywords), [&](std::string_view k) {
      return k[0] == text_[begin] && k == t.text;
    });
  }

  void number() {
    const uint32_t begin = at_;
    if (peek() == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos &&
        peek(1) != '\0') {
      at_ += 2;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
    } else {
      digits();
      if (peek() == '.') ++at_, digits();
      if (peek() == 'e' || peek() == 'E') {
        const uint32_t sign = peek(1) == '+' || peek(1) == '-';
        if (is_digit(peek(1 + sign))) at_ += 1 + sign, digits();
      }
      if (peek() == 'j' || peek() == 'J') ++at_;
    }
    push(TokenKind::Number, begin);
  }
  void digits() {
    while (is_digit(peek()) || peek() == '_') ++at_;
  }

  // How many letters (r, f, b, u) stand before a quote; -1: this is not a string.
  int string_prefix() const {
    for (uint32_t n = 0; n <= 2; ++n) {
      const char c = peek(n);
      if (c == '"' || c == '\'') return static_cast<int>(n);
      if (c == '\0' || std::string_view("rRfFbBuU").find(c) == std::string_view::npos) return -1;
    }
    return -1;
  }

  void string(int prefix) {
    const uint32_t begin = at_;
    bool raw = false, formatted = false;
    for (int i = 0; i < prefix; ++i, ++at_) {
      raw |= peek() == 'r' || peek() == 'R';
      formatted |= peek() == 'f' || peek() == 'F';
      TENON_PROGRAM_CHECK(peek() != 'b' && peek() != 'B', range(begin),
                          "byte strings are not supported");
    }
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    const uint32_t from = at_;
    for (;; ++at_) {
      TENON_PROGRAM_CHECK(at_ < end_ && (triple || peek() != '\n'), range(begin),
                          "the string is not closed");
      if (peek() == '\\') {
        ++at_;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        break;
      }
    }
    const uint32_t to = at_;
    at_ += triple ? 3 : 1;
    Token& t = push(TokenKind::String, begin);
    t.text = text_.substr(from, to - from);
    t.raw = raw;
    t.formatted = formatted;
  }

  void operation() {
    for (std::string_view op : kOperators) {
      if (op[0] != peek()) continue;
      if (text_.substr(at_, std::min<std::size_t>(op.size(), end_ - at_)) != op) continue;
      const uint32_t begin = at_;
      at_ += static_cast<uint32_t>(op.size());
      push(TokenKind::Operator, begin);
      if (op.size() == 1) bracket(op[0]);
      return;
    }
    const uint32_t begin = at_++;
    throw ErrorReport(range(begin), "unexpected character");
  }

  void bracket(char c) {
    if (c == '(' || c == '[' || c == '{') {
      TENON_PROGRAM_CHECK(brackets_.size() < kMaxNesting, last().range,
                          "brackets are nested more than ", kMaxNesting, " deep");
      brackets_.push_back({c, last().range});
    } else if (c == ')' || c == ']' || c == '}') {
      const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
      TENON_PROGRAM_CHECK(!brackets_.empty() && brackets_.back().open == open, last().range,
                          "unmatched '", c, "'");
      brackets_.pop_back();
    }
  }

  SourcePtr source_;
  std::string_view text_;
  uint32_t at_, end_;
  bool nested_;
  std::vector<int> indents_;
  std::vector<Bracket> brackets_;
  TokenList out_;
};

}  // namespace

TokenList tokenize(const SourcePtr& source, uint32_t begin, uint32_t end, bool nested) {
  TENON_CHECK(source->text.size() < std::numeric_limits<uint32_t>::max(), ValueError,
              "a program of ", source->text.size(), " bytes; at most 4 GiB are read");
  return Lexer(source, begin, end, nested).run();
}

}  // namespace tenon::jit::language
