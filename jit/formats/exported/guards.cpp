// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a program was exported for beside sizes and ranges: torch keeps which branches it took as
// comparisons in Python, "(L['x'].size()[0] % 2) == 0", and raises where a call breaks one.
#include "jit/formats/exported/guards.h"

#include <charconv>

#include "jit/formats/exported/build.h"
#include "tenon/jit/type.h"

namespace tenon::jit::formats {
namespace {

constexpr int kMaxDepth = 64;

// By decreasing length where one begins as another.
constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};

const char* comparison_operator(std::string_view text) {
  if (text == "==") return "aten::eq.int";
  if (text == "!=") return "aten::ne.int";
  if (text == "<=") return "aten::le.int";
  if (text == ">=") return "aten::ge.int";
  return text == "<" ? "aten::lt.int" : "aten::gt.int";
}

}  // namespace

GuardReader::GuardReader(std::string_view text, Apply apply, Constant constant, Size size)
    : rest_(text),
      apply_(std::move(apply)),
      constant_(std::move(constant)),
      size_(std::move(size)) {}

Value* GuardReader::read() {
  Value* v = disjunction();
  skip_spaces();
  return v && rest_.empty() && v->type()->is(TypeKind::Bool) ? v : nullptr;
}

void GuardReader::skip_spaces() {
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
}

bool GuardReader::take(std::string_view token) {
  skip_spaces();
  if (rest_.substr(0, token.size()) != token) return false;
  rest_.remove_prefix(token.size());
  return true;
}

Value* GuardReader::joined(const char* word, const char* name, Value* (GuardReader::*part)()) {
  Value* v = (this->*part)();
  while (v && take(word)) {
    Value* next = (this->*part)();
    const bool bools = next && v->type()->is(TypeKind::Bool) && next->type()->is(TypeKind::Bool);
    v = bools ? apply_(name, {v, next}) : nullptr;
  }
  return v;
}
Value* GuardReader::disjunction() {
  return joined("or ", "aten::__or__.bool", &GuardReader::conjunction);
}
Value* GuardReader::conjunction() {
  return joined("and ", "aten::__and__.bool", &GuardReader::comparison);
}

Value* GuardReader::comparison() {
  Value* left = sum();
  for (const std::string_view token : kComparisons) {
    if (!left || !take(token)) continue;
    return of_integers(comparison_operator(token), left, sum());
  }
  return left;
}

Value* GuardReader::of_integers(const char* name, Value* a, Value* b) {
  const bool integers = a && b && a->type()->is(TypeKind::Int) && b->type()->is(TypeKind::Int);
  return integers ? apply_(name, {a, b}) : nullptr;
}

Value* GuardReader::sum() {
  Value* v = product();
  while (v) {
    if (take("+"))
      v = of_integers("aten::add.int", v, product());
    else if (take("-"))
      v = of_integers("aten::sub.int", v, product());
    else
      break;
  }
  return v;
}

Value* GuardReader::product() {
  Value* v = factor();
  while (v) {
    if (take("**"))
      v = nullptr;
    else if (take("*"))
      v = of_integers("aten::mul.int", v, factor());
    else if (take("//"))
      v = of_integers("aten::floordiv.int", v, factor());
    else if (take("%"))
      v = of_integers("aten::remainder.int", v, factor());
    else
      break;
  }
  return v;
}

Value* GuardReader::factor() {
  if (++depth_ > kMaxDepth) return nullptr;
  Value* v = nullptr;
  if (take("-")) {
    v = of_integers("aten::sub.int", constant_(0), factor());
  } else if (take("(")) {
    v = disjunction();
    if (!take(")")) v = nullptr;
  } else if (take("torch.sym_max(")) {
    v = of_two("prim::max.int");
  } else if (take("torch.sym_min(")) {
    v = of_two("prim::min.int");
  } else if (take("L[")) {
    v = size();
  } else {
    v = number();
  }
  --depth_;
  return v;
}

Value* GuardReader::of_two(const char* name) {
  Value* a = sum();
  if (!take(",")) return nullptr;
  Value* b = sum();
  return take(")") ? of_integers(name, a, b) : nullptr;
}

Value* GuardReader::number() {
  skip_spaces();
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
  if (fault != std::errc()) return nullptr;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return !rest_.empty() && rest_.front() == '.' ? nullptr : constant_(n);
}

// 'x'][0]['k'].size()[1], behind "L["; also an argument that is a number.
Value* GuardReader::size() {
  const std::size_t end = rest_.find_first_of(" )+*,");
  const std::string_view whole = rest_.substr(0, rest_.find(".size()["));
  const bool tensor = whole.size() < rest_.size() && (end == rest_.npos || end > whole.size());
  const std::size_t close = rest_.find('\'', 1);
  if (rest_.empty() || rest_.front() != '\'' || close == rest_.npos) return nullptr;
  const std::string name(rest_.substr(1, close - 1));
  if (rest_.substr(close + 1, 1) != "]") return nullptr;
  const std::size_t begin = close + 2;
  if (!tensor) {
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(part.size());
    return size_(name, std::string(part.substr(begin)), -1);
  }
  const std::string path(whole.substr(begin));
  rest_.remove_prefix(whole.size());
  Value* dim = take(".size()[") ? number() : nullptr;
  const auto at = dim ? to_constant(dim) : std::nullopt;
  return at && take("]") ? size_(name, path, at->toInt()) : nullptr;
}

}  // namespace tenon::jit::formats
