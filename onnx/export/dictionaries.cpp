// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries, which ONNX does not have: their keys are known, and their values are values of the
// model.
#include "jit/passes/known_dicts.h"
#include "onnx/export/exporter.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {

struct Exporter::Dicts {
  using Item = ItemPtr;
  using Entries = std::vector<std::pair<IValue, ItemPtr>>;
  Exporter& exporter;

  IValue key(const jit::Value* v) const {
    need(exporter.item(v)->constant, "a key of a dictionary depends on data");
    return exporter.item(v)->example;
  }
  Entries entries(const jit::Value* v) const {
    const ItemPtr from = exporter.item(v);
    Entries made;
    if (!v->type()->is(jit::TypeKind::Dict)) {
      for (const ItemPtr& p : exporter.unpack(from, from->example.toListRef().items.size())) {
        const auto pair = exporter.unpack(p, 2);
        need(pair.at(0)->constant, "a key of a dictionary depends on data");
        made.emplace_back(pair[0]->example, pair.at(1));
      }
    } else if (from->has_parts) {
      for (std::size_t i = 0; i < from->parts.size(); ++i)
        made.emplace_back(from->keys.at(i), from->parts[i]);
    } else {
      need(from->constant, "a dictionary that depends on data");
      for (const auto& [key, value] : from->example.toDictRef().items())
        made.emplace_back(key, constant(value));
    }
    return made;
  }
  ItemPtr item(const jit::Value* v) const { return exporter.item(v); }
  ItemPtr constant(IValue v) const {
    return std::make_shared<exporting::Item>(exporting::Item{std::move(v), true});
  }
  ItemPtr pair(const IValue& key, const ItemPtr& value, const jit::TypePtr&) const {
    return tuple_of({constant(key), value});
  }
  ItemPtr list(std::vector<ItemPtr> parts, const jit::TypePtr& type) const {
    auto made = std::make_shared<exporting::Item>(exporting::Item{list_of(type->element(), parts)});
    made->constant = all_constant(parts);
    made->has_parts = true;
    made->parts = std::move(parts);
    return made;
  }
  ItemPtr dict(const Entries& entries, const jit::TypePtr& type) const {
    auto made = std::make_shared<exporting::Item>();
    set_entries(*made, entries, type);
    return made;
  }
  void set(const jit::Value* v, ItemPtr made) const { exporter.set(v, std::move(made)); }
  void change(const jit::Value* v, const Entries& entries) const {
    const ItemPtr dict = exporter.item(v);
    need(dict->has_parts, "it changes an attribute of the module");
    need(dict->depth == exporter.graphs_.size(),
         "it changes a dictionary of outside of the branch or loop");
    set_entries(*dict, entries, v->type());
  }

 private:
  static void set_entries(exporting::Item& to, const Entries& entries, const jit::TypePtr& type) {
    auto example = core::Ref<ivalue::Dict>::adopt(
        new ivalue::Dict(type->contained().at(0), type->contained().at(1)));
    to.keys.clear();
    to.parts.clear();
    for (const auto& [key, value] : entries) {
      to.keys.push_back(key);
      to.parts.push_back(value);
      example->insert_or_assign(key, value->example);
    }
    to.has_parts = true;
    to.constant = all_constant(to.parts);
    to.example = IValue(std::move(example));
  }
};

bool Exporter::visit_dict(const jit::Node& n) {
  Dicts walk{*this};
  return jit::KnownDicts<Dicts>(walk).visit(n);
}

}  // namespace tenon::onnx::exporting
