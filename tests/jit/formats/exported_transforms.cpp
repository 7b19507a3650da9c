// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Exported programs as torch leaves them before decomposition (data/make_transforms.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/type.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

using Json = nlohmann::json;

TEST(JitExportedTransforms, VmapIsALoopOverTheBatch) {
  expect_results("exported_vmap.pt2", {counted({3, 3}), tensor({2, 0, 1})});
}

// Loops of vmap are loops that torch reads.
TEST(JitExportedTransforms, VmapIsSavedAsTorchScript) {
  const Module m = load(data("exported_vmap.pt2"));
  m.unit()->kept = nullptr;  // it would be saved as the file that it is
  std::stringstream file;
  m.save(file);
  const auto zip = formats::ZipReader::from_bytes(file.str(), "saved");
  for (const auto& e : zip->entries())
    EXPECT_EQ(zip->read(e).find("exported.batch"), std::string::npos) << e.name;
  const std::vector<IValue> inputs = {counted({3, 3}), tensor({2, 0, 1})};
  std::vector<Tensor> want, got;
  add_tensors(m.forward(inputs), want);
  add_tensors(load(file).forward(inputs), got);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(allclose(got[i], want[i])) << i;
}

// As torch 2.6 wrote it; later versions always go over dimension 0.
TEST(JitExportedTransforms, AssociativeScanOverADimension) {
  const std::string entry = "serialized_exported_program.json";
  const std::string file = changed("exported_2_6.pt2", entry, [](std::string text) {
    for (std::size_t at; (at = text.find("-Infinity")) != text.npos;) text.replace(at, 9, "-9");
    for (std::size_t at; (at = text.find("Infinity")) != text.npos;) text.replace(at, 8, "9");
    Json j = Json::parse(text);
    Json& graph = j["graph_module"]["graph"];
    for (Json& n : graph["nodes"]) {
      if (n["target"] != "torch.ops.higher_order.scan") continue;
      n["target"] = "torch.ops.higher_order.associative_scan";
      n["inputs"] = {n["inputs"][0], n["inputs"][2], n["inputs"][3]};
      n["inputs"][0]["arg"]["as_graph"]["graph"]["outputs"].erase(1);
      n["outputs"].erase(1);
    }
    graph["outputs"][2] = graph["outputs"][1];
    j["graph_module"]["signature"]["output_specs"][2] =
        j["graph_module"]["signature"]["output_specs"][1];
    return j.dump();
  });
  std::istringstream in(file);
  const Tensor rows = counted({3, 4});
  std::vector<Tensor> made;
  add_tensors(load(in).forward({tensor({4, 1}), counted({3}), rows}), made);
  Tensor running = rows.select(1, 0);
  for (int64_t i = 0; i < 4; ++i) {
    if (i > 0) running = running * 0.5 + rows.select(1, i);
    EXPECT_TRUE(allclose(made.at(1).select(1, i), running)) << i;
  }
}

TEST(JitExportedTransforms, TurnsOfALoopAreStacked) {
  expect_results("exported_stacked.pt2", {tensor(3), counted({3, 3})});
}

TEST(JitExportedTransforms, HintsAndDtypesOfResults) {
  const Tensor q = tensor({127, -128, 3, -7, 100, 2, 5, -3, 120}).to(kChar).reshape({3, 3});
  expect_results("exported_hints.pt2", {counted({3, 3}), q});
}

// A region in a region in a region: each would be a call in the reader.
TEST(JitExportedTransforms, DeepLevelsOfVmapAreRefused) {
  const std::string file =
      changed("exported_vmap.pt2", "models/model.json", [](const std::string& text) {
        Json j = Json::parse(text);
        Json& nodes = j["graph_module"]["graph"]["nodes"];
        Json all = Json::array();
        const auto find = [&](const std::string& end) {
          for (const Json& n : nodes)
            if (n["target"].get<std::string>().find(end) != std::string::npos) return n;
          return Json();
        };
        for (int i = 0; i < 1000; ++i) all.push_back(find("_vmap_increment_nesting"));
        for (int i = 0; i < 1000; ++i) all.push_back(find("_vmap_decrement_nesting"));
        for (const Json& n : nodes) all.push_back(n);
        nodes = all;
        return j.dump();
      });
  std::istringstream in(file);
  try {
    (void)load(in);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("nested more than 32 deep"), std::string::npos)
        << e.what();
  }
}

TEST(JitExportedTransforms, BackwardInTheProgramGivesGradients) {
  expect_results("exported_joint.pt2", {tensor({0, 3, 1, 4, 2, 2}).view({2, 3})});
}

TEST(JitExportedTransforms, QuantizedOperators) {
  expect_results("exported_quantized.pt2", {counted({2, 3})});
}

TEST(JitExportedTransforms, QuantizedBlocks) {
  const Tensor rows = tensor({127, -128, 3, -7, 100, 2, 5, -3, 1, 2, 3, 4, -5, -6, -7, -8});
  expect_results("exported_affine.pt2", {counted({4, 8}) - 0.3, rows.to(kChar).reshape({4, 4})});
}

TEST(JitExportedTransforms, ProductsOfGroups) {
  expect_results("exported_experts.pt2", {counted({8, 16}), tensor({3, 8}).to(kInt)});
}

TEST(JitExportedTransforms, UnsignedBuffers) {
  const std::string name = "exported_unsigned.pt2";
  expect_results(name, {tensor({2, 0.5}, kDouble)});
  const Tensor u32 = load(data(name)).attr("u32").toTensor();
  EXPECT_EQ(u32.scalar_type(), kUInt32);
  EXPECT_EQ(u32[1].item<int64_t>(), 4294967295);
}

TEST(JitExportedTransforms, WeightsInFloatsOf8Bits) {
  const std::string name = "exported_float8.pt2";
  expect_results(name, {counted({2, 3}) * 1.1, tensor({65534, 7}).to(kUInt16)});
  EXPECT_EQ(load(data(name)).attr("weight").toTensor().scalar_type(), kFloat8_e4m3fn);
}

TEST(JitExportedTransforms, ClassesOfOthersAreDictionariesAndNamedTuples) {
  const Module m = load(data("exported_classes.pt2"));
  const Tensor x = counted({3, 3});
  const IValue pair =
      core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::vector<IValue>{x, x * 2}));
  const IValue out = m.forward({pair});
  ASSERT_TRUE(out.isGenericDict());
  const auto* last = out.toDictRef().find(IValue("last"));
  ASSERT_NE(last, nullptr);
  EXPECT_TRUE(equal(last->toTensor(), x * 3));
  const auto* made = out.toDictRef().find(IValue("pair"));
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(equal(made->toTupleRef().elements().at(0).toTensor(), x * 2));
  EXPECT_EQ(m.get_method("forward").function().schema().arguments.at(1).type->str(),
            "__torch__.models.Pair");
}

}  // namespace
}  // namespace tenon::jit
