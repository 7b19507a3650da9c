// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Definitions of the comprehension language as they were read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/jit/source.h"
#include "tenon/sdk/loop_program/program.h"

namespace tenon::jit::comprehension {

namespace lp = sdk::loop_program;

enum class Form {
  kNumber,
  kName,
  kCall,    // name(args): a read of a tensor or a function
  kSizeOf,  // name.integer: a size of a tensor
  kCast,    // to `dtype`
  kUnary,   // by `name`: - !
  kBinary,  // by `name`
  kSelect,  // condition ? then : else
};

struct Expression {
  Form form = Form::kNumber;
  SourceRange where;
  std::string name;
  std::vector<Expression> args;
  bool is_integer = false;  // of kNumber
  int64_t integer = 0;
  double real = 0;
  lp::Dtype dtype = lp::Dtype::kFloat;
};

struct Range {
  std::string name;
  SourceRange where;
  Expression begin, end;  // half open
};

struct Statement {
  SourceRange where;
  std::string target;
  std::vector<Expression> indices;  // names, each once
  lp::Update update = lp::Update::kAssign;
  bool from_neutral = false;
  Expression value;  // names of `where x = e` are replaced
  std::vector<Range> ranges;
  std::vector<Expression> exists;  // take part in inference alone
};

struct Parameter {
  SourceRange where;
  std::string name;
  lp::Dtype dtype = lp::Dtype::kFloat;
  std::vector<Expression> sizes;  // a name or an integer each
};

struct Definition {
  SourceRange where;  // of the name
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> outputs;
  std::vector<Statement> statements;
};

}  // namespace tenon::jit::comprehension
