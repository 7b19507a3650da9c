// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that decline: the next kernel gets the inputs that its own flags ask for, and is called
// once.
#include <gtest/gtest.h>

#include <deque>

#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/sdk/ops/addcmul.h"
#include "tests/runtime/fake_device.h"

namespace tenon::core {
namespace {

struct Seen {
  bool contiguous = true, over_argument = false;
};
Seen g_last;
int g_asked[4];

void look(const tn_call* call) {
  const tn_tensor& out = *call->out[0].u.tensor;
  g_last.contiguous = out.flags & TN_TENSOR_CONTIGUOUS;
  g_last.over_argument = false;
  for (int i = 0; i < 3; ++i) {
    const tn_tensor& t = *call->in[i].u.tensor;
    g_last.over_argument |= t.data == out.data && t.byte_offset == out.byte_offset;
  }
}

template <int which>
tn_status declines(tn_call*) {
  ++g_asked[which];
  return TN_DECLINED;
}
template <int which>
tn_status serves(tn_call* call) {
  ++g_asked[which];
  look(call);
  return TN_OK;
}

class Decline : public ::testing::Test {
 protected:
  Decline() : fake_("decline_test") {
    for (int& n : g_asked) n = 0;
    g_last = {};
  }
  ~Decline() override {
    while (!backends_.empty()) {
      unregister_backend(backends_.back());
      backends_.pop_back();
    }
  }

  void kernel(tn_kernel_fn run, int32_t priority, uint32_t flags, const char* inplace = "",
              const char* dtypes = "all") {
    static const uint8_t digest[32] = TN_OP_addcmul_DIGEST;
    auto& p = parts_.emplace_back();
    p.kernel.struct_size = sizeof p.kernel;
    p.kernel.op = {"addcmul", 7};
    std::memcpy(p.kernel.digest, digest, sizeof digest);
    p.kernel.dtypes = {dtypes, std::strlen(dtypes)};
    p.kernel.inplace = {inplace, std::strlen(inplace)};
    p.kernel.flags = flags;
    p.kernel.priority = priority;
    p.kernel.run = run;
    p.list = &p.kernel;
    p.name = "decline_" + std::to_string(parts_.size());
    p.plugin.struct_size = sizeof p.plugin;
    p.plugin.abi_major = TN_ABI_MAJOR;
    p.plugin.name = {p.name.data(), p.name.size()};
    p.plugin.device = {"decline_test", 12};
    p.plugin.flags = TN_PLUGIN_HOST_MEMORY;
    p.plugin.kernels = &p.list;
    p.plugin.kernels_end = &p.list + 1;
    OpRegistration ops;
    RegisterReport report;
    backends_.push_back(register_backend(p.plugin, ops, report));
    ASSERT_EQ(report.kernels, 1);
  }

  Impl tensor(std::initializer_list<int64_t> sizes, const int64_t* strides = nullptr) {
    return new_tensor("test", kFloat, fake_.id(), static_cast<int>(sizes.size()), sizes.begin(),
                      strides);
  }

  void addcmul(const Impl& a, const Impl& b, const Impl& c, TensorImpl*& out, Form form) {
    tn_value in[4] = {{TN_TAG_TENSOR, 0, {}},
                      {TN_TAG_TENSOR, 0, {}},
                      {TN_TAG_TENSOR, 0, {}},
                      {TN_TAG_I64, 0, {}}};
    in[0].u.tensor = &a->view;
    in[1].u.tensor = &b->view;
    in[2].u.tensor = &c->view;
    in[3].u.i64 = 1;
    call(*find_op("addcmul"), in, &out, form);
  }

  struct Part {
    tn_kernel kernel{};
    const tn_kernel* list = nullptr;
    std::string name;
    tn_plugin plugin{};
  };
  test::FakeDevice fake_;
  std::deque<Part> parts_;
  std::vector<BackendImpl*> backends_;
};

TEST_F(Decline, TheNextKernelGetsContiguousOutputs) {
  kernel(declines<0>, 2, TN_KERNEL_ANY_STRIDES);
  kernel(serves<1>, 1, 0);
  const int64_t strides[] = {1, 2};
  Impl a = tensor({2, 3}), out = tensor({2, 3}, strides);
  TensorImpl* given = out.get();
  try {
    addcmul(a, a, a, given, Form::Out);
  } catch (
      const NotImplementedError&) {  // the copy after the kernel, as the host has no plugin here
  }
  EXPECT_EQ(g_asked[1], 1);
  EXPECT_TRUE(g_last.contiguous);
}

TEST_F(Decline, TheNextKernelGetsNoOutputOverAnArgument) {
  kernel(declines<0>, 2, TN_KERNEL_ANY_STRIDES, "0=0");
  kernel(serves<1>, 1, TN_KERNEL_ANY_STRIDES);
  Impl a = tensor({2, 3}), b = tensor({2, 3});
  TensorImpl* self = a.get();
  addcmul(a, b, b, self, Form::Inplace);
  EXPECT_EQ(g_asked[1], 1);
  EXPECT_FALSE(g_last.over_argument);
}

TEST_F(Decline, AKernelThatMayWriteOverAnArgumentStillDoes) {
  kernel(declines<0>, 2, TN_KERNEL_ANY_STRIDES, "0=0");
  kernel(serves<1>, 1, TN_KERNEL_ANY_STRIDES, "0=0");
  Impl a = tensor({2, 3}), b = tensor({2, 3});
  TensorImpl* self = a.get();
  addcmul(a, b, b, self, Form::Inplace);
  EXPECT_EQ(g_asked[1], 1);
  EXPECT_TRUE(g_last.over_argument);
}

TEST_F(Decline, BroadcastOperandsDoNotAddUp) {
  for (int k = 0; k < 3; ++k) kernel(declines<0>, 5 - k, TN_KERNEL_ANY_STRIDES);
  kernel(serves<1>, 1, TN_KERNEL_ANY_STRIDES);
  Impl a = tensor({2, 3}), b = tensor({3}), c = tensor({1, 3}), d = tensor({2, 1});
  TensorImpl* out = nullptr;
  addcmul(b, c, d, out, Form::Functional);  // all three are expanded, four times
  Impl::adopt(out);
  EXPECT_EQ(g_asked[0], 3);
  EXPECT_EQ(g_asked[1], 1);
}

TEST_F(Decline, AKernelIsAskedOnce) {
  kernel(declines<0>, 3, TN_KERNEL_ANY_STRIDES, "", "float64");
  kernel(declines<1>, 2, TN_KERNEL_ANY_STRIDES);
  kernel(serves<2>, 1, TN_KERNEL_ANY_STRIDES);
  Impl a = tensor({2, 3}), b = tensor({3});
  TensorImpl* out = nullptr;
  addcmul(a, b, b, out, Form::Functional);
  Impl::adopt(out);
  EXPECT_EQ(g_asked[0], 0);
  EXPECT_EQ(g_asked[1], 1);
  EXPECT_EQ(g_asked[2], 1);
}

}  // namespace
}  // namespace tenon::core
