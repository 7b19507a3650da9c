// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The archives of data/ are written by torch (data/make.py), which also says what they compute.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

std::string content(const std::string& name) {
  std::ifstream in(data(name), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
Tensor six() { return arange(6, kFloat).view({2, 3}); }

Module saved_and_loaded(const Module& m) {
  std::stringstream file;
  m.save(file);
  return load(file);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string refusal(const std::string& bytes) {
  std::stringstream in(bytes);
  try {
    (void)load(in);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

Tensor weight(const Module& m, const char* child) {
  return Module(m.attr(child).toObject(), m.unit()).attr("weight").toTensor();
}

void check_attributes(const Module& m) {
  const Tensor y = m.forward({six()}).toTensor();
  EXPECT_TRUE(equal(y, tensor({{58., 228.}, {193., 768.}}).to(kFloat)));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(m.run_method("total", {}).toTensor().item<float>(), 57);
  std::string names;
  for (const auto& p : m.named_parameters()) names += p.name + " ";
  EXPECT_EQ(names, "bias first.weight ");
  names.clear();
  for (const auto& b : m.named_buffers()) names += b.name + " ";
  EXPECT_EQ(names, "whole part first.steps ");
  EXPECT_FALSE(m.attr("bias").toTensor().requires_grad());
  EXPECT_TRUE(m.attr("whole").toTensor().is_alias_of(m.attr("part").toTensor()));
  EXPECT_TRUE(weight(m, "first").is_same(weight(m, "second")));
  EXPECT_EQ(m.attr("names").toDictRef().at("a").toIntVector(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(type_of(m.attr("pairs"))->annotation(), "List[Tuple[int, str]]");
  EXPECT_TRUE(m.attr("maybe").isNone());
  EXPECT_EQ(m.modules().size(), 3u);
}

TEST(JitTorchScript, LoadsAttributes) {
  ExtraFiles extra{{"notes.txt", ""}, {"other.txt", "kept"}};
  const Module m = load(data("attributes.pt"), std::nullopt, extra);
  EXPECT_EQ(extra["notes.txt"], "of attributes.pt");
  EXPECT_EQ(extra["other.txt"], "kept");
  check_attributes(m);
  std::stringstream in(content("attributes.pt"));
  check_attributes(load(in));
}

void check_classes(const Module& m) {
  const IValue four = m.forward({six(), 4}), nine = m.forward({six(), 9});
  EXPECT_EQ(four.toTupleRef().items[0].toTensor().item<float>(), 13.25f);
  EXPECT_EQ(nine.toTupleRef().items[0].toTensor().item<float>(), 15.25f);
  EXPECT_EQ(four.toTupleRef().items[1].toInt(), 6);
  EXPECT_EQ(nine.toTupleRef().items[2].toIntVector().back(), 64);
  EXPECT_EQ(m.attr("color").toEnumRef().name, "BLUE");
}

TEST(JitTorchScript, LoadsClassesEnumsAndFunctions) { check_classes(load(data("classes.pt"))); }

TEST(JitTorchScript, LoadsStateByMethods) {
  const Module m = load(data("state.pt"));
  EXPECT_EQ(m.forward({six()}).toTensor()[1][2].item<float>(), 51);
  EXPECT_TRUE(m.attr("ready").toBool());
}

TEST(JitTorchScript, RunsHooks) {
  const Module m = load(data("hooks.pt"));
  const Tensor with = tensor({{16., 52.}, {34., 124.}}).to(kFloat);
  EXPECT_TRUE(equal(m({six()}).toTensor(), with));
  EXPECT_TRUE(equal(m.forward({six() + 1}).toTensor(), with));
  EXPECT_TRUE(equal(saved_and_loaded(m)({six()}).toTensor(), with));
}

// A class that is derived from ModuleDict: nothing in an archive says so.
TEST(JitTorchScript, IndexesModulesByAnInterface) {
  using namespace std::string_literals;
  formats::ZipWriter out("archive");
  out.add("data.pkl",
          "\x80\x02"
          "c__torch__\nModes\n)\x81}(X\x02\0\0\0upc__torch__\nStep\n)\x81}X\x02\0\0\0byK\x02sb"
          "X\x04\0\0\0downc__torch__\nStep\n)\x81}X\x02\0\0\0byJ\xfd\xff\xff\xffsbub."s);
  out.add("constants.pkl", "\x80\x02)."s);
  out.add("version", "3\n"s);
  out.add("code/__torch__.py",
          "class Modes(Module):\n"
          "  __parameters__ = []\n"
          "  __buffers__ = []\n"
          "  up : __torch__.Step\n"
          "  down : __torch__.Step\n"
          "  def forward(self: __torch__.Modes, x: int, key: str) -> int:\n"
          "    step : __torch__.Kind = self[key]\n"
          "    return (step).forward(x, )\n"
          "class Step(Module):\n"
          "  __parameters__ = []\n"
          "  __buffers__ = []\n"
          "  by : int\n"
          "  def forward(self: __torch__.Step, x: int) -> int:\n"
          "    return torch.add(x, self.by)\n"
          "class Kind(ModuleInterface):\n"
          "  def forward(self, x: int) -> int:\n"
          "    pass\n"s);
  std::istringstream in(out.finish());
  const Module m = load(in);
  EXPECT_EQ(m.forward({5, "up"}).toInt(), 7);
  EXPECT_EQ(m.forward({5, "down"}).toInt(), 2);
  EXPECT_THROW((void)m.forward({5, "left"}), Error);
}

TEST(JitTorchScript, LoadsOldArchives) {
  const Module m = load(data("old.pt"));
  EXPECT_TRUE(equal(m.forward({six()}).toTensor(), tensor({{7., 16.}, {16., 52.}}).to(kFloat)));
}

TEST(JitTorchScript, SavesWhatItLoads) {
  check_attributes(saved_and_loaded(load(data("attributes.pt"))));
  check_classes(saved_and_loaded(load(data("classes.pt"))));
  const Module state = saved_and_loaded(load(data("state.pt")));
  EXPECT_EQ(state.attr("table").toIntVector(), (std::vector<int64_t>{100, 200, 300}));
}

TEST(JitTorchScript, SavesOverTheFileThatItIsMappedFrom) {
  const auto path = std::filesystem::temp_directory_path() / "tenon_jit_saved_over.pt";
  std::filesystem::copy_file(data("attributes.pt"), path,
                             std::filesystem::copy_options::overwrite_existing);
  {
    const Module m = load(path);
    m.save(path, {{"notes.txt", "again"}});
    check_attributes(m);
  }
  ExtraFiles extra{{"notes.txt", ""}};
  check_attributes(load(path, std::nullopt, extra));
  EXPECT_EQ(extra["notes.txt"], "again");
  std::filesystem::remove(path);
}

// A link stays, and so do the permissions of the file that it names.
TEST(JitTorchScript, SavesAsFilesAreSaved) {
  namespace fs = std::filesystem;
  const auto folder = fs::temp_directory_path() / "tenon_jit_saved";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto file = folder / "net.pt", link = folder / "link.pt";
  const Module m = load(data("state.pt"));
  m.save(file);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("net.pt", link);
  m.save(link);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(load(file).attr("table").toIntVector()[0], 100);
  EXPECT_THROW(m.save(folder), ValueError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  fs::remove_all(folder);
}

TEST(JitTorchScript, SaysThatForeignClassesAreNotRead) {
  const std::string text =
      refusal(changed("classes.pt", "code/__torch__/programs.py", [](const std::string& code) {
        return code +
               "def other(x: Tensor) -> Tensor:\n  y = "
               "annotate(List[__torch__.torch.classes.text.Vocab], [])\n  return x\n";
      }));
  expect_in(text, "needs classes of C++ in torch (text.Vocab)");
}

TEST(JitTorchScript, SavesModulesThatWereMadeHere) {
  Module child("Child");
  child.register_parameter("w", full({3}, 2.).set_requires_grad(true));
  child.define("def forward(self, x: Tensor) -> Tensor:\n  return x * self.w\n");
  Module m("my.Net");
  m.register_module("0", child);
  m.register_buffer("shift", ones({3}));
  m.register_attribute("n", Type::integer(), 3);
  m.define(
      "def twice(self, x: Tensor, times: int = 2) -> Tensor:\n"
      "  i = 0\n"
      "  while i < times and bool(x.sum() < 100):\n"
      "    x = x + self.shift\n"
      "    i += 1\n"
      "  return x\n"
      "def forward(self, x: Tensor):\n"
      "  a, b = x, x + 1\n"
      "  for k in range(self.n):\n"
      "    a, b = b, a\n"
      "  out: Optional[Tensor] = None\n"
      "  if self.n > 2:\n"
      "    out = a\n"
      "  assert out is not None, 'never'\n"
      "  return self.twice(out, times=self.n)\n");
  const IValue x = zeros({3});
  const Tensor expected = m.forward({x}).toTensor();
  EXPECT_TRUE(equal(expected, full({3}, 4.)));
  EXPECT_TRUE(equal(saved_and_loaded(m).forward({x}).toTensor(), expected));
}

// A dtype is an integer in the text, and torch's language has only view_copy for it.
TEST(JitTorchScript, ViewsAsAnotherDtypeAreCopiesIfNothingIsWritten) {
  const auto saved = [](const std::string& body) {
    const Module m = define("def forward(self, x: Tensor):\n" + body);
    std::stringstream file;
    m.save(file);
    const Tensor want = m.forward({ones({2})}).toTensor();
    EXPECT_TRUE(load(file).forward({ones({2})}).toTensor().equal(want));
    return file.str();
  };
  EXPECT_NE(saved("  return torch.view(x, dtype=torch.int32)\n").find("view_copy(x, dtype=3)"),
            std::string::npos);
  EXPECT_EQ(saved("  y = x.clone()\n  torch.view(y, dtype=torch.int32).zero_()\n  return y\n")
                .find("view_copy"),
            std::string::npos);
}

TEST(JitTorchScript, ComplexParametersAreSavedAndTrain) {
  Module m("my.Spectrum");
  const Tensor w = complex(full({3}, 2.), full({3}, -1.));
  m.register_parameter("w", w.set_requires_grad(true));
  m.define("def forward(self, x: Tensor) -> Tensor:\n  return torch.abs(x * self.w)\n");
  const Module back = saved_and_loaded(m);
  const Tensor p = back.attr("w").toTensor();
  EXPECT_TRUE(p.requires_grad() && p.is_leaf() && equal(p.detach(), w.detach()));
  back.forward({ones({3})}).toTensor().sum().backward();
  EXPECT_TRUE(allclose(p.grad(), (w / w.abs()).detach()));
}

TEST(JitModule, ConvertsAndCopies) {
  const Module m = load(data("attributes.pt"));
  EXPECT_TRUE(m.is_training());
  m.eval();
  for (const Module& each : m.modules()) EXPECT_FALSE(each.is_training());
  const Module copy = m.clone();
  EXPECT_TRUE(weight(copy, "first").is_same(weight(copy, "second")));
  EXPECT_FALSE(copy.attr("first").is(m.attr("first")));
  copy.to(kDouble);
  EXPECT_EQ(copy.parameters()[0].scalar_type(), kDouble);
  EXPECT_EQ(copy.named_buffers()[2].value.scalar_type(), kLong);
  EXPECT_EQ(m.parameters()[0].scalar_type(), kFloat);
  EXPECT_TRUE(copy.parameters()[1].requires_grad());
  check_attributes(m);
  m.forward({six()}).toTensor().sum().backward();
  EXPECT_TRUE(m.parameters()[1].grad().defined());
  m.zero_grad();
  EXPECT_FALSE(m.parameters()[1].grad().defined());
  EXPECT_THROW(m.setattr("rate", "text"), TypeError);
  m.setattr("rate", 1.0);
  EXPECT_THROW((void)m.attr("absent"), Error);
  EXPECT_EQ(m.attr("absent", 5).toInt(), 5);
  try {
    (void)m.get_method("farward");
    FAIL();
  } catch (const Error& e) {
    expect_in(e.what(), "has no method 'farward'; it has forward, total");
  }
  expect_in(m.dump_to_str(), "second : module __torch__.programs.Inner {");
  testing::internal::CaptureStdout();
  m.dump();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), m.dump_to_str());
}

TEST(JitTorchScript, ErrorsNameTheEntry) {
  const auto in_code = [](const char* from, const char* to) {
    return refusal(changed("attributes.pt", "code/__torch__/programs.py",
                           [&](std::string t) { return replaced(std::move(t), from, to); }));
  };
  expect_in(in_code("torch.linear(", "torch.liner("), "aten::liner, 1 call");
  expect_in(in_code("torch.linear(", "torch.liner("), "aten::linear");
  expect_in(in_code("return torch", "retrun torch"), "programs.py");
  expect_in(in_code("rate : float", "rate : int"), "attribute 'rate'");
  expect_in(in_code("maybe : Optional[Tensor]", "maybe : Tensor"), "attribute 'maybe'");
  expect_in(in_code("class Inner(", "class Outer("), "__torch__.programs.Inner");
  const auto in_pickle = [](const char* from, const char* to) {
    return refusal(changed("attributes.pt", "data.pkl",
                           [&](std::string t) { return replaced(std::move(t), from, to); }));
  };
  expect_in(in_pickle("FloatStorage", "QInt8Storag"), "entry 'data.pkl': ");
  expect_in(in_pickle("FloatStorage", "DoubleStorage"), "elements of float64");
  expect_in(refusal(changed("old.pt", "version", [](auto) { return "11\n"; })), "version 11");
  expect_in(refusal(changed("old.pt", "version", [](auto) { return "x"; })), "not a number");
  expect_in(refusal(changed("attributes.pt", "data/0", [](std::string t) { return t + "x"; })),
            "data/0");
  expect_in(refusal(changed("old.pt", "data.pkl", [](std::string t) { return t.substr(0, 99); })),
            "entry 'data.pkl': ");
}

TEST(JitLoad, SaysWhatAFileLooksLike) {
  using namespace std::literals;
  expect_in(refusal(""), "it is empty");
  expect_in(refusal("text"), "neither a TorchScript archive nor an exported program");
  expect_in(refusal("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.rest"s),
            "state dict");
  expect_in(refusal("\x08\x0a\x12\x07pytorch"s), "ONNX");
  expect_in(refusal("\x10\0\0\0\0\0\0\0{}"s), "safetensors");
  formats::ZipWriter plain("a");
  plain.add("data.pkl", "x");
  plain.add("version", "3");
  expect_in(refusal(plain.finish()), "torch.save");
  formats::ZipWriter other("a");
  other.add("x", "x");
  expect_in(refusal(other.finish()), "zip archive");
  EXPECT_THROW((void)load("/there/is/no/such/file.pt"), ValueError);
}

// As torch writes them: its loader of programs knows no other forms.
TEST(JitTorchScript, SparseTensorsAndFloatsOf8BitsAreSaved) {
  Module m("__torch__.Rare");
  const Tensor mix = tensor({{0.0, 2.0, 0.0}, {1.0, 0.0, 3.0}}, kFloat);
  m.register_attribute("mix", Type::tensor(), mix.to_sparse());
  m.register_attribute("scale", Type::tensor(), full({2}, 0.5).to(kFloat8_e4m3fn));
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    return torch.mm(self.mix, x) * self.scale.to(torch.float)
)");
  std::stringstream file;
  m.save(file);
  for (const char* part : {"_rebuild_sparse_tensor", "Float8_e4m3fnStorage"})
    expect_in(file.str(), part);
  const Module back = load(file);
  EXPECT_TRUE(back.attr("mix").toTensor().is_sparse());
  EXPECT_TRUE(equal(back.attr("mix").toTensor().to_dense(), mix));
  const Tensor x = six().t().slice(1, 0, 2).contiguous();
  EXPECT_TRUE(equal(back.forward({x}).toTensor(), mix.mm(x) * 0.5));
}

// torch.to(x, dtype=7, False, False, 0) is not read by torch.
TEST(JitTorchScript, WhatFollowsANamedArgumentIsNamed) {
  Module m("__torch__.Casts");
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    return x.to(torch.double, False, True, memory_format=torch.contiguous_format)
)");
  std::stringstream file;
  m.save(file);
  expect_in(file.str(), "dtype=7, copy=True, memory_format=0)");
  EXPECT_EQ(load(file).forward({six()}).toTensor().scalar_type(), kDouble);
}

}  // namespace
}  // namespace tenon::jit
