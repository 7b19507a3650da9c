// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The exported programs of data/ are written by torch (data/make_exported.py), with what torch
// computes for them.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/type.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

using Json = nlohmann::json;

IValue dict(std::vector<std::pair<std::string, IValue>> items) {
  auto d = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
  for (auto& [key, v] : items) d->insert_or_assign(key, std::move(v));
  return d;
}
IValue tuple(std::vector<IValue> items) {
  return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items)));
}

struct Loaded {
  Module module;
  Json expected;  // [case][result][element]
};
Loaded load_with_results(const std::string& name) {
  ExtraFiles extra{{"expected.json", ""}};
  Module m = load(data(name), std::nullopt, extra);
  return {m, Json::parse(extra.at("expected.json"))};
}

void expect_values(const Tensor& t, const Json& expected) {
  std::vector<double> wanted;
  const std::function<void(const Json&)> flatten = [&](const Json& j) {
    if (!j.is_array()) return wanted.push_back(j.get<double>());
    for (const Json& each : j) flatten(each);
  };
  flatten(expected);
  const Tensor flat = t.detach().to(kDouble).reshape({-1});
  ASSERT_EQ(flat.numel(), static_cast<int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(flat[static_cast<int64_t>(i)].item().to<double>(), wanted[i], 1e-5) << i;
}

std::string changed_program(const std::string& name, const std::function<void(Json&)>& change) {
  return changed(name, "models/model.json", [&](const std::string& text) {
    Json j = Json::parse(text);
    change(j);
    return j.dump();
  });
}
std::string error_of(const std::string& archive) {
  std::istringstream in(archive);
  try {
    (void)load(in);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

TEST(JitExported, NetRunsForAnyBatch) {
  const auto [m, expected] = load_with_results("exported_net.pt2");
  expect_values(m.forward({counted({3, 2, 4, 4})}).toTensor(), expected[0][0]);
  expect_values(m.forward({counted({5, 2, 4, 4})}).toTensor(), expected[1][0]);
}

TEST(JitExported, ParametersHaveTheirNames) {
  const Module m = load(data("exported_net.pt2"));
  std::vector<std::string> names, buffers;
  for (const NamedTensor& p : m.named_parameters()) {
    names.push_back(p.name);
    EXPECT_TRUE(p.value.requires_grad()) << p.name;
  }
  for (const NamedTensor& b : m.named_buffers()) buffers.push_back(b.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv.weight", "conv.bias", "bn.weight", "bn.bias",
                                             "head.1.weight", "head.1.bias"}));
  EXPECT_EQ(buffers, (std::vector<std::string>{"bn.running_mean", "bn.running_var",
                                               "bn.num_batches_tracked"}));
}

TEST(JitExported, IsTrained) {
  const Module m = load(data("exported_net.pt2"));
  m.train();
  const Tensor x = counted({4, 2, 4, 4});
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    m.zero_grad();
    const Tensor loss = m.forward({x}).toTensor().square().mean();
    loss.backward();
    last = loss.item().to<double>();
    if (step == 0) first = last;
    const NoGradGuard no_grad;
    for (const Tensor& p : m.parameters()) p.sub_(p.grad() * 0.05);
  }
  EXPECT_LT(last, first / 2);
}

TEST(JitExported, SizesAreChecked) {
  const Module m = load(data("exported_net.pt2"));
  EXPECT_TRUE(contains(error_of([&] {
                         (void)m.forward({counted({7, 2, 4, 4})});
                       }),
                       "dimension 0 of 'image' is 7; the program was exported for from 0 to 6"))
      << "the range";
  EXPECT_TRUE(contains(error_of([&] {
                         (void)m.forward({counted({3, 2, 5, 4})});
                       }),
                       "dimension 2 of argument 'image' is 5; the program was exported for 4"));
  EXPECT_TRUE(contains(error_of([&] {
                         (void)m.forward({counted({3, 2})});
                       }),
                       "argument 'image' has 2 dimensions; the program was exported for 4"));
}

// Which way a program went by sizes when it was exported is only right for such sizes.
TEST(JitExported, GuardsAreChecked) {
  const auto [m, expected] = load_with_results("exported_guards.pt2");
  const auto call = [&m = m](int64_t n, int64_t k) {
    const IValue batch = dict({{"parts", IValue(std::vector<Tensor>{counted({k, 4})})}});
    return m.forward({counted({n, 3}), batch, counted({5}), counted({n})}).toTupleRef().items;
  };
  expect_values(call(4, 5)[0].toTensor(), expected[0][0]);
  expect_values(call(6, 11)[0].toTensor(), expected[1][0]);
  const auto error = [&](int64_t n, int64_t k) { return error_of([&] { (void)call(n, k); }); };
  EXPECT_TRUE(contains(error(3, 5),
                       "the program was exported for arguments where (x.size()[0] % "
                       "2) == 0"));
  EXPECT_TRUE(contains(error(6, 15), "(batch['parts'][0].size()[0] // 2) < 2*x.size()[1]"));
  std::stringstream script;
  m.save(script);
  (void)load(script);  // TorchScript has no guards, and no operator for them
}

TEST(JitExported, GuardsOfAnyText) {
  const auto error = [](const std::string& guard) {
    std::istringstream archive(changed_program(
        "exported_guards.pt2", [&](Json& j) { j["guards_code"] = Json::array({guard}); }));
    const Module m = load(archive);
    return error_of([&] {
      const IValue batch = dict({{"parts", IValue(std::vector<Tensor>{counted({5, 4})})}});
      (void)m.forward({counted({4, 3}), batch, counted({5}), counted({4})});
    });
  };
  for (const char* guard :
       {"L['x'].size()[0] == 5", "4 != L['x'].size()[0]", "torch.sym_max(2, L['x'].size()[1]) > 3",
        "L['x'].size()[0] < 2 or -L['x'].size()[0] > -4", "L['more'][0].size()[0] <= 4",
        "7 // 2 == 3 and (-7) // 2 >= 0", "(3 - 2) - 1 == 2"})
    EXPECT_TRUE(contains(error(guard), "the program was exported for arguments where")) << guard;
  for (const char* guard :
       {"L['x'].size()[0] == 4", "torch.sym_min(2, 3) == 2", "L['x'].dtype == torch.float32",
        "L['gone'].size()[0] == 9", "L['x'].size()[0] ** 2 == 9", "((((", "", "L['", "L['x']",
        "1 == 2 == 3", "9999999999999999999999 == 1", "1.5 == 2"})
    EXPECT_EQ(error(guard), "no error") << guard;
}

// Reals among numbers alone have no tensor to follow.
TEST(JitExported, TensorsOfNumbersAloneHaveTheDefaultDtype) {
  std::istringstream archive(changed_program("exported_guards.pt2", [](Json& j) {
    for (Json& node : j["graph_module"]["graph"]["nodes"])
      if (node["target"] == "torch.ops.aten.add.Tensor" &&
          node["inputs"][1]["arg"].contains("as_int"))
        node["inputs"][0]["arg"] = Json{{"as_float", 3.5}};
  }));
  const IValue batch = dict({{"parts", IValue(std::vector<Tensor>{counted({5, 4})})}});
  const auto got = load(archive).forward({counted({4, 3}), batch, counted({5}), counted({4})});
  const Tensor sum = got.toTupleRef().items[0].toTensor();
  EXPECT_EQ(sum.scalar_type(), kFloat);
  EXPECT_EQ(sum.item<float>(), (counted({4, 3}) * 2).sum().item<float>() + 4.5F);
}

// torch takes any dtype there, and asks no device.
TEST(JitExported, AutocastThatIsOffHasAnyDtype) {
  std::istringstream archive(changed_program("exported_autocast.pt2", [](Json& j) {
    for (Json& node : j["graph_module"]["graph"]["nodes"]) {
      if (node["target"] != "torch.ops.higher_order.wrap_with_autocast") continue;
      node["inputs"][1]["arg"] = Json{{"as_scalar_type", 3}};
      node["inputs"][2]["arg"] = Json{{"as_bool", false}};
    }
  }));
  Module m = load(archive);
  const IValue x = arange(6, kFloat).view({2, 3}) / 7, out = m.forward({x});
  EXPECT_EQ(out.toTupleRef().items[0].toTensor().scalar_type(), kFloat);
  // It does nothing, and is left out of TorchScript, which torch then reads.
  m.unit()->kept = nullptr;
  std::stringstream file;
  m.save(file);
  const Module script = load(file);
  EXPECT_FALSE(contains(script.get_method("forward").graph()->str(), "autocast_mode"));
  EXPECT_TRUE(script.forward({x}).toTupleRef().items[0].toTensor().equal(
      out.toTupleRef().items[0].toTensor()));
}

TEST(JitExported, BranchesAndLoops) {
  const auto [m, expected] = load_with_results("exported_control.pt2");
  for (const auto& [shift, start, at] : {std::tuple(1.0, 0, 0), std::tuple(-2.0, 2, 1)}) {
    const IValue batch =
        dict({{"data", tuple({counted({3}) + shift})}, {"bias", counted({3}) * shift}});
    const IValue out = m.forward({batch, tensor(start)}, {{"scale", 3.0}});
    const ivalue::Dict& results = out.toDictRef();
    ASSERT_EQ(results.items()[0].first.toStringRef(), "y");
    expect_values(results.at("y").toTensor(), expected[at][0]);
    const auto parts = results.at("parts").toList();
    expect_values(parts[0].toTensor(), expected[at][1]);
    expect_values(parts[1].toTupleRef().items[0].toTensor(), expected[at][2]);
    EXPECT_TRUE(parts[1].toTupleRef().items[1].isNone());
  }
}

// `start` is what decides whether the loop is entered.
IValue run_control(const Module& m, const Tensor& bias, const IValue& start) {
  const IValue batch = dict({{"data", tuple({counted({3}) + 1})}, {"bias", bias}});
  return m.forward({batch, start}, {{"scale", 3.0}});
}

TEST(JitExported, PartsHaveTheirOwnGradMode) {
  const Module m = load(data("exported_control.pt2"));
  const Tensor bias = counted({3}).set_requires_grad(true);
  const IValue out = run_control(m, bias, tensor(0));
  const ivalue::Dict& results = out.toDictRef();
  EXPECT_TRUE(results.at("y").toTensor().requires_grad());
  EXPECT_FALSE(results.at("still").toTensor().requires_grad());
  EXPECT_TRUE(results.at("moving").toTensor().requires_grad());
  EXPECT_TRUE(GradMode::is_enabled());
  // x = 1.5^4 data + (1.5^3 + 1.5^2 + 1.5 + 1) bias, and y = 2 x.
  results.at("y").toTensor().sum().backward();
  expect_values(bias.grad(), Json({16.25, 16.25, 16.25}));
}

// TorchScript says it in words that torch knows, too.
TEST(JitExported, GradModesAreSavedAsTorchScript) {
  const Module m = load(data("exported_control.pt2"));
  m.unit()->kept = nullptr;  // it would be saved as the file that it is
  std::stringstream saved;
  m.save(saved);
  const auto zip = formats::ZipReader::from_bytes(saved.str(), "saved");
  std::string code;
  for (const auto& e : zip->entries())
    if (contains(e.name, "code/") && contains(e.name, ".py")) code += zip->read(e);
  EXPECT_TRUE(contains(code, " = torch.is_grad_enabled()\n"));
  EXPECT_TRUE(contains(code, "torch.set_grad_enabled(False)"));
  EXPECT_FALSE(contains(code, "exported.grad_mode") || contains(code, "exported.end_mode"));
}

// An argument that has one value may stand before one that is given.
TEST(JitExported, NoDefaultIsSavedBeforeAnArgumentWithoutOne) {
  Module m("__torch__.Program");
  m.define(
      "def forward(self, x: Tensor, mask: Optional[Tensor], y: Tensor) -> Tensor:\n"
      "    return x + y\n");
  FunctionSchema schema = m.get_method("forward").function().schema();
  schema.arguments[2].default_value = IValue();
  m.get_method("forward").function().set_schema(std::move(schema));
  std::stringstream saved;
  m.save(saved);
  const Module again = load(saved);
  EXPECT_FALSE(again.get_method("forward").function().schema().arguments[2].default_value);
  expect_values(again.forward({ones({1}), IValue(), ones({1})}).toTensor(), Json({2}));
}

TEST(JitExported, ModesEndWithErrors) {
  std::istringstream in(changed_program("exported_control.pt2", [](Json& j) {
    // The sine inside of no_grad becomes a view that is not possible.
    for (Json& node : j["graph_module"]["graph"]["nodes"]) {
      if (node["target"] != "torch.ops.higher_order.wrap_with_set_grad_enabled") continue;
      Json& sine = node["inputs"][1]["arg"]["as_graph"]["graph"]["nodes"][0];
      sine["target"] = "torch.ops.aten.view.default";
      sine["inputs"].push_back({{"name", "size"}, {"arg", {{"as_ints", {7}}}}, {"kind", 1}});
      break;
    }
  }));
  const Module m = load(in);
  EXPECT_TRUE(contains(error_of([&] { (void)run_control(m, counted({3}), tensor(0)); }), "view"));
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(JitExported, ContainersAndConstantsAreChecked) {
  const Module m = load(data("exported_control.pt2"));
  const auto call = [&](const IValue& batch, double scale) {
    return error_of([&] { (void)m.forward({batch, tensor(0)}, {{"scale", scale}}); });
  };
  const IValue data = tuple({counted({3})}), bias = counted({3});
  EXPECT_TRUE(contains(call(dict({{"data", data}, {"bias", bias}}), 2.0),
                       "argument 'scale' is 2; the program was exported for 3"));
  EXPECT_TRUE(contains(call(dict({{"data", data}, {"other", bias}}), 3.0), "no batch['bias']"));
  EXPECT_TRUE(contains(call(dict({{"data", data}}), 3.0), "'batch' has 1 values"));
  EXPECT_TRUE(contains(call(dict({{"data", counted({3})}, {"bias", bias}}), 3.0),
                       "'batch['data']' must be a container"));
}

TEST(JitExported, KeysOfADictionaryMayBeOfSeveralTypes) {
  const std::string archive = changed_program("exported_control.pt2", [](Json& j) {
    Json& text = j["graph_module"]["module_call_graph"][0]["signature"]["in_spec"];
    std::string spec = text;
    const std::string key = "\\\"bias\\\"";
    spec.replace(spec.find(key), key.size(), "7");
    text = spec;
  });
  std::istringstream in(archive);
  const Module m = load(in), plain = load(data("exported_control.pt2"));
  const Tensor x = counted({3});
  const IValue mixed = dict({{"data", tuple({x + 1})}}), texts = dict({{"data", tuple({x + 1})}});
  mixed.toDictRef().insert_or_assign(7, x);
  texts.toDictRef().insert_or_assign("bias", x);
  const IValue got = m.forward({mixed, tensor(0), 3.0});
  EXPECT_TRUE(equal(got.toDictRef().at("y").toTensor(),
                    plain.forward({texts, tensor(0), 3.0}).toDictRef().at("y").toTensor()));
}

TEST(JitExported, BuffersAreWrittenAndTiedWeightsAreOne) {
  const auto [m, expected] = load_with_results("exported_state.pt2");
  const Tensor ids = tensor({0, 2, 4});
  expect_values(m.forward({ids}).toTensor(), expected[0][0]);
  expect_values(m.forward({ids}).toTensor(), expected[1][0]);
  EXPECT_EQ(m.attr("calls").toTensor().item().to<int64_t>(), 2);
  EXPECT_FALSE(m.attr("calls").toTensor().requires_grad());
  ASSERT_EQ(m.parameters().size(), 1u);
  m.forward({ids}).toTensor().sum().backward();
  EXPECT_TRUE(m.parameters()[0].grad().defined());
}

TEST(JitExported, ReadsTheLayoutsOfOlderTorch) {
  for (const char* name : {"exported_2_7.pt2", "exported_2_8.pt2"}) {
    SCOPED_TRACE(name);
    const auto [m, expected] = load_with_results(name);
    for (int64_t i = 0; i < 2; ++i) {
      const Tensor ids = remainder(arange(2 * (3 + i)), 5).view({3 + i, 2});
      const IValue out = m.forward({ids, 2});
      const auto& wanted = expected[static_cast<std::size_t>(i)];
      expect_values(out.toDictRef().at("y").toTensor(), wanted[0]);
      const auto& sizes = out.toDictRef().at("sizes").toListRef().items;
      EXPECT_EQ(sizes[0].toInt(), wanted[1][0].get<int64_t>());
      expect_values(sizes[1].toTensor(), wanted[2]);
    }
    EXPECT_EQ(m.attr("calls").toTensor().item().to<int64_t>(), 4);
    ASSERT_EQ(m.parameters().size(), 5u);
    std::stringstream file;
    m.save(file);
    EXPECT_EQ(load(file).attr("calls").toTensor().item().to<int64_t>(), 4);
  }
}

// torch 2.6: scans name a dimension and a direction, JSON has Infinity, named tuples have no names
// of fields, and of the names of a weight the signature has one.
TEST(JitExported, ReadsWhatTorch2_6WroteOtherwise) {
  const std::string name = "exported_2_6.pt2";
  const std::vector<IValue> inputs{tensor({4, 1}), counted({3}), counted({3, 4})};
  expect_results(name, inputs);
  const Module m = load(data(name));
  EXPECT_EQ(m.named_buffers().size(), 0u);
  ASSERT_EQ(m.parameters().size(), 1u);
  EXPECT_EQ(m.named_parameters().size(),
            load(data("exported_state.pt2")).named_parameters().size());
  std::stringstream file;
  m.save(file);
  EXPECT_EQ(load(file).named_parameters().size(), m.named_parameters().size());
}

// Without what states that inputs are as they were exported for, which torch has no operators for.
TEST(JitExported, BecomesATorchScriptArchive) {
  const auto [m, expected] = load_with_results("exported_net.pt2");
  m.unit()->kept = nullptr;
  std::stringstream file;
  m.save(file);
  const auto zip = formats::ZipReader::from_bytes(file.str(), "net.pt");
  const std::string code = zip->read(zip->root() + "code/__torch__.py");
  EXPECT_EQ(code.find("exported"), std::string::npos) << code;
  expect_values(load(file).forward({counted({5, 2, 4, 4})}).toTensor(), expected[1][0]);
}

TEST(JitExported, IsSavedWithTheWeightsOfNow) {
  const Module m = load(data("exported_state.pt2"));
  const Tensor ids = tensor({0, 2, 4});
  (void)m.forward({ids});
  {
    const NoGradGuard no_grad;
    m.parameters()[0].mul_(2);
  }
  std::stringstream file;
  m.save(file, {{"note.txt", "twice"}});
  ExtraFiles extra{{"note.txt", ""}};
  const Module again = load(file, std::nullopt, extra);
  EXPECT_EQ(extra.at("note.txt"), "twice");
  EXPECT_EQ(again.attr("calls").toTensor().item().to<int64_t>(), 1);
  EXPECT_EQ(again.parameters().size(), 1u);
  EXPECT_TRUE(again.forward({ids}).toTensor().equal(m.forward({ids}).toTensor()));
}

TEST(JitExported, NewerVersionsAreRefused) {
  const std::string archive =
      changed_program("exported_net.pt2", [](Json& j) { j["schema_version"]["major"] = 9; });
  EXPECT_TRUE(contains(error_of(archive), "schema version 9, newer than 8"));
}

TEST(JitExported, MissingOperatorsAreToldAtOnce) {
  const std::string archive = changed_program("exported_net.pt2", [](Json& j) {
    Json& nodes = j["graph_module"]["graph"]["nodes"];
    nodes[0]["target"] = "torch.ops.aten.conv9d.default";
    nodes[1]["target"] = "torch.ops.vendor.norm.default";
  });
  const std::string text = error_of(archive);
  EXPECT_TRUE(contains(text, "the program needs 2 operators that are not there"));
  EXPECT_TRUE(contains(text, "aten::conv9d(Tensor input, Tensor weight, Tensor bias"));
  EXPECT_TRUE(contains(text, "aten::conv3d"));
  EXPECT_TRUE(contains(text, "vendor::norm"));
}

TEST(JitExported, DamageIsAnErrorThatNamesTheEntry) {
  const auto change = [](const std::function<void(Json&)>& f) {
    return error_of(changed_program("exported_state.pt2", f));
  };
  EXPECT_TRUE(contains(change([](Json& j) { j.erase("graph_module"); }),
                       "'models/model.json': the member 'graph_module' is missing"));
  EXPECT_TRUE(contains(change([](Json& j) { j["graph_module"]["graph"]["nodes"] = 3; }),
                       "nodes must be a list, not number"));
  EXPECT_TRUE(contains(change([](Json& j) {
                         Json& args = j["graph_module"]["graph"]["nodes"][0]["inputs"];
                         args[0]["arg"] = Json{{"as_tensor", {{"name", "nobody"}}}};
                       }),
                       "no node before this one makes 'nobody'"));
  EXPECT_TRUE(contains(change([](Json& j) {
                         j["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] =
                             "[2, 0]";
                       }),
                       "treespec is of version 2"));
  const std::string entry = "data/weights/model_weights_config.json";
  const auto weights = [&](const std::function<void(Json&)>& f) {
    return error_of(changed("exported_state.pt2", entry, [&](const std::string& text) {
      Json j = Json::parse(text);
      f(j["config"]["table.weight"]);
      return j.dump();
    }));
  };
  EXPECT_TRUE(contains(weights([](Json& w) { w["tensor_meta"]["sizes"][0]["as_int"] = 1 << 30; }),
                       "'table.weight'"));
  EXPECT_TRUE(contains(weights([](Json& w) { w["path_name"] = "weight_99"; }),
                       "there is no entry 'data/weights/weight_99'"));
  EXPECT_TRUE(contains(weights([](Json& w) { w["use_pickle"] = true; }), "is pickled"));
  EXPECT_TRUE(contains(weights([](Json& w) { w["tensor_meta"]["dtype"] = 16; }),
                       "there is no dtype of number 16"));
  EXPECT_TRUE(contains(error_of(changed("exported_state.pt2", entry,
                                        [](const std::string&) { return "{\"config\": "; })),
                       "the JSON is damaged"));
  EXPECT_TRUE(contains(error_of(changed("exported_state.pt2", entry,
                                        [](const std::string&) { return std::string(5000, '['); })),
                       "nested more than"));
}

// data/make_effects.py: with_effects and its token, a complex constant, slopes of rrelu; max with
// out=, whose arguments torch names max and max_values.
TEST(JitExported, EffectsComplexConstantsAndOut) {
  const Tensor x = tensor({{0.5, -1.0, 2.0}, {1.5, 0.25, -0.75}}, kFloat);
  for (const char* name : {"exported_effects.pt2", "exported_outs.pt2"}) {
    const auto [m, expected] = load_with_results(name);
    const IValue out = m.forward({x});
    const auto& items = out.toTupleRef().items;
    ASSERT_EQ(items.size(), expected[0].size());
    for (std::size_t i = 0; i < items.size(); ++i)
      expect_values(items[i].toTensor(), expected[0][i]);
  }
  const auto m = load(data("exported_effects.pt2"));
  const Tensor singular = tensor({{1.0, -1.0, 0.0}, {1.0, -1.0, 0.0}}, kFloat);
  try {
    (void)m.forward({singular});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("linalg.inv: matrix 0"), std::string::npos) << e.what();
  }
}

// TorchScript has no aten::truediv: torch refuses an archive that names it.
TEST(JitExported, QuotientsOfSizesAreWrittenAsTorchScript) {
  const std::string archive = changed_program("exported_2_8.pt2", [](Json& j) {
    Json& graph = j["graph_module"]["graph"];
    Json quotient;
    for (const Json& n : graph["nodes"])
      if (n["target"] == "_operator.mul") quotient = n;
    quotient["target"] = "_operator.truediv";
    quotient["outputs"] = {{{"as_sym_float", {{"as_name", "quotient"}}}}};
    graph["nodes"].push_back(quotient);
    for (Json& out : graph["outputs"])
      if (out.contains("as_sym_int")) out = quotient["outputs"][0];
    for (Json& out : j["graph_module"]["signature"]["output_specs"])
      if (out.contains("user_output") && out["user_output"]["arg"].contains("as_sym_int"))
        out["user_output"]["arg"] = quotient["outputs"][0];
  });
  std::istringstream in(archive);
  const Module m = load(in);
  m.unit()->kept = nullptr;
  std::stringstream file;
  m.save(file);
  const auto zip = formats::ZipReader::from_bytes(file.str(), "quotient.pt");
  const std::string code = zip->read(zip->root() + "code/__torch__.py");
  EXPECT_EQ(code.find("truediv"), std::string::npos) << code;
  const IValue out = load(file).forward({remainder(arange(6), 5).view({3, 2}), 2});
  EXPECT_EQ(out.toDictRef().at("sizes").toListRef().items[0].toDouble(), 1.5);
}

// data/make_numbers.py. A real scalar among integers is of the default dtype; among tensors
// without dimensions it is of theirs.
TEST(JitExported, ScalarsAmongIntegers) {
  const auto [m, expected] = load_with_results("exported_numbers.pt2");
  const IValue out = m.forward({tensor({0.5, -1.0, 2.0, 0.3}, kFloat)});
  const auto& items = out.toTupleRef().items;
  const ScalarType dtypes[] = {kFloat, kFloat, kFloat, kFloat, kInt, kFloat, kDouble, kFloat};
  ASSERT_EQ(items.size(), std::size(dtypes));
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].toTensor().scalar_type(), dtypes[i]) << i;
    expect_values(items[i].toTensor(), expected[0][i]);
  }
}

TEST(JitExported, LevelsAreTrained) {
  const auto [m, expected] = load_with_results("exported_levels.pt2");
  const Tensor x = tensor({{0.5, -1.0, 2.0, 0.3}, {1.5, 0.2, -0.75, -9.0}}, kFloat);
  const IValue out = m.forward({x});
  const auto& items = out.toTupleRef().items;
  ASSERT_EQ(items.size(), expected[0].size());
  for (std::size_t i = 0; i < items.size(); ++i) expect_values(items[i].toTensor(), expected[0][i]);
  const Tensor weights = arange(8, kFloat).reshape({2, 4});
  (items[0].toTensor().square().sum() + (items[1].toTensor() * weights).sum()).backward();
  std::size_t i = 0;
  for (const char* name : {"scale", "zero", "scales", "zeros"})
    expect_values(m.attr(name).toTensor().grad(), expected[1][i++]);
}

}  // namespace
}  // namespace tenon::jit
