// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/weights.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "jit/formats/pickle.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr std::size_t kMaxWeights = 1 << 20;

bool little_endian(const ZipReader& zip) {
  const ZipReader::Entry* e = zip.find(zip.root() + "byteorder");
  return !e || e->size > 16 || zip.read(*e) != "big";
}

template <class F>
void in_entry(const std::string& entry, F f) {
  try {
    f();
  } catch (const Error& e) {
    core::throw_error(e.code(), core::join("entry '", entry, "': ", e.msg()));
  }
}

}  // namespace

ExportedWeights::ExportedWeights(std::shared_ptr<ZipReader> zip, std::string name,
                                 std::optional<Device> device)
    : zip_(std::move(zip)), root_(zip_->root()), name_(std::move(name)), device_(device) {}

// An entry holds a storage: tensors of it have sizes, strides and an offset.
void ExportedWeights::read_entry(ArchiveStorages& storages, const std::string& folder,
                                 const std::string& name, const Json& payload) {
  const std::string& path = text_of(member(payload, "path_name"), "path_name");
  const Json* pickled = find_member(payload, "use_pickle");
  TENON_CHECK(!(pickled && boolean_of(*pickled, "use_pickle")), NotImplementedError, "'", name,
              "' is pickled (an object of a C++ class, or a subclass of Tensor), which is not "
              "supported; run_decompositions() of the exported program takes subclasses apart");
  const Json& meta = member(payload, "tensor_meta");
  const ScalarType dtype = dtype_of(member(meta, "dtype"));
  TENON_CHECK(layout_of(member(meta, "layout")) == 0, NotImplementedError, "'", name,
              "' is sparse, which is not supported");
  const std::string key = folder + path + " " + meta.dump();
  Tensor& t = seen_[key];
  if (!t.defined()) {
    const ZipReader::Entry* e = zip_->find(root_ + folder + path);
    TENON_CHECK(e, IndexError, "there is no entry '", folder, path.substr(0, 80), "'");
    const auto item = static_cast<uint64_t>(elementSize(dtype));
    const std::vector<int64_t> sizes = plain_ints(member(meta, "sizes"), "sizes");
    Tensor memory = storages.load(dtype, path, device_name_of(member(meta, "device")),
                                  static_cast<int64_t>(e->size / item));
    // What tracing made of a batched tensor, which no node reads: torch writes it without elements.
    if (constants_ && e->size == 0 && std::count(sizes.begin(), sizes.end(), 0) == 0)
      t = tenon::zeros({}, dtype).to(memory.device()).expand(sizes);
    else
      t = tensor_over(memory, dtype, plain_int(member(meta, "storage_offset"), "storage_offset"),
                      sizes, plain_ints(member(meta, "strides"), "strides"));
    const Json* grad = find_member(meta, "requires_grad");
    if (grad && boolean_of(*grad, "requires_grad") && boolean_of(member(payload, "is_param"), ""))
      t.set_requires_grad(true);
  }
  out_.push_back({name, t, constants_});
}

void ExportedWeights::read_entries(const std::string& folder, const std::string& config) {
  const ZipReader::Entry* e = zip_->find(root_ + folder + config);
  TENON_CHECK(e, ValueError, "there is no entry '", folder, config, "'");
  ArchiveStorages storages(zip_, root_ + folder, device_, !little_endian(*zip_));
  in_entry(folder + config, [&] {
    const Json j = parse_json(zip_->read(*e));
    const Json& all = object_of(member(j, "config"), "config");
    TENON_CHECK(all.size() <= kMaxWeights, ValueError, "it has ", all.size(), " weights");
    for (auto it = all.begin(); it != all.end(); ++it) {
      try {
        read_entry(storages, folder, it.key(), it.value());
      } catch (const Error& error) {
        core::throw_error(error.code(), core::join("'", it.key(), "': ", error.msg()));
      }
    }
  });
}

// A state dictionary in an archive of torch.save of its own.
void ExportedWeights::read_saved(const ZipReader::Entry& e) {
  if (e.size == 0) return;
  in_entry(e.name, [&] {
    const std::shared_ptr<ZipReader> inner = ZipReader::from_bytes(zip_->read(e), e.name);
    ArchiveStorages storages(inner, inner->root() + "data/", device_, !little_endian(*inner));
    UnpickleHooks hooks;
    hooks.load_storage = [&](const std::string& type, const std::string& key,
                             const std::string& location, int64_t numel) {
      return storages.load(storage_dtype(type), key, location, numel);
    };
    const IValue v = unpickle(inner->read(inner->root() + "data.pkl"), hooks);
    TENON_CHECK(v.isGenericDict(), ValueError, "it holds ", v.tagKind(), ", not a dictionary");
    for (const auto& [name, value] : v.toDictRef().items()) {
      TENON_CHECK(name.isString() && value.isTensor(), NotImplementedError,
                  "it holds something beside tensors by name");
      // Several names of one memory: the file does not say which are one parameter.
      const Tensor& t = value.toTensor();
      const std::string key = core::join(
          e.name, " ", reinterpret_cast<std::uintptr_t>(t.data_ptr()), t.sizes(), t.strides());
      Tensor& known = seen_[key];
      if (!known.defined() || t.numel() == 0) known = t;
      out_.push_back({name.toStringRef(), known, constants_});
    }
  });
}

std::vector<NamedWeight> ExportedWeights::read() {
  struct Part {
    const char *folder, *config, *old;
  };
  const auto read_part = [&](const Part& p) {
    const std::string saved = name_.empty() ? p.old : p.folder + name_ + ".pt";
    if (const ZipReader::Entry* e = zip_->find(root_ + saved)) return read_saved(*e);
    TENON_CHECK(!name_.empty(), ValueError, "there is no entry '", saved, "'");
    read_entries(p.folder, name_ + p.config);
  };
  read_part({"data/weights/", "_weights_config.json", "serialized_state_dict.pt"});
  constants_ = true;
  read_part({"data/constants/", "_constants_config.json", "serialized_constants.pt"});
  return std::move(out_);
}

}  // namespace tenon::jit::formats
