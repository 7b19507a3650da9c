// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/module.h"

#include <functional>

#include "jit/frozen/frozen.h"
#include "jit/language/emit.h"
#include "jit/language/quantized_text.h"
#include "tenon/autograd/mode.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::jit {

Module::Module(std::string class_name) : unit_(std::make_shared<CompilationUnit>()) {
  const ClassTypePtr cls = ClassType::make(std::move(class_name), true);
  unit_->add_type(cls);
  object_ = core::Ref<ivalue::Object>::adopt(new ivalue::Object(cls, 0));
  register_attribute("training", Type::boolean(), true);
}

Module::Module(core::Ref<ivalue::Object> object, std::shared_ptr<CompilationUnit> unit)
    : object_(std::move(object)), unit_(std::move(unit)) {
  TENON_CHECK(object_ && object_->type->is_module_class(), TypeError, "Module: an object of class ",
              object_ ? object_->name() : "None", " is not a module");
}

ClassTypePtr Module::type() const { return static_cast<const ClassType&>(*object_->type).self(); }

bool Module::hasattr(std::string_view name) const {
  return object_->hasattr(name) || type()->find_constant(name);
}

IValue Module::attr(std::string_view name) const {
  if (const IValue* constant = type()->find_constant(name)) return *constant;
  return object_->getAttr(name);
}

IValue Module::attr(std::string_view name, IValue or_else) const {
  return hasattr(name) ? attr(name) : or_else;
}

namespace {
void check_not_frozen(const Module& m, const char* what, std::string_view name) {
  TENON_CHECK(!m.type()->frozen_by_tracing, Error, what, ": ", m._ivalue()->name(),
              " is frozen by tracing and cannot be changed", name.empty() ? "" : ": '", name,
              name.empty() ? "" : "'");
}
}  // namespace

void Module::setattr(std::string_view name, IValue v) const {
  check_not_frozen(*this, "setattr", name);
  const ClassAttribute* a = type()->find_attribute(name);
  if (a) {
    TENON_CHECK(is_instance(v, *a->type), TypeError, "setattr: attribute '", name, "' of ",
                object_->name(), " is ", a->type->annotation(), ", not ", type_of(v)->annotation());
    set_element_type(v, a->type);
  }
  object_->setAttr(name, std::move(v));
}

void Module::register_parameter(const std::string& name, Tensor t, bool is_buffer) {
  check_not_frozen(*this, is_buffer ? "register_buffer" : "register_parameter", name);
  const TypePtr type = t.defined() ? Type::tensor() : Type::optional(Type::tensor());
  this->type()->add_attribute(name, type,
                              is_buffer ? ClassAttribute::Buffer : ClassAttribute::Parameter);
  object_->setAttr(name, t.defined() ? IValue(std::move(t)) : IValue());
}

void Module::register_attribute(const std::string& name, TypePtr type, IValue v, bool is_param,
                                bool is_buffer) {
  check_not_frozen(*this, "register_attribute", name);
  this->type()->add_attribute(name, std::move(type),
                              is_param    ? ClassAttribute::Parameter
                              : is_buffer ? ClassAttribute::Buffer
                                          : ClassAttribute::Plain);
  setattr(name, std::move(v));
}

void Module::register_module(const std::string& name, const Module& m) {
  check_not_frozen(*this, "register_module", name);
  this->type()->add_attribute(name, m.type());
  unit_->keep(m.unit());
  object_->setAttr(name, IValue(m._ivalue()));
}

bool Module::is_training() const {
  const IValue v = attr("training", true);
  return v.isBool() && v.toBool();
}

void Module::train(bool on) const {
  for (const Module& m : modules()) {
    const ClassAttribute* a = m.type()->find_attribute("training");
    if (a && a->type->is(TypeKind::Bool)) m._ivalue()->setAttr("training", on);
  }
}

void Module::zero_grad() const {
  for (const Tensor& p : parameters()) p.mutable_grad().reset();
}

namespace {

using Moved = std::function<Tensor(const Tensor&)>;

// All tensors of quantized weights.
void move_weights(IValue& v, const Moved& moved) {
  if (v.isTensor()) {
    if (v.toTensor().defined()) v = moved(v.toTensor());
  } else if (v.isList()) {
    for (IValue& item : v.toListRef().items) move_weights(item, moved);
  } else if (v.isObject() && language::is_weight_class(v.toObjectRef().name())) {
    for (IValue& part : v.toObjectRef().slots) move_weights(part, moved);
  }
}

// Quantized tensors are replaced: they cannot take the data of others.
void move_quantized(const Module& module, const Moved& moved) {
  for (const Module& m : module.modules()) {
    for (IValue& v : m._ivalue()->slots) {
      const bool quantized = v.isTensor() && is_quantized(v.toTensor());
      if (quantized || v.isObject()) move_weights(v, moved);
    }
  }
}

void convert(const Module& module, const std::optional<Device>& device,
             const std::optional<ScalarType>& dtype, bool non_blocking) {
  TENON_CHECK(!dtype || isFloatingType(*dtype), TypeError,
              "Module::to: to(device), to(floating dtype), to(device, floating dtype); got ",
              toString(*dtype));
  const NoGradGuard no_grad;
  const auto moved = [&](const Tensor& t) {
    TensorOptions options;
    if (device) options = options.device(*device);
    if (dtype && t.is_floating_point()) options = options.dtype(*dtype);
    return t.detach().to(options, non_blocking);
  };
  for (const Tensor& t : module.parameters()) {
    const Tensor grad = t.grad();
    t.set_data(moved(t));
    if (grad.defined()) t.mutable_grad() = moved(grad).set_requires_grad(grad.requires_grad());
  }
  for (const Tensor& t : module.buffers())
    if (!is_quantized(t)) t.set_data(moved(t));
  if (device) {
    move_quantized(module, [&](const Tensor& t) {
      return t.detach().to(TensorOptions(*device), non_blocking);
    });
  }
  if (!is_frozen(module)) return;
  for (const Tensor& t : frozen_constants(module)) t.set_data(moved(t));
  forget_plans(module);
}

}  // namespace

void Module::to(Device device, ScalarType dtype, bool non_blocking) const {
  convert(*this, device, dtype, non_blocking);
}
void Module::to(Device device, bool non_blocking) const {
  convert(*this, device, std::nullopt, non_blocking);
}
void Module::to(ScalarType dtype, bool non_blocking) const {
  convert(*this, std::nullopt, dtype, non_blocking);
}

Module Module::clone() const {
  if (is_frozen(*this)) return clone_frozen(*this);
  return Module(IValue(object_).deepcopy().toObject(), unit_);
}

Module Module::copy() const {
  auto made = core::Ref<ivalue::Object>::adopt(new ivalue::Object(object_->type, 0));
  made->slots = object_->slots;
  return Module(std::move(made), unit_);
}

void Module::define(const std::string& text) {
  check_not_frozen(*this, "define", "");
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = "<text>";
  const language::File file = language::parse_file(source);
  TENON_CHECK(file.classes.empty(), ValueError,
              "define: the text has a class; only methods can be "
              "added to a module");
  const auto resolver = std::make_shared<language::Resolver>();
  std::vector<Function*> made;
  for (const auto& def : file.functions) {
    made.push_back(language::define_method(*unit_, type(), *def, resolver));
  }
  for (Function* f : made) f->ensure_defined();  // errors belong to this call
}

}  // namespace tenon::jit

namespace tenon {
jit::Module IValue::toModule() const {
  TENON_CHECK(isModule(), TypeError, "toModule: a value of type ",
              jit::type_of(*this)->annotation(), " is not a module");
  const auto object = toObject();
  auto unit = static_cast<const jit::ClassType&>(*object->type).compilation_unit();
  TENON_CHECK(unit, Error, "toModule: the program that defines class ", object->name(),
              " is gone; keep the module it was loaded with");
  return {object, std::move(unit)};
}
}  // namespace tenon
