// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The writers. Each takes the definitions and leaves files alone that would not change.
#pragma once

#include "tools/opgen/definition.h"

namespace opgen {

inline constexpr const char* kGenerated =
    "// Written by opgen from ops; edit the definition instead.\n";

void emit_core_table(const std::vector<Definition>& definitions, const std::string& path);
// Positions of arguments by name, for each shape rule.
void emit_infer_args(const std::vector<Definition>& definitions, const std::string& path);
// Both arrays of core/registry/broadcasting.cpp.
std::string broadcasting_table(const std::vector<Definition>& definitions);
void emit_op_ids(const std::vector<Definition>& definitions, const std::string& path);
void emit_sdk_headers(const std::vector<Definition>& definitions, const std::string& folder);

// The headers of tenon that are installed: the body of class Tensor, the functions of each family,
// the functions that composites define. The build includes them without docs, so that
// a changed word recompiles nothing.
enum class Docs { Without, With };
void emit_headers(const std::vector<Definition>& definitions,
                  const std::vector<std::string>& families, const std::string& folder, Docs docs);
void emit_functions(const std::vector<Definition>& definitions, const std::string& family,
                    const std::string& path);
void emit_nodes(const std::vector<Definition>& definitions, const std::string& family,
                const std::string& folder);

// What a formula of a definition needs saved. `how` is one of tensor, geometry, value.
struct Saved {
  std::string name;
  enum Kind {
    Tensor,
    OutTensor,
    TensorList,
    OptTensor,
    Geometry,
    StridedGeometry,
    ListGeometry,
    Value
  } kind;
  const Arg* arg = nullptr;  // null for a result
  int result = -1;
};
struct NodePlan {
  std::vector<Saved> saved;
  std::vector<std::string> formulas;  // rewritten, parallel to definition.grads
  std::vector<const Arg*> inputs;     // differentiable arguments, in order of the schema
  bool reduces = false;               // gradients go back to the arguments' shapes
};
// The definition's rule under compat::Era04, empty if it has none, and the functions that follow
// it.
// `if (...)`: whether old rules change this call.
std::string era_test(const std::string& rule);
std::string era_rule(const Definition& definition);
std::string era_function(const Definition& definition, const std::string& rule);
std::string era_inplace(const Definition& definition, const std::string& rule);
std::string era_out(const Definition& definition,
                    const std::string& rule);  // empty if the form needs none
NodePlan plan_node(const Definition& definition);
// Whether the gradient of a result reaches an argument: results that no formula asks about record
// nothing. Of one result, and where all formulas only raise, all do.
bool is_differentiable(const NodePlan& plan, std::size_t result, std::size_t n_results);
// Whether a rewritten formula reads an argument or a result: its name as a word of its own, not as
// a member or a call.
bool uses(const std::string& formula, const std::string& name);
std::string node_name(const Definition& definition);

}  // namespace opgen
