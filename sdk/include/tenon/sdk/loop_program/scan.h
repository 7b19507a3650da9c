// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Words and numbers of one line of a loop program's text.
#ifndef TENON_SDK_LOOP_PROGRAM_SCAN_H_
#define TENON_SDK_LOOP_PROGRAM_SCAN_H_

#include <charconv>
#include <string_view>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::sdk::loop_program {

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A letter or underscore, then letters, digits and underscores; no word that begins a line.
inline bool is_name(std::string_view text) {
  constexpr std::string_view reserved[] = {"loops",  "size", "param", "input", "temp",
                                           "output", "for",  "clamp", "check", "schedule"};
  if (text.empty() || text.size() > 64 || !is_letter(text[0])) return false;
  for (char c : text)
    if (!is_letter(c) && !is_digit(c)) return false;
  for (std::string_view it : reserved)
    if (it == text) return false;
  return true;
}

class Scanner {
 public:
  Scanner(std::string_view line, int number) : line_(line), number_(number) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("loop program, line " + std::to_string(number_) + ", column " +
                std::to_string(at_ + 1) + ": " + what);
  }

  bool at_end() {
    skip();
    return at_ == line_.size() || line_[at_] == '#';
  }

  bool accept(std::string_view text) {
    skip();
    if (line_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  void expect(std::string_view text) {
    if (!accept(text)) fail("expected '" + std::string(text) + "', found " + found());
  }

  void expect_end() {
    if (!at_end()) fail("expected the end of the line, found " + found());
  }

  bool at_letter() { return !at_end() && is_letter(line_[at_]); }

  std::string_view word() {
    if (!at_letter()) fail("expected a word, found " + found());
    size_t end = at_;
    while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]))) ++end;
    return take(end);
  }

  // All up to the next space: what stands for an update.
  std::string_view token() {
    skip();
    size_t end = at_;
    while (end < line_.size() && line_[end] != ' ') ++end;
    return take(end);
  }

  int64_t integer() { return number<int64_t>("an integer in 64 bits"); }
  double real() { return number<double>("a number"); }

  // The number of a node, %N.
  int node() {
    expect("%");
    const int64_t value = integer();
    if (value < 0 || value > 1 << 20) fail("no node has that number");
    return static_cast<int>(value);
  }

 private:
  void skip() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r'))
      ++at_;
  }

  std::string found() const {
    return at_ < line_.size() ? "'" + std::string(line_.substr(at_, 20)) + "'"
                              : "the end of the line";
  }

  std::string_view take(size_t end) {
    const std::string_view text = line_.substr(at_, end - at_);
    at_ = end;
    return text;
  }

  template <typename T>
  T number(const char* what) {
    skip();
    T value{};
    const char* begin = line_.data() + at_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (error != std::errc()) fail(std::string("expected ") + what + ", found " + found());
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  std::string_view line_;
  size_t at_ = 0;
  int number_;
};

}  // namespace tenon::sdk::loop_program

#endif
