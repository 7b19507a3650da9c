// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A parser by recursive descent; nesting is bounded by kMaxNesting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/language/lexer.h"
#include "jit/language/tree.h"

namespace tenon::jit::language {

class Parser {
 public:
  Parser(const SourcePtr& source, uint32_t begin, uint32_t end, bool nested);
  File file();
  // One expression, a tuple without parentheses included, and nothing after it.
  ExprPtr whole_expression();

 private:
  struct Deeper;
  // Tokens.
  const Token& here() const { return list_.tokens[at_]; }
  const Token& ahead(std::size_t n) const;
  const Token& previous() const { return list_.tokens[at_ - 1]; }
  bool is(std::string_view op) const;  // an operator or keyword
  bool is_keyword(std::string_view k) const;
  bool accept(std::string_view op);
  void expect(std::string_view op);
  std::string name(const char* what);
  [[noreturn]] void unexpected(const std::string& expected) const;
  SourceRange since(std::size_t token) const;  // from that token to the one before this
  const SourceRange* type_comment(std::size_t first, std::size_t last) const;

  // Statements.
  void statements(Body& out);
  void simple_statements(Body& out);
  StmtPtr simple_statement();
  StmtPtr assignment(StmtPtr s);
  void compound(Body& out);
  Body suite();
  StmtPtr if_statement();
  StmtPtr loop_statement(StmtKind kind);
  StmtPtr with_statement();
  std::shared_ptr<Def> def(std::vector<ExprPtr> decorators);
  void parameters(Def& d);
  void def_type_comment(Def& d, std::size_t colon);
  std::shared_ptr<ClassDef> class_def(std::vector<ExprPtr> decorators);
  std::vector<ExprPtr> decorators();
  void skip_import();
  StmtPtr make_stmt(StmtKind kind) const;

  // Expressions.
  ExprPtr make(ExprKind kind, std::size_t first) const;
  ExprPtr finish(ExprPtr e) const;  // sets the depth and checks it
  ExprPtr tuple_or_expression(bool allow_starred = true);
  ExprPtr expression();  // ternary
  ExprPtr starred_or_expression();
  ExprPtr disjunction();
  ExprPtr conjunction();
  ExprPtr negation();
  ExprPtr comparison();
  ExprPtr binary(int level);
  ExprPtr unary();
  ExprPtr power();
  ExprPtr postfix();
  ExprPtr call(ExprPtr callee, std::size_t first);
  ExprPtr subscript(ExprPtr base, std::size_t first);
  ExprPtr subscript_item();
  ExprPtr atom();
  ExprPtr parenthesized();
  ExprPtr list_display();
  ExprPtr dict_display();
  void comprehension(Expr& e);
  ExprPtr target_list();
  ExprPtr number();
  ExprPtr strings();
  void formatted(const Token& t, std::vector<ExprPtr>& parts);

  SourcePtr source_;
  TokenList list_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

// What a string literal stands for, escapes resolved.
std::string unescape(const Token& t);

}  // namespace tenon::jit::language
