// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which overload a call means, and what its arguments are converted to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

// Tries one schema. On a mismatch returns nothing and appends the reason to `why` (may be null).
// Implicit conversions, only where `allow_conversions`: a tensor to int, float, complex or Scalar,
// a bool to a number, a string to a device, further positional arguments to a list. Always: one
// number to int[N], tuples to lists, an empty list literal to a list of any type.
std::optional<Match> try_schema(const FunctionSchema& schema, Graph& graph,
                                const SourceRange& range, const std::vector<NamedValue>& args,
                                bool allow_conversions, std::string* why);
// The one schema of a function of the program. The error says why it does not match.
Match match_function(const FunctionSchema& schema, Graph& graph, const SourceRange& range,
                     const std::vector<NamedValue>& args);
// The first of many schemas that matches without conversions, else with them: its position.
std::pair<std::size_t, Match> match_functions(const std::vector<const FunctionSchema*>& schemas,
                                              Graph& graph, const SourceRange& range,
                                              const std::vector<NamedValue>& args);
// The first overload that matches without conversions, else with them. The error names all
// candidate schemas with the reason that each was refused, and similar names if there is none.
// `self` (may be null) is the first argument of a method call.
Match match_operator(const std::string& name, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args);
// Inserts the node and returns its result: a tuple of several, None of none.
Value* emit_operator(const std::string& name, Graph& graph, const SourceRange& range, Value* self,
                     const std::vector<NamedValue>& args);

// Whether it is an operator of bits of tensors, such as aten::__iand__.
bool names_bits(std::string_view name);

// The value as one of `type`, converted as for an argument if it has to be; the value itself where
// that is not possible.
Value* convert(Value* value, const TypePtr& type, Graph& graph, const SourceRange& range,
               bool allow_conversions);
// A node with one output.
Value* emit_node(Graph& graph, const SourceRange& range, std::string_view kind,
                 const std::vector<Value*>& inputs, TypePtr type);
// The elements of a tuple; those of a tuple that was just made are taken from there.
std::vector<Value*> unpack_tuple(Value* tuple, Graph& graph, const SourceRange& range);

}  // namespace tenon::jit::language
