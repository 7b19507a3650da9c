// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/archive_storages.h"

#include <algorithm>
#include <cstring>

#include "tenon/runtime/error.h"
#include "tenon/runtime/storage.h"

namespace tenon::jit::formats {
namespace {

constexpr std::uintptr_t kAlignment = 16;

void swap_bytes(std::byte* p, uint64_t bytes, uint64_t item) {
  for (uint64_t i = 0; item > 1 && i + item <= bytes; i += item) std::reverse(p + i, p + i + item);
}

// Any other byte in a bool is undefined behavior further on.
void make_bools(std::byte* p, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (p[i] > std::byte{1}) p[i] = std::byte{1};
  }
}

core::Ref<core::Storage> mapped(const std::shared_ptr<ZipReader>& zip, ZipReader::Bytes at,
                                uint32_t flags) {
  struct View {
    std::shared_ptr<ZipReader> zip;
    ZipReader::Bytes bytes;
  };
  auto* keep = new View{zip, at};
  const auto forget = [](void* context, void*) {
    auto* view = static_cast<View*>(context);
    view->zip->release(view->bytes);
    delete view;
  };
  try {
    auto out = core::Storage::wrap(core::kHost, at.data, at.size, forget, keep);
    out->count_writes(flags);
    return out;
  } catch (...) {
    delete keep;
    throw;
  }
}

}  // namespace

ArchiveStorages::ArchiveStorages(std::shared_ptr<ZipReader> zip, std::string folder,
                                 std::optional<Device> device, bool swapped)
    : zip_(std::move(zip)), folder_(std::move(folder)), device_(device), swapped_(swapped) {}

core::Ref<core::Storage> ArchiveStorages::bytes_of(const ZipReader::Entry& e,
                                                   ScalarType dtype) const {
  core::Ref<core::Storage> out;
  if (e.deflated || e.size == 0) {
    const std::string content = zip_->read(e);
    out = core::Storage::make(core::kHost, e.size);
    if (!content.empty()) std::memcpy(out->data, content.data(), content.size());
  } else {
    const ZipReader::Bytes at = zip_->view(e, true);
    if (reinterpret_cast<std::uintptr_t>(at.data) % kAlignment == 0) {
      const bool as_in_file = zip_->mapped() && !swapped_ && dtype != kBool;
      out = mapped(zip_, at, as_in_file ? TN_STORAGE_FILE_PAGES : 0);
      // The checksum has read them all; most weights are packed, and not read by every call.
      if (as_in_file) zip_->release(at);
    } else {
      out = core::Storage::make(core::kHost, e.size);
      std::memcpy(out->data, at.data, at.size);
    }
  }
  auto* p = static_cast<std::byte*>(out->data);
  if (swapped_) swap_bytes(p, e.size, elementSize(dtype));
  if (dtype == kBool) make_bools(p, e.size);
  return out;
}

// Where the archive says, if that device is here.
Device ArchiveStorages::place(const std::string& location) {
  if (device_) return *device_;
  if (location == "cpu") return kCPU;
  const auto it = places_.find(location);
  if (it != places_.end()) return it->second;
  Device found = kCPU;
  try {
    found = core::resolve(Device(location));
  } catch (const Error&) {
  }
  return places_.emplace(location, found).first->second;
}

Tensor ArchiveStorages::load(ScalarType dtype, const std::string& key, const std::string& location,
                             int64_t numel) {
  const auto known = loaded_.find(key);
  const int64_t item = static_cast<int64_t>(elementSize(dtype));
  const ZipReader::Entry* e = zip_->find(folder_ + key);
  TENON_CHECK(e, IndexError, "there is no entry '", folder_, key.substr(0, 80), "'");
  TENON_CHECK(static_cast<uint64_t>(numel) <= e->size / static_cast<uint64_t>(item) &&
                  static_cast<uint64_t>(numel * item) == e->size,
              ValueError, "entry '", e->name, "' has ", e->size, " bytes, not ", numel,
              " elements of ", dtype_name(dtype));
  if (known != loaded_.end()) {
    TENON_CHECK(known->second.dtype == dtype, ValueError, "entry '", e->name,
                "' has elements of two dtypes, ", dtype_name(known->second.dtype), " and ",
                dtype_name(dtype));
    return known->second.tensor;
  }
  Tensor t(core::TensorImpl::make(dtype, bytes_of(*e, dtype), 0, 1, &numel));
  const Device to = place(location);
  if (!to.is_cpu()) t = t.to(to);
  loaded_.emplace(key, Loaded{dtype, t});
  return t;
}

}  // namespace tenon::jit::formats
