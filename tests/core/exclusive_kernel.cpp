// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Plugins whose kernels run on one thread at a time (TN_PLUGIN_SINGLE_THREADED).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/host_services.h"
#include "tenon/runtime/threads.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/relu.h"
#include "tests/runtime/fake_device.h"

namespace tenon::core {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> g_now, g_max, g_states_lost, g_other_threads;
Clock::duration g_patience;
thread_local int t_depth = 0;
int g_state[2];

// Waits until another thread is inside as well, or for g_patience.
class Inside {
 public:
  explicit Inside(const tn_call* call) {
    g_states_lost += call->state != &g_state[0] && call->state != &g_state[1];
    if (t_depth++ > 0) return;
    const int now = ++g_now;
    int max = g_max;
    while (max < now && !g_max.compare_exchange_weak(max, now)) {
    }
    const auto until = Clock::now() + g_patience;
    while (g_max < 2 && Clock::now() < until) std::this_thread::yield();
  }
  ~Inside() {
    if (--t_depth == 0) --g_now;
  }
};

tn_status relu(tn_call* call) {
  Inside inside(call);
  return TN_OK;
}
tn_status relu_workspace(tn_call* call, uint64_t* bytes) {
  Inside inside(call);
  *bytes = 64;
  return TN_OK;
}
tn_status relu_supports(const tn_call* call) {
  Inside inside(call);
  return TN_OK;
}

// Uses core's thread pool and calls the plugin again.
tn_status neg(tn_call* call) {
  Inside inside(call);
  std::thread::id self = std::this_thread::get_id();
  host_table().parallel_for(
      64, 1,
      [](void* id, int64_t, int64_t) {
        g_other_threads += *static_cast<std::thread::id*>(id) != std::this_thread::get_id();
      },
      &self);
  tn_value result{};
  tn_status s = host_table().call_op(call, {"relu", 4}, call->in, 1, &result, 1);
  if (s == TN_OK) host_table().release(&result);
  return s;
}

class ExclusiveKernel : public ::testing::Test {
 protected:
  ExclusiveKernel() : fake_("serial_test") {
    static const uint8_t of_relu[32] = TN_OP_relu_DIGEST, of_neg[32] = TN_OP_neg_DIGEST;
    fill(kernels_[0], "relu", of_relu, relu);
    kernels_[0].workspace = relu_workspace;
    kernels_[0].supports = relu_supports;
    fill(kernels_[1], "neg", of_neg, neg);
    for (int i = 0; i < 2; ++i) kernels_[i].state = &g_state[i];
    g_now = g_max = g_states_lost = g_other_threads = 0;
    set_num_threads(2);
  }

  void fill(tn_kernel& k, const char* op, const uint8_t (&digest)[32], tn_kernel_fn run) {
    k.struct_size = sizeof k;
    k.flags = TN_KERNEL_ANY_STRIDES;
    k.op = {op, std::strlen(op)};
    std::memcpy(k.digest, digest, sizeof k.digest);
    k.dtypes = {"all", 3};
    k.run = run;
  }

  // Four threads that call both kernels.
  void storm(uint32_t flags, int calls) {
    tn_plugin plugin{};
    plugin.struct_size = sizeof plugin;
    plugin.abi_major = TN_ABI_MAJOR;
    plugin.name = plugin.device = {"serial_test", 11};
    plugin.flags = TN_PLUGIN_HOST_MEMORY | flags;
    plugin.kernels = list_;
    plugin.kernels_end = list_ + 2;
    core::OpRegistration ops;
    RegisterReport report;
    BackendImpl* backend = register_backend(plugin, ops, report);
    ASSERT_EQ(report.kernels, 2);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const int64_t n = 100;
        Impl x = new_tensor("test", kFloat, fake_.id(), 1, &n);
        tn_value in{TN_TAG_TENSOR, 0, {}};
        in.u.tensor = &x->view;
        for (int i = 0; i < calls; ++i) {
          TensorImpl* out = nullptr;
          call(*find_op((i + t) % 2 ? "relu" : "neg"), &in, &out);
          Impl::adopt(out);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    unregister_backend(backend);
  }

  test::FakeDevice fake_;
  tn_kernel kernels_[2] = {};
  const tn_kernel* list_[2] = {&kernels_[0], &kernels_[1]};
};

TEST_F(ExclusiveKernel, OneThreadAtATime) {
  g_patience = std::chrono::microseconds(300);
  storm(TN_PLUGIN_SINGLE_THREADED, 50);
  EXPECT_EQ(g_max, 1);
  EXPECT_EQ(g_other_threads, 0) << "parallel_for ran on other threads";
  EXPECT_EQ(g_states_lost, 0);
}

TEST_F(ExclusiveKernel, OnlyForThoseThatAsk) {
  g_patience = std::chrono::seconds(20);
  storm(0, 2);
  EXPECT_GE(g_max, 2);
  EXPECT_EQ(g_states_lost, 0);
}

}  // namespace
}  // namespace tenon::core
