// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Devices by name. "cpu" is known; everything else is registered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/abi/device.h"
#include "tenon/runtime/export.h"

namespace tenon {

using DeviceIndex = int8_t;

// The values are c10's for the names that c10 has; others are assigned from 0x1000 in order of
// registration.
enum class DeviceType : int16_t {
  CPU = 0,
  CUDA = 1,
  XPU = 12,
  MPS = 13,
  Meta = 14,
  PrivateUse1 = 20
};
inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;

// A device type and an ordinal; -1 means the current device of the type.
class TENON_API Device {
 public:
  using Type = DeviceType;
  Device(DeviceType type = DeviceType::CPU, DeviceIndex index = -1);
  Device(const std::string& text);  // "cpu", "cuda:1"; ValueError names what is wrong
  Device(std::string_view text) : Device(std::string(text)) {}
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ >= 0; }
  bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  void set_index(DeviceIndex i) { index_ = i; }
  std::string str() const;
  bool operator==(const Device& o) const noexcept { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const noexcept { return !(*this == o); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

namespace core {

inline constexpr int kMaxDevices = 16;   // device types known to one process
inline constexpr int kMaxOrdinals = 16;  // devices of one type

// A device type as core sees it. `api` is null until its plugin is open; the host's is core's own.
struct DeviceEntry {
  std::string name;
  DeviceType type;
  int32_t abi_type;
  const tn_device_api* api;
  uint32_t flags;  // TN_DEVICE_*
  int32_t count;
  uint8_t slot;
};

// Entries are never removed; slot 0 is the host.
TENON_API const DeviceEntry& device_entry(int slot);
TENON_API int device_slots() noexcept;
TENON_API int device_slot(DeviceType type);  // -1 if unknown
TENON_API int device_slot_from_name(std::string_view name);
TENON_API int device_slot_from_abi(int32_t abi_type);  // -1 if unknown
// Reserves a slot for a name (idempotent); the API follows when the plugin opens.
TENON_API int reserve_device(std::string_view name);
// Opens the plugins that serve the device if that has not been tried; true if the device has memory
// now.
TENON_API bool ensure_device(int slot);
// The slot of a type, its plugin opened. BackendError says where a plugin was looked for.
TENON_API int usable_slot(DeviceType type);
// With the index filled in: the current one of this thread where it was -1, 0 for the host. Throws
// as usable_slot does, and ValueError for an ordinal that the device does not have.
TENON_API Device resolve(Device d);
// The host has index 0 across the ABI and -1 in a Device, so that a tensor's device equals
// Device("cpu").
TENON_API tn_device abi_device(Device d);
TENON_API Device device_from_abi(tn_device d);
// "cpu, cuda": the types that have memory now, for messages.
TENON_API std::string loaded_devices();
// Throws for a status of a device call, with the plugin's own message: "cuda:0: copy failed: ...".
TENON_API TENON_COLD void device_failed(int slot, int index, std::string_view what,
                                        tn_status status);
inline void check_device(int slot, int index, std::string_view what, tn_status status) {
  if (TENON_UNLIKELY(status != TN_OK)) device_failed(slot, index, what, status);
}

// The current stream of this thread for a device; null: the device's default.
TENON_API tn_stream* current_stream(int slot, int index) noexcept;
TENON_API void set_current_stream(int slot, int index, tn_stream* s);
TENON_API int current_index(int slot) noexcept;
TENON_API void set_current_index(int slot, int index);
// Waits for all work of the device and raises what its error word holds.
TENON_API void synchronize(int slot, int index);
// What kernels of a device report into: pinned where the device can pin. Null for the host.
TENON_API tn_error_word* device_error_word(int slot, int index);
// The host's own memory, copies and properties.
TENON_API const tn_device_api& host_device_api() noexcept;

}  // namespace core
}  // namespace tenon
