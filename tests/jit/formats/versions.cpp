// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Archives of several versions of torch (data/README.md says which torch wrote which), with what
// torch computes for them.
#include <gtest/gtest.h>

#include <complex>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/type.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

using Json = nlohmann::json;

// The elements of each tensor, list of numbers, number of a result, as the archives have them.
void add_leaves(const IValue& v, std::vector<std::vector<double>>& out) {
  if (v.isTensor()) {
    const Tensor flat = v.toTensor().detach().to(kCPU).to(kDouble).contiguous();
    out.emplace_back(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  } else if (v.isIntList()) {
    out.emplace_back();
    for (const int64_t n : v.toIntVector()) out.back().push_back(static_cast<double>(n));
  } else if (v.isComplexDouble()) {
    out.push_back({v.toComplexDouble().real(), v.toComplexDouble().imag()});
  } else {
    const auto items = v.isTuple() ? v.toTupleRef().items : v.toListRef().items;
    for (const IValue& item : items) add_leaves(item, out);
  }
}

void expect_results(const IValue& result, const Json& expected) {
  std::vector<std::vector<double>> leaves;
  add_leaves(result, leaves);
  ASSERT_EQ(leaves.size(), expected.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    ASSERT_EQ(leaves[i].size(), expected[i].size()) << "result " << i;
    for (std::size_t k = 0; k < leaves[i].size(); ++k) {
      const Json& e = expected[i][k];
      const double wanted = e.is_boolean() ? e.get<bool>() : e.get<double>();
      EXPECT_NEAR(leaves[i][k], wanted, 1e-5 * std::max(1.0, std::abs(wanted)))
          << "result " << i << ", element " << k;
    }
  }
}

// As it is, and written and read again.
void check(const std::string& name, const std::vector<IValue>& inputs) {
  ExtraFiles extra{{"expected.json", ""}};
  const Module m = load(data(name), std::nullopt, extra);
  const Json expected = Json::parse(extra.at("expected.json"));
  expect_results(m.forward(inputs), expected);
  std::stringstream file;
  m.save(file);
  expect_results(load(file).forward(inputs), expected);
}

class JitVersions : public testing::TestWithParam<const char*> {};
TEST_P(JitVersions, NetOfThisTorch) { check(GetParam(), {counted({1, 2, 5, 4})}); }
INSTANTIATE_TEST_SUITE_P(Torch, JitVersions,
                         testing::Values("torch_1_13.pt", "torch_2_1.pt", "torch_2_7.pt",
                                         "torch_2_15.pt"),
                         [](const auto& p) {
                           const std::string name = p.param;
                           return name.substr(0, name.size() - 3);
                         });

TEST(JitVersions, OperatorsMeanWhatTheyDidThen) {
  const std::vector<IValue> inputs{counted({3, 3}), arange(-4, 5).view({3, 3})};
  for (const char* name : {"old_3.pt", "old_7.pt", "old_8.pt"}) {
    SCOPED_TRACE(name);
    check(name, inputs);
  }
}

TEST(JitVersions, ResultsKeepTheTypesOfThen) {
  const auto results = [](const char* name) {
    return load(data(name)).forward({counted({3, 3}), arange(-4, 5).view({3, 3})}).toTensorVector();
  };
  EXPECT_EQ(results("old_3.pt")[0].scalar_type(), kLong);
  EXPECT_EQ(results("old_7.pt")[0].scalar_type(), kFloat);
  EXPECT_EQ(results("old_3.pt")[13].scalar_type(), kFloat);  // full([2], 3)
  EXPECT_EQ(results("old_7.pt")[10].scalar_type(), kLong);
}

std::string refusal_of_version(const char* name, const std::string& version) {
  const auto zip = formats::ZipReader::open(data(name));
  formats::ZipWriter out("a");
  for (const auto& e : zip->entries())
    out.add(e.name.substr(2), e.name == "a/version" ? version : zip->read(e));
  std::stringstream in(out.finish());
  try {
    (void)load(in);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(JitVersions, NewArchivesHaveNoOldForms) {
  EXPECT_EQ(refusal_of_version("old_7.pt", "7"), "");
  for (const char* version : {"8", "10"})
    EXPECT_NE(refusal_of_version("old_7.pt", version).find("linspace"), std::string::npos);
  EXPECT_NE(refusal_of_version("old_8.pt", "9").find("logspace"), std::string::npos);
  EXPECT_NE(refusal_of_version("old_8.pt", "11").find("newer than 10"), std::string::npos);
}

TEST(JitVersions, CodeOfOldForms) { check("dialect.pt", {counted({3, 3}), counted({3})}); }

TEST(JitVersions, PackedSequences) {
  check("packed.pt", {counted({5, 4, 3}), tensor({2, 5, 1, 2}).to(kLong)});
  const Module m = load(data("packed.pt"));
  const auto fails = [&](std::vector<int64_t> lengths) {
    try {
      (void)m.forward({counted({5, 4, 3}), tensor(lengths)});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(fails({2, 5, 0, 2}).find("has to be greater than 0"), std::string::npos);
  EXPECT_NE(fails({2, 6, 1, 2}).find("6 is more than the 5 steps"), std::string::npos);
}

TEST(JitVersions, GradientsOfPackedSequences) {
  const Module m = load(data("packed.pt"));
  const Tensor x = counted({5, 4, 3}).requires_grad_();
  const auto out = m.forward({x, tensor({2, 5, 1, 2}).to(kLong)}).toTensorVector();
  (out[0].sum() + out[4].sum()).backward();
  // Steps past the end of a sequence do not matter, those before it do.
  EXPECT_EQ(x.grad()[2][0].abs().sum().item<float>(), 0);
  EXPECT_EQ(x.grad()[1][2].abs().sum().item<float>(), 0);
  EXPECT_GT(x.grad()[4][1].abs().sum().item<float>(), 0);
  EXPECT_GT(x.grad()[1][0].abs().sum().item<float>(), 0);
}

// On a device whose memory the program's host code cannot stay in.
TEST(JitVersions, RunsOnAnotherDevice) {
  const Device ref("ref");
  ExtraFiles extra{{"expected.json", ""}};
  const Module packed = load(data("packed.pt"), ref, extra);
  const IValue out = packed.forward({counted({5, 4, 3}).to(ref), tensor({2, 5, 1, 2}).to(kLong)});
  EXPECT_EQ(out.toListRef().items[0].toTensor().device().type(), ref.type());
  expect_results(out, Json::parse(extra.at("expected.json")));
  const Module exported = load(data("exported_2_8.pt2"), ref, extra);
  const Tensor ids = remainder(arange(6), 5).view({3, 2}).to(ref);
  const IValue dict = exported.forward({ids, 2});
  std::vector<std::vector<double>> leaves;
  add_leaves(dict.toDictRef().at("y"), leaves);
  const Json wanted = Json::parse(extra.at("expected.json"))[0][0];
  ASSERT_EQ(leaves.at(0).size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(leaves[0][i], wanted[i].get<double>(), 1e-5);
}

using Z = std::complex<double>;

TEST(JitVersions, ComplexNumbers) {
  check("complex.pt", {1.25, Z(2, -1)});
  const Module m = load(data("complex.pt"));
  EXPECT_EQ(m.attr("k").toComplexDouble(), Z(2, 3));
  EXPECT_TRUE(m.attr("all").isComplexDoubleList());
  EXPECT_EQ(type_of(m.attr("named"))->annotation(), "Dict[str, complex]");
}

TEST(JitVersions, ComplexNumbersInText) {
  const auto unit = compile(R"(
def f(z: complex, k: complex = -2.5j):
    w = 1 + 2j
    return [z / 2, 2 - z, k, complex(1, 2.5), w], z != w and z == complex(z), abs(z), str(z)
)");
  const IValue v = (*unit->find_function("f"))({Z(3, -4)});
  const auto& parts = v.toTupleRef().items;
  EXPECT_TRUE(parts[0] ==
              IValue(std::vector<IValue>{Z(1.5, -2), Z(-1, 4), Z(0, -2.5), Z(1, 2.5), Z(1, 2)}));
  EXPECT_TRUE(parts[1].toBool());
  EXPECT_EQ(parts[2].toDouble(), 5);
  EXPECT_EQ(parts[3].toStringRef(), "3.-4.j");
}

TEST(JitVersions, ComplexValues) {
  const IValue z = Z(1, 0);
  EXPECT_TRUE(z.isComplexDouble() && !z.isScalar());
  EXPECT_EQ(z.tagKind(), "ComplexDouble");
  EXPECT_TRUE(z == IValue(1) && IValue(1.0) == z && z != IValue(Z(1, 1)));
  EXPECT_EQ(z.to<Z>(), Z(1, 0));
  EXPECT_THROW((void)z.toDouble(), TypeError);
  EXPECT_THROW((void)IValue(1.5).toComplexDouble(), TypeError);
  EXPECT_TRUE(z.toScalar().isComplex());
  ivalue::Dict d;
  for (int i = 0; i < 20; ++i) d.insert_or_assign(Z(i, i % 2), i);
  EXPECT_EQ(d.at(Z(7, 1)).toInt(), 7);
  EXPECT_EQ(d.at(4).toInt(), 4);
}

}  // namespace
}  // namespace tenon::jit
