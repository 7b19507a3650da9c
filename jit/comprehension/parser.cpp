// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/parser.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "jit/comprehension/lexer.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::jit::comprehension {
namespace {

constexpr int kMaxNesting = 200;

std::optional<lp::Dtype> dtype_of(std::string_view name) {
  const std::pair<std::string_view, lp::Dtype> others[] = {
      {"float", lp::Dtype::kFloat}, {"double", lp::Dtype::kDouble}, {"half", lp::Dtype::kHalf},
      {"int", lp::Dtype::kInt32},   {"long", lp::Dtype::kInt64},    {"short", lp::Dtype::kInt16}};
  for (const auto& [word, dtype] : others)
    if (word == name) return dtype;
  const int at = lp::find_name(lp::dtype_names, name);
  if (at < 0) return std::nullopt;
  return static_cast<lp::Dtype>(at);
}

constexpr int kMaxReplaced = 1000;  // names of one statement: they could multiply

// Replaces names by expressions; counts them.
void substitute(Expression& e, const std::map<std::string, Expression>& by, int& count) {
  for (Expression& it : e.args) substitute(it, by, count);
  if (e.form != Form::kName) return;
  const auto at = by.find(e.name);
  if (at == by.end()) return;
  TENON_PROGRAM_CHECK(++count <= kMaxReplaced, at->second.where, e.name, " is replaced more than ",
                      kMaxReplaced, " times in one statement");
  e = at->second;
}

class Parser {
 public:
  Parser(const SourcePtr& source, const std::map<std::string, Scalar>& constants)
      : tokens_(tokenize(source)), constants_(constants) {}

  std::vector<Definition> parse() {
    std::vector<Definition> list;
    std::set<std::string> names;
    while (!at_end()) {
      list.push_back(definition());
      TENON_PROGRAM_CHECK(names.insert(list.back().name).second, list.back().where,
                          "two definitions are named ", list.back().name);
    }
    TENON_PROGRAM_CHECK(!list.empty(), peek().where, "expected a definition: def name(...)");
    return list;
  }

 private:
  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  bool at(std::string_view text) const { return !at_end() && peek().text == text; }
  const Token& next() {
    const Token& token = peek();
    if (!at_end()) ++at_;
    return token;
  }
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    ++at_;
    return true;
  }
  std::string found() const {
    return at_end() ? "the end of the text" : core::join("'", peek().text, "'");
  }
  void expect(std::string_view text) {
    TENON_PROGRAM_CHECK(accept(text), peek().where, "expected '", text, "', found ", found());
  }

  std::string name(const char* what) {
    TENON_PROGRAM_CHECK(peek().kind == TokenKind::kName, peek().where, "expected ", what,
                        ", found ", found());
    TENON_PROGRAM_CHECK(peek().text.size() <= 48, peek().where, "a name of more than 48 letters");
    return std::string(next().text);
  }

  // `( one, ... )`, perhaps none.
  template <class F>
  void list(F one) {
    expect("(");
    if (accept(")")) return;
    do one();
    while (accept(","));
    expect(")");
  }

  Definition definition() {
    expect("def");
    Definition d;
    d.where = peek().where;
    d.name = name("the name of a definition");
    list([&] { d.parameters.push_back(parameter()); });
    expect("->");
    list([&] {
      const SourceRange where = peek().where;
      d.outputs.push_back(name("the name of an output"));
      TENON_PROGRAM_CHECK(std::count(d.outputs.begin(), d.outputs.end(), d.outputs.back()) == 1,
                          where, "two outputs are named ", d.outputs.back());
    });
    TENON_PROGRAM_CHECK(!d.outputs.empty(), d.where, d.name, " has no output");
    expect("{");
    while (!accept("}")) d.statements.push_back(statement());
    return d;
  }

  Parameter parameter() {
    Parameter p;
    const std::optional<lp::Dtype> dtype = dtype_of(peek().text);
    TENON_PROGRAM_CHECK(dtype.has_value(), peek().where, "expected a dtype such as float, found ",
                        found());
    next();
    p.dtype = *dtype;
    if (at("(")) list([&] { p.sizes.push_back(size()); });
    p.where = peek().where;
    p.name = name("the name of an argument");
    return p;
  }

  Expression size() {
    Expression e = primary();
    TENON_PROGRAM_CHECK(!at(":"), peek().where,
                        "sizes are exact, not ranges: give one name or number");
    TENON_PROGRAM_CHECK(e.form == Form::kName || (e.form == Form::kNumber && e.is_integer), e.where,
                        "a size is a name or an integer");
    TENON_PROGRAM_CHECK(at(",") || at(")"), peek().where, "a size is one name or integer, found ",
                        found());
    return e;
  }

  void refuse_loops() const {
    for (const std::string_view word : {"for", "while", "if", "else", "let", "return"})
      TENON_PROGRAM_CHECK(!at(word), peek().where, "'", word,
                          "': there are no loops or branches in the language: each index loops "
                          "over its range; unroll recurrences, and choose values with ?:");
  }

  Statement statement() {
    refuse_loops();
    Statement s;
    s.where = peek().where;
    s.target = name("a statement");
    refuse_method();
    if (at("(")) list([&] { s.indices.push_back(index(s)); });
    update(s);
    s.value = expression();
    std::map<std::string, Expression> lets;
    if (accept("where")) {
      do clause(s, lets);
      while (accept(",") || accept("where"));
    }
    accept(";");
    int count = 0;
    for (int round = 0; !lets.empty() && round < 8; ++round) {  // a let may name another
      substitute(s.value, lets, count);
      for (Expression& it : s.exists) substitute(it, lets, count);
    }
    return s;
  }

  Expression index(const Statement& s) {
    Expression e = primary();
    TENON_PROGRAM_CHECK(e.form == Form::kName && (at(",") || at(")")), e.where,
                        "an index on the left is a name alone: its range is a dimension of ",
                        s.target);
    for (const Expression& it : s.indices)
      TENON_PROGRAM_CHECK(it.name != e.name, e.where, "two indices of ", s.target, " are named ",
                          e.name);
    return e;
  }

  void update(Statement& s) {
    constexpr std::pair<std::string_view, lp::Update> updates[] = {{"=", lp::Update::kAssign},
                                                                   {"+=", lp::Update::kSum},
                                                                   {"*=", lp::Update::kProd},
                                                                   {"max=", lp::Update::kMax},
                                                                   {"min=", lp::Update::kMin}};
    const SourceRange where = peek().where;
    std::string text;
    if ((at("max") || at("min")) && peek(1).text.substr(0, 1) == "=") text = next().text;
    text += next().text;
    s.from_neutral = text.back() == '!';
    if (s.from_neutral) text.pop_back();
    for (const auto& [word, update] : updates) {
      if (word != text) continue;
      s.update = update;
      TENON_PROGRAM_CHECK(!s.from_neutral || update != lp::Update::kAssign, where,
                          "'=!' is not a reduction: write +=!, *=!, max=! or min=!");
      return;
    }
    throw ErrorReport(where, "expected =, +=, *=, max= or min=, found '" + text + "'");
  }

  void clause(Statement& s, std::map<std::string, Expression>& lets) {
    const SourceRange where = peek().where;
    const std::string word = name("a name, or exists");
    if (word == "exists") {
      s.exists.push_back(expression());
    } else if (accept("in")) {
      Expression begin = expression();
      expect(":");
      s.ranges.push_back({word, where, std::move(begin), expression()});
    } else {
      expect("=");
      lets[word] = expression();
    }
  }

  Expression make(Form form, std::string_view name, const SourceRange& where,
                  std::vector<Expression> args) const {
    Expression e;
    e.form = form;
    e.name = name;
    e.where = where;
    e.args = std::move(args);
    for (const Expression& it : e.args) {
      e.where.begin = std::min(e.where.begin, it.where.begin);
      e.where.end = std::max(e.where.end, it.where.end);
    }
    return e;
  }

  Expression expression() {
    TENON_PROGRAM_CHECK(++depth_ <= kMaxNesting, peek().where, "nested more than ", kMaxNesting,
                        " deep");
    Expression e = binary(0);
    if (at("?")) {
      const SourceRange where = next().where;
      Expression yes = expression();
      expect(":");
      Expression no = expression();
      e = make(Form::kSelect, "?", where, {std::move(e), std::move(yes), std::move(no)});
    }
    --depth_;
    return e;
  }

  static int level_of(std::string_view op) {
    constexpr std::pair<std::string_view, int> levels[] = {
        {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 4}, {"<=", 4}, {">", 4},
        {">=", 4}, {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}, {"%", 6}};
    for (const auto& [word, level] : levels)
      if (word == op) return level;
    return 0;
  }

  Expression binary(int above) {
    Expression e = unary();
    for (;;) {
      const int level = peek().kind == TokenKind::kOperator ? level_of(peek().text) : 0;
      if (level <= above) return e;
      const Token& op = next();
      Expression right = binary(level);
      e = make(Form::kBinary, op.text, op.where, {std::move(e), std::move(right)});
    }
  }

  Expression unary() {
    if (!at("-") && !at("!")) return primary();
    TENON_PROGRAM_CHECK(++depth_ <= kMaxNesting, peek().where, "nested more than ", kMaxNesting,
                        " deep");
    const Token& op = next();
    Expression e = make(Form::kUnary, op.text, op.where, {unary()});
    --depth_;
    return e;
  }

  void refuse_method() const {
    TENON_PROGRAM_CHECK(!at("."), peek(1).where, "'", peek(1).text,
                        "' inside a definition is not supported: a definition has no view, "
                        "reshape or methods; reshape the tensors before or after the call");
  }

  Expression primary() {
    const Token token = peek();
    if (accept("(")) {
      Expression e = expression();
      expect(")");
      return e;
    }
    if (token.kind == TokenKind::kNumber) return number(next());
    TENON_PROGRAM_CHECK(token.kind == TokenKind::kName, token.where,
                        "expected an expression, found ", found());
    refuse_loops();
    std::string word = name("an expression");
    if (at(".") && peek(1).kind == TokenKind::kNumber) {
      next();
      Expression e = number(next());
      TENON_PROGRAM_CHECK(e.is_integer, e.where, "a size is chosen by an integer: ", word, ".0");
      e.form = Form::kSizeOf;
      e.name = word;
      e.where.begin = token.where.begin;
      return e;
    }
    Expression e;
    if (at("(")) {
      std::vector<Expression> args;
      list([&] { args.push_back(expression()); });
      e = make(Form::kCall, word, token.where, std::move(args));
      e.where.end = tokens_[at_ - 1].where.end;
      if (const auto dtype = dtype_of(word)) {
        TENON_PROGRAM_CHECK(e.args.size() == 1, e.where, "a cast takes one value");
        e.form = Form::kCast;
        e.dtype = *dtype;
      }
    } else {
      e = name_or_constant(word, token.where);
    }
    refuse_method();
    return e;
  }

  Expression name_or_constant(const std::string& word, const SourceRange& where) const {
    Expression e = make(Form::kName, word, where, {});
    const auto at = constants_.find(word);
    if (at == constants_.end()) return e;
    e.form = Form::kNumber;
    e.is_integer = at->second.isIntegral(true);
    if (e.is_integer) e.integer = at->second.to<int64_t>();
    e.real = at->second.to<double>();
    return e;
  }

  static Expression number(const Token& token) {
    Expression e;
    e.where = token.where;
    const char *begin = token.text.data(), *end = begin + token.text.size();
    e.is_integer = token.text.find_first_of(".eE") == std::string_view::npos;
    if (e.is_integer) {
      const auto [to, error] = std::from_chars(begin, end, e.integer);
      TENON_PROGRAM_CHECK(error == std::errc() && to == end, token.where,
                          "an integer beyond 64 bits");
      e.real = static_cast<double>(e.integer);
    } else {
      const auto [to, error] = std::from_chars(begin, end, e.real);
      TENON_PROGRAM_CHECK(error == std::errc() && to == end, token.where,
                          "a number beyond float64");
    }
    return e;
  }

  std::vector<Token> tokens_;
  const std::map<std::string, Scalar>& constants_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Definition> parse(const SourcePtr& source,
                              const std::map<std::string, Scalar>& constants) {
  return Parser(source, constants).parse();
}

}  // namespace tenon::jit::comprehension
