// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Formats that other libraries read for jit::load.
#include "tenon/jit/foreign.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/jit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

bool probe(std::string_view head) noexcept { return head.substr(0, 8) == "mine 1.0"; }
Module read(const std::string& path, std::string_view bytes, std::optional<Device>,
            std::map<std::string, std::string>*) {
  EXPECT_TRUE(path.empty());
  Module m("__torch__.Mine");
  m.register_attribute("size", Type::integer(), IValue(bytes.size()));
  return m;
}
std::string describe(const Module& m) { return m.hasattr("size") ? "mine, version 1" : ""; }
constexpr ForeignFormat kMine{"mine", probe, read, describe};

TEST(JitForeign, AFormatThatIsRegisteredIsRead) {
  register_foreign_format(kMine);
  std::stringstream file("mine 1.0 and so on");
  const Module m = load(file);
  EXPECT_EQ(m.attr("size").toInt(), 18);
  EXPECT_EQ(describe_foreign(m), "mine, version 1");
  EXPECT_EQ(describe_foreign(Module()), "");
}

// Two copies of the library in a process would not know each other's types.
TEST(JitForeign, OnnxIsNotOpenedWhereItWouldBringASecondLibrary) {
  std::stringstream file(std::string("\x08\x07\x12\x03tor", 7));
  try {
    (void)load(file);
    FAIL() << "it was loaded";
  } catch (const NotImplementedError& e) {
    EXPECT_NE(e.msg().find("looks like an ONNX model, which libtenon_onnx reads"),
              std::string::npos)
        << e.msg();
  }
}

}  // namespace
}  // namespace tenon::jit
