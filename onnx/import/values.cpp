// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The forms of a value: tensor, integers, sequence; and where tensors of the file go.
#include "onnx/import/builder.h"
#include "tenon/creation.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using jit::Type;
using jit::TypeKind;

const Texts kTexts(R"py(
def _to_ints(x: Tensor) -> List[int]:
  out: List[int] = x.reshape([-1]).to(torch.int64).tolist()
  return out
def _to_floats(x: Tensor) -> List[float]:
  out: List[float] = x.reshape([-1]).to(torch.float64).tolist()
  return out
def _from_ints(x: List[int], dtype: int, device: Device) -> Tensor:
  return torch.tensor(x, dtype=dtype, device=device)
def _from_int(x: int, dtype: int, device: Device) -> Tensor:
  return torch.tensor(x, dtype=dtype, device=device)
)py");

// What torch.nn.Module has itself: torch loads no program with a tensor or module of such a name.
bool is_of_modules(std::string_view name) {
  static const std::set<std::string_view> all{"add_module",
                                              "apply",
                                              "bfloat16",
                                              "buffers",
                                              "call_super_init",
                                              "children",
                                              "compile",
                                              "cpu",
                                              "cuda",
                                              "double",
                                              "dump_patches",
                                              "eval",
                                              "extra_repr",
                                              "float",
                                              "forward",
                                              "get_buffer",
                                              "get_extra_state",
                                              "get_parameter",
                                              "get_submodule",
                                              "half",
                                              "ipu",
                                              "load_state_dict",
                                              "modules",
                                              "mtia",
                                              "named_buffers",
                                              "named_children",
                                              "named_modules",
                                              "named_parameters",
                                              "parameters",
                                              "register_buffer",
                                              "register_module",
                                              "register_parameter",
                                              "requires_grad_",
                                              "set_extra_state",
                                              "set_submodule",
                                              "share_memory",
                                              "state_dict",
                                              "to",
                                              "to_empty",
                                              "train",
                                              "training",
                                              "type",
                                              "xpu",
                                              "zero_grad"};
  return all.count(name) != 0;
}

// "encoder/layer.0" becomes "encoder_layer", "0".
std::vector<std::string> path_of(const std::string& name) {
  std::vector<std::string> out(1);
  for (const char c : name.substr(0, 1000)) {
    if (c == '.' && !out.back().empty() && out.size() < 32)
      out.emplace_back();
    else
      out.back() += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (out.back().empty()) out.back() = "_";
  for (std::string& part : out)
    if (is_of_modules(part)) part += '_';
  return out;
}

std::string join_path(const std::vector<std::string>& path, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += (i ? "." : "") + path[i];
  return out;
}

}  // namespace

ItemPtr Builder::item(Value* v, std::optional<ScalarType> dtype) {
  auto i = std::make_shared<Item>();
  i->dtype = dtype;
  const jit::TypePtr& t = v->type();
  const bool list = t->is(TypeKind::List) && t->element()->is(TypeKind::Int);
  if (t->is(TypeKind::Tensor))
    i->tensor = v;
  else if (list || t->is(TypeKind::Int))
    i->ints = v;
  else
    i->other = v;
  if (i->ints && !dtype) i->dtype = kLong;
  jit::Node* last = v->node()->graph()->insert_point()->prev();
  if (last->owning_block() == v->node()->owning_block()) i->made_after = last;
  return i;
}

ItemPtr Builder::constant_item(Tensor t, std::string name) {
  auto i = std::make_shared<Item>();
  i->dtype = t.scalar_type();
  i->constant = std::move(t);
  i->name = std::move(name);
  return i;
}

jit::Node* Builder::after(const Item& i, Value* v) {
  jit::Node* n = i.made_after ? i.made_after : v->node();
  jit::Block* b = n->owning_block();
  const bool top = b == graph_->block();
  if (n == b->param_node()) return top && anchor_ ? anchor_->next() : n->next();
  if (top && anchor_) {
    for (const jit::Node* m = anchor_; m != b->param_node(); m = m->prev())
      if (m == n) return anchor_->next();
  }
  return n->next();
}

Value* Builder::device() {
  if (device_) return device_;
  Graph::InsertPoint at(*graph_, anchor_ ? anchor_ : graph_->block()->param_node()->next());
  if (!first_input_ || !anchor_) return constant(Device(kCPU));
  return device_ = emit1("prim::device", {first_input_});
}

Value* Builder::submodule(const std::vector<std::string>& path, std::size_t n) {
  if (n == 0) return self_;
  const std::string dotted = join_path(path, n);
  if (const auto it = submodules_.find(dotted); it != submodules_.end()) return it->second;
  Value* owner = submodule(path, n - 1);
  jit::Module m = module_;
  for (std::size_t i = 0; i + 1 < n; ++i)
    m = jit::Module(m.attr(path[i]).toObject(), module_.unit());
  if (!m.hasattr(path[n - 1])) {
    m.register_module(path[n - 1], jit::Module("__torch__.onnx." + dotted));
    names_.insert(dotted);
  }
  const IValue child = m.attr(path[n - 1]);
  jit::Node* node = insert("prim::GetAttr", {owner}, {m.type()->find_attribute(path[n - 1])->type});
  node->set("name", jit::Attribute(std::in_place_type<std::string>, path[n - 1]));
  return submodules_[dotted] = node->output();
}

// Registers the tensor by its name in the file and reads it from self.
Value* Builder::module_tensor(const ItemPtr& i) {
  std::vector<std::string> path = path_of(i->name.empty() ? "constant" : i->name);
  // What a tensor and a module would share, or two tensors, gets a number.
  bool free = true;
  for (std::size_t n = 1; n < path.size(); ++n)
    free = free &&
           (submodules_.count(join_path(path, n)) != 0 || names_.count(join_path(path, n)) == 0);
  if (!free) path = {path_of(join_path(path, path.size())).back()};
  const std::string base = path.back();
  for (int n = 1; names_.count(join_path(path, path.size())) != 0; ++n)
    path.back() = base + "_" + std::to_string(n);
  names_.insert(join_path(path, path.size()));

  Graph::InsertPoint at(*graph_, anchor_);
  Value* owner = submodule(path, path.size() - 1);
  jit::Module m = module_;
  for (std::size_t k = 0; k + 1 < path.size(); ++k)
    m = jit::Module(m.attr(path[k]).toObject(), module_.unit());
  Tensor t = i->constant;
  if (i->as_parameter) t.requires_grad_(true);
  m.register_parameter(path.back(), t, !i->as_parameter);
  jit::Node* n = insert("prim::GetAttr", {owner}, {Type::tensor()});
  n->set("name", jit::Attribute(std::in_place_type<std::string>, path.back()));
  if (!first_input_) first_input_ = n->output();
  return n->output();
}

Value* Builder::tensor(const ItemPtr& i) {
  TENON_CHECK(i, ValueError, "an input is missing");
  if (i->tensor) return i->tensor;
  if (i->ints) {
    Value* dev = device();
    Graph::InsertPoint at(*graph_, after(*i, i->ints));
    Value* dtype = constant(i->dtype.value_or(kLong));
    return i->tensor =
               call_text(i->is_int() ? "_from_int" : "_from_ints", {i->ints, dtype, dev}).at(0);
  }
  if (i->constant.defined()) {
    // Not kept: a branch may be the first to ask.
    const bool scalar = i->constant.dim() == 0 && !i->is_initializer;
    if (scalar || !anchor_) return constant(i->constant);
    return i->tensor = module_tensor(i);
  }
  TENON_CHECK(!i->strings, TypeError, "a tensor is expected, and '", i->name,
              "' is one of strings, which are not computed on");
  TENON_CHECK(i->other, ValueError, "a value is missing");
  const jit::TypePtr& t = i->other->type();
  if (t->is(TypeKind::Optional) && t->element()->is(TypeKind::Tensor)) {
    Graph::InsertPoint at(*graph_, after(*i, i->other));
    return i->tensor = insert1("prim::unchecked_cast", {i->other}, Type::tensor());
  }
  if (t->is(TypeKind::Float) || t->is(TypeKind::Bool)) {
    Graph::InsertPoint at(*graph_, after(*i, i->other));
    return i->tensor =
               emit1(t->is(TypeKind::Bool) ? "prim::NumToTensor.bool" : "prim::NumToTensor.Scalar",
                     {i->other});
  }
  throw TypeError("a tensor is expected, and '" + i->name + "' is of type " + t->str());
}

Value* Builder::int_list(const ItemPtr& i) {
  TENON_CHECK(i, ValueError, "an input is missing");
  if (const auto c = constant_ints(i)) return constant(*c);
  if (i->is_ints()) return i->ints;
  if (i->is_int()) return insert1("prim::ListConstruct", {i->ints}, Type::list(Type::integer()));
  Value* t = tensor(i);
  Graph::InsertPoint at(*graph_, after(*i, t));
  return i->ints = call_text("_to_ints", {t}).at(0);
}

Value* Builder::integer(const ItemPtr& i) {
  TENON_CHECK(i, ValueError, "an input is missing");
  if (const auto c = constant_ints(i)) {
    TENON_CHECK(c->size() == 1, ValueError, "one number is expected, and '", i->name, "' has ",
                c->size());
    return constant(c->at(0));
  }
  if (i->is_int()) return i->ints;
  if (i->is_ints()) return emit1("aten::__getitem__.t", {i->ints, constant(int64_t{0})});
  return emit1("aten::Int.Tensor", {tensor(i)});
}

Value* Builder::sequence(const ItemPtr& i) {
  TENON_CHECK(i, ValueError, "an input is missing");
  TENON_CHECK(i->other, TypeError, "a sequence is expected, and '", i->name, "' is a tensor");
  const jit::TypePtr& t = i->other->type();
  const jit::TypePtr& of = t->is(TypeKind::Optional) ? t->element() : t;
  TENON_CHECK(of->is(TypeKind::List), TypeError, "a sequence is expected, and '", i->name,
              "' is of type ", t->str());
  if (of == t) return i->other;
  Graph::InsertPoint at(*graph_, after(*i, i->other));
  return insert1("prim::unchecked_cast", {i->other}, of);
}

}  // namespace tenon::onnx
