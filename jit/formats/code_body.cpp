// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Graphs as statements: one a node, in their order; constants stand where they are used.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "jit/formats/code_writer.h"
#include "tenon/jit/custom_class.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

class BodyWriter {
 public:
  BodyWriter(CodeWriter& writer, std::string& out) : writer_(writer), out_(out) {}

  std::string input(const Value* v, const std::string& wanted) { return names_[v] = fresh(wanted); }
  void block(const Block& b, int depth) {
    const std::size_t outer = contexts_.size();
    for (const Node* n : b.nodes()) node(*n, depth + static_cast<int>(contexts_.size() - outer));
    TENON_CHECK(contexts_.size() == outer, NotImplementedError,
                "save: a `with torch.autocast` that some paths leave early cannot be written");
  }
  void returns(const Block& b, int depth, const TypePtr& type) {
    line(depth) += "return " + (b.outputs().empty() ? "None" : typed(b.outputs()[0], type)) + "\n";
  }

 private:
  using Values = std::vector<Value*>;
  struct Context {
    const Value* entered;
    int depth;          // of its statements
    std::size_t begin;  // of their text
  };

  std::string& line(int depth) { return out_.append(static_cast<std::size_t>(depth) * 2, ' '); }
  std::string fresh(const std::string& wanted);
  std::string name(const Value* v);
  std::string use(const Value* v);
  std::string uses(const Values& values);
  std::string arguments_of(const Function& f, const Node& n);
  // As a value of the type; says so where the text alone would have another.
  std::string typed(const Value* v, const TypePtr& type);
  std::string annotated(const std::string& text, const TypePtr& type) {
    return "annotate(" + writer_.annotation(type) + ", " + text + ")";
  }
  bool written_in_place(const Node& n) const {
    return n.is("prim::Constant") || n.is("prim::Uninitialized");
  }

  void node(const Node& n, int depth);
  void branches(const Node& n, int depth);
  void loop(const Node& n, int depth);
  void counted_loop(const Node& n, int depth);
  void while_loop(const Node& n, int depth);
  void fork(const Node& n, int depth);
  void grad_mode(const Node& n, int depth);
  void with(const Node& n, int depth);
  void end_with(const Node& n);
  // a, b = x, y
  void assign(int depth, const std::vector<std::string>& to, const std::vector<std::string>& from);
  std::vector<std::string> begin_carried(const Node& n, int depth);
  std::vector<std::string> next_carried(const Node& n);
  std::string expression(const Node& n);
  std::string operator_call(const Node& n);
  std::string list(const Node& n);
  std::string dict(const Node& n);
  std::string tuple(const Node& n);
  std::string method_call(const Node& n);
  std::string host_call(const Node& n);
  std::string attribute(const Node& n);
  std::string isinstance(const Node& n);
  std::string batch_element(const Node& n);
  std::string view_of_dtype(const Node& n);

  CodeWriter& writer_;
  std::string& out_;
  std::unordered_map<const Value*, std::string> names_;
  std::vector<Context> contexts_;  // of the `with` statements around
  std::set<std::string> taken_;
  int next_ = 0;
};

std::string BodyWriter::fresh(const std::string& wanted) {
  std::string base;
  for (char c : wanted) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    base += plain ? c : '_';
  }
  std::string name = base;
  while (!is_free_name(name) || taken_.count(name)) {
    name = (base.empty() ? "" : base) + "_" + std::to_string(next_++);
  }
  taken_.insert(name);
  return name;
}

std::string BodyWriter::name(const Value* v) {
  const auto it = names_.find(v);
  if (it != names_.end()) return it->second;
  return names_[v] = fresh(v->name());
}

std::string BodyWriter::use(const Value* v) {
  const Node& n = *v->node();
  if (n.is("prim::Uninitialized")) return "uninitialized(" + writer_.annotation(v->type()) + ")";
  if (n.is("prim::Constant")) {
    const IValue value = n.has("value") ? n.ival("value") : IValue();
    std::string text = literal_text(writer_, value, v->type());
    const bool bare = value.isNone() && v->type() && !v->type()->is(TypeKind::None);
    return bare ? annotated(text, v->type()) : text;
  }
  return name(v);
}

// Those that only a keyword names have their names.
std::string BodyWriter::arguments_of(const Function& f, const Node& n) {
  const auto& parameters = f.schema().arguments;
  std::string out;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    if (i > 0) out += ", ";
    if (parameters.at(i).keyword_only) out += parameters[i].name + "=";
    out += use(n.input(i));
  }
  return out;
}

std::string BodyWriter::uses(const Values& values) {
  std::string out;
  for (const Value* v : values) out += (out.empty() ? "" : ", ") + use(v);
  return out;
}

std::string BodyWriter::typed(const Value* v, const TypePtr& type) {
  if (!type || !v->type() || same_type(*type, *v->type())) return use(v);
  return annotated(use(v), type);
}

void BodyWriter::assign(int depth, const std::vector<std::string>& to,
                        const std::vector<std::string>& from) {
  std::string left, right;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[i]) continue;
    left += (left.empty() ? "" : ", ") + to[i];
    right += (right.empty() ? "" : ", ") + from[i];
  }
  if (!left.empty()) line(depth) += left + " = " + right + "\n";
}

// What only states that arguments are as the program was exported for: torch has no operator for
// it.
bool is_exported_check(const Node& n) {
  return n.is("exported::check_range") || n.is("exported::check_equal") ||
         n.is("exported::check_guard") || n.is("exported::check_constant") ||
         n.is("exported::check_length");
}

bool is_switched_off(const Node& n) {
  const auto enabled = n.is("exported::autocast_mode") ? to_constant(n.input(2)) : std::nullopt;
  return enabled && enabled->isBool() && !enabled->toBool();
}

// Autocast switched off, in regions that switch it off and around none that switches it on, or the
// end of this: torch's language has no such region, and operators cast neither in it nor beside it.
bool is_mode_without_casts(const Node& n) {
  if (n.is("exported::end_mode")) return is_mode_without_casts(*n.input(0)->node());
  if (!is_switched_off(n)) return false;
  const auto& uses = n.output()->uses();
  const bool alone = std::none_of(uses.begin(), uses.end(), [](const Use& u) {
    return u.user->is("exported::autocast_mode") && !is_mode_without_casts(*u.user);
  });
  const Node* outer = n.input(3)->node();
  while (outer->is("exported::grad_mode") || is_switched_off(*outer))
    outer = outer->input(outer->is("exported::grad_mode") ? 1 : 3)->node();
  return alone && outer->is("prim::Constant");
}

// The mode from before stands for it, and is set again at its end.
void BodyWriter::grad_mode(const Node& n, int depth) {
  const bool begins = n.is("exported::grad_mode");
  if (begins) line(depth) += name(n.output()) + " = torch.is_grad_enabled()\n";
  line(depth) += "torch.set_grad_enabled(" + use(n.input(0)) + ")\n";
}

void BodyWriter::with(const Node& n, int depth) {
  line(depth) += "with " + use(n.input(0)) + ":\n";
  contexts_.push_back({n.output(), depth + 1, out_.size()});
}
void BodyWriter::end_with(const Node& n) {
  TENON_CHECK(!contexts_.empty() && contexts_.back().entered == n.input(0), NotImplementedError,
              "save: a `with torch.autocast` that some paths leave early cannot be written");
  const Context c = contexts_.back();
  contexts_.pop_back();
  if (out_.size() == c.begin) line(c.depth) += "pass\n";
}

void BodyWriter::node(const Node& n, int depth) {
  if (written_in_place(n) || is_exported_check(n) || is_mode_without_casts(n)) return;
  if (n.is("prim::If")) return branches(n, depth);
  if (n.is("prim::Loop")) return loop(n, depth);
  if (n.is("prim::fork")) return fork(n, depth);
  const bool ends_grad_mode =
      n.is("exported::end_mode") && n.input(0)->node()->is("exported::grad_mode");
  if (n.is("exported::grad_mode") || ends_grad_mode) return grad_mode(n, depth);
  if (n.is("prim::enter_autocast")) return with(n, depth);
  if (n.is("prim::leave_autocast")) return end_with(n);
  if (n.is("prim::SetAttr")) {
    TENON_CHECK(is_identifier(n.s("name")), NotImplementedError,
                "save: an assignment to the "
                "attribute '",
                n.s("name"), "', which is not a name of the language");
    line(depth) += use(n.input(0)) + "." + n.s("name") + " = " + use(n.input(1)) + "\n";
    return;
  }
  const std::string text = expression(n);
  const bool unpacks = n.is("prim::TupleUnpack") || n.is("prim::ListUnpack");
  std::string to;
  for (const Value* v : n.outputs())
    to += name(v) + (unpacks || n.outputs().size() > 1 ? ", " : "");
  if (!to.empty() && to.back() == ' ') to.pop_back();
  line(depth) += (to.empty() ? "" : to + " = ") + text + "\n";
}

void BodyWriter::branches(const Node& n, int depth) {
  for (const Value* v : n.outputs()) (void)name(v);
  for (std::size_t i = 0; i < 2; ++i) {
    line(depth) += i == 0 ? "if " + use(n.input(0)) + ":\n" : "else:\n";
    const Block& b = *n.block(i);
    const std::size_t before = out_.size();
    block(b, depth + 1);
    for (std::size_t k = 0; k < n.outputs().size(); ++k) {
      const Value* to = n.output(k);
      line(depth + 1) += name(to) + " = " + typed(b.outputs()[k], to->type()) + "\n";
    }
    if (out_.size() == before) line(depth + 1) += "pass\n";
  }
}

// The names that carried values have in the loop are those that they have after it.
std::vector<std::string> BodyWriter::begin_carried(const Node& n, int depth) {
  std::vector<std::string> to, from;
  const Block& body = *n.block(0);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    from.push_back(typed(n.input(i + 2), n.output(i)->type()));
    to.push_back(name(n.output(i)));
    names_[body.inputs()[i + 1]] = to.back();
  }
  assign(depth, to, from);
  return to;
}

std::vector<std::string> BodyWriter::next_carried(const Node& n) {
  std::vector<std::string> from;
  for (std::size_t i = 0; i < n.outputs().size(); ++i)
    from.push_back(typed(n.block(0)->outputs()[i + 1], n.output(i)->type()));
  return from;
}

bool is_true(const Value* v) {
  return v->node()->is("prim::Constant") && v->node()->has("value") &&
         v->node()->ival("value").isBool() && v->node()->ival("value").toBool();
}

void BodyWriter::loop(const Node& n, int depth) {
  if (is_true(n.input(1)) && is_true(n.block(0)->outputs()[0])) return counted_loop(n, depth);
  while_loop(n, depth);
}

void BodyWriter::counted_loop(const Node& n, int depth) {
  const Block& body = *n.block(0);
  const std::vector<std::string> carried = begin_carried(n, depth);
  line(depth) += "for " + name(body.inputs()[0]) + " in range(" + use(n.input(0)) + "):\n";
  const std::size_t before = out_.size();
  block(body, depth + 1);
  assign(depth + 1, carried, next_carried(n));
  if (out_.size() == before) line(depth + 1) += "pass\n";
}

void BodyWriter::while_loop(const Node& n, int depth) {
  const Block& body = *n.block(0);
  const Node& limit = *n.input(0)->node();
  const Value* count = body.inputs()[0];
  const bool bounded = !(limit.is("prim::Constant") && limit.has("value") &&
                         limit.ival("value").isInt() && limit.ival("value").toInt() == INT64_MAX);
  const bool counts = bounded || !count->uses().empty();
  std::vector<std::string> carried = begin_carried(n, depth);
  const std::string condition = fresh("continue_"), max = use(n.input(0));
  const auto bound = [&](const std::string& text) {
    return bounded ? "torch.__and__(torch.lt(" + name(count) + ", " + max + "), " + text + ")"
                   : text;
  };
  if (counts) line(depth) += name(count) + " = 0\n";
  line(depth) += condition + " = " + bound(use(n.input(1))) + "\n";
  line(depth) += "while " + condition + ":\n";
  block(body, depth + 1);
  std::vector<std::string> next = next_carried(n);
  carried.push_back(condition);
  next.push_back(use(body.outputs()[0]));
  assign(depth + 1, carried, next);
  if (counts) line(depth + 1) += name(count) + " = torch.add(" + name(count) + ", 1)\n";
  if (bounded) line(depth + 1) += condition + " = " + bound(condition) + "\n";
}

// A function without parameters, which sees what is around it.
void BodyWriter::fork(const Node& n, int depth) {
  const auto& graph = std::get<std::shared_ptr<Graph>>(n.attribute("Subgraph"));
  const std::string function = fresh("forked_function");
  line(depth) += "def " + function + "():\n";
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    const Value* inner = graph->inputs().at(i);
    line(depth + 1) += name(inner) + " = " + use(n.input(i)) + "\n";
  }
  block(*graph->block(), depth + 1);
  returns(*graph->block(), depth + 1, nullptr);
  line(depth) += name(n.output()) + " = fork(" + function + ")\n";
}

std::string BodyWriter::list(const Node& n) {
  const TypePtr& type = n.output()->type();
  bool plain = !n.inputs().empty();
  for (const Value* v : n.inputs()) plain = plain && same_type(*v->type(), *type->element());
  const std::string text = "[" + uses(n.inputs()) + "]";
  return plain ? text : annotated(text, type);
}

std::string BodyWriter::dict(const Node& n) {
  std::string items;
  for (std::size_t i = 0; i + 1 < n.inputs().size(); i += 2)
    items += (i ? ", " : "") + use(n.input(i)) + ": " + use(n.input(i + 1));
  return annotated("{" + items + "}", n.output()->type());
}

std::string BodyWriter::tuple(const Node& n) {
  const TypePtr& type = n.output()->type();
  const std::string items = uses(n.inputs());
  if (!type->name().empty()) return writer_.annotation(type) + "(" + items + ")";
  bool plain = true;
  for (std::size_t i = 0; i < n.inputs().size(); ++i)
    plain = plain && same_type(*n.input(i)->type(), *type->contained()[i]);
  const std::string text = "(" + items + (n.inputs().size() == 1 ? ",)" : ")");
  return plain ? text : annotated(text, type);
}

std::string BodyWriter::method_call(const Node& n) {
  const Values rest(n.inputs().begin() + 1, n.inputs().end());
  return "(" + use(n.input(0)) + ")." + n.s("name") + "(" + uses(rest) + ")";
}

std::string BodyWriter::attribute(const Node& n) {
  const std::string& attribute = n.s("name");
  return is_identifier(attribute) ? "(" + use(n.input(0)) + ")." + attribute
                                  : "getattr(" + use(n.input(0)) + ", " + quoted(attribute) + ")";
}

std::string BodyWriter::isinstance(const Node& n) {
  const auto& types = std::get<std::vector<TypePtr>>(n.attribute("types"));
  std::string names;
  for (const TypePtr& t : types) names += (names.empty() ? "" : ", ") + writer_.annotation(t);
  return "isinstance(" + use(n.input(0)) + ", " + (types.size() == 1 ? names : "(" + names + ")") +
         ")";
}

bool same_literal(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag()) return false;
  if (a.isTensor() || a.isObject()) return false;
  return a == b;
}

// Methods of classes of C++, once they are inlined; no reader has other functions of the host.
std::string BodyWriter::host_call(const Node& n) {
  const std::string name = n.kind().substr(n.kind().find("::") + 2);
  Function* f = find_custom_function(name);
  TENON_CHECK(f, NotImplementedError, "save: host function ", name, " cannot be exported");
  const std::string cls = name.substr(0, name.rfind('.'));
  if (find_custom_class(cls)->find_static_method(f->name()))
    return name + "(" + uses(n.inputs()) + ")";
  const Values rest(n.inputs().begin() + 1, n.inputs().end());
  return core::join("(", use(n.input(0)), ").", f->name(), "(", uses(rest), ")");
}

namespace {

bool writes_memory(const Block& b) {
  const auto nodes = b.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    if (n->op && std::any_of(n->op->schema.arguments.begin(), n->op->schema.arguments.end(),
                             [](const Argument& a) { return a.alias.write; }))
      return true;
    const auto blocks = n->blocks();
    return std::any_of(blocks.begin(), blocks.end(),
                       [](const Block* inner) { return writes_memory(*inner); });
  });
}

}  // namespace

// torch's language has no view as another dtype, but a copy of one, which is the same where nothing
// is written.
std::string BodyWriter::view_of_dtype(const Node& n) {
  const char* name = writes_memory(*n.graph()->block()) ? "torch.view(" : "torch.view_copy(";
  return core::join(name, use(n.input(0)), ", dtype=", use(n.input(1)), ")");
}

// Trailing arguments that have their default are left out.
std::string BodyWriter::operator_call(const Node& n) {
  if (n.kind().rfind("host::", 0) == 0) return host_call(n);
  const std::size_t colon = n.kind().find("::");
  const std::string space = n.kind().substr(0, colon), rest = n.kind().substr(colon + 2);
  std::string out = (space == "aten" ? "torch." : "ops." + space + ".") + rest + "(";
  const FunctionSchema* schema = n.op ? &n.op->schema : nullptr;
  const auto is_default = [&](std::size_t i) {
    if (!schema || i >= schema->arguments.size()) return false;
    const auto& value = schema->arguments[i].default_value;
    const Node& from = *n.input(i)->node();
    return value && from.is("prim::Constant") &&
           same_literal(from.has("value") ? from.ival("value") : IValue(), *value);
  };
  if (n.is("aten::view") && schema && schema->overload == "dtype") return view_of_dtype(n);
  // A dtype is an integer in the text, which could be sizes. It is named, and all that follow it.
  std::size_t named = SIZE_MAX;
  for (std::size_t i = 0; schema && schema->overload == "dtype" && i < schema->arguments.size();
       ++i)
    if (schema->arguments[i].name == "dtype") named = i;
  const auto by_name = [&](std::size_t i) {
    if (!schema || i >= schema->arguments.size()) return false;
    return schema->arguments[i].keyword_only || i >= named;
  };
  std::size_t positional = 0;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    if (!by_name(i) && !is_default(i)) positional = i + 1;
  }
  const char* comma = "";
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    if (by_name(i) ? is_default(i) : i >= positional) continue;
    out += comma + (by_name(i) ? schema->arguments[i].name + "=" : "") + use(n.input(i));
    comma = ", ";
  }
  return out + ")";
}

// Of vmap: an empty batch has one element of zeros.
std::string BodyWriter::batch_element(const Node& n) {
  const std::string t = use(n.input(0)), dim = use(n.input(1));
  return core::join("torch.select(", uses(n.inputs()), ") if torch.gt(torch.size(", t, ", ", dim,
                    "), 0) else torch.type_as(torch.sum(", t, ", [", dim, "]), ", t, ")");
}

std::string BodyWriter::expression(const Node& n) {
  using Make = std::function<std::string(BodyWriter&, const Node&)>;
  static const std::map<std::string, Make, std::less<>> kForms = {
      {"prim::ListConstruct", &BodyWriter::list},
      {"prim::DictConstruct", &BodyWriter::dict},
      {"prim::TupleConstruct", &BodyWriter::tuple},
      {"prim::CallMethod", &BodyWriter::method_call},
      {"prim::GetAttr", &BodyWriter::attribute},
      {"prim::isinstance", &BodyWriter::isinstance},
      {"prim::TupleUnpack", [](BodyWriter& w, const Node& n) { return w.use(n.input(0)); }},
      {"prim::ListUnpack", [](BodyWriter& w, const Node& n) { return w.use(n.input(0)); }},
      {"exported::check_sizes",
       [](BodyWriter& w, const Node& n) { return "torch.size(" + w.use(n.input(0)) + ")"; }},
      {"exported::item",
       [](BodyWriter& w, const Node& n) {
         return "(" + w.use(n.input(0)) + ")[" + w.use(n.input(1)) + "]";
       }},
      {"exported::write_back",
       [](BodyWriter& w, const Node& n) { return "torch.copy_(" + w.uses(n.inputs()) + ")"; }},
      {"exported::batch_times",
       [](BodyWriter& w, const Node& n) { return "ops.prim.max(" + w.use(n.input(0)) + ", 1)"; }},
      {"exported::batch_element", &BodyWriter::batch_element},
      {"exported::batch_of",
       [](BodyWriter& w, const Node& n) {
         const std::string dim = w.use(n.input(1));
         return core::join("torch.slice(torch.stack(", w.use(n.input(0)), ", ", dim, "), ", dim,
                           ", 0, ", w.use(n.input(2)), ")");
       }},
      {"prim::TupleIndex",
       [](BodyWriter& w, const Node& n) {
         return "(" + w.use(n.input(0)) + ")[" + w.use(n.input(1)) + "]";
       }},
      {"prim::TupleSlice",
       [](BodyWriter& w, const Node& n) {
         return core::join("(", w.use(n.input(0)), ")[", n.ival("beg").toInt(), ":",
                           n.ival("end").toInt(), "]");
       }},
      {"prim::CallFunction",
       [](BodyWriter& w, const Node& n) {
         return w.writer_.name_of(*n.function) + "(" + w.arguments_of(*n.function, n) + ")";
       }},
      {"prim::CreateObject",
       [](BodyWriter& w, const Node& n) {
         const std::string cls = w.writer_.annotation(n.output()->type());
         return cls + ".__new__(" + cls + ")";
       }},
      {"prim::unchecked_cast",
       [](BodyWriter& w, const Node& n) {
         return "unchecked_cast(" + w.writer_.annotation(n.output()->type()) + ", " +
                w.use(n.input(0)) + ")";
       }},
      {"prim::tolist",
       [](BodyWriter& w, const Node& n) {
         return w.annotated(w.use(n.input(0)) + ".tolist()", n.output()->type());
       }},
      {"prim::Print",
       [](BodyWriter& w, const Node& n) { return "print(" + w.uses(n.inputs()) + ")"; }},
      {"prim::EnumName",
       [](BodyWriter& w, const Node& n) { return "(" + w.use(n.input(0)) + ").name"; }},
      {"prim::EnumValue",
       [](BodyWriter& w, const Node& n) { return "(" + w.use(n.input(0)) + ").value"; }},
  };
  const auto it = kForms.find(n.kind());
  return it != kForms.end() ? it->second(*this, n) : operator_call(n);
}

}  // namespace

std::string signature_text(CodeWriter& writer, const FunctionSchema& schema,
                           const std::vector<std::string>& names) {
  std::string out = "(";
  std::size_t given = 0;  // up to the last without a default, none may have one
  for (std::size_t i = 0; i < schema.arguments.size(); ++i)
    if (!schema.arguments[i].default_value) given = i;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& a = schema.arguments[i];
    out += (i ? ",\n    " : "") + names[i];
    if (i > 0 || a.name != "self" || (a.type && a.type->is(TypeKind::Class)))
      out += ": " + writer.annotation(a.type);
    if (a.default_value && i > given) out += "=" + literal_text(writer, *a.default_value, a.type);
  }
  const TypePtr returns = schema.returns.empty() ? Type::none() : schema.returns[0].type;
  return out + ") -> " + writer.annotation(returns);
}

std::string function_text(CodeWriter& writer, const Function& f, int depth) {
  const FunctionSchema& schema = f.schema();
  const std::shared_ptr<Graph>& graph = f.graph();
  std::string body;
  BodyWriter w(writer, body);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph->inputs().size(); ++i)
    names.push_back(w.input(graph->inputs()[i], schema.arguments.at(i).name));
  w.block(*graph->block(), depth + 1);
  w.returns(*graph->block(), depth + 1,
            schema.returns.empty() ? Type::none() : schema.returns[0].type);
  return std::string(static_cast<std::size_t>(depth) * 2, ' ') + "def " + std::string(f.name()) +
         signature_text(writer, schema, names) + ":\n" + body;
}

}  // namespace tenon::jit::formats
