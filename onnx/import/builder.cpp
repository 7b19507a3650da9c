// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/builder.h"

#include <algorithm>

#include "onnx/import/order.h"
#include "onnx/import/weights.h"
#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using jit::Type;
using jit::TypeKind;

constexpr int kMaxDepth = 60;           // of graphs and functions in one another
constexpr int64_t kMaxNodes = 1 << 18;  // functions that call each other multiply
constexpr const char* kClass = "__torch__.ONNXModel";

bool is_identifier(std::string_view s) {
  return !s.empty() && std::isdigit(static_cast<unsigned char>(s[0])) == 0 &&
         std::all_of(s.begin(), s.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

// The type that an argument of forward has.
jit::TypePtr type_of(const pb::TypeProto& t, int depth = 0) {
  if (t.has_sequence_type() && depth < 8)
    return Type::list(type_of(t.sequence_type().elem_type(), depth + 1));
  if (t.has_optional_type() && depth < 8)
    return Type::optional(type_of(t.optional_type().elem_type(), depth + 1));
  TENON_CHECK(!t.has_map_type() && !t.has_opaque_type(), NotImplementedError,
              "maps and opaque values are not supported");
  return Type::tensor();
}

}  // namespace

Builder::Builder(pb::ModelProto& model, jit::Module module, const ExternalData& external)
    : model_(model),
      module_(std::move(module)),
      external_(external),
      graph_(std::make_shared<Graph>()),
      texts_(std::make_shared<jit::CompilationUnit>()),
      source_(std::make_shared<jit::Source>()) {
  source_->file = "ONNX model";
  for (const pb::FunctionProto& f : model_.functions())
    functions_[f.domain() + "::" + f.name() + ":" + f.overload()] = &f;
}

jit::Node* Builder::insert(std::string_view kind, const std::vector<Value*>& inputs,
                           const std::vector<jit::TypePtr>& types) {
  jit::Node* n = graph_->insert(graph_->create(kind, inputs, types.size()));
  n->range = range_;
  for (std::size_t i = 0; i < types.size(); ++i) n->output(i)->set_type(types[i]);
  return n;
}

Value* Builder::insert1(std::string_view kind, const std::vector<Value*>& inputs,
                        jit::TypePtr type) {
  return insert(kind, inputs, {std::move(type)})->output();
}

std::vector<Value*> Builder::emit(std::string_view full_name, std::vector<Value*> inputs) {
  const jit::Operator* op = jit::find_operator(full_name);
  TENON_CHECK(op, NotImplementedError, "there is no operator ", full_name);
  const auto& wanted = op->schema.arguments;
  TENON_CHECK(inputs.size() <= wanted.size(), Error, full_name, " takes ", wanted.size(),
              " arguments, not ", inputs.size());
  for (std::size_t i = inputs.size(); i < wanted.size(); ++i) {
    TENON_CHECK(wanted[i].default_value, Error, full_name, " needs '", wanted[i].name, "'");
    inputs.push_back(graph_->insert_constant(*wanted[i].default_value, range_, wanted[i].type));
  }
  std::vector<jit::TypePtr> types;
  for (const jit::Argument& r : op->schema.returns)
    types.push_back(!r.type->is(TypeKind::Var)              ? r.type
                    : inputs[0]->type()->is(TypeKind::List) ? inputs[0]->type()->element()
                                                            : Type::any());
  jit::Node* n = insert(op->schema.name, inputs, types);
  n->op = op;
  return n->outputs();
}

Value* Builder::emit1(std::string_view full_name, std::vector<Value*> inputs) {
  return emit(full_name, std::move(inputs)).at(0);
}

void Builder::refuse(const std::string& reason) const { throw NotImplementedError(reason); }

// The node as a line of the text that errors show.
void Builder::describe(const pb::NodeProto& n) {
  std::string line;
  for (const std::string& out : n.output()) line += (line.empty() ? "" : ", ") + out;
  line += (line.empty() ? "" : " = ") + (n.domain().empty() ? "" : n.domain() + "::") +
          n.op_type() + "(";
  bool first = true;
  for (const std::string& in : n.input()) {
    line += (first ? "" : ", ") + in;
    first = false;
  }
  line += ")" + (n.name().empty() ? "" : "  # " + n.name());
  for (char& c : line)
    if (c == '\n') c = ' ';
  line = line.substr(0, 500);
  range_.source = source_;
  range_.begin = static_cast<uint32_t>(source_->text.size());
  source_->text += line;
  range_.end = static_cast<uint32_t>(source_->text.size());
  source_->text += "\n";
}

// As torch names what a module learns: a number of such a name is no constant of the program.
static bool is_of_a_module(const std::string& name) {
  return name.find('.') != std::string::npos && name.find_first_of("/:") == std::string::npos;
}

void Builder::add_initializers(const pb::GraphProto& g, Scope& s) {
  const std::set<std::string> weights = find_weights(g);
  const auto add = [&](const std::string& name, Tensor t, int32_t type) {
    TENON_CHECK(!name.empty(), ValueError, "an initializer has no name");
    auto i = constant_item(std::move(t), name);
    i->is_initializer = true;
    i->onnx_type = type;
    const bool several = i->constant.dim() > 0 && i->constant.numel() > 1;
    i->as_parameter = weights.count(name) != 0 && i->constant.is_floating_point() &&
                      (several || is_of_a_module(name)) && !small_float(type);
    TENON_CHECK(s.values.emplace(name, std::move(i)).second, ValueError, "initializer '", name,
                "' is there twice");
  };
  for (const pb::TensorProto& t : g.initializer()) {
    if (t.data_type() == pb::STRING) {
      s.values.emplace(t.name(), read_strings(t));
      continue;
    }
    auto& mine = const_cast<pb::TensorProto&>(t);  // of model_, whose bytes tensors take over
    add(t.name(), read_tensor(mine, external_), t.data_type());
  }
  for (const pb::SparseTensorProto& t : g.sparse_initializer())
    add(t.values().name(), read_sparse(t, external_), t.values().data_type());
}

void Builder::add_inputs(const pb::GraphProto& g, Scope& s) {
  for (const pb::ValueInfoProto& in : g.input()) {
    if (s.values.count(in.name()) != 0) continue;  // an initializer is its default, which we take
    TENON_CHECK(!in.name().empty(), ValueError, "an input of the graph has no name");
    Value* v = graph_->add_input(is_identifier(in.name()) ? in.name() : "", nullptr);
    v->set_type(type_of(in.type()));
    v->set_name(in.name());
    ItemPtr i = item(v);
    i->name = in.name();
    i->onnx_type = in.type().tensor_type().elem_type();
    if (in.type().has_tensor_type()) i->dtype = dtype_of(i->onnx_type);
    if (!first_input_ && v->type()->is(TypeKind::Tensor)) first_input_ = v;
    TENON_CHECK(s.values.emplace(in.name(), i).second, ValueError, "input '", in.name(),
                "' is there twice");
  }
}

void Builder::set_outputs(const pb::GraphProto& g, const std::vector<ItemPtr>& outs) {
  std::vector<Value*> values;
  std::vector<jit::TypePtr> types;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const pb::ValueInfoProto& info = g.output(static_cast<int>(i));
    const ItemPtr& o = outs[i];
    values.push_back(o->strings                                   ? list_of_strings(*o)
                     : o->other && !info.type().has_tensor_type() ? o->other
                                                                  : tensor(o));
    types.push_back(values.back()->type());
  }
  Value* out =
      values.size() == 1 ? values[0] : insert1("prim::TupleConstruct", values, Type::tuple(types));
  graph_->register_output(out);
}

void Builder::add_nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes, Scope& s,
                        const Opsets& opsets, const Attributes* of_function) {
  TENON_CHECK(++depth_ <= kMaxDepth, ValueError, "graphs and functions nest deeper than ",
              kMaxDepth);
  for (const pb::NodeProto& n : nodes) add_node(n, s, opsets, of_function);
  --depth_;
}

std::vector<ItemPtr> Builder::add_graph(const pb::GraphProto& g, Scope& s, const Opsets& opsets) {
  add_initializers(g, s);
  add_nodes(g.node(), s, opsets, nullptr);
  std::vector<ItemPtr> outs;
  for (const pb::ValueInfoProto& o : g.output()) {
    const ItemPtr* found = s.find(o.name());
    TENON_CHECK(found && *found, ValueError, "graph '", g.name(), "': no node makes its output '",
                o.name(), "'");
    outs.push_back(*found);
  }
  return outs;
}

std::vector<ItemPtr> Builder::call_model_function(Call& c, const pb::FunctionProto& f) {
  Attributes attributes;
  for (const pb::AttributeProto& a : f.attribute_proto()) attributes[a.name()] = &a;
  for (const auto& [name, a] : c.attributes) attributes[name] = a;
  Opsets opsets;
  for (const auto& o : f.opset_import())
    opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  TENON_CHECK(c.inputs.size() <= static_cast<std::size_t>(f.input_size()) &&
                  c.n_outputs() <= static_cast<std::size_t>(f.output_size()),
              ValueError, "function ", f.name(), " has ", f.input_size(), " inputs and ",
              f.output_size(), " outputs");
  Scope inner;
  for (int i = 0; i < f.input_size(); ++i)
    inner.values[f.input(i)] = c.optional_input(static_cast<std::size_t>(i));
  add_nodes(f.node(), inner, opsets, &attributes);
  std::vector<ItemPtr> out;
  for (std::size_t i = 0; i < c.n_outputs(); ++i) {
    const ItemPtr* found = inner.find(f.output(static_cast<int>(i)));
    TENON_CHECK(found && *found, ValueError, "function ", f.name(), ": no node makes its output '",
                f.output(static_cast<int>(i)), "'");
    out.push_back(*found);
  }
  return out;
}

std::vector<ItemPtr> Builder::translate(Call& c) {
  const auto own = functions_.find(c.domain + "::" + c.node.op_type() + ":" + c.node.overload());
  if (own != functions_.end()) return call_model_function(c, *own->second);
  const Entry* e = find_entry(c.domain, c.node.op_type(), c.version);
  TENON_CHECK(e, NotImplementedError, "operator ", c.node.op_type(), " is not known for version ",
              c.version);
  if (auto folded = fold(c, *e)) return *folded;
  if (auto moved = move_strings(c, *e)) return *moved;
  if (e->translate) return e->translate(*this, c);
  return call_function(c, e->function ? e->function : e->name, e->gives);
}

void Builder::add_node(const pb::NodeProto& n, Scope& s, const Opsets& opsets,
                       const Attributes* of_function) {
  TENON_CHECK(++nodes_ <= kMaxNodes, ValueError, "it has more than ", kMaxNodes,
              " nodes, those of functions at each call included");
  const jit::SourceRange outer = range_;
  if (!of_function || !range_.source) describe(n);
  const jit::SourceRange here = range_;
  const std::string domain = n.domain() == "ai.onnx" ? "" : n.domain();
  const auto version = opsets.find(domain);
  Call c{n, domain, version == opsets.end() ? 1 : version->second, {}, {}, opsets, &s};
  try {
    for (const std::string& name : n.input()) {
      if (name.empty()) {
        c.inputs.push_back(nullptr);
        continue;
      }
      const ItemPtr* found = s.find(name);
      TENON_CHECK(found || !s.is_not_computed(name), NotImplementedError, "'", name,
                  "' is an output of a node that is not supported");
      TENON_CHECK(found, ValueError, "no node before this one makes '", name, "'");
      c.inputs.push_back(*found);
    }
    while (!c.inputs.empty() && !c.inputs.back()) c.inputs.pop_back();
    for (const pb::AttributeProto& a : n.attribute()) {
      if (a.ref_attr_name().empty()) {
        c.attributes[a.name()] = &a;
      } else if (of_function) {
        if (const auto it = of_function->find(a.ref_attr_name()); it != of_function->end())
          c.attributes[a.name()] = it->second;
      }
    }
    const std::vector<ItemPtr> made = translate(c);
    range_ = here;
    for (int i = 0; i < n.output_size(); ++i) {
      if (n.output(i).empty()) continue;
      const auto at = static_cast<std::size_t>(i);
      if (at >= made.size() || !made[at]) {
        s.not_computed.insert(n.output(i));
        continue;
      }
      TENON_CHECK(s.values.count(n.output(i)) == 0, ValueError, "'", n.output(i),
                  "' is made by two nodes");
      if (made[at]->name.empty()) made[at]->name = n.output(i);
      s.values[n.output(i)] = made[at];
    }
  } catch (const jit::ErrorReport&) {
    throw;
  } catch (const Error& e) {
    // The innermost node has added itself.
    if (e.msg().find("\n  File ") != std::string::npos) throw;
    core::throw_error(
        e.code(), core::join(n.op_type(), n.name().empty() ? "" : " '", n.name(),
                             n.name().empty() ? "" : "'", ": ", e.msg(), "\n", here.highlight()));
  }
  range_ = outer;
}

void Builder::build() {
  sort_nodes(model_);
  pb::GraphProto& g = *model_.mutable_graph();
  Opsets opsets;
  for (const auto& o : model_.opset_import())
    opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  self_ = graph_->add_input("self", module_.type());
  anchor_ = graph_->insert_constant(IValue())->node();
  graph_->set_insert_point(graph_->block());
  Scope s;
  for (const pb::TensorProto& t : g.initializer()) s.values.emplace(t.name(), nullptr);
  for (const pb::SparseTensorProto& t : g.sparse_initializer())
    s.values.emplace(t.values().name(), nullptr);
  add_inputs(g, s);
  std::erase_if(s.values, [](const auto& v) { return !v.second; });
  set_outputs(g, add_graph(g, s, opsets));
  finish_graph(*graph_);
  // What was put in place may have taken the names.
  std::size_t at = 1;
  for (const pb::ValueInfoProto& in : g.input()) {
    if (at < graph_->inputs().size() && s.values[in.name()] &&
        s.values[in.name()]->tensor == graph_->inputs()[at])
      graph_->inputs()[at++]->set_name(in.name());
    else if (at < graph_->inputs().size() && s.values[in.name()] &&
             s.values[in.name()]->other == graph_->inputs()[at])
      graph_->inputs()[at++]->set_name(in.name());
  }
  graph_->lint();

  jit::FunctionSchema schema;
  schema.name = std::string(kClass) + ".forward";
  for (Value* v : graph_->inputs()) {
    schema.arguments.push_back({v == self_ ? "self" : v->debug_name(), v->type()});
    if (v->type()->is(TypeKind::Optional)) schema.arguments.back().default_value = IValue();
  }
  schema.returns.push_back({"", graph_->outputs()[0]->type()});
  const std::string name = schema.name;
  module_.type()->add_method(module_.unit()->add_function(
      std::make_unique<jit::Function>(name, graph_, std::move(schema))));
}

}  // namespace tenon::onnx
