// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A layout that core has never heard of, on the host and on a device whose memory the host cannot read.
#include "tenon/core/layout.h"

#include "tenon/call.h"
#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

Tensor stairs(Device device) {
  return tensor({1., 1., 1., 2., 2., 5.}, TensorOptions(kFloat)).reshape({2, 3}).to(device);
}

struct Layouts : testing::TestWithParam<const char*> {
  const Device device = Device(GetParam());
  const Layout runs = layout_from_name("run_length");
  ~Layouts() override { core::set_densify(core::Densify::Forbid); }
};
INSTANTIATE_TEST_SUITE_P(On, Layouts, testing::Values("cpu", "ref"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(Layouts, ThereAndBack) {
  const Tensor dense = stairs(device), t = dense.to(TensorOptions(runs));
  EXPECT_EQ(t.layout(), runs);
  EXPECT_EQ(toString(t.layout()), "run_length");
  EXPECT_EQ(t.sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(t.device(), dense.device());
  EXPECT_TRUE(t.component("lengths").cpu().equal(tensor({3, 2, 1}, TensorOptions(kLong))));
  EXPECT_TRUE(t.component("values").cpu().equal(tensor({1., 2., 5.}, TensorOptions(kFloat))));
  EXPECT_TRUE(t.to_dense().cpu().equal(dense.cpu()));
  EXPECT_TRUE(t.to(TensorOptions(kStrided)).cpu().equal(dense.cpu()));
  EXPECT_TRUE(dense.to_dense().is_same(dense));
}

TEST_P(Layouts, KernelsOfTheLayoutServe) {
  const Tensor dense = stairs(device), t = dense.to(TensorOptions(runs));
  const Tensor twice = t * 2;
  EXPECT_EQ(twice.layout(), runs);
  EXPECT_EQ(twice.component("values").numel(), 3);
  EXPECT_TRUE(twice.to_dense().cpu().equal((dense * 2).cpu()));
  const Tensor total = t.sum();
  EXPECT_EQ(total.layout(), kStrided);
  EXPECT_EQ(total.item<float>(), 12);
}

TEST_P(Layouts, AWriteReplacesTheParts) {
  Tensor t = stairs(device).to(TensorOptions(runs));
  const auto version = t._version();
  t.mul_(3);
  EXPECT_GT(t._version(), version);
  EXPECT_TRUE(t.to_dense().cpu().equal((stairs(device) * 3).cpu()));
  Tensor other = t.clone();
  other.copy_(stairs(device).to(TensorOptions(runs)));
  EXPECT_TRUE(other.to_dense().cpu().equal(stairs(device).cpu()));
  EXPECT_EQ(t.sum().item<float>(), 36) << "clone has parts of its own";
}

TEST_P(Layouts, MovesAndCastsByComponents) {
  const Tensor t = stairs(device).to(TensorOptions(runs)), there = t.to(kCPU), wide = t.to(kDouble);
  EXPECT_EQ(there.layout(), runs);
  EXPECT_TRUE(there.is_cpu());
  EXPECT_EQ(wide.scalar_type(), kDouble);
  EXPECT_EQ(wide.component("values").scalar_type(), kDouble);
  EXPECT_EQ(wide.component("lengths").scalar_type(), kLong);
  EXPECT_TRUE(wide.to_dense().cpu().equal(stairs(kCPU).to(kDouble)));
}

TEST_P(Layouts, GradientsPass) {
  Tensor x = stairs(device).requires_grad_();
  (x.to(TensorOptions(runs)) * 3).sum().backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_TRUE(x.grad().to_dense().cpu().equal(full({2, 3}, 3.)));
}

TEST_P(Layouts, AnOpWithoutAKernelSaysSo) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  expect_words(text_of<NotImplementedError>([&] { (void)t.add(t); }),
               {"add.Tensor", "no kernel", "self run_length", "TENON_DENSIFY", "to_dense()"});
  expect_words(text_of<NotImplementedError>([&] { (void)t.exp(); }), {"exp", "run_length"});
  expect_words(text_of<TypeError>([&] { (void)t.strides(); }), {"run_length", "strides"});
  expect_words(text_of<TypeError>([&] { (void)t.data_ptr(); }), {"run_length"});
  EXPECT_EQ(t.sum().item<float>(), 12) << "the next call works";
}

TEST_P(Layouts, StridedCopiesServeWhereTheyAreAllowed) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  core::reset_fallback_counts();
  core::set_densify(core::Densify::Allow);
  EXPECT_TRUE((t + t).cpu().equal((stairs(device) * 2).cpu()));
  Tensor sum = t.clone();
  sum.add_(t);
  EXPECT_EQ(sum.layout(), runs);
  EXPECT_EQ(sum.sum().item<float>(), 24);
  uint64_t bytes = 0;
  for (const auto& c : core::fallback_counts()) bytes += c.rung == "densified" ? c.bytes : 0;
  EXPECT_EQ(bytes, 4u * 6 * 4) << "four tensors of six floats";
}

TEST(Layout, PrintsItsParts) {
  const Tensor t = stairs(kCPU).to(TensorOptions(layout_from_name("run_length")));
  std::ostringstream out;
  out << t;
  EXPECT_EQ(out.str(),
            "tensor(lengths=tensor([3, 2, 1]),\n"
            "       values=tensor([1., 2., 5.]),\n"
            "       size=(2, 3), layout=run_length)");
}

TEST(Layout, IsMadeFromItsParts) {
  const Layout runs = layout_from_name("run_length");
  const Tensor lengths = tensor({2, 1}, TensorOptions(kLong)), values = tensor({7., 8.}, TensorOptions(kFloat));
  const Tensor t = call("acme::run_length", {lengths, values, IntArrayRef({3}), runs})[0];
  EXPECT_TRUE(t.to_dense().equal(tensor({7., 7., 8.}, TensorOptions(kFloat))));
  EXPECT_EQ(t.component("values").const_data_ptr(), values.const_data_ptr()) << "nothing was copied";
  expect_words(text_of<ValueError>([&] {
                 call("acme::run_length", {lengths, values.slice(0, 0, 1), IntArrayRef({3}), runs});
               }),
               {"acme::run_length", "as many"});
}

TEST(Layout, UnknownNamesSayWhereWasLooked) {
  expect_words(text_of<ValueError>([] { (void)layout_from_name("no_such"); }), {"no_such", "looked for"});
}

TEST(Layout, APluginWithTensorsAliveStaysOpen) {
  Tensor t = stairs(kCPU).to(TensorOptions(layout_from_name("run_length")));
  expect_words(text_of<ValueError>([] { plugins::unload("own"); }), {"own", "run_length", "alive"});
  EXPECT_EQ(t.sum().item<float>(), 12);
  t.reset();
}

}  // namespace
}  // namespace tenon
