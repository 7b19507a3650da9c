// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries that the program takes, makes and changes.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/known_dicts.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

struct ProgramWriter::Dicts {
  using Item = const ProgramWriter::Item*;
  using Entries = std::vector<std::pair<IValue, Item>>;
  ProgramWriter& writer;
  const Node& n;

  IValue key(const Value* v) const {
    if (!writer.at(v).constant) refuse(n, "a key of a dictionary depends on data");
    return writer.at(v).example;
  }
  Entries entries(const Value* v) const {
    auto& from = const_cast<ProgramWriter::Item&>(writer.at(v));
    writer.give_parts(from);
    Entries made;
    for (std::size_t i = 0; i < from.parts.size(); ++i) {
      if (v->type()->is(TypeKind::Dict)) {
        made.emplace_back(from.keys[i], from.parts[i]);
        continue;
      }
      auto& pair = const_cast<ProgramWriter::Item&>(*from.parts[i]);
      writer.give_parts(pair);
      if (!pair.parts.at(0)->constant) refuse(n, "a key of a dictionary depends on data");
      made.emplace_back(pair.parts[0]->example, pair.parts.at(1));
    }
    return made;
  }
  Item item(const Value* v) const { return &writer.at(v); }
  Item constant(IValue v) const { return writer.make(std::move(v), true); }
  Item pair(const IValue& key, Item value, const TypePtr& type) const {
    return writer.construct({constant(key), value}, *type);
  }
  Item list(const std::vector<Item>& parts, const TypePtr& type) const {
    return writer.construct(parts, *type);
  }
  Item dict(const Entries& entries, const TypePtr& type) const {
    ProgramWriter::Item* made = writer.make({});
    set_entries(*made, entries, type);
    return made;
  }
  void set(const Value* v, Item made) const { writer.items_[v] = made; }
  void change(const Value* v, const Entries& entries) const {
    if (writer.at(v).given) refuse(n, "it changes an attribute of the module");
    // Every value that is this dictionary sees it.
    set_entries(const_cast<ProgramWriter::Item&>(writer.at(v)), entries, v->type());
  }

 private:
  void set_entries(ProgramWriter::Item& dict, const Entries& entries, const TypePtr& type) const {
    dict.has_parts = true;
    dict.keys.clear();
    dict.parts.clear();
    for (const auto& [key, value] : entries) {
      if (!key.isString() && !key.isInt())
        refuse(n, core::join("a key is of the kind ", key.tagKind(),
                             "; those of exported programs are strings or integers"));
      dict.keys.push_back(key);
      dict.parts.push_back(value);
    }
    dict.constant =
        std::all_of(dict.parts.begin(), dict.parts.end(), [](Item p) { return p->constant; });
    set_parts(dict, *type);
  }
};

bool ProgramWriter::visit_dict(const Node& n) {
  Dicts walk{*this, n};
  return KnownDicts<Dicts>(walk).visit(n);
}

}  // namespace tenon::jit::formats
