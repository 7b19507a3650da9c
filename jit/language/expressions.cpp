// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parser's part for expressions, in the order of precedence.
#include <algorithm>
#include <limits>
#include <utility>

#include "jit/language/parser.h"

namespace tenon::jit::language {

// Bounds the recursion of the parser itself.
struct Parser::Deeper {
  explicit Deeper(Parser& p) : parser(p) {
    TENON_PROGRAM_CHECK(++parser.nesting_ <= kMaxNesting, parser.here().range,
                        "the expression is nested too deeply");
  }
  ~Deeper() { --parser.nesting_; }
  Deeper(const Deeper&) = delete;
  Parser& parser;
};

ExprPtr Parser::make(ExprKind kind, std::size_t first) const {
  auto e = std::make_shared<Expr>();
  e->kind = kind;
  e->range = at_ > first ? since(first) : here().range;
  return e;
}

ExprPtr Parser::finish(ExprPtr e) const {
  int deepest = 0;
  const auto look = [&](const ExprPtr& c) {
    if (c) deepest = std::max(deepest, c->depth);
  };
  look(e->a), look(e->b), look(e->c), look(e->d);
  for (const ExprPtr& c : e->args) look(c);
  for (const Keyword& k : e->keywords) look(k.value);
  e->depth = deepest + 1;
  TENON_PROGRAM_CHECK(e->depth <= kMaxNesting, e->range, "the expression is nested too deeply");
  return e;
}

ExprPtr Parser::whole_expression() {
  ExprPtr e = tuple_or_expression();
  while (here().kind == TokenKind::Newline) ++at_;
  if (here().kind != TokenKind::End) unexpected("the end of the expression");
  return e;
}

ExprPtr Parser::starred_or_expression() {
  if (!is("*")) return expression();
  const std::size_t first = at_++;
  ExprPtr a = binary(0);
  ExprPtr e = make(ExprKind::Starred, first);
  e->a = std::move(a);
  return finish(e);
}

namespace {
// What cannot begin another element of a tuple.
bool ends_tuple(const Token& t) {
  if (t.kind == TokenKind::Newline || t.kind == TokenKind::End) return true;
  if (t.kind == TokenKind::Name) return t.text == "in" || t.text == "for" || t.text == "if";
  if (t.kind != TokenKind::Operator) return false;
  const std::string_view s = t.text;
  return s == ")" || s == "]" || s == "}" || s == ":" || s == ";" ||
         (s.back() == '=' && s != "==" && s != "<=" && s != ">=" && s != "!=");
}
}  // namespace

ExprPtr Parser::tuple_or_expression(bool allow_starred) {
  const std::size_t first = at_;
  ExprPtr e = allow_starred ? starred_or_expression() : expression();
  if (!is(",")) return e;
  std::vector<ExprPtr> elements{std::move(e)};
  while (accept(",") && !ends_tuple(here())) elements.push_back(starred_or_expression());
  e = make(ExprKind::Tuple, first);
  e->args = std::move(elements);
  return finish(e);
}

ExprPtr Parser::expression() {
  Deeper guard(*this);
  const std::size_t first = at_;
  if (is_keyword("lambda")) {
    ++at_;
    while (!is(":") && here().kind != TokenKind::Newline && here().kind != TokenKind::End) ++at_;
    expect(":");
    ExprPtr body = expression();
    ExprPtr e = make(ExprKind::Lambda, first);
    e->a = std::move(body);
    return finish(e);
  }
  ExprPtr a = disjunction();
  if (!is_keyword("if")) return a;
  ++at_;
  ExprPtr b = disjunction();
  if (!is_keyword("else")) unexpected("'else'");
  ++at_;
  ExprPtr c = expression();
  ExprPtr e = make(ExprKind::IfElse, first);
  e->a = std::move(a), e->b = std::move(b), e->c = std::move(c);
  return finish(e);
}

ExprPtr Parser::disjunction() {
  const std::size_t first = at_;
  ExprPtr a = conjunction();
  while (is_keyword("or")) {
    ++at_;
    ExprPtr b = conjunction();
    ExprPtr e = make(ExprKind::Or, first);
    e->a = std::move(a), e->b = std::move(b);
    a = finish(e);
  }
  return a;
}

ExprPtr Parser::conjunction() {
  const std::size_t first = at_;
  ExprPtr a = negation();
  while (is_keyword("and")) {
    ++at_;
    ExprPtr b = negation();
    ExprPtr e = make(ExprKind::And, first);
    e->a = std::move(a), e->b = std::move(b);
    a = finish(e);
  }
  return a;
}

ExprPtr Parser::negation() {
  if (!is_keyword("not")) return comparison();
  Deeper guard(*this);
  const std::size_t first = at_++;
  ExprPtr a = negation();
  ExprPtr e = make(ExprKind::Unary, first);
  e->text = "not";
  e->a = std::move(a);
  return finish(e);
}

namespace {
// The comparison at `t` and how many tokens it has; empty if there is none.
std::string comparison_at(const Token& t, const Token& next) {
  if (t.kind == TokenKind::Operator) {
    for (const std::string_view op : {"==", "!=", "<", "<=", ">", ">="}) {
      if (t.text == op) return std::string(op);
    }
  } else if (t.kind == TokenKind::Name) {
    const bool then_not = next.kind == TokenKind::Name && next.text == "not";
    const bool then_in = next.kind == TokenKind::Name && next.text == "in";
    if (t.text == "is") return then_not ? "is not" : "is";
    if (t.text == "in") return "in";
    if (t.text == "not" && then_in) return "not in";
  }
  return {};
}
}  // namespace

ExprPtr Parser::comparison() {
  const std::size_t first = at_;
  ExprPtr left = binary(0);
  std::vector<ExprPtr> chain;
  for (std::string op; !(op = comparison_at(here(), ahead(1))).empty();) {
    at_ += op.find(' ') != std::string::npos ? 2 : 1;
    ExprPtr right = binary(0);
    ExprPtr e = make(ExprKind::Compare, first);
    e->text = op;
    e->a = left, e->b = right;
    e->range.begin = left->range.begin;
    chain.push_back(finish(e));
    left = right;
  }
  if (chain.empty()) return left;
  if (chain.size() == 1) return chain[0];
  ExprPtr e = make(ExprKind::CompareChain, first);
  e->args = std::move(chain);
  return finish(e);
}

namespace {
// How tightly a binary operator binds; -1 for other tokens.
int level_of(const Token& t) {
  static constexpr std::pair<std::string_view, int> kLevels[] = {
      {"|", 0}, {"^", 1}, {"&", 2}, {"<<", 3}, {">>", 3}, {"+", 4},
      {"-", 4}, {"*", 5}, {"/", 5}, {"//", 5}, {"%", 5},  {"@", 5}};
  if (t.kind != TokenKind::Operator) return -1;
  for (const auto& [op, level] : kLevels) {
    if (op == t.text) return level;
  }
  return -1;
}
}  // namespace

// Operators that bind as tightly as `level` or more, from left to right.
ExprPtr Parser::binary(int level) {
  const std::size_t first = at_;
  ExprPtr a = unary();
  for (int next; (next = level_of(here())) >= level;) {
    const std::string op(here().text);
    ++at_;
    ExprPtr b = binary(next + 1);
    ExprPtr e = make(ExprKind::Binary, first);
    e->text = op;
    e->a = std::move(a), e->b = std::move(b);
    a = finish(e);
  }
  return a;
}

ExprPtr Parser::unary() {
  if (!is("-") && !is("+") && !is("~")) return power();
  Deeper guard(*this);
  const std::size_t first = at_;
  const std::string op(here().text);
  ++at_;
  ExprPtr a = unary();
  const bool literal = a->kind == ExprKind::Integer || a->kind == ExprKind::Float;
  if (op == "-" && literal && previous().kind == TokenKind::Number) {
    a->range = since(first);
    a->number = -a->number;
    if (a->text.empty()) a->integer = -a->integer;  // else it is the least integer already
    a->text.clear();
    return a;
  }
  ExprPtr e = make(ExprKind::Unary, first);
  e->text = op;
  e->a = std::move(a);
  return finish(e);
}

ExprPtr Parser::power() {
  const std::size_t first = at_;
  ExprPtr a = postfix();
  if (!is("**")) return a;
  Deeper guard(*this);
  ++at_;
  ExprPtr b = unary();
  ExprPtr e = make(ExprKind::Binary, first);
  e->text = "**";
  e->a = std::move(a), e->b = std::move(b);
  return finish(e);
}

ExprPtr Parser::postfix() {
  const std::size_t first = at_;
  ExprPtr e = atom();
  for (;;) {
    if (is("(")) {
      e = call(std::move(e), first);
    } else if (is("[")) {
      e = subscript(std::move(e), first);
    } else if (is(".")) {
      ++at_;
      // `data.in` is written for attributes whose names are keywords, too.
      if (here().kind != TokenKind::Name) unexpected("an attribute's name");
      const std::string field(here().text);
      ++at_;
      ExprPtr s = make(ExprKind::Attribute, first);
      s->text = field;
      s->a = std::move(e);
      e = finish(s);
    } else {
      return e;
    }
  }
}

ExprPtr Parser::call(ExprPtr callee, std::size_t first) {
  Deeper guard(*this);
  expect("(");
  std::vector<ExprPtr> args;
  std::vector<Keyword> keywords;
  while (!is(")")) {
    TENON_PROGRAM_CHECK(!is("**"), here().range, "keyword unpacking (**) is not supported");
    if (here().kind == TokenKind::Name && !here().is_keyword && ahead(1).text == "=" &&
        ahead(1).kind == TokenKind::Operator) {
      std::string key(here().text);
      at_ += 2;
      keywords.push_back({std::move(key), expression()});
    } else {
      TENON_PROGRAM_CHECK(keywords.empty() || is("*"), here().range,
                          "positional argument follows keyword argument");
      const std::size_t begin = at_;
      ExprPtr e = starred_or_expression();
      if (is_keyword("for")) {  // f(x for x in y)
        ExprPtr c = make(ExprKind::ListComp, begin);
        c->a = std::move(e);
        comprehension(*c);
        c->range = since(begin);
        e = finish(c);
      }
      args.push_back(std::move(e));
    }
    if (!accept(",")) break;
  }
  expect(")");
  ExprPtr e = make(ExprKind::Call, first);
  e->a = std::move(callee);
  e->args = std::move(args);
  e->keywords = std::move(keywords);
  return finish(e);
}

ExprPtr Parser::subscript(ExprPtr base, std::size_t first) {
  Deeper guard(*this);
  expect("[");
  std::vector<ExprPtr> items;
  bool comma = false;
  while (!is("]")) {
    items.push_back(subscript_item());
    if (!accept(",")) break;
    comma = true;
  }
  TENON_PROGRAM_CHECK(!items.empty(), here().range, "expected an index");
  if (comma && items.size() == 1 && items[0]->kind != ExprKind::Slice) {  // x[i,]
    ExprPtr t = make(ExprKind::Tuple, at_ - 1);
    t->range = items[0]->range;
    t->args = std::move(items);
    items = {finish(t)};
  }
  expect("]");
  ExprPtr e = make(ExprKind::Subscript, first);
  e->a = std::move(base);
  e->args = std::move(items);
  return finish(e);
}

ExprPtr Parser::subscript_item() {
  const std::size_t first = at_;
  ExprPtr parts[3];
  int n = 0;
  bool colon = false;
  for (;; ++n) {
    if (!is(":") && !is(",") && !is("]")) parts[n] = starred_or_expression();
    if (!is(":") || n == 2) break;
    ++at_;
    colon = true;
  }
  if (!colon) return parts[0] ? parts[0] : (unexpected("an index"), nullptr);
  ExprPtr e = make(ExprKind::Slice, first);
  e->args.assign(parts, parts + 3);
  return finish(e);
}

ExprPtr Parser::atom() {
  const std::size_t first = at_;
  const Token& t = here();
  if (t.kind == TokenKind::Number) return number();
  if (t.kind == TokenKind::String) return strings();
  if (is("(")) return parenthesized();
  if (is("[")) return list_display();
  if (is("{")) return dict_display();
  const auto simple = [&](ExprKind kind) {
    ++at_;
    return make(kind, first);
  };
  if (is("...")) return simple(ExprKind::Ellipsis);
  if (is_keyword("True")) return simple(ExprKind::True);
  if (is_keyword("False")) return simple(ExprKind::False);
  if (is_keyword("None")) return simple(ExprKind::None);
  TENON_PROGRAM_CHECK(!is_keyword("yield") && !is_keyword("await"), t.range, "'", t.text,
                      "' is not supported");
  if (t.kind != TokenKind::Name || t.is_keyword) unexpected("an expression");
  std::string text(t.text);
  ExprPtr e = simple(ExprKind::Name);
  e->text = std::move(text);
  return e;
}

ExprPtr Parser::parenthesized() {
  Deeper guard(*this);
  const std::size_t first = at_++;
  if (accept(")")) return make(ExprKind::Tuple, first);
  ExprPtr e = starred_or_expression();
  if (is_keyword("for")) {
    ExprPtr c = make(ExprKind::ListComp, first);
    c->a = std::move(e);
    comprehension(*c);
    expect(")");
    c->range = since(first);
    return finish(c);
  }
  if (is(",")) {
    std::vector<ExprPtr> elements{std::move(e)};
    while (accept(",") && !is(")")) elements.push_back(starred_or_expression());
    expect(")");
    e = make(ExprKind::Tuple, first);
    e->args = std::move(elements);
    return finish(e);
  }
  expect(")");
  return e;
}

ExprPtr Parser::list_display() {
  Deeper guard(*this);
  const std::size_t first = at_++;
  std::vector<ExprPtr> elements;
  while (!is("]")) {
    elements.push_back(starred_or_expression());
    if (elements.size() == 1 && is_keyword("for")) {
      ExprPtr c = make(ExprKind::ListComp, first);
      c->a = std::move(elements[0]);
      comprehension(*c);
      expect("]");
      c->range = since(first);
      return finish(c);
    }
    if (!accept(",")) break;
  }
  expect("]");
  ExprPtr e = make(ExprKind::List, first);
  e->args = std::move(elements);
  return finish(e);
}

ExprPtr Parser::dict_display() {
  Deeper guard(*this);
  const std::size_t first = at_++;
  std::vector<ExprPtr> entries;
  while (!is("}")) {
    ExprPtr key = expression();
    TENON_PROGRAM_CHECK(is(":"), key->range, "sets are not supported");
    expect(":");
    entries.push_back(std::move(key));
    entries.push_back(expression());
    if (entries.size() == 2 && is_keyword("for")) {
      ExprPtr c = make(ExprKind::DictComp, first);
      c->args = std::move(entries);
      comprehension(*c);
      expect("}");
      c->range = since(first);
      return finish(c);
    }
    if (!accept(",")) break;
  }
  expect("}");
  ExprPtr e = make(ExprKind::Dict, first);
  e->args = std::move(entries);
  return finish(e);
}

// for b in c [if d]
void Parser::comprehension(Expr& e) {
  ++at_;
  e.b = target_list();
  if (!is_keyword("in")) unexpected("'in'");
  ++at_;
  e.c = disjunction();
  if (is_keyword("if")) {
    ++at_;
    e.d = disjunction();
  }
  TENON_PROGRAM_CHECK(!is_keyword("for") && !is_keyword("if"), here().range,
                      "a comprehension can have one 'for' and one 'if'");
}

// Targets of for: their elements are not comparisons, or `in` would belong to them.
ExprPtr Parser::target_list() {
  Deeper guard(*this);
  const std::size_t first = at_;
  const auto element = [&]() -> ExprPtr {
    if (!is("*")) return postfix();
    const std::size_t star = at_++;
    ExprPtr a = postfix();
    ExprPtr e = make(ExprKind::Starred, star);
    e->a = std::move(a);
    return finish(e);
  };
  ExprPtr e = element();
  if (!is(",")) return e;
  std::vector<ExprPtr> elements{std::move(e)};
  while (accept(",") && !ends_tuple(here())) elements.push_back(element());
  e = make(ExprKind::Tuple, first);
  e->args = std::move(elements);
  return finish(e);
}

}  // namespace tenon::jit::language
