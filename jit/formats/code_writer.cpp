// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/code_writer.h"

#include <algorithm>

#include "jit/language/quantized_text.h"
#include "tenon/jit/custom_class.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr const char* kRoot = "__torch__";

// Only what names in a program may have.
std::string clean(std::string_view name) {
  std::string out;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find('.', from), name.size());
    std::string part(name.substr(from, to - from));
    for (char& c : part) {
      const bool plain =
          c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!plain) c = '_';
    }
    if (part.empty() || (part[0] >= '0' && part[0] <= '9')) part = "_" + part;
    out += (out.empty() ? "" : ".") + part;
    from = to + 1;
  }
  return out.rfind(std::string(kRoot) + ".", 0) == 0 ? out : std::string(kRoot) + "." + out;
}

std::string names_list(const char* what, const ClassType& cls, ClassAttribute::Kind kind) {
  std::string out = std::string("  ") + what + " = [";
  for (const ClassAttribute& a : cls.attributes()) {
    if (a.kind == kind) out += quoted(a.name) + ", ";
  }
  return out + "]\n";
}

bool is_known_to_readers(const std::string& class_name) {
  return language::is_weight_class(class_name) || find_custom_class(class_name);
}

}  // namespace

// "__torch__.a.M" becomes "__torch__.a.___torch_mangle_0.M" where it is taken.
std::string CodeWriter::take_name(std::string wanted) {
  std::string name = clean(wanted);
  const std::size_t dot = name.rfind('.');
  for (int i = 0; !taken_.insert(name).second; ++i) {
    name = clean(wanted).insert(dot, ".___torch_mangle_" + std::to_string(i));
  }
  return name;
}

std::string CodeWriter::name_of(const TypePtr& named) {
  if (is_known_to_readers(named->name())) return named->name();
  const auto it = names_.find(named.get());
  if (it != names_.end()) return it->second;
  // Tuple types are equal by name.
  if (named->is(TypeKind::Tuple)) {
    for (const Named& n : todo_) {
      if (n.type && n.type->is(TypeKind::Tuple) && same_type(*n.type, *named)) return n.name;
    }
  }
  const std::string name = take_name(named->name());
  names_.emplace(named.get(), name);
  todo_.push_back({named, nullptr, name});
  return name;
}

std::string CodeWriter::name_of_enum(const std::string& class_name) {
  const TypePtr type = unit_->find_type(class_name);
  TENON_CHECK(type && type->is(TypeKind::Enum), ValueError, "save: ", class_name,
              " is not an enum of the program");
  return name_of(type);
}

std::string CodeWriter::name_of(Function& f) {
  if (std::string op = language::quantized_operator(f.qualified_name()); !op.empty()) return op;
  if (find_custom_function(f.qualified_name())) return f.qualified_name();
  const auto it = names_.find(&f);
  if (it != names_.end()) return it->second;
  const std::string name = take_name(f.qualified_name());
  names_.emplace(&f, name);
  todo_.push_back({nullptr, &f, name});
  return name;
}

std::string CodeWriter::annotation(const TypePtr& type) {
  if (!type) return "Tensor";
  return type->annotation([&](const Type& named) {
    return name_of(std::const_pointer_cast<Type>(named.shared_from_this()));
  });
}

std::string CodeWriter::constant(const IValue& v) {
  if (v.isObject()) {
    const std::string& name = v.toObjectRef().name();
    TENON_CHECK(is_known_to_readers(name), NotImplementedError, "save: a constant of the class ",
                name, " cannot be saved");
  }
  const void* identity = v.isObject() ? static_cast<const void*>(v.toObject().get())
                                      : v.toTensor().unsafeGetTensorImpl();
  const auto [it, fresh] = constant_at_.emplace(identity, constants_.size());
  if (fresh) constants_.push_back(v);
  return "CONSTANTS.c" + std::to_string(it->second);
}

void CodeWriter::write_all() {
  for (; written_ < todo_.size(); ++written_) {
    const Named n = todo_[written_];
    std::string path = n.name.substr(0, n.name.rfind('.'));
    std::replace(path.begin(), path.end(), '.', '/');
    const std::string text = write(n);
    files_[path + ".py"] += text;
  }
}

std::string CodeWriter::write(const Named& n) {
  if (n.function) {
    std::string text = function_text(*this, *n.function, 0);
    // The function's own name stands in its text; in the archive it may have another.
    const std::string own = "def " + std::string(n.function->name()) + "(";
    return text.replace(0, own.size(), "def " + n.name.substr(n.name.rfind('.') + 1) + "(");
  }
  switch (n.type->kind()) {
    case TypeKind::Class:
      return write_class(static_cast<const ClassType&>(*n.type), n.name);
    case TypeKind::Tuple:
      return write_named_tuple(*n.type, n.name);
    case TypeKind::Enum:
      return write_enum(static_cast<const EnumType&>(*n.type), n.name);
    default:
      return write_interface(n.type, n.name);
  }
}

std::string CodeWriter::write_attributes(const ClassType& cls) {
  std::string out;
  bool others = false;
  for (const ClassAttribute& a : cls.attributes()) {
    if (is_identifier(a.name)) {
      out += "  " + a.name + " : " + annotation(a.type) + "\n";
    } else {
      if (!others) out += "  __annotations__ = []\n";
      others = true;
      out += "  __annotations__[" + quoted(a.name) + "] = " + annotation(a.type) + "\n";
    }
  }
  for (const auto& [name, value] : cls.constants()) {
    const TypePtr type = type_of(value);
    out += "  " + name + " : Final[" + annotation(type) +
           "] = " + literal_text(*this, value, type) + "\n";
  }
  return out;
}

std::string CodeWriter::write_class(const ClassType& cls, const std::string& name) {
  std::string out = "class " + name.substr(name.rfind('.') + 1);
  if (cls.is_module_class()) {
    out += "(Module):\n" + names_list("__parameters__", cls, ClassAttribute::Parameter) +
           names_list("__buffers__", cls, ClassAttribute::Buffer);
  } else {
    out += ":\n";
  }
  out += write_attributes(cls);
  const auto hooks = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += std::string("  ") + what + " = [";
    for (const std::string& n : names) out += quoted(n) + ", ";
    out += "]\n";
  };
  hooks("__forward_pre_hooks__", cls.forward_pre_hooks);
  hooks("__forward_hooks__", cls.forward_hooks);
  for (const Function* f : cls.methods()) out += function_text(*this, *f, 1);
  if (!cls.is_module_class() && cls.attributes().empty() && cls.methods().empty())
    out += "  pass\n";
  return out;
}

std::string CodeWriter::write_named_tuple(const Type& type, const std::string& name) {
  std::string out = "class " + name.substr(name.rfind('.') + 1) + "(NamedTuple):\n";
  const auto& defaults = type.field_defaults();
  for (std::size_t i = 0; i < type.fields().size(); ++i) {
    out += "  " + type.fields()[i] + " : " + annotation(type.contained()[i]);
    if (i < defaults.size() && defaults[i])
      out += " = " + literal_text(*this, *defaults[i], type.contained()[i]);
    out += "\n";
  }
  return out;
}

std::string CodeWriter::write_enum(const EnumType& type, const std::string& name) {
  std::string out = "class " + name.substr(name.rfind('.') + 1) + "(Enum):\n";
  for (const auto& [member, value] : type.members)
    out += "  " + member + " = " + literal_text(*this, value, type.contained()[0]) + "\n";
  return out;
}

std::string CodeWriter::write_interface(const TypePtr& type, const std::string& name) {
  TENON_CHECK(type->is(TypeKind::Interface), NotImplementedError, "save: the type ", type->str(),
              " cannot be saved");
  const auto& interface = static_cast<const InterfaceType&>(*type);
  std::string out = "class " + name.substr(name.rfind('.') + 1) +
                    (interface.is_module ? "(ModuleInterface):\n" : "(Interface):\n");
  for (const FunctionSchema& method : interface.methods) {
    std::vector<std::string> names;
    for (const Argument& a : method.arguments) names.push_back(a.name);
    const std::string short_name = method.name.substr(method.name.rfind('.') + 1);
    out += "  def " + short_name + signature_text(*this, method, names) + ":\n    pass\n";
  }
  return out;
}

}  // namespace tenon::jit::formats
