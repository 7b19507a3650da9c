// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is wrong with a model, or not supported, is an error that names the place.
#include <filesystem>
#include <fstream>

#include "tenon/creation.h"
#include "tests/onnx/support.h"

namespace tenon::onnx {
namespace {

ModelMaker relu() {
  ModelMaker m;
  m.input("x").output("y");
  m.node("Relu", {"x"}, {"y"}).set_name("the_relu");
  return m;
}

TEST(OnnxHostile, AllMissingOperatorsAreTold) {
  ModelMaker m;
  m.input("x").output("y");
  m.node("Reluu", {"x"}, {"a"});
  m.node("Reluu", {"a"}, {"b"});
  m.node("Nothing", {"b"}, {"y"}).set_domain("vendor");
  const std::string e = error_of<NotImplementedError>(m.bytes());
  EXPECT_TRUE(has(e, "not supported (2)")) << e;
  EXPECT_TRUE(has(e, "Reluu (version 21), 2 times; similar: Relu")) << e;
  EXPECT_TRUE(has(e, "vendor::Nothing (version 1), 1 time")) << e;
}

// The file does not say how it has the weights.
TEST(OnnxHostile, ModelsForOneProcessorAreRefusedWithAdvice) {
  ModelMaker m;
  m.input("x").output("y").node("ReorderOutput", {"x"}, {"y"}).set_domain("com.microsoft.nchwc");
  EXPECT_TRUE(has(error_of(m.bytes()), "up to ORT_ENABLE_EXTENDED"));
}

TEST(OnnxHostile, VersionsThatAreNotKnownAreTold) {
  ModelMaker m(8);
  m.input("x").output("y");
  m.node("Where", {"x", "x", "x"}, {"y"});
  const std::string e = error_of<NotImplementedError>(m.bytes());
  EXPECT_TRUE(has(e, "Where (version 8), 1 time; known are versions 9 and later")) << e;
}

TEST(OnnxHostile, MissingProducersNameNodeAndValue) {
  ModelMaker m = relu();
  m.graph->mutable_node(0)->set_input(0, "gone");
  const std::string e = error_of<ValueError>(m.bytes());
  EXPECT_TRUE(has(e, "the_relu") && has(e, "'gone'")) << e;
}

TEST(OnnxHostile, CyclesAreRefused) {
  ModelMaker m;
  m.input("x").output("y");
  m.node("Add", {"x", "b"}, {"a"});
  m.node("Relu", {"a"}, {"b"});
  m.node("Relu", {"b"}, {"y"});
  EXPECT_TRUE(has(error_of<ValueError>(m.bytes()), "no node before this one makes 'b'"));
}

TEST(OnnxHostile, FunctionsThatCallThemselvesAreRefused) {
  ModelMaker m = relu();
  auto* f = m.model.add_functions();
  f->set_name("Relu");
  f->add_input("x");
  f->add_output("y");
  f->add_opset_import()->set_version(21);
  *f->add_node() = m.graph->node(0);
  EXPECT_TRUE(has(error_of<ValueError>(m.bytes()), "nest deeper"));
}

TEST(OnnxHostile, SizesAndDataMustAgree) {
  ModelMaker m = relu();
  m.floats("w", {1000000, 1000000}, {1, 2});
  EXPECT_TRUE(has(error_of<ValueError>(m.bytes()), "tensor 'w'"));
  ModelMaker huge = relu();
  huge.floats("w", {int64_t{1} << 62, int64_t{1} << 62}, {1});
  EXPECT_TRUE(has(error_of<ValueError>(huge.bytes()), "more elements than can be counted"));
  ModelMaker negative = relu();
  negative.floats("w", {-1}, {1});
  EXPECT_TRUE(has(error_of<ValueError>(negative.bytes()), "a dimension of size -1"));
}

TEST(OnnxHostile, UnknownAttributesAreRefused) {
  ModelMaker m = relu();
  set_int(*m.graph->mutable_node(0), "strange", 1);
  EXPECT_TRUE(has(error_of<NotImplementedError>(m.bytes()), "attribute 'strange'"));
}

TEST(OnnxHostile, ErrorsOfARunNameTheNode) {
  ModelMaker m;
  m.input("a").input("b").output("y");
  m.node("MatMul", {"a", "b"}, {"y"}).set_name("product");
  const jit::Module module = m.load();
  try {
    (void)module.forward({ones({2, 3}), ones({2, 3})});
    FAIL() << "shapes that do not fit were multiplied";
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.msg(), "product") && has(e.msg(), "MatMul(a, b)")) << e.msg();
  }
}

// A folder with a model whose weight is in another file.
class External : public testing::Test {
 public:
  External()
      : folder_(std::filesystem::temp_directory_path() /
                ("tenon_onnx_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_ / "inside");
    const std::vector<float> values = {9, 1, 2};
    std::ofstream(folder_ / "inside/weights.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), 12);
  }
  ~External() override { std::filesystem::remove_all(folder_); }
  // The model that names `location`, loaded.
  jit::Module load_model(const std::string& location, const std::string& offset,
                         const std::string& length) {
    ModelMaker m;
    m.input("x").output("y");
    auto& w = m.floats("w", {2}, {});
    w.set_data_location(pb::TensorProto::EXTERNAL);
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"location", location}, {"offset", offset}, {"length", length}}) {
      auto* e = w.add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
    m.node("Add", {"x", "w"}, {"y"});
    const std::string path = (folder_ / "inside/m.onnx").string();
    std::ofstream(path, std::ios::binary) << m.bytes();
    return load(path);
  }
  std::string refusal(const std::string& location, const std::string& offset = "4",
                      const std::string& length = "8") {
    try {
      (void)load_model(location, offset, length);
    } catch (const ValueError& e) {
      return e.msg();
    }
    return "no error";
  }
  std::filesystem::path folder_;
};

TEST_F(External, IsRead) {
  const jit::Module m = load_model("weights.bin", "4", "8");
  const Tensor y = m.forward({zeros({2})}).toTensor();
  EXPECT_EQ(y.select(0, 0).item<float>(), 1);
  EXPECT_EQ(y.select(0, 1).item<float>(), 2);
}

TEST_F(External, StaysInTheFolder) {
  std::ofstream(folder_ / "secret.bin") << "12345678";
  EXPECT_TRUE(has(refusal("../secret.bin", "0"), "not inside of the model's folder"));
  EXPECT_TRUE(has(refusal((folder_ / "secret.bin").string(), "0"), "not inside"));
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "inside/link.bin");
  EXPECT_TRUE(has(refusal("link.bin", "0"), "a link out of the model's folder"));
  EXPECT_TRUE(has(refusal("gone.bin"), "gone.bin"));
}

TEST_F(External, RangesAreChecked) {
  EXPECT_TRUE(has(refusal("weights.bin", "13"), "begins at 13"));
  EXPECT_TRUE(has(refusal("weights.bin", "8", "8"), "ends at 16"));
  EXPECT_TRUE(has(refusal("weights.bin", "-1"), "not a number of bytes"));
  EXPECT_TRUE(has(refusal("weights.bin", "0", "4"), "has 4 bytes of data, not 8"));
}

}  // namespace
}  // namespace tenon::onnx
