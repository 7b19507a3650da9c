// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Graphs as text: what TorchScript prints.
#include "jit/ir/cursor.h"
#include "jit/ir/print_value.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

template <class Items, class F>
std::string joined(const Items& items, const char* separator, F text) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += text(item);
  }
  return out;
}

std::string name_text(const Value* v) { return "%" + v->debug_name(); }
std::string typed_text(const Value* v) { return name_text(v) + " : " + graph_text(*v->type()); }

std::string quoted(const std::string& text) {
  std::string out;
  print_quoted(out, text);
  return out;
}

struct AttributeText {
  std::string operator()(const IValue& v) const {
    if (v.isBool()) return v.toBool() ? "1" : "0";
    std::string out;
    print_value(out, v);
    return out;
  }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const std::vector<std::string>& v) const {
    return "[" + joined(v, ", ", quoted) + "]";
  }
  std::string operator()(const std::vector<TypePtr>& v) const {
    return "[" + joined(v, ", ", [](const TypePtr& t) { return graph_text(*t); }) + "]";
  }
  std::string operator()(const std::shared_ptr<Graph>&) const { return "<Graph>"; }
};

class Printer {
 public:
  explicit Printer(bool with_sources) : with_sources_(with_sources) {}

  std::string graph(const Graph& g) {
    out_ = "graph(" + joined(g.inputs(), ",\n      ", typed_text) + "):\n";
    nodes(*g.block(), 1);
    out_ += "  return (" + joined(g.outputs(), ", ", name_text) + ")\n";
    for (std::size_t i = 0; i < subgraphs_.size(); ++i)
      out_ += core::join("with ", subgraphs_[i]->kind(), "_", i, " = ",
                         subgraph(*subgraphs_[i])->str(with_sources_));
    return std::move(out_);
  }

 private:
  static const std::shared_ptr<Graph>& subgraph(const Node& n) {
    return std::get<std::shared_ptr<Graph>>(n.attribute("Subgraph"));
  }

  void indent(int level) { out_.append(static_cast<std::size_t>(2 * level), ' '); }

  void nodes(const Block& b, int level) {
    for (const Node* n : b.nodes()) node(*n, level);
  }

  void kind(const Node& n) {
    out_ += n.kind();
    auto it = n.attributes().find("Subgraph");
    bool has_graph = it != n.attributes().end() && it->second.index() == 4;
    if (has_graph) {
      out_ += core::join("_", subgraphs_.size());
      subgraphs_.push_back(&n);
    }
    std::string attributes;
    for (const auto& [name, a] : n.attributes()) {
      const auto* value = std::get_if<IValue>(&a);
      if ((has_graph && name == "Subgraph") || (value && value->isNone())) continue;
      attributes += (attributes.empty() ? "" : ", ") + name + "=" + std::visit(AttributeText{}, a);
    }
    if (!attributes.empty()) out_ += "[" + attributes + "]";
  }

  void node(const Node& n, int level) {
    indent(level);
    out_ += joined(n.outputs(), ", ", typed_text) + " = ";
    kind(n);
    out_ += "(" + joined(n.inputs(), ", ", name_text) + ")";
    if (with_sources_ && n.range.source)
      out_ += core::join(" # ", n.range.source->file, ":", n.range.line(), ":", n.range.column());
    out_ += "\n";
    for (std::size_t i = 0; i < n.blocks().size(); ++i) block(*n.block(i), i, level + 1);
  }

  void block(const Block& b, std::size_t i, int level) {
    indent(level);
    out_ += core::join("block", i, "(", joined(b.inputs(), ", ", typed_text), "):\n");
    nodes(b, level + 1);
    indent(level + 1);
    out_ += "-> (" + joined(b.outputs(), ", ", name_text) + ")\n";
  }

  bool with_sources_;
  std::string out_;
  std::vector<const Node*> subgraphs_;
};

}  // namespace

std::string Graph::str(bool with_sources) const { return Printer(with_sources).graph(*this); }

}  // namespace tenon::jit
