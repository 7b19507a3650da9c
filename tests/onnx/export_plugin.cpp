// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of plugins, which say themselves what they are in ONNX (examples/plugin_custom).
#include <gtest/gtest.h>

#include <sstream>

#include "onnx/export/form.h"
#include "tenon/call.h"
#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;
using onnx::exporting::Form;
using onnx::exporting::parse_forms;

namespace {

TEST(OnnxExportPlugin, AnOperatorOfAPluginIsWrittenAsItSays) {
  const Tensor x = randn({2, 3}).to(kDouble);
  const auto traced = jit::trace(
      [](const Tensor& t) {
        return tenon::call("acme::scale", {t.exp(), 3.0})[0];
      },
      {x});
  std::ostringstream out;
  onnx::export_(traced.module(), {x}, out);
  const jit::Module back = onnx::load_bytes(out.str());
  const Tensor y = randn({2, 3}).to(kDouble);
  EXPECT_LE((back.forward({y}).toTensor() - y.exp() * 3).abs().max().item<double>(), 1e-12);
  const auto known = onnx::exported_operators();
  EXPECT_NE(std::find(known.begin(), known.end(), "acme::scale"), known.end());
}

TEST(OnnxExportPlugin, TheTextIsThatOfFunctions) {
  const std::vector<Form> forms = parse_forms(R"(
# two of them
a::first (x, n) => (y, z) {
  t = Split <axis : int = -1, num_outputs = @n> (x)   # a comment
  y, z = com.vendor.Two <mode = "up, down", sizes = [1, 2], scales : floats = [0.5, 2]> (t, , x)
}
a::second () => (y) { y = Constant <value_float = 2e-3> () })");
  ASSERT_EQ(forms.size(), 2u);
  EXPECT_EQ(forms[0].op, "a::first");
  EXPECT_EQ(forms[0].parameters, (std::vector<std::string>{"x", "n"}));
  EXPECT_EQ(forms[0].nodes[0].attributes[1].argument, "n");
  EXPECT_EQ(forms[0].nodes[0].attributes[0].value.toInt(), -1);
  const auto& two = forms[0].nodes[1];
  EXPECT_EQ(two.domain, "com.vendor");
  EXPECT_EQ(two.type, "Two");
  EXPECT_EQ(two.inputs, (std::vector<std::string>{"t", "", "x"}));
  EXPECT_EQ(two.attributes[0].value.toStringView(), "up, down");
  EXPECT_TRUE(two.attributes[1].value.toListRef().items[0].isInt());
  EXPECT_TRUE(two.attributes[2].value.toListRef().items[1].isDouble());
  EXPECT_DOUBLE_EQ(forms[1].nodes[0].attributes[0].value.toDouble(), 2e-3);
}

TEST(OnnxExportPlugin, ADamagedTextIsToldByItsLine) {
  const auto refusal = [](const char* text) {
    return test::text_of([&] { (void)parse_forms(text); });
  };
  test::expect_words(refusal("a::b (x) => (y) {\n  y = (x)\n}"), {"line 2", "an operator"});
  test::expect_words(refusal("a (x)"), {"line 1", "'::'"});
  test::expect_words(refusal("a::b (x) => (y) { y = C <k = 1x> (x) }"), {"a number", "1x"});
  test::expect_words(refusal("a::b (x) => (y) { y = C <k = \"no end> (x) }"),
                     {"the end of a text"});
  test::expect_words(refusal("a::b (x) => (y) { y = C (x)"), {"a name"});
  test::expect_words(refusal("a::b (x) => (y) { y = C (x) #"), {"a name"});
}

}  // namespace
