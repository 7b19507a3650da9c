// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Models of ai.onnx.ml against what ONNX Runtime computes. data/make_ml.py made them.
#include <cmath>
#include <limits>

#include "tenon/jit.h"
#include "tenon/serialize.h"
#include "tests/onnx/support.h"

namespace tenon::onnx {
namespace {

std::string ml_path(const std::string& file) { return std::string(TENON_ONNX_DATA "/ml_") + file; }

struct MlExpected {
  explicit MlExpected(const std::string& name) {
    archive.load_from(ml_path(name + ".safetensors"));
  }
  Tensor read(const std::string& key) {
    Tensor t;
    archive.read(key, t);
    return t;
  }
  serialize::InputArchive archive;
};

void expect_same(const IValue& got, const Tensor& want) {
  ASSERT_TRUE(got.isTensor());
  const Tensor& t = got.toTensor();
  ASSERT_EQ(t.scalar_type(), want.scalar_type());
  ASSERT_EQ(t.sizes().vec(), want.sizes().vec());
  EXPECT_TRUE(allclose(t.to(kDouble), want.to(kDouble), 1e-4, 1e-5));
}

class OnnxMl : public testing::TestWithParam<const char*> {};

TEST_P(OnnxMl, ComputesAsInOnnxRuntime) {
  MlExpected expected(GetParam());
  const jit::Module m = jit::load(ml_path(std::string(GetParam()) + ".onnx"));
  const IValue out = m.forward({expected.read("x")});
  if (!out.isTuple()) return expect_same(out, expected.read("y0"));
  for (std::size_t i = 0; i < out.toTupleRef().items.size(); ++i)
    expect_same(out.toTupleRef().items[i], expected.read("y" + std::to_string(i)));
}

INSTANTIATE_TEST_SUITE_P(, OnnxMl,
                         testing::Values("forest", "forest_double", "forest_targets", "boosted",
                                         "isolation", "imputed", "svc_rbf", "svc_poly",
                                         "svr_sigmoid", "svm_one_class", "xgb", "lgbm"));

TEST(OnnxMlLabels, ThatAreStringsAreAList) {
  MlExpected expected("logistic_names");
  const jit::Module m = jit::load(ml_path("logistic_names.onnx"));
  const IValue out = m.forward({expected.read("x")});
  const Tensor codes = expected.read("y0");
  const std::vector<IValue> got = out.toTupleRef().items.at(0).toListRef().items;
  ASSERT_EQ(static_cast<int64_t>(got.size()), codes.numel());
  const std::vector<std::string> names = {"cat", "dog", "emu"};
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i].toStringRef(), names[static_cast<std::size_t>(codes.data_ptr<int64_t>()[i])]);
  expect_same(out.toTupleRef().items.at(1), expected.read("y1"));
}

double score_of(const IValue& row, int64_t label) {
  for (const auto& [key, value] : row.toDictRef().items())
    if (key.toInt() == label) return value.toDouble();
  return std::nan("");
}

TEST(OnnxMlLabels, NameScoresInDictionaries) {
  MlExpected expected("logistic_zip");
  const jit::Module m = jit::load(ml_path("logistic_zip.onnx"));
  const IValue out = m.forward({expected.read("x")});
  expect_same(out.toTupleRef().items.at(0), expected.read("y0"));
  const Tensor scores = expected.read("y1");
  const auto rows = out.toTupleRef().items.at(1).toListRef().items;
  ASSERT_EQ(static_cast<int64_t>(rows.size()), scores.size(0));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int64_t k = 0; k < 3; ++k)
      EXPECT_NEAR(score_of(rows[i], k + 5),
                  scores.data_ptr<float>()[static_cast<int64_t>(i) * 3 + k], 1e-5);
}

// One node of the domain.
struct MlMaker : ModelMaker {
  pb::NodeProto* n;
  MlMaker(const std::string& op, int type, std::size_t outputs = 1, int64_t version = 4) {
    auto* ml = model.add_opset_import();
    ml->set_domain("ai.onnx.ml");
    ml->set_version(version);
    input("x", type);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) {
      names.push_back("y" + std::to_string(i));
      output(names.back());
    }
    n = &node(op, {"x"}, names);
    n->set_domain("ai.onnx.ml");
  }
  pb::AttributeProto& add(const std::string& name, pb::AttributeProto::AttributeType type) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return *a;
  }
  MlMaker& floats(const std::string& name, const std::vector<float>& v) {
    auto& a = add(name, pb::AttributeProto::FLOATS);
    for (const float f : v) a.add_floats(f);
    return *this;
  }
  MlMaker& strings(const std::string& name, const std::vector<std::string>& v) {
    auto& a = add(name, pb::AttributeProto::STRINGS);
    for (const std::string& s : v) *a.add_strings() = s;
    return *this;
  }
  MlMaker& ints(const std::string& name, const std::vector<int64_t>& v) {
    set_ints(*n, name, v);
    return *this;
  }
};

// x[0] MODE 2 leads to 10, else to 20.
MlMaker stump(const std::string& mode, int type) {
  MlMaker m("TreeEnsembleRegressor", type);
  m.strings("nodes_modes", {mode, "LEAF", "LEAF"}).floats("nodes_values", {2, 0, 0});
  m.ints("nodes_treeids", {0, 0, 0}).ints("nodes_nodeids", {0, 1, 2});
  m.ints("nodes_truenodeids", {1, 0, 0}).ints("nodes_falsenodeids", {2, 0, 0});
  m.ints("nodes_featureids", {0, 0, 0});
  m.ints("target_treeids", {0, 0}).ints("target_nodeids", {1, 2}).ints("target_ids", {0, 0});
  m.floats("target_weights", {10, 20});
  return m;
}

TEST(OnnxMlTrees, CompareInEveryModeAndType) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor({1., 2., 3., nan}, TensorOptions(kDouble)).reshape({4, 1});
  const std::vector<std::pair<std::string, std::vector<float>>> modes = {
      {"BRANCH_LEQ", {10, 10, 20, 20}}, {"BRANCH_LT", {10, 20, 20, 20}},
      {"BRANCH_GTE", {20, 10, 10, 20}}, {"BRANCH_GT", {20, 20, 10, 20}},
      {"BRANCH_EQ", {20, 10, 20, 20}},  {"BRANCH_NEQ", {10, 20, 10, 10}}};
  for (const auto& [mode, want] : modes) {
    SCOPED_TRACE(mode);
    const Tensor y = tensor(want, TensorOptions(kFloat)).reshape({4, 1});
    const auto run = [&](int type, const Tensor& rows) {
      return stump(mode, type).load().forward({rows}).toTensor();
    };
    EXPECT_TRUE(run(pb::FLOAT, x.to(kFloat)).equal(y));
    EXPECT_TRUE(run(pb::DOUBLE, x).equal(y));
    EXPECT_TRUE(run(pb::INT64, x.narrow(0, 0, 3).to(kLong)).equal(y.narrow(0, 0, 3)));
    EXPECT_EQ(run(pb::FLOAT, zeros({0, 1}, kFloat)).sizes().vec(), (std::vector<int64_t>{0, 1}));
  }
}

TEST(OnnxMlTrees, ThatLeadBackAreRefused) {
  MlMaker m = stump("BRANCH_LEQ", pb::FLOAT);
  for (auto& a : *m.n->mutable_attribute())
    if (a.name() == "nodes_truenodeids") a.set_ints(0, 0);
  EXPECT_TRUE(has(error_of(m.bytes()), "leads back to itself")) << error_of(m.bytes());
  for (auto& a : *m.n->mutable_attribute())
    if (a.name() == "nodes_truenodeids") a.set_ints(0, 7);
  EXPECT_TRUE(has(error_of(m.bytes()), "tree 0 has no such node")) << error_of(m.bytes());
}

TEST(OnnxMlLabels, AreEncodedFromNumbersToNumbers) {
  MlMaker m("LabelEncoder", pb::FLOAT);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  m.floats("keys_floats", {2, nan, 1, 2}).ints("values_int64s", {5, 6, 7, 8});
  set_int(*m.n, "default_int64", -3);
  const Tensor x = tensor({1.f, 2.f, nan, 9.f}, TensorOptions(kFloat)).reshape({2, 2});
  const Tensor y = m.load().forward({x}).toTensor();
  EXPECT_TRUE(y.equal(tensor({7, 5, 6, -3}, TensorOptions(kLong)).reshape({2, 2})));
}

// Numbers become strings, are moved, and become numbers again.
TEST(OnnxMlLabels, AreEncodedAsStringsAndBack) {
  MlMaker m("LabelEncoder", pb::INT64);
  m.ints("keys_int64s", {1, 2}).strings("values_strings", {"one", "two"});
  set_text(*m.n, "default_string", "none");
  m.ModelMaker::ints("shape", {2}, {3, 1});
  m.node("Reshape", {"y0", "shape"}, {"z"});
  auto& back = m.node("LabelEncoder", {"z"}, {"back"});
  back.set_domain("ai.onnx.ml");
  auto* keys = back.add_attribute();
  keys->set_name("keys_strings");
  keys->set_type(pb::AttributeProto::STRINGS);
  for (const char* s : {"two", "none"}) *keys->add_strings() = s;
  set_ints(back, "values_int64s", {20, 30});
  m.output("back", pb::INT64);
  m.graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(pb::STRING);
  const IValue out = m.load().forward({tensor({2, 1, 7}, TensorOptions(kLong))});
  const auto texts = out.toTupleRef().items.at(0).toListRef().items;
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0].toStringRef(), "two");
  EXPECT_EQ(texts[1].toStringRef(), "one");
  EXPECT_EQ(texts[2].toStringRef(), "none");
  EXPECT_TRUE(out.toTupleRef().items.at(1).toTensor().equal(
      tensor({20, -1, 30}, TensorOptions(kLong)).reshape({3, 1})));
}

TEST(OnnxMlLabels, AreNotComputedOnAsStrings) {
  MlMaker m("LabelEncoder", pb::INT64);
  m.ints("keys_int64s", {1}).strings("values_strings", {"one"});
  m.node("Neg", {"y0"}, {"z"});
  m.output("z");
  EXPECT_TRUE(has(error_of(m.bytes()), "strings")) << error_of(m.bytes());
}

TEST(OnnxMlFeatures, AreOneHotAndJoined) {
  MlMaker m("OneHotEncoder", pb::INT64);
  m.ints("cats_int64s", {4, 7});
  auto& join = m.node("FeatureVectorizer", {"x", "y0"}, {"z"});
  join.set_domain("ai.onnx.ml");
  set_ints(join, "inputdimensions", {1, 2});
  m.graph->mutable_output(0)->set_name("z");
  const Tensor y =
      m.load().forward({tensor({7, 5}, TensorOptions(kLong)).reshape({2, 1})}).toTensor();
  EXPECT_TRUE(y.equal(tensor({7, 0, 1, 5, 0, 0}, TensorOptions(kFloat)).reshape({2, 3})));
}

}  // namespace
}  // namespace tenon::onnx
