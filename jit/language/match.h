// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which overload a call means, and what its arguments are converted to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit::language {

struct NamedValue {
  std::string name;  // empty: by position
  Value* value;
  SourceRange range;
};

struct Match {
  const Operator* op;            // null for a function of the program
  std::vector<Value*> inputs;    // one per argument of the schema, defaults inserted
  std::vector<TypePtr> returns;  // with type variables replaced
};

// Tries one schema. On a mismatch returns nothing and appends the reason to `why`. Implicit
// conversions, only where `allow_conversions`: int to float or Scalar, a tensor to int, float or
// Scalar, one number to int[N], tuples to lists, None to an Optional.
std::optional<Match> try_schema(const FunctionSchema& schema, Graph& graph,
                                const SourceRange& range, const std::vector<NamedValue>& args,
                                bool allow_conversions, std::string* why);
// The first overload that matches without conversions, else with them. The error names all
// candidate schemas with the reason that each was refused, and similar names if there is none.
// `self` (may be null) is the first argument of a method call.
Match match_operator(const std::string& name, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args);
// Inserts the node and returns its result: a tuple of several, None of none.
Value* emit_operator(const std::string& name, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args);

}  // namespace tenon::jit::language
