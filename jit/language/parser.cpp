// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parser's part for statements, functions, classes and files.
#include "jit/language/parser.h"

#include <algorithm>

namespace tenon::jit::language {

Parser::Parser(const SourcePtr& source, uint32_t begin, uint32_t end, bool nested)
    : source_(source), list_(tokenize(source, begin, end, nested)) {}

const Token& Parser::ahead(std::size_t n) const {
  return list_.tokens[std::min(at_ + n, list_.tokens.size() - 1)];
}

bool Parser::is(std::string_view op) const {
  return here().kind == TokenKind::Operator && here().text == op;
}
bool Parser::is_keyword(std::string_view k) const {
  return here().kind == TokenKind::Name && here().is_keyword && here().text == k;
}
bool Parser::accept(std::string_view op) {
  if (!is(op)) return false;
  ++at_;
  return true;
}

void Parser::expect(std::string_view op) {
  if (!accept(op)) unexpected("'" + std::string(op) + "'");
}

std::string Parser::name(const char* what) {
  if (here().kind != TokenKind::Name || here().is_keyword) unexpected(what);
  return std::string(list_.tokens[at_++].text);
}

void Parser::unexpected(const std::string& expected) const {
  const Token& t = here();
  std::string found = t.kind == TokenKind::End       ? "the end of the text"
                      : t.kind == TokenKind::Newline ? "the end of the line"
                      : t.kind == TokenKind::Indent  ? "an indented line"
                      : t.kind == TokenKind::Dedent  ? "the end of the block"
                      : t.kind == TokenKind::String  ? "a string"
                                                     : "'" + std::string(t.text) + "'";
  throw ErrorReport(t.range, "expected " + expected + " but found " + found + " here");
}

SourceRange Parser::since(std::size_t token) const {
  SourceRange r = list_.tokens[token].range;
  std::size_t last = at_;
  while (last > token + 1 && list_.tokens[last - 1].kind >= TokenKind::Newline) --last;
  if (last > token) r.end = std::max(r.end, list_.tokens[last - 1].range.end);
  return r;
}

const SourceRange* Parser::type_comment(std::size_t first, std::size_t last) const {
  const auto it = list_.type_comments.lower_bound(first);
  return it != list_.type_comments.end() && it->first <= last ? &it->second : nullptr;
}

StmtPtr Parser::make_stmt(StmtKind kind) const {
  auto s = std::make_shared<Stmt>();
  s->kind = kind;
  s->range = here().range;
  return s;
}

File Parser::file() {
  File f;
  Body ignored;
  while (here().kind != TokenKind::End) {
    if (here().kind == TokenKind::Newline) {
      ++at_;
      continue;
    }
    std::vector<ExprPtr> decorated = decorators();
    if (is_keyword("def")) {
      f.functions.push_back(def(std::move(decorated)));
    } else if (is_keyword("class")) {
      f.classes.push_back(class_def(std::move(decorated)));
    } else if (is_keyword("import") || is_keyword("from")) {
      skip_import();
    } else if (here().kind == TokenKind::String) {
      simple_statements(ignored);  // a docstring
    } else if (here().text == "op_version_set") {
      simple_statements(ignored);  // first line of files of old archives
    } else {
      unexpected("a function or class");
    }
  }
  return f;
}

void Parser::skip_import() {
  while (here().kind != TokenKind::Newline && here().kind != TokenKind::End) ++at_;
}

std::vector<ExprPtr> Parser::decorators() {
  std::vector<ExprPtr> out;
  while (accept("@")) {
    out.push_back(expression());
    if (here().kind != TokenKind::Newline) unexpected("the end of the line");
    ++at_;
  }
  return out;
}

Body Parser::suite() {
  Body out;
  expect(":");
  if (here().kind != TokenKind::Newline) {
    simple_statements(out);
    return out;
  }
  ++at_;
  if (here().kind != TokenKind::Indent) unexpected("an indented block");
  ++at_;
  statements(out);
  if (here().kind != TokenKind::Dedent) unexpected("the end of the block");
  ++at_;
  return out;
}

void Parser::statements(Body& out) {
  while (here().kind != TokenKind::Dedent && here().kind != TokenKind::End) {
    if (here().kind == TokenKind::Newline)
      ++at_;
    else
      compound(out);
  }
}

void Parser::compound(Body& out) {
  const SourceRange begin = here().range;
  if (is("@") || is_keyword("def")) {
    auto decorated = decorators();
    StmtPtr s = make_stmt(StmtKind::Def);
    s->def = def(std::move(decorated));
    out.push_back(std::move(s));
  } else if (is_keyword("if")) {
    out.push_back(if_statement());
  } else if (is_keyword("while")) {
    out.push_back(loop_statement(StmtKind::While));
  } else if (is_keyword("for")) {
    out.push_back(loop_statement(StmtKind::For));
  } else if (is_keyword("with")) {
    out.push_back(with_statement());
  } else if (is_keyword("import") || is_keyword("from")) {
    skip_import();
  } else if (is_keyword("try") || is_keyword("async") || is_keyword("class")) {
    throw ErrorReport(begin, "'" + std::string(here().text) + "' is not supported in functions");
  } else {
    simple_statements(out);
  }
}

void Parser::simple_statements(Body& out) {
  for (;;) {
    out.push_back(simple_statement());
    if (!accept(";") || here().kind == TokenKind::Newline) break;
  }
  if (here().kind == TokenKind::Newline)
    ++at_;
  else if (here().kind != TokenKind::End)
    unexpected("the end of the line");
}

namespace {
bool ends_line(const Token& t) {
  return t.kind == TokenKind::Newline || t.kind == TokenKind::End || t.text == ";";
}
}  // namespace

StmtPtr Parser::simple_statement() {
  const std::size_t first = at_;
  const auto keyword = [&](StmtKind kind) {
    StmtPtr s = make_stmt(kind);
    ++at_;
    return s;
  };
  StmtPtr s;
  if (is_keyword("return")) {
    s = keyword(StmtKind::Return);
    if (!ends_line(here())) s->value = tuple_or_expression();
  } else if (is_keyword("break")) {
    s = keyword(StmtKind::Break);
  } else if (is_keyword("continue")) {
    s = keyword(StmtKind::Continue);
  } else if (is_keyword("pass")) {
    s = keyword(StmtKind::Pass);
  } else if (is_keyword("raise")) {
    s = keyword(StmtKind::Raise);
    if (!ends_line(here())) s->value = expression();
    if (is_keyword("from")) ++at_, expression();
  } else if (is_keyword("assert")) {
    s = keyword(StmtKind::Assert);
    s->value = expression();
    if (accept(",")) s->message = expression();
  } else if (is_keyword("del")) {
    s = keyword(StmtKind::Delete);
    ExprPtr targets = tuple_or_expression();
    s->targets = targets->kind == ExprKind::Tuple ? targets->args : std::vector{targets};
  } else if (is_keyword("global") || is_keyword("nonlocal")) {
    s = keyword(StmtKind::Global);
    while (!ends_line(here())) ++at_;
  } else {
    s = make_stmt(StmtKind::Expr);
    s = assignment(std::move(s));
  }
  s->range = since(first);
  return s;
}

StmtPtr Parser::assignment(StmtPtr s) {
  static constexpr std::string_view kAugmented[] = {
      "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "//=", "**=", "<<=", ">>="};
  ExprPtr e = tuple_or_expression();
  if (accept(":")) {
    s->kind = StmtKind::Assign;
    s->targets = {std::move(e)};
    s->annotation = expression();
    if (accept("=")) s->value = tuple_or_expression();
    return s;
  }
  if (std::find(std::begin(kAugmented), std::end(kAugmented), here().text) !=
          std::end(kAugmented) &&
      here().kind == TokenKind::Operator) {
    s->kind = StmtKind::AugAssign;
    s->text = std::string(here().text.substr(0, here().text.size() - 1));
    ++at_;
    s->targets = {std::move(e)};
    s->value = tuple_or_expression();
    return s;
  }
  if (!is("=")) {
    s->value = std::move(e);
    return s;
  }
  s->kind = StmtKind::Assign;
  while (accept("=")) {
    s->targets.push_back(std::move(e));
    e = tuple_or_expression();
  }
  s->value = std::move(e);
  if (const SourceRange* r = type_comment(at_, at_)) {
    s->annotation = Parser(source_, r->begin, r->end, true).whole_expression();
  }
  return s;
}

StmtPtr Parser::if_statement() {
  const std::size_t first = at_;
  StmtPtr s = make_stmt(StmtKind::If);
  TENON_PROGRAM_CHECK(++nesting_ <= kMaxNesting, s->range, "the statements are nested too deeply");
  ++at_;
  s->value = expression();
  s->body = suite();
  if (is_keyword("elif")) {
    s->orelse.push_back(if_statement());
  } else if (is_keyword("else")) {
    ++at_;
    s->orelse = suite();
  }
  --nesting_;
  s->range = since(first);
  return s;
}

StmtPtr Parser::loop_statement(StmtKind kind) {
  const std::size_t first = at_;
  StmtPtr s = make_stmt(kind);
  TENON_PROGRAM_CHECK(++nesting_ <= kMaxNesting, s->range, "the statements are nested too deeply");
  ++at_;
  if (kind == StmtKind::For) {
    s->targets.push_back(target_list());
    if (!is_keyword("in")) unexpected("'in'");
    ++at_;
    s->value = tuple_or_expression();
  } else {
    s->value = expression();
  }
  s->body = suite();
  TENON_PROGRAM_CHECK(!is_keyword("else"), here().range, "'else' of loops is not supported");
  --nesting_;
  s->range = since(first);
  return s;
}

StmtPtr Parser::with_statement() {
  const std::size_t first = at_;
  StmtPtr s = make_stmt(StmtKind::With);
  TENON_PROGRAM_CHECK(++nesting_ <= kMaxNesting, s->range, "the statements are nested too deeply");
  ++at_;
  do {
    WithItem item;
    item.value = expression();
    if (is_keyword("as")) {
      ++at_;
      item.target = postfix();
    }
    s->items.push_back(std::move(item));
  } while (accept(","));
  s->body = suite();
  --nesting_;
  s->range = since(first);
  return s;
}

std::shared_ptr<Def> Parser::def(std::vector<ExprPtr> decorated) {
  auto d = std::make_shared<Def>();
  d->decorators = std::move(decorated);
  TENON_PROGRAM_CHECK(++nesting_ <= kMaxNesting, here().range,
                      "the statements are nested too deeply");
  if (!is_keyword("def")) unexpected("'def'");
  const std::size_t first = at_++;
  d->name = name("a function's name");
  parameters(*d);
  if (accept("->")) d->returns = expression();
  const std::size_t colon = at_;
  d->range = since(first);
  d->body = suite();
  def_type_comment(*d, colon);
  --nesting_;
  return d;
}

void Parser::parameters(Def& d) {
  expect("(");
  bool keyword_only = false;
  while (!is(")")) {
    TENON_PROGRAM_CHECK(!is("**"), here().range,
                        "Compiled functions can't take variable number of arguments");
    if (is("/")) {
      ++at_;
    } else if (accept("*")) {
      TENON_PROGRAM_CHECK(is(","), here().range,
                          "Compiled functions can't take variable number of arguments");
      keyword_only = true;
    } else {
      Param p;
      p.range = here().range;
      p.keyword_only = keyword_only;
      const std::size_t first = at_;
      p.name = name("a parameter's name");
      if (accept(":")) p.annotation = expression();
      if (accept("=")) p.default_value = expression();
      // "x,  # type: int": the comment follows the comma.
      const std::size_t after = at_ + (is(",") ? 1 : 0);
      if (const SourceRange* r = type_comment(first + 1, after); r && !p.annotation)
        p.annotation = Parser(source_, r->begin, r->end, true).whole_expression();
      d.params.push_back(std::move(p));
    }
    if (!accept(",")) break;
  }
  expect(")");
}

// "# type: (Tensor, int) -> Tensor" on the line of the colon or the one after it.
void Parser::def_type_comment(Def& d, std::size_t colon) {
  const SourceRange* r = type_comment(colon + 1, colon + 2);
  if (!r) return;
  Parser p(source_, r->begin, r->end, true);
  if (!p.is("(")) return;
  ExprPtr types = p.atom();
  p.expect("->");
  ExprPtr result = p.expression();
  const auto list = types->kind == ExprKind::Tuple ? types->args : std::vector{types};
  d.returns = std::move(result);
  if (list.size() == 1 && list[0]->kind == ExprKind::Ellipsis) return;  // each has its own comment
  const bool method = !d.params.empty() && !d.params[0].annotation && d.params[0].name == "self" &&
                      list.size() + 1 == d.params.size();
  TENON_PROGRAM_CHECK(list.size() + method == d.params.size(), *r, "Number of type annotations (",
                      list.size(), ") did not match the number of ", method ? "method" : "function",
                      " parameters (", d.params.size(), ")");
  for (std::size_t i = 0; i < list.size(); ++i) d.params[i + method].annotation = list[i];
}

std::shared_ptr<ClassDef> Parser::class_def(std::vector<ExprPtr> decorated) {
  auto c = std::make_shared<ClassDef>();
  c->decorators = std::move(decorated);
  const std::size_t first = at_++;
  c->name = name("a class's name");
  c->range = since(first);
  if (accept("(")) {
    while (!is(")")) {
      c->bases.push_back(expression());
      if (!accept(",")) break;
    }
    expect(")");
  }
  c->body = suite();
  return c;
}

File parse_file(const SourcePtr& source) {
  return Parser(source, 0, static_cast<uint32_t>(source->text.size()), false).file();
}

ExprPtr parse_expression(const SourcePtr& source) {
  return Parser(source, 0, static_cast<uint32_t>(source->text.size()), true).whole_expression();
}

}  // namespace tenon::jit::language
