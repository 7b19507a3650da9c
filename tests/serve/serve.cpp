// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hundreds of requests, good and bad ones, on several threads.
#include <gtest/gtest.h>
#include <tenon/jit.h>
#include <tenon/tenon.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/program.h"

namespace tenon {
namespace {

using Json = nlohmann::json;

constexpr const char* kProgram = R"(
def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    if bool((x > 1000).any()):
        raise ValueError("too large")
    return torch.tanh(torch.matmul(x, self.weight)) + y, {"sum": x.sum(1)}

def total(self, x: Tensor) -> Tensor:
    return x.sum()

def scaled(self, x: Tensor, by: float, times: int, words: List[str]) -> Tuple[Tensor, str]:
    for i in range(times):
        x = x * by
    return x, "".join(words)

def spin(self, n: int) -> int:
    i = 0
    while i < n:
        i += 1
    return i

def sums(self, xs: List[Tensor], named: Dict[str, Tensor]) -> List[Tensor]:
    return [x.sum() + named["more"] for x in xs]

def maybe(self, x: Optional[Tensor], flags: Dict[str, bool]) -> bool:
    return x is None and flags["on"]
)";

class Serve : public ProgramTest {
 protected:
  Serve() : ProgramTest(SERVE_PROGRAM) {}
  void SetUp() override {
    ProgramTest::SetUp();
    manual_seed(1);
    module_.register_parameter("weight", randn({3, 4}));
    module_.define(kProgram);
    module_.save(path("model.pt"));
  }

  // Lines in, answers by id out. Every line but blank ones has one answer.
  std::map<std::string, Json> serve(const std::vector<std::string>& lines,
                                    const std::string& options, int status = 0) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write("in", text);
    EXPECT_EQ(run("'" + path("model.pt") + "' " + options + " < '" + path("in") + "'"), status)
        << read("out");
    std::map<std::string, Json> answers;
    std::istringstream out(read("out"));
    for (std::string line; std::getline(out, line);) {
      if (line[0] != '{') {
        table_ = line;
        continue;
      }
      const Json answer = Json::parse(line);
      EXPECT_TRUE(answers.emplace(answer["id"].dump(), answer).second || answer["id"].is_null())
          << line;
      ++answered_;
    }
    return answers;
  }
  std::string kind(const std::map<std::string, Json>& answers, const std::string& id) const {
    const auto found = answers.find(id);
    if (found == answers.end()) return "no answer";
    return found->second.contains("error") ? found->second["error"]["kind"] : Json("answered");
  }

  jit::Module module_;
  std::string table_;  // its last line
  std::size_t answered_ = 0;
};

Tensor tensor_in(const Json& j) {
  EXPECT_EQ(j.at("dtype"), "float32");
  return tensor(j.at("data").get<std::vector<float>>())
      .view(j.at("shape").get<std::vector<int64_t>>());
}

Json json_of(const Tensor& t) {
  const Tensor flat = t.contiguous().flatten();
  return {
      {"dtype", "float32"},
      {"shape", t.sizes().vec()},
      {"data", std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel())}};
}

const char* const kBad[] = {"{", "{\"id\": \"a\"", "nothing", "\"\\u\"", "\xff\xfe", "[1, 2"};

TEST_F(Serve, AnswersAreThoseOfDirectRuns) {
  for (const char* options : {"--threads 4 --batch 8 --batch-wait 3", "--threads 4",
                              "--threads 1 --batch 3", "--threads 3 --batch 4 --device ref"}) {
    std::vector<std::string> lines;
    std::map<std::string, std::pair<Tensor, Tensor>> inputs;
    std::size_t bad = 0;
    for (int i = 0; i < 400; ++i) {
      const Tensor x = randn({1 + i % 3, 3}), y = randn({1 + i % 3, i % 5 == 0 ? 1 : 4});
      inputs.emplace(std::to_string(i), std::make_pair(x, y));
      lines.push_back(Json{{"id", i}, {"inputs", {json_of(x), json_of(y)}}}.dump());
      if (i % 7 == 0) lines.emplace_back(kBad[bad++ % std::size(kBad)]);
      if (i % 11 == 0) lines.emplace_back("  ");
    }
    answered_ = 0;
    const auto answers = serve(lines, options);
    EXPECT_EQ(answered_, 400 + bad);
    for (const auto& [id, xy] : inputs) {
      ASSERT_EQ(kind(answers, id), "answered") << id;
      const Json& outputs = answers.at(id)["outputs"];
      const auto direct = module_.forward({xy.first, xy.second}).toTuple()->elements();
      EXPECT_TRUE(allclose(tensor_in(outputs[0]), direct[0].toTensor(), 1e-5, 1e-6)) << id;
      EXPECT_TRUE(allclose(tensor_in(outputs[1]["sum"]), direct[1].toDictRef().at("sum").toTensor(),
                           1e-5, 1e-6));
    }
    int64_t requests = 0, errors = 0, runs = 0;
    std::istringstream(table_) >> requests >> errors >> runs;
    EXPECT_EQ(requests, static_cast<int64_t>(answered_)) << table_;
    EXPECT_EQ(errors, static_cast<int64_t>(bad));
    if (std::string(options).find("batch") == std::string::npos)
      EXPECT_EQ(runs, 400);
    else
      EXPECT_LT(runs, 400);
  }
}

TEST_F(Serve, OneBadRequestOfABatchFailsAlone) {
  std::vector<std::string> lines;
  for (int i = 0; i < 60; ++i) {
    const std::string value = i % 10 == 3 ? "2000.0" : std::to_string(i) + ".5";
    lines.push_back("{\"id\": " + std::to_string(i) + ", \"inputs\": [[[1.0, 2.0, " + value +
                    "]], [[0.0, 0.0, 0.0, 0.0]]]}");
  }
  const auto answers = serve(lines, "--threads 2 --batch 16 --batch-wait 20");
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(kind(answers, std::to_string(i)), i % 10 == 3 ? "program" : "answered") << i;
  EXPECT_NE(answers.at("3")["error"]["message"].get<std::string>().find("too large"),
            std::string::npos);
}

TEST_F(Serve, ResultsThatDoNotSplitAreComputedAlone) {
  std::vector<std::string> lines;
  lines.reserve(50);
  for (int i = 0; i < 50; ++i)
    lines.push_back(Json{{"id", i}, {"method", "total"}, {"inputs", {{1.5, i}}}}.dump());
  const auto answers = serve(lines, "--batch 8 --batch-wait 20");
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(kind(answers, std::to_string(i)), "answered");
    EXPECT_EQ(answers.at(std::to_string(i))["outputs"][0]["data"][0], 1.5 + i);
  }
}

TEST_F(Serve, ValuesOfAllKinds) {
  const auto answers = serve(
      {R"({"id": "a", "method": "scaled", "inputs": [[[1.5, -2.0]], 2, 3, ["x", "é"]]})",
       R"({"id": "b", "method": "scaled", "inputs": [7, 0.5, 1, []]})",
       R"({"id": "c", "method": "scaled", "inputs": [[true, false], 1.0, 0, []]})",
       R"({"id": "d", "method": "scaled", "inputs": [{"shape": [0, 2], "data": []}, 1.0, 0, []]})",
       R"({"id": "e", "method": "scaled", "inputs": [[1e300, 0.0], 0, 2, []]})",
       R"({"id": "f", "method": "maybe", "inputs": [null, {"on": true}]})",
       R"({"id": "g", "method": "scaled", "inputs": [{"dtype": "int8", "shape": [1], "data": [-128]}, 1, 0, []]})"},
      "");
  EXPECT_EQ(answers.at("\"a\"")["outputs"][0]["data"], Json({12.0, -16.0}));
  EXPECT_EQ(answers.at("\"a\"")["outputs"][1], "xé");
  EXPECT_EQ(answers.at("\"b\"")["outputs"][0],
            (Json{{"dtype", "float32"}, {"shape", Json::array()}, {"data", {3.5}}}));
  EXPECT_EQ(answers.at("\"c\"")["outputs"][0],
            (Json{{"dtype", "bool"}, {"shape", {2}}, {"data", {true, false}}}));
  EXPECT_EQ(answers.at("\"d\"")["outputs"][0]["shape"], Json({0, 2}));
  EXPECT_EQ(answers.at("\"e\"")["outputs"][0]["data"], Json({nullptr, 0.0}));
  EXPECT_EQ(answers.at("\"f\"")["outputs"], Json({true}));
  EXPECT_EQ(answers.at("\"g\"")["outputs"][0],
            (Json{{"dtype", "int8"}, {"shape", {1}}, {"data", {-128}}}));
}

TEST_F(Serve, ListsAndDictionariesOfTensors) {
  const std::string request =
      R"({"id": 1, "method": "sums", "inputs": [[[1.5, 2.5], [[3.0]]], {"more": 1}]})";
  for (const char* options : {"", "--device ref"}) {
    const auto answers = serve({request}, options);
    ASSERT_EQ(kind(answers, "1"), "answered");
    const Json& sums = answers.at("1")["outputs"][0];
    EXPECT_EQ(sums[0]["data"], Json({5.0}));
    EXPECT_EQ(sums[1]["data"], Json({4.0}));
  }
}

TEST_F(Serve, RefusesWhatIsNoRequestToTheModel) {
  const std::pair<const char*, const char*> requests[] = {
      {R"("inputs": [[1.0]], "method": "absent")", "forward, "},
      {R"("input": [])", "unknown name"},
      {R"("inputs": 5)", "an array"},
      {R"("method": "forward")", "inputs is missing"},
      {R"("inputs": [[1.0], [1.0], [1.0]])", "3 given"},
      {R"("inputs": [[[1.0, 2.0], [3.0]], [1.0]])", "of one length"},
      {R"("inputs": [["a"], [1.0]])", "expected a number"},
      {R"("inputs": [{"shape": [2], "data": [1]}])", "2 elements"},
      {R"("inputs": [{"shape": [9223372036854775807, 4], "data": [1]}])", "too large"},
      {R"("inputs": [{"shape": [-1], "data": [1]}])", "sizes are integers"},
      {R"("inputs": [{"dtype": "int4", "shape": [1], "data": [1]}])", "int4"},
      {R"("inputs": [{"dtype": "int8", "shape": [1], "data": [128]}])", "range of int8"},
      {R"("inputs": [{"dtype": "int8", "shape": [1], "data": [1.5]}])", "not an integer"},
      {R"("inputs": [[18446744073709551615]])", "range of int64"},
      {R"("inputs": [{"shape": [1], "data": [1], "strides": [1]}])", "strides"},
      {R"("method": "spin", "inputs": [1.5])", "expected int"},
      {R"("method": "maybe", "inputs": [null, {"on": 1}])", "expected bool"},
  };
  std::vector<std::string> lines;
  for (const auto& [rest, says] : requests)
    lines.push_back("{\"id\": " + std::to_string(lines.size()) + ", " + rest + "}");
  lines.push_back("{\"id\": 100, \"inputs\": " + std::string(100000, '[') +
                  std::string(100000, ']') + "}");
  const auto answers = serve(lines, "--threads 4");
  for (std::size_t i = 0; i < std::size(requests); ++i) {
    ASSERT_EQ(kind(answers, std::to_string(i)), "request") << lines[i];
    const std::string message = answers.at(std::to_string(i))["error"]["message"];
    EXPECT_NE(message.find(requests[i].second), std::string::npos) << lines[i] << "\n" << message;
  }
  EXPECT_EQ(kind(answers, "null"), "json");
}

TEST_F(Serve, Limits) {
  const std::string large(3000, ' ');
  auto answers = serve({R"({"id": 1, "method": "spin", "inputs": [1000000000000]})",
                        R"({"id": 2, "method": "spin", "inputs": [10]})", large + "{\"id\": 3}"},
                       "--time-limit 1000 --max-request 1000");
  EXPECT_EQ(kind(answers, "1"), "time");
  EXPECT_EQ(answers.at("2")["outputs"], Json({10}));
  EXPECT_EQ(kind(answers, "null"), "size");

  const Tensor many = ones({1 << 19});
  answers = serve({Json{{"id", 1}, {"method", "total"}, {"inputs", {json_of(many)}}}.dump(),
                   R"({"id": 2, "method": "total", "inputs": [[1.5]]})"},
                  "--memory-limit 1");
  EXPECT_EQ(kind(answers, "1"), "memory");
  EXPECT_EQ(kind(answers, "2"), "answered");
  answers = serve({Json{{"id", 1}, {"method", "total"}, {"inputs", {json_of(many)}}}.dump()},
                  "--memory-limit 100");
  EXPECT_EQ(kind(answers, "1"), "answered");
}

TEST_F(Serve, EndsWhereItCannotServe) {
  EXPECT_EQ(run("--help"), 0);
  EXPECT_NE(read("out").find("\"inputs\": [[[1.0, 2.0, 3.0]]]"), std::string::npos);
  write("not_a_model.pt", "text");
  EXPECT_EQ(run("'" + path("not_a_model.pt") + "' < /dev/null"), 1);
  EXPECT_NE(run("'" + path("absent.pt") + "' < /dev/null"), 0);
  EXPECT_EQ(run("'" + path("model.pt") + "' --device absent < /dev/null"), 1);
  EXPECT_NE(read("out").find("absent"), std::string::npos);
  serve({}, "");
  EXPECT_EQ(answered_, 0u);
}

}  // namespace
}  // namespace tenon
