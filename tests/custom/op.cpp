// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An operator and a dtype that a plugin registers.
#include "tenon/core/op.h"
#include "tenon/core/host_services.h"

#include "tenon/call.h"
#include "tenon/core/dispatch.h"
#include "tenon/gradcheck.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

TEST(OwnOp, IsCalledByItsName) {
  const Tensor x = tensor({1., 2.}, TensorOptions(kFloat));
  EXPECT_TRUE(call("acme::scale", {x, 3.0})[0].equal(x * 3));
  EXPECT_TRUE(call("acme::scale", {x})[0].equal(x * 2)) << "its default";
  EXPECT_TRUE(call("acme::scale", {x.to("ref"), 3.0})[0].cpu().equal(x * 3));
}

TEST(OwnOp, OperatorsOfCoreAreCalledByName) {
  const Tensor x = tensor({1., 2.}, TensorOptions(kFloat));
  EXPECT_TRUE(call("add.Tensor", {x, x, 2})[0].equal(x * 3));
  EXPECT_EQ(call("topk", {x, 1}).size(), 2u);
}

TEST(OwnOp, HasGradientsOfAnyOrder) {
  const Tensor x = tensor({1., 2., -3.}, TensorOptions(kDouble)).requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{call("acme::scale", {in[0] * in[0], 3.0})[0]};
  };
  EXPECT_TRUE(autograd::gradcheck(f, {x}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {x}));
  const Tensor y = call("acme::scale", {x, 3.0})[0];
  EXPECT_EQ(y.grad_fn()->name(), "acme::scale");
  y.sum().backward();
  EXPECT_THROW(y.sum().backward(), Error) << "its buffers are freed";
}

TEST(OwnOp, RefusesWhatItsSchemaDoes) {
  const Tensor x = ones({2});
  expect_words(text_of<TypeError>([&] {
                 call("acme::scale", {x, "three"});
               }),
               {"acme::scale", "factor"});
  expect_words(text_of<TypeError>([&] { call("acme::scale", {}); }),
               {"acme::scale", "self", "missing"});
  expect_words(text_of<TypeError>([&] {
                 call("acme::scale", {x, 1.0, 2.0});
               }),
               {"takes 2 arguments, got 3"});
  expect_words(text_of<NotImplementedError>([&] { call("acme::skale", {x}); }),
               {"acme::skale", "acme::scale"});
  expect_words(text_of<NotImplementedError>([&] { call("acme::scale", {x.to(kInt)}); }),
               {"acme::scale", "int32"});
}

TEST(OwnOp, IsRegisteredByAnInitOnly) {
  tn_schema s{};
  s.struct_size = sizeof s;
  s.text = {"late::op(Tensor self) -> Tensor", 31};
  expect_words(text_of<ValueError>([&] { core::register_op(s); }), {"init"});
}

TEST(OwnOp, BadSchemasAreRefusedWithWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a valid schema"},
      {"plain(Tensor self) -> Tensor", "vendor"},
      {"a::b(Tensor self -> Tensor", "expected"},
      {"a::b(Matrix self) -> Tensor", "unknown type 'Matrix'"},
      {"a::b(Tensor self, Tensor self) -> Tensor", "is a duplicate"},
      {"a::b(Tensor self) -> int", "results are tensors"},
      {"a::b(Tensor self) -> ()", "results"},
      {"a::b(int[x] self) -> Tensor", "not a valid schema"},
      {"a::b(int n=many) -> Tensor", "is not a number"},
      {"a::b(Tensor t=None) -> Tensor, Tensor", "expected a name"},
      {"acme::scale(Tensor self) -> Tensor", "registered already"},
  };
  (void)core::get_op("acme::scale");
  for (const auto& [text, words] : cases) {
    core::OpRegistration registration;
    tn_schema s{};
    s.struct_size = sizeof s;
    s.text = {text, std::strlen(text)};
    expect_words(text_of<ValueError>([&] { core::register_op(s); }), {"register_op", words});
  }
}

TEST(OwnOp, WhatIsNotKeptIsWithdrawnAndMayComeAgain) {
  tn_schema s{};
  s.struct_size = sizeof s;
  const std::string text =
      "brief::op(Tensor self, int[2] n=1, float x=-inf, str how='up') -> Tensor";
  s.text = {text.data(), text.size()};
  s.infer = [](tn_call*, tn_tensor*, int64_t(*)[64]) -> tn_status { return TN_OK; };
  int first;
  {
    core::OpRegistration registration;
    first = core::register_op(s);
    const core::Op& op = core::op_at(first);
    EXPECT_EQ(op.args[1].value.len, 2u);
    EXPECT_EQ(op.args[1].value.u.i64s[1], 1);
    EXPECT_LT(op.args[2].value.u.f64, 0);
    EXPECT_EQ(std::string(op.args[3].value.u.str, op.args[3].value.len), "up");
    expect_words(text_of<NotImplementedError>([] { call("brief::op", {ones({2})}); }),
                 {"brief::op", "no kernel"});
  }
  expect_words(text_of<NotImplementedError>([] { call("brief::op", {ones({2})}); }),
               {"brief::op", "closed"});
  core::OpRegistration again;
  EXPECT_EQ(core::register_op(s), first);
}

struct OwnDtype : testing::Test {
  const ScalarType f8 = core::dtype_from_name("bfloat8");
};

TEST_F(OwnDtype, ConvertsWithItsPlugin) {
  const Tensor x = tensor({1., 1.1, -3., 60000., 1e-3}, TensorOptions(kFloat)), y = x.to(f8);
  EXPECT_EQ(y.element_size(), 1u);
  EXPECT_EQ(y.nbytes(), 5u);
  EXPECT_TRUE(y.is_floating_point());
  EXPECT_TRUE(
      y.to(kFloat).equal(tensor({1., 1., -3., 57344., 0.0009765625}, TensorOptions(kFloat))));
  EXPECT_EQ(y[2].item<float>(), -3);
}

TEST_F(OwnDtype, EveryOpOfItsClassWorks) {
  const Tensor x = tensor({1., 2., 3., 4.}, TensorOptions(kFloat)).reshape({2, 2}), y = x.to(f8);
  const Tensor sum = y + y, product = y.mm(y), e = y.exp();
  EXPECT_EQ(sum.scalar_type(), f8);
  EXPECT_TRUE(sum.to(kFloat).equal(x + x));
  EXPECT_EQ(product.scalar_type(), f8);
  EXPECT_TRUE(product.to(kFloat).equal(x.mm(x).to(f8).to(kFloat)));
  EXPECT_TRUE(e.to(kFloat).equal(x.exp().to(f8).to(kFloat)));
  EXPECT_TRUE(y.t().contiguous().to(kFloat).equal(x.t()));
  EXPECT_TRUE(cat({y, y}).to(kFloat).equal(cat({x, x})));
  EXPECT_TRUE(zeros({3}, TensorOptions(f8)).to(kFloat).equal(zeros({3})));
  Tensor z = y.clone();
  z.add_(1);
  EXPECT_TRUE(z.to(kFloat).equal(x + 1));
  EXPECT_EQ((y > 2).sum().item<int64_t>(), 2);
}

TEST_F(OwnDtype, PromotesByItsRank) {
  const Tensor y = ones({2}, TensorOptions(f8));
  EXPECT_EQ((y + ones({2})).scalar_type(), kFloat);
  EXPECT_EQ((y + ones({2}, TensorOptions(kInt))).scalar_type(), f8);
  EXPECT_EQ((y + 1.5).scalar_type(), f8);
}

TEST_F(OwnDtype, WorksOnADeviceToo) {
  const Tensor x = tensor({1., 2., 3.}, TensorOptions(kFloat)), y = x.to("ref").to(f8);
  EXPECT_EQ(y.device().str(), "ref:0");
  EXPECT_TRUE((y * 2).cpu().to(kFloat).equal(x * 2));
}

TEST(StorageDtypes, WorkOnADevice) {
  const Tensor x = tensor({1., 2., 3., 4.}, TensorOptions(kFloat)).view({2, 2});
  const Tensor y = x.to("ref").to(kFloat8_e5m2);
  EXPECT_TRUE(equal((y.t() * 2).contiguous().cpu().to(kFloat), x.t() * 2));
  EXPECT_TRUE(equal(x.to(kUInt16).to("ref").add(1).cpu().to(kFloat), x + 1));
}

TEST_F(OwnDtype, HasGradients) {
  Tensor x = tensor({1., 2.}, TensorOptions(kFloat)).to(f8).requires_grad_();
  (x * x).sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), f8);
  EXPECT_TRUE(x.grad().to(kFloat).equal(tensor({2., 4.}, TensorOptions(kFloat))));
}

TEST_F(OwnDtype, Prints) {
  std::ostringstream out;
  out << tensor({1., 2.5}, TensorOptions(kFloat)).to(f8);
  EXPECT_EQ(out.str(), "tensor([1.0000, 2.5000], dtype=bfloat8)");
}

}  // namespace
}  // namespace tenon
