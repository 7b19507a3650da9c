// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which value of the graph an argument is.
#include "jit/trace/recorder.h"
#include "tenon/core/layout.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::tracing {
namespace {

Node* insert(Graph& g, const char* kind, const std::vector<Value*>& inputs, std::size_t n = 1) {
  Node* made = g.insert(g.create(kind, inputs, n));
  if (std::string_view(kind).substr(0, 6) == "aten::") made->op = find_operator(kind);
  return made;
}

}  // namespace

bool Recorder::is_traced(const Tensor& t) const {
  const auto it = known_.find(t.unsafeGetTensorImpl());
  return it != known_.end() && !it->second.constant;
}

void Recorder::bind_tensor(Value* v, const Tensor& t, bool constant) {
  if (!t.defined()) return;
  known_[t.unsafeGetTensorImpl()] = {v, t, constant};
  if (t.has_storage()) {
    const core::Storage* memory = t.unsafeGetTensorImpl()->storage.get();
    if (constant)
      captured_memory_.insert(memory);
    else if (!captured_memory_.count(memory))
      traced_memory_.insert(memory);
  }
}

Value* Recorder::constant_tensor(const Tensor& t) {
  // Memory that nobody owns (from_blob) may be gone when the program runs.
  const core::Storage* s = t.has_storage() ? t.unsafeGetTensorImpl()->storage.get() : nullptr;
  const bool unowned = s && s->deleter && !s->deleter_context;
  if (inner_.count(s)) is_not_recorded("what an operator computed inside is used outside of it");
  const NoGradGuard no_grad;
  Value* v = graph_->insert_constant(unowned ? t.clone() : t, {}, Type::tensor());
  bind_tensor(v, t, true);
  return v;
}

// What no operator of the record made but shares memory with a known tensor: data() and its kind,
// and views that composite operators took, which backward reads again. A view of the memory of the
// first that is known. Null for memory that is not known, and for captured tensors that have a
// history of their own, where one is needed.
Value* Recorder::value_of_shared(const Tensor& t) {
  const core::Storage* memory = t.has_storage() ? t.unsafeGetTensorImpl()->storage.get() : nullptr;
  const bool traced = traced_memory_.count(memory);
  const bool needs_history = t.requires_grad() && (!grad_mode_ || GradMode::is_enabled());
  if (!traced && (needs_history || !captured_memory_.count(memory))) return nullptr;
  const Known* equal = nullptr;
  const Known* any = nullptr;
  const auto earlier = [](const Known& k, const Known*& than) {
    if (!than || k.value->id() < than->value->id()) than = &k;
  };
  for (const auto& [other, known] : known_) {
    const Tensor& o = known.alive;
    if (other->storage.get() != memory || o.scalar_type() != t.scalar_type()) continue;
    earlier(known, any);
    if (o.sizes() == t.sizes() && o.strides() == t.strides() &&
        o.storage_offset() == t.storage_offset())
      earlier(known, equal);
  }
  // Arguments of a call are not copied: this may be a captured tensor.
  const Known* used = equal ? equal : any;
  if (traced && run_ == Run::Call && used && used->value->node() == graph_->block()->param_node())
    is_not_recorded("a tensor shares the memory of an argument");
  if (equal) return insert(*graph_, "aten::detach", {equal->value})->output();
  TENON_CHECK(!traced || (any && !needs_history), NotImplementedError, "trace: a tensor of shape ",
              t.sizes(), " shares the memory of a computed one, but no operator made it");
  if (!any) return nullptr;
  Value* base = insert(*graph_, "aten::detach", {any->value})->output();
  return insert(*graph_, "aten::as_strided",
                {base, graph_->insert_constant(t.sizes().vec()),
                 graph_->insert_constant(t.strides().vec()),
                 graph_->insert_constant(t.storage_offset())})
      ->output();
}

Value* Recorder::value_of(const Tensor& t) {
  if (!t.defined()) return graph_->insert_constant(IValue(), {}, Type::optional(Type::tensor()));
  const auto it = known_.find(t.unsafeGetTensorImpl());
  Value* v = nullptr;
  if (it != known_.end()) {
    v = it->second.value;
  } else if ((v = value_of_shared(t)) != nullptr) {
    bind_tensor(v, t);
  } else {
    v = constant_tensor(t);
  }
  return without_grad(v, t);
}

// Whether a program records gradients is no part of it: what runs under NoGradGuard takes tensors
// without history.
Value* Recorder::without_grad(Value* v, const Tensor& t) {
  const bool needed = grad_mode_ && started_ && !GradMode::is_enabled() && t.is_floating_point() &&
                      !without_grad_.count(v);
  if (!needed) return v;
  Value* detached = insert(*graph_, "aten::detach", {v})->output();
  without_grad_.insert(detached);
  return detached;
}

Value* Recorder::list_of(const std::vector<Value*>& items, TypePtr element) {
  Value* v = insert(*graph_, "prim::ListConstruct", items)->output();
  return v->set_type(Type::list(std::move(element)));
}

Value* Recorder::value_of(const IValue& v, const TypePtr& type) {
  switch (v.tag()) {
    case IValue::Tag::Tensor:
      return value_of(v.toTensor());
    case IValue::Tag::List: {
      const TypePtr t = type_of(v);
      if (!t->element()->is(TypeKind::Tensor)) return graph_->insert_constant(v, {}, t);
      std::vector<Value*> items;
      for (const IValue& item : v.toListRef().items) items.push_back(value_of(item, t->element()));
      return list_of(items, t->element());
    }
    case IValue::Tag::Tuple: {
      std::vector<Value*> items;
      std::vector<TypePtr> types;
      for (const IValue& item : v.toTupleRef().items) {
        items.push_back(value_of(item, type_of(item)));
        types.push_back(items.back()->type());
      }
      const TypePtr named = v.toTupleRef().type;
      Value* made = insert(*graph_, "prim::TupleConstruct", items)->output();
      return made->set_type(named ? named : Type::tuple(std::move(types)));
    }
    case IValue::Tag::Dict: {
      const TypePtr t = type_of(v);
      std::vector<Value*> items;
      for (const auto& [key, item] : v.toDictRef().items()) {
        items.push_back(graph_->insert_constant(key));
        items.push_back(value_of(item, type_of(item)));
      }
      return insert(*graph_, "prim::DictConstruct", items)->output()->set_type(t);
    }
    default:
      return graph_->insert_constant(v, {}, v.isNone() ? type : type_of(v));
  }
}

namespace {

IValue number(const tn_value& v) {
  if (v.tag == TN_TAG_F64) return v.u.f64;
  if (v.tag == TN_TAG_BOOL) return v.u.i64 != 0;
  return v.u.i64;
}

template <class T, class From>
std::vector<T> copied(const From* from, uint32_t n) {
  std::vector<T> out;
  for (uint32_t i = 0; i < n; ++i) out.push_back(static_cast<T>(from[i]));
  return out;
}

// As programs have it: torch's numbers of dtypes and layouts.
IValue plain_value(const core::ArgInfo& arg, const tn_value& v) {
  switch (v.tag) {
    case TN_TAG_NONE:
      return {};
    case TN_TAG_I64:
      if (arg.type == core::ArgType::IntList || arg.type == core::ArgType::OptIntList)
        return std::vector<int64_t>{v.u.i64};
      return v.u.i64;
    case TN_TAG_F64:
    case TN_TAG_BOOL:
      return number(v);
    case TN_TAG_I64_LIST:
      return copied<int64_t>(v.u.i64s, v.len);
    case TN_TAG_F64_LIST:
      return copied<double>(v.u.f64s, v.len);
    case TN_TAG_BOOL_LIST:
      return copied<bool>(v.u.bools, v.len);
    case TN_TAG_SCALAR_LIST: {
      std::vector<IValue> list;
      for (uint32_t i = 0; i < v.len; ++i) list.push_back(number(v.u.values[i]));
      return list;
    }
    case TN_TAG_DTYPE:
      return core::dtype_from_abi(v.u.dtype);
    case TN_TAG_DEVICE:
      return core::device_from_abi(v.u.device);
    case TN_TAG_STR:
      return std::string(v.u.str, v.len);
    case TN_TAG_LAYOUT: {
      const int slot = core::layout_slot_from_abi(v.u.i64);
      const std::string_view name = core::layout_name(slot);
      TENON_CHECK(slot == 0 || name == "sparse", NotImplementedError, "trace: the layout ", name,
                  " is not one of programs");
      return int64_t{slot == 0 ? 0 : 1};
    }
    case TN_TAG_OPAQUE:
      return Generator(
          core::Ref<core::GeneratorImpl>::share(static_cast<core::GeneratorImpl*>(v.u.ptr)));
    default:
      throw NotImplementedError(
          core::join("trace: argument '", arg.name, "' with tag ", v.tag, " cannot be recorded"));
  }
}

}  // namespace

Value* Recorder::argument_value(const core::ArgInfo& arg, const TypePtr& type, const tn_value& v) {
  if (v.tag == TN_TAG_TENSOR) return value_of(shared(v.u.tensor));
  if (v.tag == TN_TAG_TENSOR_LIST) {
    std::vector<Value*> items;
    for (uint32_t i = 0; i < v.len; ++i)
      items.push_back(value_of(v.u.tensors[i] ? shared(v.u.tensors[i]) : Tensor()));
    return list_of(items, type && type->is(TypeKind::List) ? type->element() : Type::tensor());
  }
  IValue plain = plain_value(arg, v);
  const TypePtr own = plain.isNone() ? type : type_of(plain);
  return graph_->insert_constant(std::move(plain), {}, own);
}

// Takes a result apart, so that its tensors are known.
void Recorder::bind(Value* v, const IValue& result) {
  if (result.isTensor()) {
    if (v->type()->is(TypeKind::Optional)) {
      v = insert(*graph_, "prim::unchecked_cast", {v})->output()->set_type(Type::tensor());
    }
    return bind_tensor(v, result.toTensor());
  }
  if (result.isList() || result.isTuple()) {
    const auto& items = result.isList() ? result.toListRef().items : result.toTupleRef().items;
    if (items.empty()) return;
    const TypePtr whole = v->type()->is(TypeKind::Optional) ? v->type()->element() : v->type();
    if (whole != v->type()) {
      v = insert(*graph_, "prim::unchecked_cast", {v})->output()->set_type(whole);
    }
    Node* n = insert(*graph_, result.isList() ? "prim::ListUnpack" : "prim::TupleUnpack", {v},
                     items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      n->output(i)->set_type(result.isList() ? whole->element() : whole->contained().at(i));
      bind(n->output(i), items[i]);
    }
    return;
  }
  if (result.isGenericDict()) {
    for (const auto& [key, item] : result.toDictRef().items()) {
      TENON_CHECK(key.isString(), NotImplementedError,
                  "trace: a dictionary whose keys are not strings");
      Node* n = insert(*graph_, "aten::__getitem__", {v, graph_->insert_constant(key)});
      n->op = find_operator("aten::__getitem__.Dict_str");
      n->output()->set_type(v->type()->contained().at(1));
      bind(n->output(), item);
    }
    return;
  }
  if (result.isScalar()) {
    becomes_constant(result.isDouble() ? core::join(result.toDouble())
                     : result.isBool() ? std::string(result.toBool() ? "true" : "false")
                                       : core::join(result.toInt()),
                     core::join(v->node()->is("prim::Param") ? "argument %" : "%", v->debug_name()),
                     v);
  }
}

}  // namespace tenon::jit::tracing
