// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "onnx/proto/read.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

std::string model_bytes() {
  pb::ModelProto m;
  m.set_ir_version(10);
  m.mutable_graph()->add_node()->set_op_type("Relu");
  return m.SerializeAsString();
}

TEST(OnnxProto, KnowsAModelByItsFirstBytes) {
  EXPECT_TRUE(looks_like_model(model_bytes()));
  EXPECT_FALSE(looks_like_model("PK\x03\x04"));
  EXPECT_FALSE(looks_like_model(""));
  EXPECT_FALSE(looks_like_model("\x89HDF"));
}

TEST(OnnxProto, DamageIsAnErrorThatNamesTheFile) {
  pb::ModelProto m;
  const std::string good = model_bytes();
  parse_message(good, m, "m.onnx");
  EXPECT_EQ(m.graph().node(0).op_type(), "Relu");
  try {
    parse_message(good.substr(0, good.size() - 2), m, "m.onnx");
    FAIL() << "a message that is cut short was read";
  } catch (const ValueError& e) {
    EXPECT_NE(e.msg().find("m.onnx"), std::string::npos);
  }
}

TEST(OnnxProto, NestingIsBounded) {
  pb::ModelProto m;
  pb::GraphProto* g = m.mutable_graph();
  for (int i = 0; i < kMaxMessageDepth; ++i) g = g->add_node()->add_attribute()->mutable_g();
  pb::ModelProto into;
  EXPECT_THROW(parse_message(m.SerializeAsString(), into, "m.onnx"), ValueError);
}

}  // namespace
}  // namespace tenon::onnx
