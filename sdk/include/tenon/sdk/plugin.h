// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The descriptor of a plugin, in one of its source files:
//
//   TN_PLUGIN(tenon::sdk::PluginInfo{}.name("mine").version("0.1.0").device("cpu").host_memory());
//
// The kernels of all files of the library are found through the linker section tn_kernels.
#pragma once

#include "tenon/abi/plugin.h"
#include "tenon/sdk/kernel.h"

// Bounds of the section, defined by the linker; weak, since a plugin may have no kernel.
extern "C" {
extern const tn_kernel* const __start_tn_kernels[] __attribute__((weak, visibility("hidden")));
extern const tn_kernel* const __stop_tn_kernels[] __attribute__((weak, visibility("hidden")));
}

namespace tenon::sdk {

// Fields as in tn_plugin. init, shutdown and describe are optional; init runs once, when host() can
// be used.
struct PluginInfo {
  std::string_view name_, version_ = "0.1.0", vendor_ = "", device_ = "cpu";
  uint32_t flags_ = 0;
  const tn_device_api* device_api_ = nullptr;
  const tn_ext* ext_ = nullptr;
  void (*shutdown_)() = nullptr;
  tn_str (*describe_)() = nullptr;

  constexpr PluginInfo name(std::string_view v) const {
    PluginInfo p = *this;
    p.name_ = v;
    return p;
  }
  constexpr PluginInfo version(std::string_view v) const {
    PluginInfo p = *this;
    p.version_ = v;
    return p;
  }
  constexpr PluginInfo vendor(std::string_view v) const {
    PluginInfo p = *this;
    p.vendor_ = v;
    return p;
  }
  constexpr PluginInfo device(std::string_view v) const {
    PluginInfo p = *this;
    p.device_ = v;
    return p;
  }
  constexpr PluginInfo device_api(const tn_device_api* v) const {
    PluginInfo p = *this;
    p.device_api_ = v;
    return p;
  }
  constexpr PluginInfo ext(const tn_ext* v) const {
    PluginInfo p = *this;
    p.ext_ = v;
    return p;
  }
  constexpr PluginInfo host_memory() const { return with(TN_PLUGIN_HOST_MEMORY); }
  constexpr PluginInfo unloadable() const { return with(TN_PLUGIN_UNLOADABLE); }
  constexpr PluginInfo single_threaded() const { return with(TN_PLUGIN_SINGLE_THREADED); }
  constexpr PluginInfo shutdown(void (*f)()) const {
    PluginInfo p = *this;
    p.shutdown_ = f;
    return p;
  }
  constexpr PluginInfo describe(tn_str (*f)()) const {
    PluginInfo p = *this;
    p.describe_ = f;
    return p;
  }
  constexpr PluginInfo with(uint32_t flag) const {
    PluginInfo p = *this;
    p.flags_ |= flag;
    return p;
  }
};

namespace detail {
// Runs before any kernel. The function passed to TN_PLUGIN_INIT may fail with a reason.
template <tn_status (*Init)(const tn_host&, tn_str*)>
tn_status plugin_init(const tn_host* host, tn_str* why) {
  g_host = host;
  if constexpr (Init != nullptr) {
    try {
      return Init(*host, why);
    } catch (const std::bad_alloc&) {
      return TN_ERROR_MEMORY;
    } catch (...) {
      *why = text("the plugin's init threw an exception");
      return TN_ERROR;
    }
  }
  return TN_OK;
}

template <tn_status (*Init)(const tn_host&, tn_str*)>
constexpr tn_plugin make_plugin(const PluginInfo& p, const tn_kernel* const* begin,
                                const tn_kernel* const* end) {
  return tn_plugin{sizeof(tn_plugin),
                   TN_ABI_MAJOR,
                   TN_ABI_TARGET_MINOR,
                   p.flags_,
                   sizeof(tn_kernel),
                   text(p.name_),
                   text(p.version_),
                   text(p.vendor_),
                   text(p.device_),
                   p.ext_,
                   p.device_api_,
                   begin,
                   end,
                   &plugin_init<Init>,
                   p.shutdown_,
                   p.describe_};
}
}  // namespace detail
}  // namespace tenon::sdk

#define TN_PLUGIN(...) TN_PLUGIN_INIT(nullptr, __VA_ARGS__)
// init: tn_status init(const tn_host& host, tn_str* why)
#define TN_PLUGIN_INIT(init, ...)                                                            \
  extern "C" __attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { \
    static constexpr tn_plugin plugin = ::tenon::sdk::detail::make_plugin<init>(             \
        __VA_ARGS__, __start_tn_kernels, __stop_tn_kernels);                                 \
    return &plugin;                                                                          \
  }                                                                                          \
  static_assert(true, "")
