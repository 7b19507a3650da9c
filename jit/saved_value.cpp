// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/saved_value.h"

#include <filesystem>

#include "jit/formats/archive_storages.h"
#include "jit/formats/mapped_file.h"
#include "jit/formats/pickle.h"
#include "jit/formats/storage_writer.h"
#include "jit/language/emit.h"
#include "tenon/io/file_writer.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace jit {

namespace formats {
namespace {

// An annotation of libtorch's pickles, "Dict[str, Tensor]".
TypePtr annotated_type(const std::string& text) {
  auto source = std::make_shared<Source>();
  source->text = text;
  CompilationUnit unit;
  return language::type_of_annotation(*language::parse_expression(source), unit, {});
}

bool other_byte_order(const ZipReader& zip) {
  const ZipReader::Entry* e = zip.find(zip.root() + "byteorder");
  return e && e->size <= 16 && zip.read(*e) == "big";
}

void write_saved_zip(const IValue& value, ZipWriter& zip) {
  StorageWriter storages(zip, "data/");
  PickleHooks hooks;
  hooks.plain = true;
  hooks.save_storage = [&](const Tensor& t) { return storages.save(t); };
  zip.add("data.pkl", pickle(value, hooks));
  zip.add("byteorder", std::string_view("little"));
  zip.add("version", std::string_view("3\n"));
  (void)zip.finish();
}

}  // namespace

IValue read_saved_zip(const std::shared_ptr<ZipReader>& zip, const DeviceMap& map) {
  ArchiveStorages storages(zip, zip->root() + "data/", kCPU, other_byte_order(*zip));
  std::map<std::string, Tensor> moved;
  UnpickleHooks hooks;
  hooks.type_of = annotated_type;
  hooks.load_storage = [&](const std::string& type, const std::string& key,
                           const std::string& location, int64_t numel) {
    const Tensor here = storages.load(storage_dtype(type), key, "cpu", numel);
    const Device to = map.place(location);
    if (to.is_cpu()) return here;
    Tensor& there = moved[key];
    if (!there.defined()) there = here.to(to);
    return there;
  };
  const ZipReader::Entry* e = zip->find(zip->root() + "data.pkl");
  TENON_CHECK(e, ValueError, "there is no entry 'data.pkl'");
  return unpickle(zip->read(*e), hooks);
}

}  // namespace formats

namespace {

// Errors get the file's name in front and keep their class.
template <class F>
auto reading(const std::string& file, F f) {
  try {
    return f();
  } catch (const Error& e) {
    core::throw_error(e.code(), core::join("load: ", file, ": ", e.msg()));
  }
}

}  // namespace

IValue load_pickle(const std::string& filename, const DeviceMap& map_location) {
  return reading(filename, [&] {
    const formats::MappedFile file(filename);
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    if (formats::is_legacy(bytes)) return formats::read_legacy(bytes, map_location);
    TENON_CHECK(bytes.substr(0, 2) == "PK", ValueError, "it is not a file of torch.save");
    return formats::read_saved_zip(formats::ZipReader::open(filename), map_location);
  });
}

void save_pickle(const IValue& value, const std::string& filename) {
  serialize::detail::FileWriter file(filename);
  const std::string stem = std::filesystem::path(filename).stem().string();
  formats::ZipWriter zip(stem.empty() ? "archive" : stem,
                         [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
  formats::write_saved_zip(value, zip);
  file.commit();
}

StateDict load_state_dict(const std::string& filename, const DeviceMap& map_location,
                          const std::string& key) {
  IValue value = load_pickle(filename, map_location);
  return reading(filename, [&] {
    if (!key.empty()) {
      TENON_CHECK(value.isGenericDict() && value.toDictRef().contains(key), ValueError,
                  "it has no '", key, "'");
      value = IValue(value.toDictRef().at(key));
    }
    TENON_CHECK(value.isGenericDict(), ValueError, "it holds ", value.tagKind(),
                ", not a dictionary");
    StateDict out("State");
    for (const auto& [name, tensor] : value.toDictRef().items()) {
      TENON_CHECK(name.isString() && tensor.isTensor(), ValueError,
                  "it holds something beside tensors by name: ",
                  name.isString() ? name.toStringRef().substr(0, 80) : name.tagKind(), " is ",
                  tensor.tagKind());
      out.insert(name.toStringRef(), tensor.toTensor());
    }
    return out;
  });
}

void save_state_dict(const StateDict& state, const std::string& filename) {
  auto all = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
  for (const auto& item : state) all->insert_or_assign(item.key(), item.value().detach());
  save_pickle(all, filename);
}

}  // namespace jit

std::vector<char> pickle_save(const IValue& value) {
  std::vector<char> out;
  jit::formats::ZipWriter zip("archive", [&](const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    out.insert(out.end(), at, at + bytes);
  });
  jit::formats::write_saved_zip(value, zip);
  return out;
}

IValue pickle_load(const std::vector<char>& data) {
  return jit::reading("the bytes", [&] {
    const std::string_view bytes(data.data(), data.size());
    if (jit::formats::is_legacy(bytes)) return jit::formats::read_legacy(bytes, {});
    TENON_CHECK(bytes.substr(0, 2) == "PK", ValueError, "they are no file of torch.save");
    return jit::formats::read_saved_zip(
        jit::formats::ZipReader::from_bytes(std::string(bytes), "the bytes"), {});
  });
}

}  // namespace tenon
