// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A value that a model names, in the forms that nodes may ask for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/proto/model.pb.h"
#include "tenon/jit/graph.h"

namespace tenon::onnx {

struct Item;
using ItemPtr = std::shared_ptr<Item>;  // null: an input that is left out

// A tensor of strings: int64 positions in a table that is known while loading.
struct Strings {
  ItemPtr codes;
  std::vector<std::string> table;
};

// Sizes and positions are tensors in ONNX and integers in programs: the form of integers is kept
// from Shape to Reshape, so that nothing is computed on a device or waits for one.
struct Item {
  std::string name;
  jit::Value* tensor = nullptr;  // made when it is first asked for, where the other form is
  jit::Value* ints = nullptr;    // int[] for a tensor of one dimension, int for a scalar
  jit::Value* other = nullptr;   // a sequence (Tensor[]), an optional, a map
  std::shared_ptr<const Strings> strings;
  std::optional<ScalarType> dtype;  // of the tensor, where it is known
  int32_t onnx_type = 0;            // as the file says, where it does
  Tensor constant;                  // known while loading
  int64_t rank = -1;                // of a tensor made from a constant; -1: not known
  jit::Node* made_after = nullptr;  // the last node that has made it: lists are filled in place
  bool is_initializer = false;      // `constant` becomes a parameter or a buffer of the module
  bool as_parameter = false;        // a node uses it as a weight

  bool is_ints() const { return ints && ints->type()->is(jit::TypeKind::List); }
  bool is_int() const { return ints && ints->type()->is(jit::TypeKind::Int); }
};

// The values of a graph of the file; those of the graphs around it are seen, too.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, ItemPtr, std::less<>> values;
  std::set<std::string, std::less<>> not_computed;  // outputs that are an error if they are used
  const ItemPtr* find(std::string_view name) const {
    for (const Scope* s = this; s; s = s->outer)
      if (const auto it = s->values.find(name); it != s->values.end()) return &it->second;
    return nullptr;
  }
  bool is_not_computed(std::string_view name) const {
    for (const Scope* s = this; s; s = s->outer)
      if (s->not_computed.find(name) != s->not_computed.end()) return true;
    return false;
  }
};

}  // namespace tenon::onnx
