// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A layout that core does not know, on the host and on a device whose memory the host cannot read.
#include "tenon/core/layout.h"

#include <sstream>

#include "tenon/call.h"
#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/print.h"
#include "tenon/serialize.h"
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

TEST_P(Layouts, Adds) {
  const Tensor a = stairs(device), b = tensor({0., 4., 4., 4., 4., 4.}, TensorOptions(kFloat))
                                           .reshape({2, 3})
                                           .to(device);
  const Tensor x = a.to(TensorOptions(runs)), y = b.to(TensorOptions(runs)), sum = x.add(y, 2);
  EXPECT_EQ(sum.layout(), runs);
  EXPECT_TRUE(sum.component("lengths").cpu().equal(tensor({1, 2, 2, 1}, TensorOptions(kLong))));
  EXPECT_TRUE(sum.to_dense().cpu().equal(a.add(b, 2).cpu()));
  EXPECT_TRUE(a.add(y, 3).cpu().equal(a.add(b, 3).cpu()));
  EXPECT_TRUE(x.add(b, 3).cpu().equal(a.add(b, 3).cpu()));
  Tensor z = x.clone();
  z.add_(y);
  EXPECT_EQ(z.layout(), runs);
  EXPECT_TRUE(z.to_dense().cpu().equal((a + b).cpu()));
  expect_words(text_of<ValueError>([&] { (void)x.add(a.slice(0, 0, 1).to(TensorOptions(runs))); }),
               {"add.Tensor", "same size", "[2, 3]", "[1, 3]"});
}

// A leaf gets gradients of both layouts, in either order, in one pass and in two.
TEST_P(Layouts, GradientsAccumulate) {
  const Tensor dense = stairs(device);
  for (bool first : {true, false}) {
    Tensor x = dense.to(TensorOptions(runs)).requires_grad_();
    const auto loss = [&](bool of_runs) {
      return of_runs ? (x * 2).sum() : (x.to_dense() * dense).sum();
    };
    loss(first).backward();
    loss(!first).backward();
    loss(first).backward();
    const Tensor expected = first ? dense + 4 : dense * 2 + 2;
    ASSERT_TRUE(x.grad().defined());
    EXPECT_TRUE(x.grad().to_dense().cpu().equal(expected.cpu())) << x.grad();
    x.mutable_grad() = Tensor();
    (loss(true) + loss(false)).backward();
    EXPECT_TRUE(x.grad().to_dense().cpu().equal((dense + 2).cpu())) << x.grad();
  }
}

TEST_P(Layouts, IsSavedByItsParts) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  std::stringstream file;
  save(t, file);
  const std::string bytes = file.str();
  EXPECT_NE(bytes.find("\"0.lengths\""), std::string::npos) << "found by other programs";
  Tensor back, there;
  load(back, bytes.data(), bytes.size(), kCPU);
  EXPECT_EQ(back.layout(), runs);
  EXPECT_TRUE(back.is_cpu());
  EXPECT_TRUE(back.to_dense().equal(stairs(kCPU)));
  load(there, bytes.data(), bytes.size());
  EXPECT_EQ(there.device(), t.device()) << "where it was saved";
  EXPECT_TRUE(there.to_dense().cpu().equal(stairs(kCPU)));
}

TEST_P(Layouts, DataIsReplaced) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  t.set_data((t * 2).to(kDouble));
  EXPECT_EQ(t.scalar_type(), kDouble);
  EXPECT_TRUE(t.to_dense().cpu().equal(stairs(kCPU).to(kDouble) * 2));
  expect_words(text_of<TypeError>([&] { t.set_data(stairs(device)); }),
               {"set_data", "run_length", "strided"});
  expect_words(text_of<TypeError>([&] { stairs(device).set_data(t); }),
               {"set_data", "run_length", "strided"});
}

TEST_P(Layouts, AnOpWithoutAKernelSaysSo) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  expect_words(text_of<NotImplementedError>([&] { (void)t.sub(t); }),
               {"sub.Tensor", "no kernel", "self run_length", "TENON_DENSIFY", "to_dense()"});
  expect_words(text_of<NotImplementedError>([&] { (void)t.exp(); }), {"exp", "run_length"});
  expect_words(text_of<Error>([&] { (void)t.resize_({6}); }), {"_resize_components", "run_length"});
  expect_words(text_of<Error>([&] { (void)zeros({3}, TensorOptions(runs).device(device)); }),
               {"empty", "run_length"});
  expect_words(text_of<TypeError>([&] { (void)t.strides(); }), {"run_length", "strides"});
  expect_words(text_of<TypeError>([&] { (void)t.data_ptr(); }), {"run_length"});
  EXPECT_EQ(t.sum().item<float>(), 12) << "the next call works";
}

TEST_P(Layouts, StridedCopiesServeWhereTheyAreAllowed) {
  const Tensor t = stairs(device).to(TensorOptions(runs));
  core::reset_fallback_counts();
  core::set_densify(core::Densify::Allow);
  EXPECT_TRUE((t - t * -1).cpu().equal((stairs(device) * 2).cpu()));
  Tensor difference = t.clone();
  difference.sub_(t * -1);
  EXPECT_EQ(difference.layout(), runs);
  EXPECT_EQ(difference.sum().item<float>(), 24);
  uint64_t bytes = 0;
  for (const auto& c : core::fallback_counts())
    bytes += c.by == core::ServedBy::Densified ? c.bytes : 0;
  EXPECT_EQ(bytes, 4u * 6 * 4) << "four tensors of six floats";
}

TEST(Layout, PrintsItsParts) {
  const Tensor t = stairs(kCPU).to(TensorOptions(layout_from_name("run_length")));
  std::ostringstream out;
  out << t;
  EXPECT_EQ(out.str(),
            "tensor(lengths=tensor([3, 2, 1]),\n"
            "       values=tensor([1., 2., 5.]),\n"
            "       size=(2, 3), nnz=3, layout=run_length)");
  set_print_style(PrintStyle::Libtorch);
  out.str("");
  out << t;
  set_print_style(PrintStyle::Tenon);
  EXPECT_EQ(out.str(),
            "[ RunCPUFloatType{}\n"
            "lengths:\n 3\n 2\n 1\n[ CPULongType{3} ]\n"
            "values:\n 1\n 2\n 5\n[ CPUFloatType{3} ]\n"
            "size:\n[2, 3]\n]");
}

TEST(Layout, HasATypeString) {
  const Tensor t = stairs(kCPU).to(TensorOptions(layout_from_name("run_length")));
  EXPECT_EQ(t.type(), "tenon.run.FloatTensor");
  EXPECT_EQ(stairs(kCPU).type("tenon.run.DoubleTensor").layout(), t.layout());
}

TEST(Layout, RefusesPartsOfAFileThatDoNotFit) {
  std::stringstream file;
  save(stairs(kCPU).to(TensorOptions(layout_from_name("run_length"))), file);
  const std::string good = file.str();
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    for (const auto& [a, b] : {std::pair(from, to),
                               {"tenon.checksum", "other.checksum"},
                               {"tenon.format", "other.format"}}) {
      bytes.replace(bytes.find(a), a.size(), b);
    }
    Tensor t;
    return text_of<Error>([&] { load(t, bytes.data(), bytes.size()); });
  };
  const auto lengths = [](std::vector<int64_t> v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(int64_t));
  };
  const std::string right = lengths({3, 2, 1});
  expect_words(refusal(right, lengths({3, 2, 2})), {"load:", "7 elements", "has 6"});
  expect_words(refusal(right, lengths({7, -2, 1})), {"load:", "at least 1"});
  expect_words(refusal(right, lengths({INT64_MAX, INT64_MAX, 8})), {"load:", "of 6 elements"});
  expect_words(refusal("\\\"shape\\\":[2,3]", "\\\"shape\\\":[2,9]"),
               {"load:", "6 elements", "has 18"});
  expect_words(refusal("run_length", "run_lengtX"), {"load:", "layout 'run_lengtX'", "looked for"});
}

TEST(Layout, IsMadeFromItsParts) {
  const Layout runs = layout_from_name("run_length");
  const Tensor lengths = tensor({2, 1}, TensorOptions(kLong)),
               values = tensor({7., 8.}, TensorOptions(kFloat));
  const Tensor t = call("acme::run_length", {lengths, values, IntArrayRef({3}), runs})[0];
  EXPECT_TRUE(t.to_dense().equal(tensor({7., 7., 8.}, TensorOptions(kFloat))));
  EXPECT_EQ(t.component("values").const_data_ptr(), values.const_data_ptr())
      << "nothing was copied";
  expect_words(text_of<ValueError>([&] {
                 call("acme::run_length", {lengths, values.slice(0, 0, 1), IntArrayRef({3}), runs});
               }),
               {"acme::run_length", "as many"});
}

TEST(Layout, UnknownNamesSayWhereWasLooked) {
  expect_words(text_of<ValueError>([] { (void)layout_from_name("no_such"); }),
               {"no_such", "looked for"});
}

TEST(Layout, APluginWithTensorsAliveStaysOpen) {
  Tensor t = stairs(kCPU).to(TensorOptions(layout_from_name("run_length")));
  expect_words(text_of<ValueError>([] { plugins::unload("custom"); }),
               {"custom", "run_length", "alive"});
  EXPECT_EQ(t.sum().item<float>(), 12);
  t.reset();
}

}  // namespace
}  // namespace tenon
