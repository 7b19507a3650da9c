// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What torch.jit.save writes: code/ has the classes as text, data.pkl the object, constants.pkl
// what the code names CONSTANTS.c0, data/ and constants/ the memory of tensors, extra/ what the
// user added.
#include <charconv>

#include "jit/formats/archive_code.h"
#include "jit/formats/archive_storages.h"
#include "jit/formats/conform.h"
#include "jit/formats/pickle.h"
#include "jit/formats/read.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr int64_t kNewestVersion = 10;  // of the operators, as torch counts them

class TorchScriptReader {
 public:
  TorchScriptReader(std::shared_ptr<ZipReader> zip, std::optional<Device> device)
      : zip_(std::move(zip)),
        root_(zip_->root()),
        device_(device),
        unit_(std::make_shared<CompilationUnit>()) {}
  Module read();

 private:
  int64_t version() const;
  bool swapped() const;
  IValue read_pickle(const std::string& entry, const std::string& folder);
  IValue build_object(const std::string& name, const IValue& state);
  void set_state(const ClassTypePtr& cls, Function& method, const IValue& object,
                 const IValue& state);
  IValue call_global(const std::string& name, const std::vector<IValue>& args);

  std::shared_ptr<ZipReader> zip_;
  std::string root_;
  std::optional<Device> device_;
  std::shared_ptr<CompilationUnit> unit_;
  std::unique_ptr<ArchiveCode> code_;
};

int64_t TorchScriptReader::version() const {
  for (const char* name : {"version", ".data/version"}) {
    const ZipReader::Entry* e = zip_->find(root_ + name);
    if (!e) continue;
    TENON_CHECK(e->size <= 20, ValueError, "load: ", zip_->file(), ": entry '", name,
                "' is not a number");
    const std::string text = zip_->read(*e);
    int64_t v = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), v);
    const bool plain =
        fault == std::errc() && v > 0 &&
        text.find_first_not_of(" \r\n", static_cast<std::size_t>(end - text.data())) ==
            std::string::npos;
    TENON_CHECK(plain, ValueError, "load: ", zip_->file(), ": entry '", name, "' is not a number");
    TENON_CHECK(v <= kNewestVersion, NotImplementedError, "load: ", zip_->file(),
                ": the archive is of version ", v, ", newer than ", kNewestVersion,
                ", the newest that is known");
    return v;
  }
  throw ValueError(core::join("load: ", zip_->file(), ": there is no entry 'version'"));
}

bool TorchScriptReader::swapped() const {
  const ZipReader::Entry* e = zip_->find(root_ + "byteorder");
  if (!e) return false;
  const std::string order = e->size < 100 ? zip_->read(*e) : "";
  TENON_CHECK(order == "little" || order == "big", ValueError, "load: ", zip_->file(),
              ": entry 'byteorder' is neither 'little' nor 'big'");
  return order == "big";
}

IValue TorchScriptReader::read_pickle(const std::string& entry, const std::string& folder) {
  ArchiveStorages storages(zip_, root_ + folder, device_, swapped());
  UnpickleHooks hooks;
  hooks.build_object = [&](const std::string& cls, const IValue& state) {
    return build_object(cls, state);
  };
  hooks.call_global = [&](const std::string& name, const std::vector<IValue>& args) {
    return call_global(name, args);
  };
  hooks.load_storage = [&](const std::string& type, const std::string& key,
                           const std::string& location, int64_t numel) {
    return storages.load(storage_dtype(type), key, location, numel);
  };
  hooks.type_of = [&](const std::string& text) {
    auto source = std::make_shared<Source>();
    source->text = text;
    return language::type_of_annotation(*language::parse_expression(source), *unit_, {});
  };
  const ZipReader::Entry* e = zip_->find(root_ + entry);
  TENON_CHECK(e, ValueError, "load: ", zip_->file(), ": there is no entry '", entry, "'");
  return zip_->in_entry(entry, [&] {
    if (e->deflated) return unpickle(zip_->read(*e), hooks);
    const ZipReader::Bytes at = zip_->view(*e, true);
    return unpickle({reinterpret_cast<const char*>(at.data), at.size}, hooks);
  });
}

// An enum's value, or a NamedTuple.
IValue TorchScriptReader::call_global(const std::string& name, const std::vector<IValue>& args) {
  const TypePtr type = unit_->find_type(name);
  TENON_CHECK(type, ValueError, "the code does not define ", name.substr(0, 200));
  if (type->is(TypeKind::Enum)) {
    TENON_CHECK(args.size() == 1, ValueError, "the enum ", name, " has ", args.size(),
                " arguments");
    for (const auto& [member, value] : static_cast<const EnumType&>(*type).members) {
      if (value.tag() == args[0].tag() && value == args[0])
        return core::Ref<ivalue::Enum>::adopt(new ivalue::Enum(name, member, value));
    }
    throw ValueError("the enum " + name + " does not have this value");
  }
  TENON_CHECK(type->is(TypeKind::Tuple), ValueError, name, " is not an enum or a named tuple");
  IValue v = core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(args));
  TENON_CHECK(conform(v, type), ValueError, "values that are not those of ", name);
  return v;
}

void TorchScriptReader::set_state(const ClassTypePtr& cls, Function& method, const IValue& object,
                                  const IValue& state) {
  const FunctionSchema& schema = method.schema();
  TENON_CHECK(schema.arguments.size() == 2 && conform(state, schema.arguments[1].type), ValueError,
              "the state of an object is not what __setstate__ of ", cls->name(), " takes");
  (void)method({object, state});
}

IValue TorchScriptReader::build_object(const std::string& name, const IValue& state) {
  const ClassTypePtr cls = unit_->find_class(name);
  const bool native = !cls && name.rfind(kForeignClasses, 0) == 0;
  TENON_CHECK(!native, NotImplementedError, name,
              " is a class of C++ in torch, which archives do not have the code of");
  TENON_CHECK(cls, ValueError, "the code does not define the class ", name.substr(0, 200));
  const auto& attributes = cls->attributes();
  auto made = core::Ref<ivalue::Object>::adopt(new ivalue::Object(cls, attributes.size()));
  const IValue object(made);
  Function* set = cls->find_method("__setstate__");
  TENON_CHECK(set || state.isGenericDict(), ValueError, "the state of an object of ", name, " is ",
              state.tagKind());
  if (set) set_state(cls, *set, object, state);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const ClassAttribute& a = attributes[i];
    if (!set) {
      const IValue* v = state.toDictRef().find(IValue(a.name));
      if (v) made->slots[i] = *v;
    }
    TENON_CHECK(conform(made->slots[i], a.type), ValueError, "attribute '", a.name, "' of ", name,
                " is ", made->slots[i].tagKind(), ", not ", a.type->annotation());
  }
  return object;
}

Module TorchScriptReader::read() {
  const int64_t version = this->version();
  code_ = std::make_unique<ArchiveCode>(*zip_, root_ + "code/", version);
  code_->check_operators();
  unit_->importer = [this](std::string_view name) {
    if (language::is_weight_class(name)) return language::define_weight_classes(*unit_);
    code_->import(*unit_, name);
  };
  if (zip_->find(root_ + "constants.pkl")) {
    const IValue constants = read_pickle("constants.pkl", "constants/");
    TENON_CHECK(constants.isTuple(), ValueError, "load: ", zip_->file(),
                ": entry 'constants.pkl' is not a tuple");
    code_->set_constants(constants.toTupleRef().items);
  }
  const IValue object = read_pickle("data.pkl", "data/");
  TENON_CHECK(object.isModule(), ValueError, "load: ", zip_->file(),
              ": entry 'data.pkl' is not a module");
  code_->import_all(*unit_);
  unit_->importer = nullptr;
  return Module(object.toObject(), unit_);
}

}  // namespace

void read_extra_files(const ZipReader& zip, const std::string& folder, ExtraFiles* extra) {
  if (!extra) return;
  for (auto& [name, content] : *extra) {
    if (const ZipReader::Entry* e = zip.find(folder + name)) content = zip.read(*e);
  }
}

Module read_torchscript(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
                        ExtraFiles* extra) {
  Module m = TorchScriptReader(zip, device).read();
  read_extra_files(*zip, zip->root() + "extra/", extra);
  return m;
}

}  // namespace tenon::jit::formats
