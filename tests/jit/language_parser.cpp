// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "jit/language/tree.h"

namespace tenon::jit::language {
namespace {

SourcePtr source(const std::string& text) {
  auto s = std::make_shared<Source>();
  s->text = text;
  return s;
}

// With all parentheses: (a + (b * c)).
std::string text_of(const ExprPtr& e) {
  if (!e) return "";
  const auto list = [](const std::vector<ExprPtr>& v) {
    std::string out;
    for (const ExprPtr& x : v) out += (out.empty() ? "" : ", ") + text_of(x);
    return out;
  };
  switch (e->kind) {
    case ExprKind::Name:
      return e->text;
    case ExprKind::Integer:
      return std::to_string(e->integer);
    case ExprKind::Float:
      return std::to_string(e->number);
    case ExprKind::Imaginary:
      return std::to_string(e->number) + "j";
    case ExprKind::String:
      return "'" + e->text + "'";
    case ExprKind::True:
      return "True";
    case ExprKind::False:
      return "False";
    case ExprKind::None:
      return "None";
    case ExprKind::Ellipsis:
      return "...";
    case ExprKind::Attribute:
      return text_of(e->a) + "." + e->text;
    case ExprKind::Call: {
      std::string args = list(e->args);
      for (const Keyword& k : e->keywords)
        args += (args.empty() ? "" : ", ") + k.name + "=" + text_of(k.value);
      return text_of(e->a) + "(" + args + ")";
    }
    case ExprKind::Subscript:
      return text_of(e->a) + "[" + list(e->args) + "]";
    case ExprKind::Slice:
      return text_of(e->args[0]) + ":" + text_of(e->args[1]) + ":" + text_of(e->args[2]);
    case ExprKind::Unary:
      return "(" + e->text + " " + text_of(e->a) + ")";
    case ExprKind::Binary:
    case ExprKind::Compare:
      return "(" + text_of(e->a) + " " + e->text + " " + text_of(e->b) + ")";
    case ExprKind::CompareChain:
      return "chain(" + list(e->args) + ")";
    case ExprKind::And:
      return "(" + text_of(e->a) + " and " + text_of(e->b) + ")";
    case ExprKind::Or:
      return "(" + text_of(e->a) + " or " + text_of(e->b) + ")";
    case ExprKind::IfElse:
      return "(" + text_of(e->a) + " if " + text_of(e->b) + " else " + text_of(e->c) + ")";
    case ExprKind::Tuple:
      return "(" + list(e->args) + ",)";
    case ExprKind::List:
      return "[" + list(e->args) + "]";
    case ExprKind::Dict:
      return "{" + list(e->args) + "}";
    case ExprKind::ListComp:
      return "[" + text_of(e->a) + " for " + text_of(e->b) + " in " + text_of(e->c) +
             (e->d ? " if " + text_of(e->d) : "") + "]";
    case ExprKind::DictComp:
      return "{" + list(e->args) + " for " + text_of(e->b) + " in " + text_of(e->c) + "}";
    case ExprKind::Starred:
      return "*" + text_of(e->a);
    case ExprKind::Lambda:
      return "lambda";
    case ExprKind::FString:
      return "f(" + list(e->args) + ")";
  }
  return "?";
}

std::string parsed(const std::string& text) { return text_of(parse_expression(source(text))); }

TEST(JitParser, PrecedenceIsPythons) {
  EXPECT_EQ(parsed("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(parsed("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parsed("-a ** b ** -c"), "(- (a ** (b ** (- c))))");
  EXPECT_EQ(parsed("-2 ** 2"), "(- (2 ** 2))");
  EXPECT_EQ(parsed("a or b and not c == d"), "(a or (b and (not (c == d))))");
  EXPECT_EQ(parsed("a | b ^ c & d << e + f"), "(a | (b ^ (c & (d << (e + f)))))");
  EXPECT_EQ(parsed("a if b else c if d else e"), "(a if b else (c if d else e))");
  EXPECT_EQ(parsed("a < b <= c != d"), "chain((a < b), (b <= c), (c != d))");
  EXPECT_EQ(parsed("a not in b"), "(a not in b)");
  EXPECT_EQ(parsed("a is not None"), "(a is not None)");
  EXPECT_EQ(parsed("not a in b"), "(not (a in b))");
  EXPECT_EQ(parsed("a @ b // c % d"), "(((a @ b) // c) % d)");
  EXPECT_EQ(parsed("~a.b[0](c)"), "(~ a.b[0](c))");
}

TEST(JitParser, Displays) {
  EXPECT_EQ(parsed("a, b"), "(a, b,)");
  EXPECT_EQ(parsed("a,"), "(a,)");
  EXPECT_EQ(parsed("()"), "(,)");
  EXPECT_EQ(parsed("(a)"), "a");
  EXPECT_EQ(parsed("[a, *b,]"), "[a, *b]");
  EXPECT_EQ(parsed("{a: b, c: d}"), "{a, b, c, d}");
  EXPECT_EQ(parsed("[a for b, c in d if e]"), "[a for (b, c,) in d if e]");
  EXPECT_EQ(parsed("{a: b for a in c}"), "{a, b for a in c}");
  EXPECT_EQ(parsed("x[1:, ::2, ..., None, a:b:c]"), "x[1::, ::2, ..., None, a:b:c]");
  EXPECT_EQ(parsed("f(a, *b, c=1, d=e,)"), "f(a, *b, c=1, d=e)");
  EXPECT_EQ(parsed("[\n  a,\n  # a comment\n  b\n]"), "[a, b]");
}

TEST(JitParser, Literals) {
  EXPECT_EQ(parsed("0x1F"), "31");
  EXPECT_EQ(parsed("0b101"), "5");
  EXPECT_EQ(parsed("1_000"), "1000");
  EXPECT_EQ(parsed("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(parsed("1.5e3"), "1500.000000");
  EXPECT_EQ(parsed("2."), "2.000000");
  EXPECT_EQ(parsed("3j"), "3.000000j");
  EXPECT_EQ(parsed("'a' \"b\""), "'ab'");
  EXPECT_EQ(parsed("'\\n\\t\\x41\\101\\u00e9\\\\'"), "'\n\tAA\xc3\xa9\\'");
  EXPECT_EQ(parsed("'\\303\\251'"), "'\xc3\xa9'");  // bytes, as archives write them
  EXPECT_EQ(parsed("r'\\n'"), "'\\n'");
  EXPECT_EQ(parsed("'''a\n'b'\n'''"), "'a\n'b'\n'");
  EXPECT_EQ(parsed("f'{{a}} {b + 1}!' 'c{d}'"), "f('{a} ', (b + 1), '!', 'c{d}')");
  EXPECT_EQ(parsed("f'{x[\"k\"]}'"), "f(x['k'])");
}

TEST(JitParser, Functions) {
  const File f =
      parse_file(source("import torch\n"
                        "from typing import List\n"
                        "@torch.jit.export\n"
                        "def f(a, b: int = 2, *, c: float = 1.0) -> int:\n"
                        "  \"\"\"A docstring.\"\"\"\n"
                        "  return a + \\\n    b\n"
                        "def g(a, b):\n"
                        "  # type: (int, List[int]) -> float\n"
                        "  x = []  # type: List[int]\n"
                        "  if a: return b\n"
                        "  else:\n"
                        "    pass; x += b\n"
                        "def h(a,  # type: int\n"
                        "      b):\n"
                        "  # type: (...) -> int\n"
                        "  return a\n"));
  ASSERT_EQ(f.functions.size(), 3u);
  const Def& d = *f.functions[0];
  EXPECT_EQ(d.decorators.size(), 1u);
  ASSERT_EQ(d.params.size(), 3u);
  EXPECT_FALSE(d.params[1].keyword_only);
  EXPECT_TRUE(d.params[2].keyword_only);
  EXPECT_EQ(text_of(d.params[1].default_value), "2");
  EXPECT_EQ(text_of(d.returns), "int");
  EXPECT_EQ(text_of(d.body.back()->value), "(a + b)");
  const Def& g = *f.functions[1];
  EXPECT_EQ(text_of(g.params[1].annotation), "List[int]");
  EXPECT_EQ(text_of(g.returns), "float");
  EXPECT_EQ(text_of(g.body[0]->annotation), "List[int]");
  EXPECT_EQ(g.body[1]->orelse.size(), 2u);
  EXPECT_EQ(g.body[1]->orelse[1]->kind, StmtKind::AugAssign);
  EXPECT_EQ(g.body[1]->orelse[1]->text, "+");
  EXPECT_EQ(text_of(f.functions[2]->params[0].annotation), "int");
  EXPECT_EQ(text_of(f.functions[2]->returns), "int");
}

TEST(JitParser, ClassesOfArchives) {
  const File f =
      parse_file(source("op_version_set = 1\n"
                        "class M(Module):\n"
                        "  __parameters__ = [\"w\", ]\n"
                        "  w : Tensor\n"
                        "  n : Final[int] = 3\n"
                        "  __annotations__[\"0\"] = __torch__.Block\n"
                        "  def forward(self: __torch__.M,\n"
                        "    x: Tensor) -> Tensor:\n"
                        "    a, b, = (self).two(x, )\n"
                        "    h : Optional[Tensor] = None\n"
                        "    return a\n"));
  ASSERT_EQ(f.classes.size(), 1u);
  const ClassDef& c = *f.classes[0];
  ASSERT_EQ(c.body.size(), 5u);
  EXPECT_EQ(text_of(c.body[1]->annotation), "Tensor");
  EXPECT_EQ(text_of(c.body[3]->targets[0]), "__annotations__['0']");
  const Def& d = *c.body[4]->def;
  EXPECT_EQ(text_of(d.params[0].annotation), "__torch__.M");
  EXPECT_EQ(text_of(d.body[0]->targets[0]), "(a, b,)");
  EXPECT_EQ(text_of(d.body[0]->value), "self.two(x)");
}

}  // namespace
}  // namespace tenon::jit::language
