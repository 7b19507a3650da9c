// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers, strings and formatted strings.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "jit/language/parser.h"

namespace tenon::jit::language {
namespace {

void append_utf8(std::string& out, uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6), tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0);
  }
}

uint32_t hexadecimal(const Token& t, std::size_t& i, int digits) {
  uint32_t v = 0;
  for (int k = 0; k < digits; ++k, ++i) {
    const char c = i + 1 < t.text.size() ? t.text[i + 1] : '\0';
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
    TENON_PROGRAM_CHECK(d >= 0, t.range, "expected ", digits, " hexadecimal digits in an escape");
    v = v * 16 + static_cast<uint32_t>(d);
  }
  TENON_PROGRAM_CHECK(v <= 0x10ffff, t.range, "an escape is not a valid character");
  return v;
}

// `i` stands on the character after the backslash, and stays on the last of the escape. Octal
// escapes are bytes: archives write texts that are not ASCII with them.
void escape(const Token& t, std::size_t& i, std::string& out) {
  constexpr std::string_view kFrom = "abfnrtv\\'\"", kTo = "\a\b\f\n\r\t\v\\'\"";
  const char c = t.text[i];
  if (const std::size_t k = kFrom.find(c); k != std::string_view::npos) {
    out += kTo[k];
  } else if (c >= '0' && c <= '7') {
    int v = c - '0';
    for (int k = 0; k < 2 && i + 1 < t.text.size() && t.text[i + 1] >= '0' && t.text[i + 1] <= '7';
         ++k)
      v = v * 8 + (t.text[++i] - '0');
    out += static_cast<char>(v & 0xff);
  } else if (c == 'x' || c == 'u' || c == 'U') {
    append_utf8(out, hexadecimal(t, i, c == 'x' ? 2 : c == 'u' ? 4 : 8));
  } else if (c != '\n') {
    out += '\\';
    out += c;
  }
}

std::string without_underscores(std::string_view text) {
  std::string s(text);
  std::erase(s, '_');
  return s;
}

// Where the expression that begins at `i` ends: at its '}', '!' or ':'.
std::size_t end_of_field(std::string_view s, std::size_t i) {
  int open = 0;
  char quote = '\0';
  for (; i < s.size(); ++i) {
    const char c = s[i];
    if (quote) {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++open;
    } else if (open > 0 && (c == ')' || c == ']' || c == '}')) {
      --open;
    } else if (open == 0 &&
               (c == '}' || c == ':' || (c == '!' && i + 1 < s.size() && s[i + 1] != '='))) {
      break;
    }
  }
  return i;
}

}  // namespace

std::string unescape(const Token& t) {
  if (t.raw || t.text.find('\\') == std::string_view::npos) return std::string(t.text);
  std::string out;
  for (std::size_t i = 0; i < t.text.size(); ++i) {
    if (t.text[i] != '\\' || i + 1 == t.text.size())
      out += t.text[i];
    else
      escape(t, ++i, out);
  }
  return out;
}

ExprPtr Parser::number() {
  const std::size_t first = at_;
  std::string s = without_underscores(here().text);
  ++at_;
  const bool based = s.size() > 1 && s[0] == '0' && !(s[1] >= '0' && s[1] <= '9') && s[1] != '.' &&
                     s[1] != 'e' && s[1] != 'E' && s[1] != 'j' && s[1] != 'J';
  if (!based && s.find_first_of(".eEjJ") != std::string::npos) {
    const bool imaginary = s.back() == 'j' || s.back() == 'J';
    if (imaginary) s.pop_back();
    ExprPtr e = make(imaginary ? ExprKind::Imaginary : ExprKind::Float, first);
    e->number = std::strtod(s.c_str(), nullptr);
    return e;
  }
  ExprPtr e = make(ExprKind::Integer, first);
  const int base = !based ? 10 : (s[1] | 32) == 'x' ? 16 : (s[1] | 32) == 'o' ? 8 : 2;
  uint64_t v = 0;
  const char* from = s.data() + (based ? 2 : 0);
  const char* to = s.data() + s.size();
  const auto [end, error] = std::from_chars(from, to, v, base);
  TENON_PROGRAM_CHECK(end == to && from != to && error != std::errc::invalid_argument, e->range,
                      "not a valid number");
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  TENON_PROGRAM_CHECK(error == std::errc() && v <= kMax + 1, e->range,
                      "Number is too big to be represented in type int");
  if (v > kMax) e->text = "needs a minus";  // -2**63 is a valid number
  e->integer = static_cast<int64_t>(v);
  return e;
}

void Parser::formatted(const Token& t, std::vector<ExprPtr>& parts) {
  std::string literal;
  const auto flush = [&] {
    if (literal.empty()) return;
    ExprPtr e = make(ExprKind::String, at_);
    e->range = t.range;
    e->text = std::move(literal);
    literal.clear();
    parts.push_back(e);
  };
  const std::string_view s = t.text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool twice = i + 1 < s.size() && s[i + 1] == s[i];
    if ((s[i] == '{' || s[i] == '}') && twice) {
      literal += s[i++];
    } else if (s[i] == '{') {
      const std::size_t end = end_of_field(s, i + 1);
      TENON_PROGRAM_CHECK(end < s.size(), t.range, "'{' of a formatted string is not closed");
      TENON_PROGRAM_CHECK(s[end] == '}', t.range,
                          "conversions and formats of formatted strings are not supported");
      flush();
      const auto from = static_cast<uint32_t>(s.data() - source_->text.data());
      Parser p(source_, from + static_cast<uint32_t>(i) + 1, from + static_cast<uint32_t>(end),
               true);
      p.nesting_ = nesting_ + 1;
      TENON_PROGRAM_CHECK(p.nesting_ <= kMaxNesting, t.range,
                          "the expression is nested too deeply");
      parts.push_back(p.whole_expression());
      i = end;
    } else {
      TENON_PROGRAM_CHECK(s[i] != '}', t.range, "a single '}' in a formatted string");
      if (s[i] == '\\' && !t.raw && i + 1 < s.size())
        escape(t, ++i, literal);
      else
        literal += s[i];
    }
  }
  flush();
}

ExprPtr Parser::strings() {
  const std::size_t first = at_;
  std::vector<ExprPtr> parts;
  bool any_formatted = false;
  std::string plain;
  for (; here().kind == TokenKind::String; ++at_) {
    any_formatted |= here().formatted;
    if (!here().formatted) plain += unescape(here());
    if (here().formatted) {
      formatted(here(), parts);
    } else if (ExprPtr e = make(ExprKind::String, at_)) {
      e->range = here().range;
      e->text = unescape(here());
      parts.push_back(e);
    }
  }
  ExprPtr e = make(any_formatted ? ExprKind::FString : ExprKind::String, first);
  if (any_formatted)
    e->args = std::move(parts);
  else
    e->text = std::move(plain);
  return finish(e);
}

}  // namespace tenon::jit::language
