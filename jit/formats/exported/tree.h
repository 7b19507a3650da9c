// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How the arguments and results of an exported program are nested: torch's "treespec".
#pragma once

#include <string>
#include <vector>

#include "jit/formats/exported/json.h"
#include "tenon/jit/type.h"

namespace tenon::jit {
class CompilationUnit;
}

namespace tenon::jit::formats {

inline constexpr int kMaxTreeDepth = 64;

struct Tree {
  enum class Kind : uint8_t { Leaf, Tuple, NamedTuple, List, Dict };
  Kind kind = Kind::Leaf;
  std::vector<Tree> children;
  std::vector<IValue> keys;         // of a Dict, one per child
  std::string name;                 // of a NamedTuple
  std::vector<std::string> fields;  // of a NamedTuple
  std::size_t leaves() const;
};

// `text` is "[1, {...}]"; `named_tuples`: their fields by name, may be null. Other classes are
// dictionaries or named tuples where their context has names, and tuples otherwise.
Tree parse_tree(const std::string& text, const Json* named_tuples);
// The type of a value of the form; `leaves` gives the types of the leaves, and is advanced. Named
// tuples are added to `unit`. A list or dictionary of values of several types is one of Any.
TypePtr type_of_tree(const Tree& tree, const std::vector<TypePtr>& leaves, std::size_t& at,
                     CompilationUnit& unit);

}  // namespace tenon::jit::formats
