// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device whose memory has no addresses: what core hands to kernels and programs are blocks and
// offsets.
#include <gtest/gtest.h>

#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/sdk/ops/copy.h"
#include "tenon/sdk/ops/prim_unary.h"
#include "tenon/sdk/ops/relu.h"
#include "tests/runtime/fake_device.h"
#include "tests/support.h"

namespace tenon {
namespace {

int g_mixed = 0;              // calls of copy with a tensor of another device
void* g_workspace = nullptr;  // of the last call of relu

bool elsewhere(const tn_value& v, const tn_value& out) {
  return v.u.tensor->device.type != out.u.tensor->device.type;
}

tn_status copy(tn_call* c) {
  g_mixed += elsewhere(c->in[0], c->out[0]) || elsewhere(c->in[1], c->out[0]);
  return TN_DECLINED;
}
tn_status relu_bytes(tn_call*, uint64_t* bytes) {
  *bytes = 1000;
  return TN_OK;
}
tn_status relu(tn_call* c) {
  g_workspace = c->workspace;
  return TN_OK;
}

int g_unary = 0;  // calls of prim_unary
tn_status prim_unary(tn_call*) {
  ++g_unary;
  return TN_OK;
}

tn_kernel kernel(const char* op, const uint8_t (&digest)[32], tn_kernel_fn run) {
  tn_kernel k{};
  k.struct_size = sizeof k;
  k.flags = TN_KERNEL_ANY_STRIDES | TN_KERNEL_MIXED_DTYPES;
  k.op = {op, std::strlen(op)};
  std::memcpy(k.digest, digest, sizeof k.digest);
  k.dtypes = {"all", 3};
  k.run = run;
  return k;
}

class Opaque : public ::testing::Test {
 protected:
  Opaque() : fake_("opaque_test", TN_DEVICE_OPAQUE) {
    static const uint8_t copy_digest[32] = TN_OP_copy_DIGEST, relu_digest[32] = TN_OP_relu_DIGEST,
                         unary_digest[32] = TN_OP_prim_unary_DIGEST;
    kernels_[0] = kernel("copy", copy_digest, copy);
    kernels_[1] = kernel("relu", relu_digest, relu);
    kernels_[1].workspace = relu_bytes;
    kernels_[2] = kernel("prim_unary", unary_digest, prim_unary);
    plugin_.struct_size = sizeof plugin_;
    plugin_.abi_major = TN_ABI_MAJOR;
    plugin_.name = plugin_.device = {"opaque_test", 11};
    plugin_.flags = TN_PLUGIN_HOST_MEMORY;
    plugin_.kernels = list_;
    plugin_.kernels_end = list_ + 3;
    core::OpRegistration ops;
    core::RegisterReport report;
    backend_ = core::register_backend(plugin_, ops, report);
    g_mixed = 0;
  }
  ~Opaque() override { core::unregister_backend(backend_); }

  test::FakeDevice fake_;
  const TensorOptions there_ =
      TensorOptions(Device("opaque_test"));  // after the device that it names
  tn_kernel kernels_[3];
  const tn_kernel* list_[3] = {&kernels_[0], &kernels_[1], &kernels_[2]};
  tn_plugin plugin_{};
  core::BackendImpl* backend_;
};

TEST_F(Opaque, NoKernelSeesTensorsOfTwoDevices) {
  Tensor x = arange(6, kFloat32).view({2, 3}), y = x.to(Device("opaque_test"));
  EXPECT_TRUE(equal(y.cpu(), x));
  y.t().copy_(ones({3, 2}));
  EXPECT_TRUE(equal(y.cpu(), ones({2, 3})));
  x.t().copy_(zeros({3, 2}).to(Device("opaque_test")));
  EXPECT_TRUE(equal(x, zeros({2, 3})));
  y.copy_(tensor({1.0, 2.0, 3.0}));  // cast and broadcast on the way
  EXPECT_EQ(y.cpu().sum().item<double>(), 12);
  EXPECT_EQ(g_mixed, 0);
}

TEST_F(Opaque, SetDataKeepsThePlaceInTheBlock) {
  Tensor first = empty({100}, there_), second = empty({100}, there_), t = empty({1}, there_);
  ASSERT_NE(second.unsafeGetTensorImpl()->view.byte_offset, 0u);
  t.set_data(second);
  EXPECT_EQ(t.unsafeGetTensorImpl()->view.byte_offset,
            second.unsafeGetTensorImpl()->view.byte_offset);
  t.set_data(second.narrow(0, 10, 5));
  EXPECT_EQ(t.unsafeGetTensorImpl()->view.byte_offset,
            second.unsafeGetTensorImpl()->view.byte_offset + 40);
  EXPECT_EQ(t.storage_offset(), 10);
}

TEST_F(Opaque, AWorkspaceIsABlockOfItsOwn) {
  Tensor x = empty({100}, there_), y = empty({100}, there_);
  const int before = fake_.allocations, freed = fake_.frees;
  g_workspace = nullptr;
  tenon::relu(y);
  EXPECT_NE(g_workspace, nullptr);
  EXPECT_NE(g_workspace, y.unsafeGetTensorImpl()->view.data);
  EXPECT_EQ(fake_.allocations, before + 1);
  EXPECT_EQ(fake_.frees, freed + 1);
}

TEST_F(Opaque, NoProgramGetsAnAddress) {
  Tensor x = empty({4}, there_);
  EXPECT_THROW(x.data_ptr<float>(), TypeError);
  EXPECT_THROW((x.accessor<float, 1>()), TypeError);
  // Nor a sum of a handle and an offset.
  for (auto take : {+[](const Tensor& t) -> const void* { return t.data_ptr(); },
                    +[](const Tensor& t) -> const void* { return t.mutable_data_ptr(); },
                    +[](const Tensor& t) -> const void* { return t.const_data_ptr(); }}) {
    const std::string text = test::text_of<TypeError>([&] { take(x.narrow(0, 1, 2)); });
    EXPECT_NE(text.find("opaque_test:0 is a handle"), std::string::npos) << text;
    EXPECT_NE(text.find("use cpu()"), std::string::npos) << text;
  }
  EXPECT_EQ(x.storage().data_ptr(), x.unsafeGetTensorImpl()->view.data);
}

// exp is one call of prim_unary; a product of matrices is not decomposed without all the other
// primitives.
TEST_F(Opaque, StagingCanBeForbiddenAlone) {
  struct Restore {
    ~Restore() { core::set_fallback(core::Fallback::Allow); }
  } restore;
  Tensor x = ones({2, 2}).to(Device("opaque_test"));
  core::set_fallback(core::Fallback::ForbidStaging);
  g_unary = 0;
  x.exp();
  EXPECT_EQ(g_unary, 1);
  std::string text = test::text_of<NotImplementedError>([&] { x.mm(x); });
  test::expect_words(
      text, {"mm: would be staged through the host on opaque_test (no kernel for this device; no "
             "decomposition: needs all primitives",
             "TENON_FALLBACK=forbid-staging): give the device a kernel"});
  core::set_fallback(core::Fallback::Forbid);
  text = test::text_of<NotImplementedError>([&] { x.exp(); });
  test::expect_words(text, {"exp: would be decomposed on opaque_test", "set forbid-staging"});
  EXPECT_EQ(g_unary, 1);
  core::set_fallback(core::Fallback::Allow);
  EXPECT_TRUE(equal(x.mm(x).cpu(), full({2, 2}, 2.0f)));
}

}  // namespace
}  // namespace tenon
