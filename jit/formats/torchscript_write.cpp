// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/code_writer.h"
#include "jit/formats/conform.h"
#include "jit/formats/pickle.h"
#include "jit/formats/storage_writer.h"
#include "jit/formats/write.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// The operators' version that Tenon computes; readers of before refuse it.
constexpr const char* kVersion = "10\n";

class TorchScriptWriter {
 public:
  TorchScriptWriter(const Module& m, ZipWriter& zip) : module_(m), zip_(zip), code_(m.unit()) {}

  void run(const ExtraFiles& extra) {
    write_pickle("data", module_._ivalue());
    code_.write_all();
    for (const auto& [path, text] : code_.files()) zip_.add("code/" + path, text);
    write_pickle("constants",
                 IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(code_.constants()))));
    zip_.add("version", kVersion);
    zip_.add("byteorder", "little");
    for (const auto& [name, content] : extra) zip_.add("extra/" + name, content);
  }

 private:
  void write_pickle(const std::string& name, const IValue& v) {
    StorageWriter storages(zip_, name + "/");
    PickleHooks hooks;
    hooks.save_storage = [&](const Tensor& t) { return storages.save(t); };
    hooks.class_name = [&](const ivalue::Object& o) { return code_.name_of(class_of(o)); };
    hooks.enum_name = [&](const ivalue::Enum& e) { return code_.name_of_enum(e.class_name); };
    hooks.annotation = [&](const TypePtr& type) { return code_.annotation(type); };
    hooks.state = [&](const ivalue::Object& o) { return state_of(o); };
    zip_.add(name + ".pkl", pickle(v, hooks));
  }

  static TypePtr class_of(const ivalue::Object& o) {
    return static_cast<const ClassType&>(*o.type).self();
  }

  static std::optional<IValue> state_of(const ivalue::Object& o) {
    const auto& cls = static_cast<const ClassType&>(*o.type);
    Function* get = cls.find_method("__getstate__");
    const Function* set = cls.find_method("__setstate__");
    TENON_CHECK(!get == !set, ValueError, "save: ", o.name(), " has ", get ? "no " : "",
                "__setstate__ and ", get ? "" : "no ", "__getstate__");
    TENON_CHECK(get || !cls.is_custom_class(), TypeError, "save: objects of ", o.name(),
                " cannot be saved: the class has no def_pickle");
    if (!get) return std::nullopt;
    const IValue self(core::Ref<ivalue::Object>::share(const_cast<ivalue::Object*>(&o)));
    IValue state = (*get)({self});
    TENON_CHECK(
        set->schema().arguments.size() == 2 && conform(state, set->schema().arguments[1].type),
        ValueError, "save: what __getstate__ of ", o.name(),
        " gives is not what its __setstate__ takes");
    return state;
  }

  const Module& module_;
  ZipWriter& zip_;
  CodeWriter code_;
};

}  // namespace

void write_torchscript(const Module& m, ZipWriter& zip, const ExtraFiles& extra) {
  TorchScriptWriter(m, zip).run(extra);
}

}  // namespace tenon::jit::formats
