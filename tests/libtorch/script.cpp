// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A saved program, loaded, run and trained as programs for libtorch do it.
//   libtorch_script MODEL
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/script.h>

#include <iostream>
#include <vector>

namespace {

int failed = 0;
void check(bool good, const char* what) {
  if (good) return;
  std::cerr << what << "\n";
  ++failed;
}

void containers() {
  const auto unit = torch::jit::compile(R"(
def first(lists: List[List[Tensor]], by: Dict[str, int]):
    return lists[0][0] * by["a"]
)");
  c10::List<c10::List<at::Tensor>> lists;
  lists.push_back(c10::List<at::Tensor>({torch::ones({2})}));
  c10::Dict<std::string, int64_t> by;
  by.insert("a", 3);
  const auto got = unit->run_method("first", lists, by).toTensor();
  check(got.equal(torch::full({2}, 3.)), "lists and dictionaries");
  auto deeper = c10::impl::GenericList(at::ListType::create(at::ListType::ofTensors()));
  deeper.push_back(lists);
  try {
    unit->run_method("first", deeper, by);
    check(false, "a list too deep");
  } catch (const c10::Error& e) {
    check(std::string(e.what()).find("but instead found type 'List[List[List[Tensor]]]'") !=
              std::string::npos,
          e.what());
  }
  const auto bytes = torch::jit::pickle(by);
  check(torch::jit::unpickle(bytes.data(), bytes.size()).toGenericDict().at("a").toInt() == 3,
        "pickle");
}

void run(const torch::jit::script::Module& module) {
  std::vector<torch::jit::IValue> inputs;
  inputs.push_back(torch::ones({5, 3}));
  inputs.push_back(2);
  inputs.push_back(std::vector<std::string>{"one"});
  const c10::IValue result = module.forward(inputs);
  const auto parts = result.toTuple()->elements();
  check(parts.size() == 3 && parts[0].toTensor().sizes() == torch::IntArrayRef({5, 4}), "forward");
  check(parts[1].toDictRef().at("one").toDouble() == 1.5, "dictionary");
  check(module.get_method("label")({torch::jit::IValue()}).toStringRef() == "none", "method");
}

// They are kept, and leave a program as it is.
void switches(const torch::jit::Module& module) {
  check(torch::jit::getGraphExecutorOptimize(), "optimizes at first");
  {
    const torch::jit::GraphOptimizerEnabledGuard off(false);
    check(!torch::jit::getGraphExecutorOptimize(), "the guard");
    run(module);
  }
  check(torch::jit::getGraphExecutorOptimize(), "after the guard");
  torch::jit::getProfilingMode() = false;
  torch::jit::getExecutorMode() = false;
  torch::jit::setTensorExprFuserEnabled(false);
  check(!torch::jit::getProfilingMode() && !torch::jit::tensorExprFuserEnabled(), "the modes");
  const auto before = torch::jit::setFusionStrategy({{torch::jit::FusionBehavior::DYNAMIC, 1}});
  check(torch::jit::getFusionStrategy().front().first == torch::jit::FusionBehavior::DYNAMIC,
        "what is set");
  check(before.size() == 2 && torch::jit::setFusionStrategy(before).size() == 1, "the strategy");
  run(module);
}

void record() {
  const auto [state, results] = torch::jit::tracer::trace(
      {torch::ones({2}), torch::ones({2})}, [](torch::jit::Stack stack) -> torch::jit::Stack {
        check(torch::jit::tracer::isTracing(), "isTracing");
        const at::Tensor sum = stack[0].toTensor() + stack[1].toTensor();
        return {sum, sum.relu()};
      });
  check(state->graph->str().find("aten::relu") != std::string::npos, "graph");
  check(results.size() == 2 && torch::equal(results[1].toTensor(), torch::full({2}, 2.0)),
        "results");
  check(!torch::jit::tracer::isTracing(), "not tracing");
}

void train(torch::jit::script::Module module) {
  module.train();
  std::vector<at::Tensor> parameters;
  for (const auto& p : module.named_parameters()) parameters.push_back(p.value);
  torch::optim::SGD sgd(parameters, torch::optim::SGDOptions(0.1));
  const at::Tensor before = parameters.at(0).detach().clone();
  const auto result = module.forward({torch::rand({5, 3}), 1, std::vector<std::string>()});
  result.toTuple()->elements()[0].toTensor().pow(2).sum().backward();
  sgd.step();
  check(!torch::equal(before, parameters.at(0)), "training");
}

void check_freezing(torch::jit::script::Module module) {
  module.eval();
  const auto frozen = torch::jit::freeze(module);
  auto fast = torch::jit::optimize_for_inference(module);
  const std::vector<torch::jit::IValue> inputs = {torch::ones({5, 3}), 2,
                                                  std::vector<std::string>{"one"}};
  const auto first = [&](const torch::jit::script::Module& m) {
    return m.forward(inputs).toTuple()->elements()[0].toTensor();
  };
  check(frozen.parameters().empty() && fast.parameters().empty(), "freeze");
  check(torch::allclose(first(frozen), first(module)), "frozen results");
  check(torch::allclose(first(fast), first(module)), "optimized results");
}

}  // namespace

int main(int argc, const char* argv[]) {
  if (argc != 2) return 2;
  torch::jit::script::Module module;
  try {
    module = torch::jit::load(argv[1], torch::kCPU);
  } catch (const c10::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  containers();
  run(module);
  train(module);
  record();
  check_freezing(module);
  switches(module);
  const auto unit = torch::jit::compile("def add(x, n: int):\n  return x + n\n");
  const at::Tensor sum = unit->run_method("add", {torch::ones({2}), 3}).toTensor();
  check(torch::equal(sum, torch::full({2}, 4.0)), "compile");
  return failed;
}
