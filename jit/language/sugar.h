// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What an expression stands for while a program is compiled: a value of the graph, or something
// that exists only in the text, such as a function, a type or a range.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/language/tree.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::language {

enum class SugarKind : uint8_t {
  Value,      // value
  Operator,   // name: "aten::add"; value: self, or null
  Cast,       // name: "aten::Int"; type: what it gives
  Special,    // name: "isinstance", "range", ... : the compiler knows it; type: of __new__
  Namespace,  // name: "torch.nn.functional", "ops.prim", "math", "__torch__.models"
  Function,   // function
  Method,     // value: self; name
  Type,       // type: a class, named tuple, enum or the name of a type
  Exception,  // name: "builtins.ValueError"
  Tuple,      // items: a sequence whose length the compiler knows
  Range,      // items: start, end, step
  Zip,        // items
  Enumerate,  // items: what is counted, the first number
  Closure,    // closure: a function inside of a function, for fork
};

struct Sugar;
using SugarPtr = std::shared_ptr<const Sugar>;

struct Sugar {
  SugarKind kind;
  Value* value = nullptr;
  std::string name;
  TypePtr type;
  Function* function = nullptr;
  std::vector<SugarPtr> items;
  std::shared_ptr<const Def> closure;

  bool is(SugarKind k) const noexcept { return kind == k; }
};

inline std::shared_ptr<Sugar> make_sugar(SugarKind kind, std::string name = {},
                                         Value* value = nullptr, TypePtr type = nullptr) {
  auto s = std::make_shared<Sugar>();
  s->kind = kind;
  s->name = std::move(name);
  s->value = value;
  s->type = std::move(type);
  return s;
}
inline SugarPtr as_sugar(Value* v) { return make_sugar(SugarKind::Value, {}, v); }
inline SugarPtr as_sequence(SugarKind kind, std::vector<SugarPtr> items) {
  auto s = make_sugar(kind);
  s->items = std::move(items);
  return s;
}
// For messages: "function", "type", "value".
const char* kind_name(const Sugar& s) noexcept;

}  // namespace tenon::jit::language
