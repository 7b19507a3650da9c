// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of the parts of a model: shapes, constants, control flow, functions.
#include "tests/onnx/support.h"

#include <set>

#include "tenon/creation.h"

namespace tenon::onnx {
namespace {

int count_nodes(const jit::Block& b, const std::string& kind) {
  int n = 0;
  for (const jit::Node* node : b.nodes()) {
    n += node->is(kind);
    for (const jit::Block* inner : node->blocks()) n += count_nodes(*inner, kind);
  }
  return n;
}

TEST(OnnxImport, SizesAreNeverTensors) {
  ModelMaker m;
  m.input("x").output("y");
  m.ints("zero", {}, {0});
  m.ints("first", {1}, {0});
  m.ints("rest", {1}, {-1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Unsqueeze", {"n", "first"}, {"n1"});
  m.node("Concat", {"n1", "rest"}, {"shape"}).add_attribute()->set_name("axis");
  m.graph->mutable_node(3)->mutable_attribute(0)->set_i(0);
  m.graph->mutable_node(3)->mutable_attribute(0)->set_type(pb::AttributeProto::INT);
  m.node("Reshape", {"x", "shape"}, {"y"});
  const jit::Module module = m.load();
  const auto& graph = *module.get_method("forward").graph();
  EXPECT_EQ(count_nodes(*graph.block(), "aten::tensor"), 0) << graph.str();
  EXPECT_EQ(count_nodes(*graph.block(), "prim::GetAttr"), 0) << graph.str();
  EXPECT_EQ(module.forward({ones({2, 3, 4})}).toTensor().sizes(), IntArrayRef({2, 12}));
}

// An integer of the model, here one that is an index as well, with two dimensions.
TEST(OnnxImport, NumbersExpandToAnyShape) {
  ModelMaker m;
  m.input("x").output("y").output("z");
  m.ints("zero", {}, {0});
  m.ints("first", {1}, {0});
  m.ints("both", {2}, {0, 1});
  m.floats("table", {2, 3}, {1, 2, 3, 4, 5, 6});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"n"});
  m.node("Sub", {"n", "n"}, {"none"});
  m.node("Expand", {"none", "shape"}, {"at"});
  m.node("Gather", {"table", "at"}, {"y"});
  m.node("Unsqueeze", {"n", "both"}, {"n11"});
  set_int(m.node("Cast", {"n11"}, {"z"}), "to", pb::FLOAT);
  const IValue out = m.load().forward({ones({2, 4})});
  const auto& items = out.toTupleRef().items;
  EXPECT_TRUE(equal(items[0].toTensor(), tensor({1., 2., 3.}).to(kFloat).expand({2, 4, 3})));
  EXPECT_TRUE(equal(items[1].toTensor(), full({1, 1}, 2., kFloat)));
}

TEST(OnnxImport, ScattersNothingIntoNothing) {
  ModelMaker m;
  m.input("x").output("y");
  m.ints("at", {1, 1}, {0});
  m.floats("updates", {1, 7, 0}, {});
  m.node("ScatterND", {"x", "at", "updates"}, {"y"});
  EXPECT_EQ(m.load().forward({ones({14, 7, 0})}).toTensor().sizes(), IntArrayRef({14, 7, 0}));
}

TEST(OnnxImport, ConstantsAreComputedWhileLoading) {
  ModelMaker m;
  m.input("x").output("y");
  m.ints("a", {2}, {1, 2});
  m.ints("b", {2}, {1, 4});
  m.node("Add", {"a", "b"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"y"});
  const jit::Module module = m.load();
  const auto& graph = *module.get_method("forward").graph();
  EXPECT_EQ(count_nodes(*graph.block(), "aten::add"), 0) << graph.str();
  EXPECT_EQ(module.forward({ones({12})}).toTensor().sizes(), IntArrayRef({2, 6}));
}

TEST(OnnxImport, InitializersAreParametersByUse) {
  ModelMaker m;
  m.input("x").output("y");
  m.floats("layer.weight", {2, 2}, {1, 2, 3, 4});
  m.floats("limit", {2}, {0, 1});
  m.node("MatMul", {"x", "layer.weight"}, {"a"});
  m.node("Greater", {"a", "limit"}, {"c"});
  m.node("Where", {"c", "a", "limit"}, {"y"});
  const jit::Module module = m.load();
  ASSERT_EQ(module.named_parameters().size(), 1u);
  EXPECT_EQ(module.named_parameters()[0].name, "layer.weight");
  EXPECT_TRUE(module.named_parameters()[0].value.requires_grad());
  ASSERT_EQ(module.named_buffers().size(), 1u);
  EXPECT_EQ(module.named_buffers()[0].name, "limit");
}

// Scales that are kept as logarithms, tables that a window picks from, norms of weights.
TEST(OnnxImport, WhatBecomesAWeightIsAParameter) {
  ModelMaker m;
  m.input("x").output("y");
  m.floats("log_scale", {2}, {0.5, 1});
  m.floats("table", {2, 2}, {1, 2, 3, 4}), m.floats("v", {2}, {3, 4}), m.floats("limit", {}, {2});
  m.ints("at", {2, 1}, {1, 0});
  m.node("Clip", {"log_scale", "", "limit"}, {"clipped"});
  m.node("Exp", {"clipped"}, {"scale"});
  m.node("Mul", {"x", "scale"}, {"a"});
  set_ints(m.node("Transpose", {"table"}, {"turned"}), "perm", {1, 0});
  m.node("GatherND", {"turned", "at"}, {"picked"});
  m.node("Add", {"a", "picked"}, {"b"});
  m.node("ReduceL2", {"v"}, {"norm"});
  m.node("Div", {"b", "norm"}, {"c"});
  m.floats("bias", {2}, {1, 2}), m.floats("none", {1}, {0}), m.ints("first", {1, 1}, {0});
  m.node("ScatterND", {"bias", "first", "none"}, {"half"});
  m.node("Add", {"c", "half"}, {"y"});
  const jit::Module module = m.load();
  module.forward({ones({2, 2})}).toTensor().sum().backward();
  std::set<std::string> names;
  for (const auto& p : module.named_parameters()) {
    names.insert(p.name);
    EXPECT_TRUE(p.value.grad().defined()) << p.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"bias", "log_scale", "table", "v"}));
}

// y = x, n times doubled; and each value on the way.
ModelMaker doubling() {
  ModelMaker m;
  m.input("n", pb::INT64).input("x").output("y").output("all");
  auto& loop = m.node("Loop", {"n", "", "x"}, {"y", "all"});
  auto* a = loop.add_attribute();
  a->set_name("body");
  a->set_type(pb::AttributeProto::GRAPH);
  pb::GraphProto& body = *a->mutable_g();
  for (const char* name : {"i", "go", "v"}) body.add_input()->set_name(name);
  ModelMaker::add_node(body, "Identity", {"go"}, {"go_on"});
  ModelMaker::add_node(body, "Add", {"v", "v"}, {"w"});
  ModelMaker::add_node(body, "Identity", {"w"}, {"seen"});
  for (const char* name : {"go_on", "w", "seen"}) {
    auto* o = body.add_output();
    o->set_name(name);
    o->mutable_type()->mutable_tensor_type()->set_elem_type(pb::FLOAT);
  }
  return m;
}

TEST(OnnxImport, LoopsRunAsOftenAsTheirInputSays) {
  const jit::Module m = doubling().load();
  for (const int64_t n : {0, 3, 17}) {
    const auto out = m.forward({full({}, n, kLong), ones({2})}).toTupleRef().elements();
    EXPECT_EQ(out[0].toTensor().select(0, 0).item<float>(), std::ldexp(1.0f, static_cast<int>(n)));
    EXPECT_EQ(out[1].toTensor().size(0), n);
  }
}

TEST(OnnxImport, FunctionsArePutInPlaceWithTheirAttributes) {
  ModelMaker m;
  auto* own = m.model.add_opset_import();
  own->set_domain("mine");
  own->set_version(1);
  auto* f = m.model.add_functions();
  f->set_domain("mine");
  f->set_name("Leaky");
  f->add_input("a");
  f->add_output("b");
  f->add_attribute("slope");
  f->add_opset_import()->set_version(21);
  auto* n = f->add_node();
  n->set_op_type("LeakyRelu");
  n->add_input("a");
  n->add_output("b");
  auto* ref = n->add_attribute();
  ref->set_name("alpha");
  ref->set_type(pb::AttributeProto::FLOAT);
  ref->set_ref_attr_name("slope");
  m.input("x").output("y");
  auto& call = m.node("Leaky", {"x"}, {"y"});
  call.set_domain("mine");
  auto* slope = call.add_attribute();
  slope->set_name("slope");
  slope->set_type(pb::AttributeProto::FLOAT);
  slope->set_f(0.5f);
  EXPECT_EQ(m.load().forward({full({1}, -2.0)}).toTensor().item<float>(), -1.0f);
}

TEST(OnnxImport, ModelsSayWhatTheyAre) {
  ModelMaker m;
  m.model.set_producer_name("maker");
  auto* e = m.model.add_metadata_props();
  e->set_key("author");
  e->set_value("nobody");
  m.input("x").output("y");
  m.node("Relu", {"x"}, {"y"});
  const auto info = model_info(m.load());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->producer_name, "maker");
  EXPECT_EQ(info->metadata.at("author"), "nobody");
  EXPECT_EQ(info->opsets.at(""), 21);
  EXPECT_EQ(info->inputs, std::vector<std::string>{"x"});
  EXPECT_FALSE(model_info(jit::Module()));
}

TEST(OnnxImport, OperatorsHaveVersionsThatDoNotOverlap) {
  std::map<std::pair<std::string, std::string>, std::vector<OperatorInfo>> by_name;
  for (const OperatorInfo& o : operators()) by_name[{o.domain, o.name}].push_back(o);
  EXPECT_GT(by_name.size(), 180u);
  for (const auto& [name, versions] : by_name) {
    for (int64_t v = 1; v <= newest_opset(); ++v) {
      int known = 0;
      for (const OperatorInfo& o : versions)
        known += v >= o.since && (o.until == 0 || v <= o.until);
      EXPECT_LE(known, 1) << name.second << " version " << v;
    }
  }
}

// A constant of the program has no name of a module's part.
TEST(OnnxImport, NumbersOfModulesAreParameters) {
  ModelMaker m;
  m.input("x").output("y");
  m.floats("norm.scale", {}, {0.5F});
  m.floats("norm.shift", {1}, {2});
  m.floats("onnx::Mul_3", {}, {3});
  m.floats("/layer/Constant.value", {1}, {4});
  m.node("Exp", {"norm.scale"}, {"e"});
  m.node("Mul", {"x", "e"}, {"a"});
  m.node("Add", {"a", "norm.shift"}, {"b"});
  m.node("Mul", {"b", "onnx::Mul_3"}, {"c"});
  m.node("Div", {"c", "/layer/Constant.value"}, {"y"});
  const jit::Module module = m.load();
  std::map<std::string, Tensor> learned;
  for (const auto& p : module.named_parameters())
    if (p.value.requires_grad()) learned[p.name] = p.value;
  ASSERT_EQ(learned.size(), 2u);
  const Tensor x = rand({3, 2});
  module.forward({x}).toTensor().sum().backward();
  EXPECT_TRUE(learned.at("norm.shift").grad().allclose(full({1}, 4.5)));
  EXPECT_TRUE(learned.at("norm.scale").grad().allclose(x.sum() * std::exp(0.5) * 0.75));
}

TEST(OnnxImport, NamesThatModulesHaveThemselvesGetAnUnderscore) {
  ModelMaker m;
  m.input("x").output("y");
  m.floats("children", {2}, {1, 2});
  m.floats("train.weight", {2}, {3, 4});
  m.node("Mul", {"x", "children"}, {"a"});
  m.node("Add", {"a", "train.weight"}, {"y"});
  std::vector<std::string> names;
  const jit::Module module = m.load();
  for (const auto& p : module.named_parameters()) names.push_back(p.name);
  for (const auto& p : module.named_buffers()) names.push_back(p.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"children_", "train_.weight"}));
}

}  // namespace
}  // namespace tenon::onnx
