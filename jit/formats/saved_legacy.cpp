// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>

#include "jit/formats/pickle.h"
#include "jit/formats/saved_value.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

using namespace std::literals;
// The pickle of 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr int64_t kProtocol = 1001;

class LegacyReader {
 public:
  LegacyReader(std::string_view bytes, const DeviceMap& map) : rest_(bytes), map_(map) {}

  IValue read() {
    TENON_CHECK(is_legacy(rest_), ValueError, "it does not begin as torch.save began files");
    rest_.remove_prefix(kMagic.size());
    const IValue protocol = unpickle_first(&rest_, {}), machine = unpickle_first(&rest_, {});
    TENON_CHECK(protocol.isInt() && protocol.toInt() == kProtocol, NotImplementedError,
                "its protocol is not ", kProtocol);
    TENON_CHECK(machine.isGenericDict(), ValueError, "it does not say what machine wrote it");
    const IValue* little = machine.toDictRef().find("little_endian");
    TENON_CHECK(!little || (little->isBool() && little->toBool()), NotImplementedError,
                "its bytes are of the other order");
    const std::string_view pickled = rest_;
    IValue value = unpickle_first(&rest_, hooks());
    fill_storages();
    if (!moves_) return value;
    // The value again, now that the storages can be moved.
    std::string_view again = pickled;
    for (auto& [key, storage] : storages_) storage.memory = storage.memory.to(storage.device);
    return unpickle_first(&again, hooks());
  }

 private:
  struct Stored {
    ScalarType dtype;
    Tensor memory;  // of one dimension
    Device device;
    bool filled = false;
  };

  UnpickleHooks hooks() {
    UnpickleHooks out;
    out.load_storage = [this](const std::string& type, const std::string& key,
                              const std::string& location, int64_t numel) {
      return storage(storage_dtype(type), key, location, numel);
    };
    return out;
  }

  Tensor storage(ScalarType dtype, const std::string& key, const std::string& location,
                 int64_t numel) {
    const auto item = static_cast<uint64_t>(elementSize(dtype));
    const auto known = storages_.find(key);
    if (known == storages_.end()) {
      const uint64_t left = rest_.size() - claimed_;
      TENON_CHECK(static_cast<uint64_t>(numel) <= left / item, ValueError, "storage '",
                  key.substr(0, 80), "' of ", numel, " elements is larger than the file");
      claimed_ += static_cast<uint64_t>(numel) * item;
      const Device to = map_.place(location);
      moves_ |= !to.is_cpu();
      return storages_.emplace(key, Stored{dtype, empty({numel}, dtype), to}).first->second.memory;
    }
    const Stored& s = known->second;
    TENON_CHECK(s.dtype == dtype && s.memory.numel() == numel, ValueError, "storage '",
                key.substr(0, 80), "' has two sizes or dtypes");
    return s.memory;
  }

  // Each: the number of its elements in 8 bytes, then these.
  void fill_storages() {
    const IValue keys = unpickle_first(&rest_, {});
    TENON_CHECK(keys.isList(), ValueError, "the keys of its storages are ", keys.tagKind());
    for (const IValue& key : keys.toListRef().items) {
      TENON_CHECK(key.isString(), ValueError, "a key of a storage is ", key.tagKind());
      const auto at = storages_.find(key.toStringRef());
      TENON_CHECK(at != storages_.end() && !at->second.filled, ValueError, "storage '",
                  key.toStringRef().substr(0, 80), "' is not that of a tensor, or is there twice");
      fill(key.toStringRef(), at->second);
    }
    for (const auto& [key, stored] : storages_)
      TENON_CHECK(stored.filled, ValueError, "storage '", key.substr(0, 80), "' is missing");
  }

  void fill(const std::string& key, Stored& stored) {
    int64_t numel = -1;
    if (rest_.size() >= sizeof numel) std::memcpy(&numel, rest_.data(), sizeof numel);
    TENON_CHECK(numel == stored.memory.numel(), ValueError, "storage '", key.substr(0, 80),
                "' has ", numel, " elements, its tensors say ", stored.memory.numel());
    rest_.remove_prefix(sizeof numel);
    const std::size_t bytes = stored.memory.nbytes();
    TENON_CHECK(bytes <= rest_.size(), ValueError, "the file ends within storage '",
                key.substr(0, 80), "'");
    auto* to = static_cast<unsigned char*>(stored.memory.data_ptr());
    if (bytes > 0) std::memcpy(to, rest_.data(), bytes);
    // Any other byte in a bool is undefined behavior further on.
    for (std::size_t i = 0; stored.dtype == kBool && i < bytes; ++i) to[i] = to[i] != 0;
    rest_.remove_prefix(bytes);
    stored.filled = true;
  }

  std::string_view rest_;
  const DeviceMap& map_;
  std::map<std::string, Stored> storages_;
  uint64_t claimed_ = 0;  // bytes of all storages, which the file must have
  bool moves_ = false;
};

}  // namespace

bool is_legacy(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

IValue read_legacy(std::string_view bytes, const DeviceMap& map) {
  return LegacyReader(bytes, map).read();
}

}  // namespace tenon::jit::formats
