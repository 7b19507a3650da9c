// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Plugins that come and go under threads that call their kernels without a pause. TENON_TEST_TIMES
// makes it longer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "support.h"
#include "tenon/abi/client.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Counts {
  std::atomic<long> served{0}, absent{0}, wrong{0};
};

// Calls relu on the host until `stop`: a plugin's kernel serves it, or none is found.
void dispatch(const std::atomic<bool>& stop, Counts& counts) {
  const int64_t sizes[1] = {4};
  const float in[4] = {-1, 2, -3, 4};
  const tn_dtype f32 = {TN_FLOAT, 32, 1};
  tn_handle x = nullptr;
  if (tn_from_host(1, sizes, f32, in, sizeof in, {TN_CPU, 0}, &x) != TN_OK) ++counts.wrong;
  tn_value arg{}, result{};
  arg.tag = TN_TAG_TENSOR;
  arg.u.tensor = x;
  while (!stop) {
    tn_status status = tn_call_op({"relu", 4}, &arg, 1, &result, 1);
    if (status == TN_OK) {
      const float* out = static_cast<const float*>(result.u.tensor->data);
      bool right = out[0] == 0 && out[1] == 2 && out[2] == 0 && out[3] == 4;
      ++(right ? counts.served : counts.wrong);
    } else {
      ++(status == TN_ERROR_UNSUPPORTED ? counts.absent : counts.wrong);
    }
    tn_release_value(&result);
  }
  tn_release(x);
}

// A tensor on the plugin's own device keeps it open: unloading says so, and succeeds afterwards.
void come_and_go(const std::string& name, int times, bool has_device, Counts& counts) {
  const int64_t sizes[1] = {4};
  for (int i = 0; i < times; ++i) {
    try {
      plugins::load(built_plugin(name).string());
      if (has_device) {
        tn_device device;
        tn_handle x = nullptr;
        bool made = tn_device_from_name({name.data(), name.size()}, &device) == TN_OK &&
                    tn_empty(1, sizes, {TN_FLOAT, 32, 1}, device, &x) == TN_OK;
        bool refused = false;
        try {
          plugins::unload(name);
        } catch (const std::exception&) {
          refused = true;
        }
        counts.wrong += !made || !refused;
        tn_release(x);
      }
      plugins::unload(name);
    } catch (const std::exception& e) {
      ++counts.wrong;
      ADD_FAILURE() << name << ": " << e.what();
      return;
    }
  }
}

}  // namespace

TEST(PluginStorm, PluginsComeAndGoUnderThreadsThatCallThem) {
  const char* text = std::getenv("TENON_TEST_TIMES");
  const int times = 100 * (text ? std::atoi(text) : 1);
  std::map<std::string, std::string> environment = {{"TENON_PLUGIN_PATH", "/nonexistent"}};
#ifdef __SANITIZE_ADDRESS__
  // In the child of a fork its allocator's locks stay held by the parent's other threads, so the
  // probe would hang.
  environment["TENON_PLUGIN_PROBE"] = "0";
#endif
  std::string out = in_child(environment, [&] {
    Counts counts;
    std::atomic<bool> stop{false};
    std::vector<std::thread> callers, registrars;
    for (int i = 0; i < 2; ++i) callers.emplace_back([&] { dispatch(stop, counts); });
    registrars.emplace_back([&] { come_and_go("host_relu", times, false, counts); });
    registrars.emplace_back([&] { come_and_go("host_relu_first", times, false, counts); });
    registrars.emplace_back([&] { come_and_go("works", times, true, counts); });
    for (std::thread& t : registrars) t.join();
    stop = true;
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(counts.wrong, 0);
    EXPECT_GT(counts.served, 0);
    EXPECT_GT(counts.absent, 0);
    for (const char* name : {"host_relu", "host_relu_first", "works"}) {
      EXPECT_EQ(bytes_of("/proc/self/maps").find(built_plugin(name).string()), std::string::npos)
          << name;
    }
    EXPECT_EQ(core_works(), "");
    return std::to_string(counts.served) + " calls served, " + std::to_string(counts.absent) +
           " found no kernel";
  });
  std::printf("%d registrations, %s\n", 3 * times, out.c_str());
}
