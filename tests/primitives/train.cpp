// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Training on a device that has the thirteen primitives alone: nothing goes through the host, and
// the losses are those of the CPU.
#include <tenon/tenon.h>

#include <cmath>
#include <map>

#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tests/support.h"
#include "tools/check/device.h"
#include "tools/check/operator_check.h"

namespace tenon {
namespace {

std::string staged() {
  std::string out;
  for (const core::FallbackCount& c : core::fallback_counts()) {
    if (c.by == core::ServedBy::Staged) out += c.op + " (" + c.reason + ") ";
  }
  return out;
}

// The requirements of level 2 of `tenon check`.
TEST(Primitives, TrainAnMlp) { EXPECT_EQ(check::check_mlp(check::find_place("prim")), ""); }
TEST(Primitives, TrainAConvolutionalNet) {
  EXPECT_EQ(check::check_conv_net(check::find_place("prim")), "");
}

TEST(Primitives, DrawTheBitsOfTheHost) {
  const auto draw = [](const char* device) {
    manual_seed(11);
    const TensorOptions o = TensorOptions().device(Device(device));
    std::vector<Tensor> all = {rand({33}, o),
                               rand({5}, o.dtype(kDouble)),
                               rand({7}, o.dtype(kHalf)),
                               randint(0, 1000, {31}, o),
                               randperm(50, o),
                               bernoulli(full({40}, 0.3, o)),
                               empty({9}, o.dtype(kLong)).random_(),
                               empty({9}, o.dtype(kLong)).random_(-5, int64_t{1} << 40)};
    for (Tensor& t : all) t = t.cpu();
    return all;
  };
  core::reset_fallback_counts();
  const std::vector<Tensor> host = draw("cpu"), prim = draw("prim");
  EXPECT_EQ(staged(), "");
  for (std::size_t i = 0; i < host.size(); ++i)
    EXPECT_TRUE(test::same_bits(host[i], prim[i])) << "draw " << i;
}

std::map<core::ServedBy, core::Candidate> list_candidates(const char* op, const char* device) {
  std::map<core::ServedBy, core::Candidate> out;
  const core::DeviceSlot slot = core::device_slot(Device(device).type());
  for (const core::Candidate& c : core::explain(core::get_op(op), slot, kFloat))
    out.emplace(c.by, c);
  return out;
}

// exp decomposes into prim_unary on a device that has it, and prim_unary into exp on the host:
// never both on one.
// What the kernel of the CPU gives, and torch: the lowest integer.
TEST(Primitives, QuantizeNaNAsTheHostDoes) {
  const Tensor x = tensor({std::nan(""), -100., 0.26, 100.}, kFloat);
  for (const ScalarType dtype : {kChar, kByte}) {
    const Tensor host = _quantize(x, 10, 5, dtype);
    EXPECT_EQ(host[0].item<int64_t>(), dtype == kChar ? -128 : 0);
    EXPECT_TRUE(_quantize(x.to(Device("prim")), 10, 5, dtype).to(kCPU).equal(host));
  }
}

TEST(Primitives, DecomposeInOneDirectionOnADevice) {
  EXPECT_TRUE(list_candidates("exp", "prim").at(core::ServedBy::Decomposition).serves);
  EXPECT_TRUE(list_candidates("_softmax", "prim").at(core::ServedBy::Decomposition).serves);
  EXPECT_FALSE(list_candidates("prim_unary", "prim").at(core::ServedBy::Decomposition).serves);
  EXPECT_FALSE(list_candidates("exp", "cpu").at(core::ServedBy::Decomposition).serves);
  EXPECT_TRUE(list_candidates("prim_unary", "cpu").at(core::ServedBy::Decomposition).serves);
}

TEST(Primitives, ADeviceWithoutThemIsServedByTheHost) {
  const auto candidates = list_candidates("_softmax", "ref");
  EXPECT_FALSE(candidates.at(core::ServedBy::Decomposition).serves);
  test::expect_words(candidates.at(core::ServedBy::Decomposition).reason,
                     {"needs all primitives", "no kernel for"});
}

}  // namespace
}  // namespace tenon
