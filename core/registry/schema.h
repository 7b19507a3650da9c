// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The text of an op's schema, read: by opgen for the operators of the build, by core for the ops
// that plugins register.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/core/list_length.h"

namespace tenon::core {

struct SchemaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Type {
  // Tensor, Scalar, int, float, bool, str, ScalarType, Layout, Device, MemoryFormat, Generator
  std::string base;
  bool list = false;
  bool optional = false;        // of the whole: Tensor?, int[]?
  bool optional_items = false;  // Tensor?[]
  int fixed = 0;                // int[2]

  bool tensor() const { return base == "Tensor"; }
  bool plain_tensor() const { return tensor() && !list; }
};

struct Arg {
  std::string name;
  Type type;
  bool mutates = false;  // (a!) in the schema
  bool keyword_only = false;
  std::optional<std::string> def;
  bool required = false;  // C++ leaves the default out, so that overloads stay apart
};

struct Result {
  std::string name;  // empty unless given
  Type type;
};

struct Schema {
  std::string name, overload;
  std::vector<Arg> args;
  std::vector<Result> results;
  std::string text;  // ATen's form, as shown to people
  // What the digest covers: names of arguments and results left out of nothing but results.
  std::string canonical;

  std::string full() const { return overload.empty() ? name : name + "." + overload; }
  std::string ident() const { return overload.empty() ? name : name + "_" + overload; }
};

// SchemaError says what was expected and where.
Schema parse_schema(const std::string& text);
// The enumerator of ArgType (tenon/core/op.h) as a number and as text. SchemaError if there is
// none.
int type_index(const Type& type);
std::string type_name(const Type& type);
// Bits of ListLength.
int list_lengths(const Schema& schema, const Arg& arg);

}  // namespace tenon::core
