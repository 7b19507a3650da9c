// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a definition of ops/*.ops says, parsed and checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/registry/schema.h"

namespace opgen {

// A fault in a definition; what() is "file:line: text", which editors jump to.
struct DefinitionError : std::runtime_error {
  DefinitionError(const std::string& file, int line, const std::string& text)
      : std::runtime_error(file + ":" + std::to_string(line) + ": error: " + text) {}
};

using tenon::core::Arg;
using tenon::core::Result;
using tenon::core::Schema;
using tenon::core::Type;
using tenon::core::type_name;

struct Grad {
  std::vector<std::string> targets;
  std::string expr;
  int line;
};

struct Definition {
  std::string file, family;
  int line = 0;
  Schema schema;
  std::string infer, dtypes = "all", samples, doc, scalar_overload, kind = "kernel", era04;
  bool function = true, method = true, inplace = false, out = false;
  bool named = false;  // called by name alone
  bool decomp = false, on_primitives = false, complex_decomp = false, primitive = false,
       dynamic = false, no_kernel = false, cross_device = false, on_demand = false;
  std::string by_code, code;  // "Unary", "TN_UNARY_EXP"
  std::string body;           // of a composite: its one expression, where it needs no function
  std::string
      fast_path;  // "same" or "bool": the dtype of the result on the fast path; else it takes none
  // Of a composite, as documentation says it: "self, other", "exponent to self", "nothing"; empty
  // where its body, or the operators that it calls, tell.
  std::string broadcasts;
  // Which tensor arguments broadcast, by the shape rule, that line or the body: "self, other; in
  // place: other to self"; empty: none do; null: nothing tells.
  std::optional<std::string> broadcasting;
  std::string layout;  // of a definition with `infer layout` whose tensors are all strided
  // Its gradient, on tensors with a layout of their own, is that of their values.
  bool on_values = false;
  std::array<std::string, 2> autocast;  // enumerators of CastPolicy: host, other devices; or empty
  int random_words = 0;
  int version = 1;
  std::vector<std::string> mutates;
  std::vector<Schema> since;
  std::vector<Grad> grads;
  int index = -1;

  bool composite() const { return kind == "composite"; }
  bool view() const { return kind == "view"; }
  std::string ident() const { return schema.ident(); }
};

// Throws DefinitionError.
Schema parse_schema(const std::string& text, const std::string& file, int line);
std::vector<Definition> parse_file(const std::string& path);
// Gives definitions their autocast, by the table of operators (ops/autocast.tsv).
void read_autocast(const std::string& path, std::vector<Definition>& definitions);
// Gives definitions their `broadcasting`.
void find_broadcasting(std::vector<Definition>& definitions);

std::string digest_of(const Schema& s, int version);  // 32 bytes as "0x..,0x.."
std::string read_file(const std::string& path);
// Leaves the file alone when it has this text already, so that nothing is rebuilt.
void write_if_changed(const std::string& path, const std::string& text);

// The C++ form of a type as an argument and as a result, and its letter in signatures (sdk).
std::string cpp_arg_type(const Type& t);
std::string cpp_result_type(const Schema& s);
// One entry of a signature, as sdk/signature.h reads it.
std::string type_code(const Type& t);
// True at the first of the four arguments dtype, layout, device, pin_memory, which C++ folds into
// TensorOptions.
bool options_start(const Schema& s, std::size_t i);
std::string cpp_default(const Arg& a);
std::string params(const Schema& s, bool with_defaults, bool skip_self = false);

}  // namespace opgen
