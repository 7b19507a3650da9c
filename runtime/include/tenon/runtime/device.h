// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Devices by name. "cpu" and "meta" are known; everything else is registered.
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
  MKLDNN = 2,
  OPENGL = 3,
  OPENCL = 4,
  IDEEP = 5,
  HIP = 6,
  FPGA = 7,
  MAIA = 8,
  XLA = 9,
  Vulkan = 10,
  Metal = 11,
  XPU = 12,
  MPS = 13,
  Meta = 14,
  HPU = 15,
  VE = 16,
  Lazy = 17,
  IPU = 18,
  MTIA = 19,
  PrivateUse1 = 20,
  COMPILE_TIME_MAX_DEVICE_TYPES = 21  // of those above
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
  bool is_xpu() const noexcept { return type_ == DeviceType::XPU; }
  bool is_mps() const noexcept { return type_ == DeviceType::MPS; }
  bool is_meta() const noexcept { return type_ == DeviceType::Meta; }
  bool is_privateuseone() const noexcept { return type_ == DeviceType::PrivateUse1; }
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

// The slot of a device type in this process's table of them; -1 where a function says so. Entries
// are never removed.
using DeviceSlot = int;
inline constexpr DeviceSlot kHostSlot = 0;
constexpr bool is_host_slot(DeviceSlot slot) { return slot == kHostSlot; }

// One device: its type's slot and its ordinal, which is 0 for the host. Functions that take an
// index of -1 as the current device of the type say so. Two bytes: pass it by value.
struct DeviceId {
  uint8_t slot = kHostSlot;
  int8_t index = 0;
  constexpr DeviceId() = default;
  constexpr DeviceId(DeviceSlot device_slot, int ordinal)
      : slot(static_cast<uint8_t>(device_slot)), index(static_cast<int8_t>(ordinal)) {}
  // No device: what a slot of -1 gives.
  static constexpr DeviceId none() { return {-1, -1}; }
  constexpr bool is_none() const { return slot == UINT8_MAX; }
  constexpr bool is_host() const { return is_host_slot(slot); }
  friend constexpr bool operator==(DeviceId a, DeviceId b) {  // one comparison, not two
    return __builtin_bit_cast(uint16_t, a) == __builtin_bit_cast(uint16_t, b);
  }
  friend constexpr bool operator!=(DeviceId a, DeviceId b) { return !(a == b); }
};
inline constexpr DeviceId kHost{};

// A device type as core sees it. `api` is null until its plugin is open; those of the host and of
// "meta" are core's own.
struct DeviceEntry {
  std::string name;
  DeviceType type;
  int32_t abi_type;
  const tn_device_api* api;
  uint32_t flags;  // TN_DEVICE_*
  int32_t count;
  uint8_t slot;
};

TENON_API const DeviceEntry& device_entry(DeviceSlot slot);
inline const DeviceEntry& device_entry(DeviceId device) { return device_entry(device.slot); }
// False for "meta": its tensors have sizes, strides and a dtype, and no elements.
inline bool has_data(DeviceId device) {
  return device.is_host() || device_entry(device).type != DeviceType::Meta;
}
TENON_API int device_slots() noexcept;                              // how many there are
TENON_API DeviceSlot device_slot(DeviceType type);                  // -1 if unknown
TENON_API DeviceSlot device_slot_from_name(std::string_view name);  // -1 if unknown
TENON_API DeviceSlot device_slot_from_abi(int32_t abi_type);        // -1 if unknown
// Reserves a slot for a name (idempotent); the API follows when the plugin opens.
TENON_API DeviceSlot reserve_device(std::string_view name);
// Opens the plugins that serve the device if that has not been tried; true if the device has memory
// now.
TENON_API bool ensure_device(DeviceSlot slot);
// The slot of a type, its plugin opened. BackendError says where a plugin was looked for.
TENON_API DeviceSlot usable_slot(DeviceType type);
// How many devices of a type there are, its plugin opened; 0 where none is found.
TENON_API int device_count(DeviceType type);
// With the index filled in: the current one of this thread where it was -1, 0 for the host. Throws
// as usable_slot does, and ValueError for an ordinal that the device does not have.
TENON_API Device resolve(Device d);
// The same, as an id. ValueError and BackendError as resolve.
TENON_API DeviceId device_id(Device d);
// The Device of an id; the host has no ordinal in it.
inline Device device_of(DeviceId device) {
  return device.is_host() ? Device(DeviceType::CPU)
                          : Device(device_entry(device).type, device.index);
}
// The host has index 0 across the ABI and -1 in a Device, so that a tensor's device equals
// Device("cpu").
TENON_API tn_device abi_device(Device d);
inline tn_device abi_device(DeviceId device) {
  return {device.is_host() ? int32_t{TN_CPU} : device_entry(device).abi_type, device.index};
}
TENON_API Device device_from_abi(tn_device d);
// "cpu, cuda": the types that have memory now, for messages.
TENON_API std::string loaded_devices();
// Throws for a status of a device call, with the plugin's own message: "cuda:0: copy failed: ...".
TENON_API TENON_COLD void device_failed(DeviceId device, std::string_view what, tn_status status);
inline void check_device(DeviceId device, std::string_view what, tn_status status) {
  if (TENON_UNLIKELY(status != TN_OK)) device_failed(device, what, status);
}

// The current stream of this thread for a device; null: the device's default.
TENON_API tn_stream* current_stream(DeviceId device) noexcept;
TENON_API void set_current_stream(DeviceId device, tn_stream* s);
TENON_API int current_index(DeviceSlot slot) noexcept;
TENON_API void set_current_index(DeviceId device);
// Waits for all work of the device and raises what its error word holds.
TENON_API void synchronize(DeviceId device);
// What kernels of a device report into: pinned where the device can pin. Null for the host.
TENON_API tn_error_word* device_error_word(DeviceId device);
// The host's own memory, copies and properties.
TENON_API const tn_device_api& host_device_api() noexcept;
const tn_device_api& meta_device_api() noexcept;

}  // namespace core
}  // namespace tenon
