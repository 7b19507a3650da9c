// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forty operators with shapes that do not fit: the message begins with the operator that was
// called, also where another inside of it noticed, and has both shapes. On a device it is the same.
#include <regex>

#include "tests/messages/table.h"

namespace tenon::messages {
namespace {

using Call = std::function<void(const Device&)>;
struct Bad {
  const char* op;
  Call call;
};
std::ostream& operator<<(std::ostream& out, const Bad& b) { return out << b.op; }

class Shapes : public testing::TestWithParam<Bad> {};

Tensor t(const Device& d, IntArrayRef sizes) { return ones(sizes, TensorOptions(d)); }
Tensor n(const Device& d, IntArrayRef sizes) {
  return zeros(sizes, TensorOptions(kLong).device(d));
}

// Of two tensors of shapes [2, 3] and [4].
template <class F>
Bad pair(const char* op, F f) {
  return {op, [f](const Device& d) { f(t(d, {2, 3}), t(d, {4})); }};
}
#define PAIR(op) pair(#op, [](const Tensor& a, const Tensor& b) { op(a, b); })

const Bad bad[] = {
    PAIR(add),
    PAIR(mul),
    PAIR(div),
    PAIR(pow),
    PAIR(atan2),
    PAIR(maximum),
    PAIR(eq),
    PAIR(logical_and),
    PAIR(mse_loss),
    PAIR(l1_loss),
    PAIR(kl_div),
    PAIR(smooth_l1_loss),
    PAIR(huber_loss),
    PAIR(binary_cross_entropy),
    PAIR(soft_margin_loss),
    PAIR(hinge_embedding_loss),
    PAIR(cosine_similarity),
    PAIR(pairwise_distance),
    PAIR(matmul),
    PAIR(mv),
    PAIR(dist),
    PAIR(xlogy),
    PAIR(inner),
    {"mm",
     [](const Device& d) {
       mm(t(d, {2, 3}), t(d, {2, 3}));
     }},
    {"bmm",
     [](const Device& d) {
       bmm(t(d, {2, 3, 4}), t(d, {3, 4, 5}));
     }},
    {"addmm",
     [](const Device& d) {
       addmm(t(d, {2}), t(d, {2, 3}), t(d, {4, 2}));
     }},
    {"addr",
     [](const Device& d) {
       addr(t(d, {2, 3}), t(d, {2}), t(d, {4}));
     }},
    {"addbmm",
     [](const Device& d) {
       addbmm(t(d, {2, 2}), t(d, {2, 3, 4}), t(d, {3, 4, 5}));
     }},
    {"linear",
     [](const Device& d) {
       linear(t(d, {2, 3}), t(d, {5, 4}));
     }},
    {"bilinear",
     [](const Device& d) {
       bilinear(t(d, {2, 3}), t(d, {2, 4}), t(d, {6, 3, 5}));
     }},
    {"conv2d",
     [](const Device& d) {
       conv2d(t(d, {1, 3, 8, 8}), t(d, {2, 4, 3, 3}));
     }},
    {"addcmul",
     [](const Device& d) {
       addcmul(t(d, {2, 3}), t(d, {4}), t(d, {4}));
     }},
    {"lerp",
     [](const Device& d) {
       lerp(t(d, {2, 3}), t(d, {4}), 0.5);
     }},
    {"where",
     [](const Device& d) {
       where(t(d, {2, 3}).gt(0), t(d, {4}), t(d, {2, 3}));
     }},
    {"cat",
     [](const Device& d) {
       cat({t(d, {2, 3}), t(d, {2, 4})});
     }},
    {"stack",
     [](const Device& d) {
       stack({t(d, {2, 3}), t(d, {2, 4})});
     }},
    {"broadcast_tensors",
     [](const Device& d) {
       broadcast_tensors({t(d, {2, 3}), t(d, {4})});
     }},
    {"masked_fill",
     [](const Device& d) {
       t(d, {2, 3}).masked_fill(t(d, {4}).gt(0), 1);
     }},
    {"gather",
     [](const Device& d) {
       gather(t(d, {2, 3}), 0, n(d, {2, 5}));
     }},
    {"index_add",
     [](const Device& d) {
       index_add(t(d, {2, 3}), 0, n(d, {1}), t(d, {1, 4}));
     }},
    {"view",
     [](const Device& d) {
       t(d, {2, 3}).view({4, 2});
     }},
    {"expand",
     [](const Device& d) {
       t(d, {2, 3}).expand({2, 4});
     }},
    {"nll_loss",
     [](const Device& d) {
       nll_loss(t(d, {3, 2}), n(d, {4}));
     }},
    {"cross_entropy_loss",
     [](const Device& d) {
       cross_entropy_loss(t(d, {3, 2}), n(d, {4}));
     }},
    {"batch_norm",
     [](const Device& d) {
       batch_norm(t(d, {2, 3}), t(d, {4}), {}, {}, {}, true, 0.1, 1e-5, false);
     }},
    {"layer_norm",
     [](const Device& d) {
       layer_norm(t(d, {2, 3}), {4});
     }},
    {"prelu",
     [](const Device& d) {
       prelu(t(d, {2, 3}), t(d, {4}));
     }},
    {"cross",
     [](const Device& d) {
       cross(t(d, {2, 3}), t(d, {4, 2}));
     }},
};

// The device that is not the host, if there is one.
std::optional<Device> other_device() {
  try {
    zeros({1}, TensorOptions(Device(kCUDA)));
    return Device(kCUDA);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_P(Shapes, OfBothTensorsAreNamed) {
  const Bad& b = GetParam();
  const std::string text = test::text_of([&] { b.call(Device(kCPU)); });
  const std::string called = std::string("^") + b.op + R"(\b.*\[.*\].*\[.*\])";
  EXPECT_TRUE(std::regex_search(text, std::regex(called))) << text;
  if (const auto device = other_device()) {
    EXPECT_EQ(test::text_of([&] { b.call(*device); }), text);
  }
}

std::string op_of(const testing::TestParamInfo<Bad>& b) { return b.param.op; }
INSTANTIATE_TEST_SUITE_P(Messages, Shapes, testing::ValuesIn(bad), op_of);

}  // namespace
}  // namespace tenon::messages
