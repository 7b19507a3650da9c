// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/plugins/plugins.h"

namespace digits {
namespace {

namespace plugins = tenon::plugins;

std::string line(const plugins::Info& p) {
  std::string out =
      "  " + p.name + " (" + p.device + "): " + std::string(plugins::to_string(p.state));
  if (!p.version.empty()) out += ", version " + p.version;
  if (!p.description.empty()) out += ", " + p.description;
  if (p.kernels > 0) out += ", " + std::to_string(p.kernels) + " kernels";
  if (!p.reason.empty()) out += ": " + p.reason;
  return out + "\n";
}

std::string no_plugin(const std::string& device) {
  std::string out = "no plugin serves the device '" + device + "'. Looked in:\n";
  for (const auto& folder : plugins::search_folders()) out += "  " + folder + "\n";
  auto found = plugins::list();
  out += found.empty() ? "and found none there.\n" : "and found:\n" + describe_plugins();
  std::string file = "libtenon_" + device.substr(0, device.find(':'));
  out += "What to do: build the plugin (" + file + ".so and its manifest " + file +
         ".json), or set\n" + "TENON_PLUGIN_PATH to the absolute path of the folder that has both.";
  return out;
}

struct Entry {
  int64_t calls = 0, ns = 0;
};
// One observer per process, so one table; kernels report from the thread that called them.
std::mutex g_mutex;
std::map<std::string_view, Entry> g_times;

void count(void*, const tenon::core::Op& op, int, int64_t begin_ns, int64_t end_ns) {
  std::lock_guard lock(g_mutex);
  Entry& e = g_times[op.name];
  ++e.calls;
  e.ns += end_ns - begin_ns;
}

}  // namespace

std::string describe_plugins() {
  std::string out;
  for (const auto& p : plugins::list()) out += line(p);
  return out.empty() ? "  none\n" : out;
}

tenon::Device open_device(const std::string& name) {
  std::string type = name.substr(0, name.find(':'));
  std::string fault;
  try {
    tenon::Device device(name);
    tenon::ones({1}, tenon::TensorOptions().device(device)).add(1);  // opens the plugin
    return device;
  } catch (const tenon::Error& e) {
    fault = e.what();
  }
  for (const auto& p : plugins::list()) {
    if (p.device == type && p.state == plugins::State::Opened) throw std::runtime_error(fault);
  }
  throw std::runtime_error(no_plugin(name) + "\n(" + fault + ")");
}

KernelTimes::KernelTimes() {
  g_times.clear();
  tenon::core::set_kernel_observer(count, nullptr);
}
KernelTimes::~KernelTimes() { tenon::core::set_kernel_observer(nullptr, nullptr); }

std::string KernelTimes::table(std::size_t rows) const {
  std::lock_guard lock(g_mutex);
  std::vector<std::pair<std::string_view, Entry>> sorted(g_times.begin(), g_times.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  int64_t total = 0;
  for (const auto& [name, e] : sorted) total += e.ns;
  std::string out = "op                                     calls        ms    share\n";
  char text[128];
  for (std::size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    const auto& [name, e] = sorted[i];
    std::snprintf(
        text, sizeof text, "%-34.*s %9lld %9.1f %7.1f%%\n", static_cast<int>(name.size()),
        name.data(), static_cast<long long>(e.calls), static_cast<double>(e.ns) * 1e-6,
        100.0 * static_cast<double>(e.ns) / static_cast<double>(std::max<int64_t>(total, 1)));
    out += text;
  }
  return out;
}

}  // namespace digits
