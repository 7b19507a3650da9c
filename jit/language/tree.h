// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The syntax tree of TorchScript: the part of Python that programs use and that archives hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/jit/source.h"

namespace tenon::jit::language {

struct Expr;
struct Stmt;
using ExprPtr = std::shared_ptr<Expr>;
using StmtPtr = std::shared_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class ExprKind : uint8_t {
  Name,       // text
  Integer,    // integer
  Float,      // number (also 1e400: inf)
  Imaginary,  // number: 2j
  String,     // text, escapes resolved, neighbors joined
  True,
  False,
  None,
  Ellipsis,
  Attribute,     // a.text
  Call,          // a(args, keywords): args may have Starred
  Subscript,     // a[args]: one per comma; slices are Slice
  Slice,         // args: begin, end, step; each may be null
  Unary,         // text: "-", "+", "~", "not"; a
  Binary,        // text: "+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"; a, b
  Compare,       // text: "==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"; a, b
  CompareChain,  // args: Compare of neighbors, which share operands: 0 < x < n
  And,
  Or,        // a, b
  IfElse,    // a if b else c
  Tuple,     // args
  List,      // args
  Dict,      // args: key, value, key, value ...
  ListComp,  // a for target b in c [if d]
  DictComp,  // {args[0]: args[1] for target b in c [if d]}
  Starred,   // *a
  Lambda,    // refused by the emitter, with its place
  FString,   // args: String and expressions
};

struct Keyword {
  std::string name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind;
  SourceRange range;
  std::string text;
  int64_t integer = 0;
  double number = 0;
  int depth = 1;  // of the tree below
  ExprPtr a, b, c, d;
  std::vector<ExprPtr> args;
  std::vector<Keyword> keywords;
};

enum class StmtKind : uint8_t {
  Expr,    // value
  Assign,  // targets[0] = targets[1] = value; annotation for `x: int = 1` and `x: int` (no value)
  AugAssign,  // targets[0] text= value: "+=" has text "+"
  Return,     // value may be null
  If,         // value, body, orelse
  While,      // value, body
  For,        // targets[0] in value, body
  Break,
  Continue,
  Pass,
  Raise,   // value may be null
  Assert,  // value, message (may be null)
  Delete,  // targets
  With,    // items: value as target; body
  Global,  // refused by the emitter
  Def,     // a function inside of a class or function
};

struct Param {
  std::string name;
  ExprPtr annotation, default_value;  // may be null
  bool keyword_only = false;
  SourceRange range;
};

struct Def {
  SourceRange range;  // of the name
  std::string name;
  std::vector<Param> params;
  ExprPtr returns;  // annotation; may be null
  std::vector<ExprPtr> decorators;
  Body body;
};

struct WithItem {
  ExprPtr value, target;  // target may be null
};

struct Stmt {
  StmtKind kind;
  SourceRange range;
  std::string text;
  std::vector<ExprPtr> targets;
  ExprPtr annotation, value, message;
  Body body, orelse;
  std::vector<WithItem> items;
  std::shared_ptr<Def> def;
};

struct ClassDef {
  SourceRange range;
  std::string name;
  std::vector<ExprPtr> bases;  // Module, NamedTuple, Enum, Interface, ...
  std::vector<ExprPtr> decorators;
  Body body;  // annotated attributes (`weight : Tensor`), assignments (`__parameters__ = [...]`),
              // Def
};

// A file: imports are skipped, functions and classes are in order.
struct File {
  std::vector<std::shared_ptr<Def>> functions;
  std::vector<std::shared_ptr<ClassDef>> classes;
};

// ErrorReport shows the line with a caret, and says what was expected. Nesting is bounded.
File parse_file(const SourcePtr& source);
// A type as in a comment: "(Tensor, int) -> Tensor" of `# type:` is read into annotations by the
// parser; this reads one expression.
ExprPtr parse_expression(const SourcePtr& source);

}  // namespace tenon::jit::language
