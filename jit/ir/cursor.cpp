// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/cursor.h"

#include <charconv>
#include <limits>

namespace tenon::jit {
namespace {

constexpr int kMaxDepth = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void Cursor::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
    ++at_;
}
bool Cursor::at_end() {
  skip_spaces();
  return at_ == text_.size();
}
char Cursor::peek() { return at_end() ? '\0' : text_[at_]; }
bool Cursor::starts_with(std::string_view s) {
  skip_spaces();
  return rest().substr(0, s.size()) == s;
}
bool Cursor::take(std::string_view s) {
  if (!starts_with(s)) return false;
  at_ += s.size();
  return true;
}
void Cursor::expect(std::string_view s) {
  if (!take(s)) fail("\"" + std::string(s) + "\"");
}
bool Cursor::take_word(std::string_view s) {
  if (!starts_with(s)) return false;
  std::size_t end = at_ + s.size();
  if (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.'))
    return false;
  at_ = end;
  return true;
}

std::string Cursor::name(bool dots) {
  skip_spaces();
  std::size_t end = at_;
  auto part = [&](char c) { return is_letter(c) || is_digit(c) || (dots && c == '.'); };
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && part(text_[end])) ++end;
  // "f(...)": an ellipsis is not part of a name.
  std::string out(text_.substr(at_, end - at_));
  at_ = end;
  return out;
}
std::string Cursor::expect_name(const char* of, bool dots) {
  std::string out = name(dots);
  if (out.empty()) fail(of);
  return out;
}

int64_t Cursor::integer() {
  skip_spaces();
  int64_t value = 0;
  const char* begin = text_.data() + at_;
  auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("an integer of 64 bits");
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

IValue Cursor::number() {
  skip_spaces();
  bool negative = starts_with("-");
  std::size_t begin = at_ + (negative ? 1 : 0), end = begin;
  if (text_.substr(begin, 3) == "inf" || text_.substr(begin, 3) == "nan") {
    double v = text_[begin] == 'i' ? std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::quiet_NaN();
    at_ = begin + 3;
    return negative ? -v : v;
  }
  bool fraction = false;
  while (end < text_.size()) {
    char c = text_[end];
    bool exponent = (c == 'e' || c == 'E') && end > begin;
    if (!is_digit(c) && c != '.' && !exponent) break;
    fraction |= !is_digit(c);
    ++end;
    if (exponent && end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
  }
  if (!fraction) return integer();
  double value = 0;
  auto [stop, error] = std::from_chars(text_.data() + begin, text_.data() + end, value);
  // Out of range: from_chars leaves the value alone. Only the sign of the exponent is of interest.
  if (error == std::errc::result_out_of_range)
    value = text_.substr(begin, end - begin).find("e-") != std::string_view::npos
                ? 0.0
                : std::numeric_limits<double>::infinity();
  else if (error != std::errc() || stop != text_.data() + end)
    fail("a number");
  at_ = end;
  return negative ? -value : value;
}

void Cursor::escape(std::string& out) {
  if (at_ == text_.size()) fail("a character after the backslash");
  char c = text_[at_++];
  static constexpr std::string_view letters = "abfnrtv", codes = "\a\b\f\n\r\t\v";
  if (std::size_t i = letters.find(c); i != std::string_view::npos) {
    out += codes[i];
    return;
  }
  if (c < '0' || c > '7') {
    out += c;
    return;
  }
  int code = c - '0';
  for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
    code = code * 8 + (text_[at_++] - '0');
  out += static_cast<char>(code);
}

std::string Cursor::quoted() {
  char quote = peek();
  if (quote != '"' && quote != '\'') fail("a quoted string");
  ++at_;
  std::string out;
  while (at_ < text_.size() && text_[at_] != quote) {
    char c = text_[at_++];
    if (c == '\\')
      escape(out);
    else
      out += c;
  }
  if (at_ == text_.size()) fail("the end of the quoted string");
  ++at_;
  return out;
}

void Cursor::fail(const std::string& expected) {
  skip_spaces();
  std::string_view found = rest().substr(0, 24);
  found = found.substr(0, found.find('\n'));
  throw ValueError(core::join(what_, ": expected ", expected, " at position ", at_, ", found ",
                              found.empty() ? "the end" : core::join("\"", found, "\"")));
}

Cursor::Depth::Depth(Cursor& c) : cursor(c) {
  if (++c.depth_ <= kMaxDepth) return;
  --c.depth_;
  c.fail(core::join("at most ", kMaxDepth, " levels of nesting"));
}

}  // namespace tenon::jit
