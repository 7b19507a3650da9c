// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// `with torch.autocast(...)`, and such regions of exported programs: the guard of the library, held
// by a value, so that it ends with the block, or with the run where that fails.
#include "tenon/autocast.h"
#include "jit/run/unboxed.h"

namespace tenon::jit {
namespace {

struct AutocastHolder final : ivalue::ObjectType {
  AutocastHolder(DeviceType device, std::optional<ScalarType> dtype, bool enabled, IValue o = {})
      : outer(std::move(o)), guard(device, dtype, enabled) {}
  const std::string& class_name() const override {
    static const std::string kName = "prim.Autocast";
    return kName;
  }
  int find_slot(std::string_view) const override { return -1; }
  const std::string& slot_name(int) const override { return class_name(); }
  bool is_module_class() const override { return false; }
  IValue outer;  // the mode around it, which has to end later
  autocast::AutocastGuard guard;
};
IValue held(std::shared_ptr<AutocastHolder> holder) {
  return core::Ref<ivalue::Object>::adopt(new ivalue::Object(std::move(holder), std::size_t{0}));
}

DeviceType type_of(const std::string& device) { return Device(device).type(); }

// Of an object of torch.amp.autocast_mode.autocast, of any version since 1.10.
void enter(Stack& s) {
  const IValue context = pop(s);
  const auto attribute = [&](const char* name) { return context.toObjectRef().getAttr(name); };
  auto holder = std::make_shared<AutocastHolder>(type_of(attribute("device").toStringRef()),
                                                 attribute("fast_dtype").toScalarType(),
                                                 attribute("_enabled").toBool());
  s.push_back(held(std::move(holder)));
}
void leave(Stack& s) { drop(s, 1); }

// A region of an exported program; end_mode (exported.cpp) ends it.
void begin_mode(Stack& s) {
  IValue outer = pop(s);
  const bool enabled = pop_as<bool>(s);
  const IValue dtype = pop(s);
  const std::string device = pop(s).toStringRef();
  std::optional<ScalarType> to;
  if (!dtype.isNone() && enabled) to = dtype.toScalarType();  // switched off, any is allowed
  s.push_back(
      held(std::make_shared<AutocastHolder>(type_of(device), to, enabled, std::move(outer))));
}

void is_enabled_on_device(Stack& s) {
  s.back() = autocast::is_autocast_enabled(type_of(s.back().toStringRef()));
}
void is_enabled(Stack& s) { s.emplace_back(autocast::is_autocast_enabled(kCUDA)); }
void is_enabled_on_host(Stack& s) { s.emplace_back(autocast::is_autocast_enabled(kCPU)); }
void dtype_of(Stack& s) {
  s.back() = autocast::get_autocast_dtype(type_of(s.back().toStringRef()));
}

const HostOperator list[] = {
    {"prim::enter_autocast(t context) -> Any", enter, nullptr, true},
    {"prim::leave_autocast(Any entered) -> ()", leave, nullptr, true},
    {"exported::autocast_mode(str device_type, int? dtype, bool enabled, Any outer) -> Any",
     begin_mode, nullptr, true},
    {"aten::is_autocast_enabled() -> bool", is_enabled, nullptr, true},
    {"aten::is_autocast_enabled.device(str device_type) -> bool", is_enabled_on_device, nullptr,
     true},
    {"aten::is_autocast_cpu_enabled() -> bool", is_enabled_on_host, nullptr, true},
    {"aten::get_autocast_dtype(str device_type) -> int", dtype_of, nullptr, true},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
