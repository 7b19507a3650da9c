// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names, ids and tables of device types; resolving what a program wrote.
#include "tenon/runtime/device.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>

#include "runtime/base/in_flight.h"
#include "runtime/device/device.h"
#include "tenon/abi/plugin.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace core {
namespace {

// Names with fixed ids: c10's, and DLPack's if it has one. Other names get an id at registration.
struct KnownName {
  std::string_view name;
  int16_t type;
  int32_t abi;  // -1: assigned
};
constexpr KnownName kKnown[] = {
    {"cpu", 0, TN_CPU},       {"cuda", 1, TN_CUDA}, {"mkldnn", 2, -1}, {"opengl", 3, -1},
    {"opencl", 4, TN_OPENCL}, {"ideep", 5, -1},     {"hip", 6, 10},    {"fpga", 7, -1},
    {"maia", 8, -1},          {"xla", 9, -1},       {"vulkan", 10, 7}, {"metal", 11, 8},
    {"xpu", 12, 14},          {"mps", 13, -1},      {"meta", 14, -1},  {"hpu", 15, -1},
    {"ve", 16, -1},           {"lazy", 17, -1},     {"ipu", 18, -1},   {"mtia", 19, -1},
    {"privateuseone", 20, -1}};

const KnownName* known_name(std::string_view name) {
  for (const KnownName& k : kKnown) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

const KnownName* known_type(DeviceType t) {
  for (const KnownName& k : kKnown) {
    if (k.type == static_cast<int16_t>(t)) return &k;
  }
  return nullptr;
}

bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() > 32) return false;
  for (char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return name[0] >= 'a';
}

}  // namespace

DeviceRegistry& device_registry() {
  static DeviceRegistry& r = *new DeviceRegistry;  // never destroyed: tensors may outlive statics
  return r;
}
// Made at load, because functions that must not throw use it.
[[maybe_unused]] const DeviceRegistry& g_made_at_load = device_registry();

DeviceRegistry::DeviceRegistry() {
  entries[0] = DeviceEntry{
      "cpu", DeviceType::CPU, TN_CPU, &host_device_api(), TN_DEVICE_HOST_READABLE, 1, 0};
  count.store(1, std::memory_order_release);
}

const DeviceEntry& device_entry(DeviceSlot slot) {
  DeviceRegistry& r = device_registry();
  TENON_CHECK(slot >= 0 && slot < r.count.load(std::memory_order_acquire), ValueError,
              "no device has slot ", slot);
  return r.entries[slot];
}

int device_slots() noexcept { return device_registry().count.load(std::memory_order_acquire); }

DeviceSlot device_slot(DeviceType type) {
  for (int i = 0, n = device_slots(); i < n; ++i) {
    if (device_registry().entries[i].type == type) return i;
  }
  return -1;
}

DeviceSlot device_slot_from_name(std::string_view name) {
  for (int i = 0, n = device_slots(); i < n; ++i) {
    if (device_registry().entries[i].name == name) return i;
  }
  return -1;
}

DeviceSlot device_slot_from_abi(int32_t abi_type) {
  for (int i = 0, n = device_slots(); i < n; ++i) {
    if (device_registry().entries[i].abi_type == abi_type) return i;
  }
  return -1;
}

DeviceSlot reserve_device(std::string_view name) {
  TENON_CHECK(is_valid_name(name), ValueError, "'", name.substr(0, 40),
              "' is not a valid device name: expected 1 to 32 of a-z, 0-9, _");
  DeviceRegistry& r = device_registry();
  std::lock_guard hold(r.lock);
  if (DeviceSlot slot = device_slot_from_name(name); slot >= 0) return slot;
  DeviceSlot slot = r.count.load(std::memory_order_relaxed);
  TENON_CHECK(slot < kMaxDevices, ValueError, "device '", name, "': this process knows ",
              kMaxDevices, " types of devices already (TN_MAX_DEVICE_TYPES)");
  int16_t type = static_cast<int16_t>(TN_DEVICE_FOREIGN + r.foreign);
  int32_t abi = type;
  if (const KnownName* k = known_name(name)) {
    type = k->type;
    if (k->abi >= 0) abi = k->abi;
  }
  r.foreign += abi >= TN_DEVICE_FOREIGN;
  r.entries[slot] =
      DeviceEntry{std::string(name),         static_cast<DeviceType>(type), abi, nullptr, 0, 0,
                  static_cast<uint8_t>(slot)};
  if (r.entries[slot].type == DeviceType::Meta) {  // no plugin serves it
    r.entries[slot].api = &meta_device_api();
    r.entries[slot].flags = TN_DEVICE_OPAQUE;
    r.entries[slot].count = 1;
    r.tried[slot].store(true, std::memory_order_relaxed);
  }
  r.count.store(slot + 1, std::memory_order_release);
  return slot;
}

namespace {

// The plugin's own message about a failure, after ": ".
std::string last_error_text(const tn_device_api& api) {
  if (!TN_HAS(&api, tn_device_api, last_error) || !api.last_error) return {};
  const tn_str words = api.last_error(api.context);
  return words.ptr ? join(": ", std::string_view(words.ptr, words.len)) : std::string();
}

}  // namespace

static_assert(kMaxDevices == TN_MAX_DEVICE_TYPES && kMaxOrdinals == TN_MAX_DEVICES);

DeviceFacts ask_device(std::string_view name, const tn_device_api& api) {
  DeviceFacts out{0, 0};
  tn_status status = api.count(api.context, &out.count);
  TENON_CHECK(status == TN_OK, BackendError, "device '", name, "': count failed with status ",
              status, last_error_text(api));
  TENON_CHECK(out.count >= 0, BackendError, "device '", name, "': count says ", out.count,
              " devices; expected 0 to ", kMaxOrdinals);
  if (out.count == 0) return out;
  tn_device_props props{};
  props.struct_size = sizeof props;
  status = api.props(api.context, 0, &props);
  TENON_CHECK(status == TN_OK, BackendError, "device '", name, "': props failed with status ",
              status, last_error_text(api));
  out.flags = props.flags;
  constexpr uint32_t kBoth = uint32_t{TN_DEVICE_HOST_READABLE} | uint32_t{TN_DEVICE_OPAQUE};
  TENON_CHECK(
      (out.flags & kBoth) != kBoth, BackendError, "device '", name,
      "': props says that its memory is HOST_READABLE and OPAQUE; a handle is not an address");
  TENON_CHECK((props.alignment & (props.alignment - 1)) == 0 && props.alignment <= 1 << 20,
              BackendError, "device '", name, "': props gives an alignment of ", props.alignment,
              " bytes; expected a power of two up to 1 MiB");
  return out;
}

bool ensure_device(DeviceSlot slot) {
  const DeviceEntry& e = device_entry(slot);
  DeviceRegistry& r = device_registry();
  if (!r.tried[slot].load(std::memory_order_acquire)) {
    // A plugin that requests the device it is about to provide gets its current state.
    static thread_local uint32_t opening = 0;
    if (opening >> slot & 1) return e.api != nullptr;
    opening |= 1u << slot;
    struct Done {
      DeviceSlot slot;
      ~Done() { opening &= ~(1u << slot); }
    } done{slot};
    if (backend_source().open_for_device(e.name))
      r.tried[slot].store(true, std::memory_order_release);
  }
  return __atomic_load_n(&e.api, __ATOMIC_ACQUIRE) != nullptr && e.count > 0;
}

std::string loaded_devices() {
  std::string out;
  for (int i = 0, n = device_slots(); i < n; ++i) {
    const DeviceEntry& e = device_registry().entries[i];
    if (__atomic_load_n(&e.api, __ATOMIC_ACQUIRE) == nullptr || e.count == 0) continue;
    if (!out.empty()) out += ", ";
    out += e.name;
  }
  return out;
}

namespace {

std::string type_name(DeviceType type) {
  if (DeviceSlot slot = device_slot(type); slot >= 0) return device_entry(slot).name;
  if (const KnownName* k = known_type(type)) return std::string(k->name);
  return join("type ", static_cast<int>(type));
}

std::string unknown_text(std::string_view name) {
  std::string why = backend_source().why_absent(name);
  return join("unknown device type '", name, "'; loaded: ", loaded_devices(),
              why.empty() ? "" : "; ", why);
}

// A manifest may name a type that no plugin has registered yet.
DeviceSlot find_slot(DeviceType type) {
  if (const DeviceSlot slot = device_slot(type); slot >= 0) return slot;
  if (type == DeviceType::Meta) return reserve_device("meta");
  backend_source().scan();
  return device_slot(type);
}

}  // namespace

int device_count(DeviceType type) {
  const DeviceSlot slot = find_slot(type);
  return slot >= 0 && ensure_device(slot) ? device_entry(slot).count : 0;
}

DeviceSlot usable_slot(DeviceType type) {
  DeviceSlot slot = find_slot(type);
  if (is_host_slot(slot)) return slot;
  std::string name = type_name(type);
  if (slot >= 0 && ensure_device(slot)) return slot;
  throw BackendError(unknown_text(name));
}

DeviceId device_id(Device d) {
  DeviceSlot slot = usable_slot(d.type());
  int count = device_entry(slot).count;
  int index = d.has_index() ? d.index() : current_index(slot);
  TENON_CHECK(index < count, ValueError, "device index must be below ", count, " for ",
              device_entry(slot).name, ", got ", index);
  return {slot, index};
}

Device resolve(Device d) {
  d.set_index(device_id(d).index);
  return d;
}

tn_device abi_device(Device d) {
  DeviceSlot slot = device_slot(d.type());
  if (slot < 0) slot = usable_slot(d.type());
  return {device_entry(slot).abi_type, d.has_index() ? d.index() : current_index(slot)};
}

Device device_from_abi(tn_device d) {
  DeviceSlot slot = device_slot_from_abi(d.type);
  TENON_CHECK(slot >= 0, ValueError, "no device type has number ", d.type,
              "; loaded: ", loaded_devices());
  TENON_CHECK(d.index >= -1 && d.index <= (is_host_slot(slot) ? 0 : INT8_MAX), ValueError,
              "there is no device ", device_entry(slot).name, ":", d.index);
  return device_of({slot, d.index});
}

}  // namespace core

Device::Device(DeviceType type, DeviceIndex index) : type_(type), index_(index) {
  TENON_CHECK(index >= -1, ValueError, "device index must be -1 or at least 0, got ", int{index});
  TENON_CHECK(type != DeviceType::CPU || index <= 0, ValueError,
              "device index must be -1 or 0 for cpu, got ", int{index});
}

Device::Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
  std::size_t colon = text.find(':');
  std::string_view name = std::string_view(text).substr(0, colon);
  if (const core::KnownName* k = core::known_name(name)) {
    type_ = static_cast<DeviceType>(k->type);
  } else {
    core::DeviceSlot slot = core::device_slot_from_name(name);
    if (slot < 0) {
      core::backend_source().scan();
      slot = core::device_slot_from_name(name);
    }
    TENON_CHECK(slot >= 0, ValueError, core::unknown_text(name));
    type_ = core::device_entry(slot).type;
  }
  if (colon == std::string::npos) return;
  std::string_view digits = std::string_view(text).substr(colon + 1);
  int index = -1;
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool plain = fault == std::errc() && end == digits.data() + digits.size() &&
               (digits[0] != '0' || digits.size() == 1);
  TENON_CHECK(plain && index >= 0 && index <= 127, ValueError,
              "device index must be an integer from 0 to 127, got '", digits, "' in '", text, "'");
  *this = Device(type_, static_cast<DeviceIndex>(index));
}

std::string Device::str() const {
  std::string name = core::type_name(type_);
  return has_index() ? core::join(name, ":", int{index_}) : name;
}

}  // namespace tenon
