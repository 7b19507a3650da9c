// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules against numbers that another library computed: outputs, gradients and buffers afterwards.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tests/nn/oracle_modules.h"

namespace tenon::oracle {
namespace {

void expect_close(const Tensor& got, const CaseFile& file, const json& ref, const std::string& what) {
  ASSERT_TRUE(got.defined()) << what << " is undefined";
  const Values truth = file.values(ref);
  const Values mine = values_of(*got.unsafeGetTensorImpl());
  ASSERT_EQ(mine.sizes, truth.sizes) << what;
  for (std::size_t i = 0; i < truth.real.size(); ++i) {
    const double a = mine.real[i], b = truth.real[i];
    if (std::isnan(b) ? std::isnan(a) : a == b) continue;
    ASSERT_LE(std::abs(a - b), 1e-8 + 1e-7 * std::abs(b)) << what << ", element " << i;
  }
}

template <class M>
std::vector<Tensor> call_layers(M& layers, const std::vector<Tensor>& x) {
  const auto [y, h] = x.size() == 2 ? layers.forward(x[0], x[1]) : layers.forward(x.at(0));
  return {y, h};
}

// Modules whose states make tuples; empty if this is none of them.
std::vector<Tensor> call_recurrent(nn::Module& m, const std::vector<Tensor>& x) {
  if (auto* cell = dynamic_cast<nn::LSTMCellImpl*>(&m)) {
    const auto [h, c] = x.size() == 3 ? cell->forward(x[0], std::make_tuple(x[1], x[2])) : cell->forward(x.at(0));
    return {h, c};
  }
  if (auto* lstm = dynamic_cast<nn::LSTMImpl*>(&m)) {
    const auto [y, s] = x.size() == 3 ? lstm->forward(x[0], std::make_tuple(x[1], x[2])) : lstm->forward(x.at(0));
    return {y, std::get<0>(s), std::get<1>(s)};
  }
  if (auto* rnn = dynamic_cast<nn::RNNImpl*>(&m)) return call_layers(*rnn, x);
  if (auto* gru = dynamic_cast<nn::GRUImpl*>(&m)) return call_layers(*gru, x);
  return {};
}

std::vector<Tensor> call(BuiltModule& m, const std::string& name, std::vector<Tensor> x) {
  if (m.with_indices) {
    std::tuple<Tensor, Tensor> both;
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool1dImpl>(m.module.ptr())) both = p->forward_with_indices(x.at(0));
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool2dImpl>(m.module.ptr())) both = p->forward_with_indices(x.at(0));
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool3dImpl>(m.module.ptr())) both = p->forward_with_indices(x.at(0));
    return {std::get<0>(both), std::get<1>(both)};
  }
  if (const auto outputs = call_recurrent(*m.module.ptr(), x); !outputs.empty()) return outputs;
  switch (x.size()) {
    case 1:
      return {m.module.forward(x[0])};
    case 2:
      return {m.module.forward(x[0], x[1])};
    case 3:
      return {m.module.forward(x[0], x[1], x[2])};
    default:
      ADD_FAILURE() << name << ": " << x.size() << " inputs";
      return {};
  }
}

void run_case(const CaseFile& file, const json& c) {
  const std::string id = c.at("id");
  SCOPED_TRACE(id);
  BuiltModule m;
  ASSERT_TRUE(build_module(file, c, &m)) << "no such module";
  const auto module = m.module.ptr();
  module->to(kFloat64);
  module->train(c.at("training").get<bool>());
  OrderedDict<std::string, Tensor> state;
  for (const auto& [name, ref] : c.at("state").items()) state.insert(name, case_tensor(file, ref));
  module->load_state_dict(state);

  std::vector<Tensor> inputs, tracked;
  auto add = [&](const json& ref) {
    Tensor t = case_tensor(file, ref);
    if (t.is_floating_point()) tracked.push_back(t.set_requires_grad(true));
    inputs.push_back(t);
  };
  for (const auto& ref : c.at("inputs")) {
    if (ref.is_array())
      std::for_each(ref.begin(), ref.end(), add);
    else
      add(ref);
  }
  for (const auto& [name, ref] : c.at("keyword_inputs").items()) add(ref);
  const std::vector<Tensor> outputs = call(m, id, inputs);
  ASSERT_EQ(outputs.size(), c.at("outputs").size());
  for (std::size_t i = 0; i < outputs.size(); ++i) expect_close(outputs[i], file, c.at("outputs")[i], "output");
  for (const auto& [name, ref] : c.at("state_after").items()) {
    expect_close(module->named_buffers()[name], file, ref, "buffer " + name);
  }

  Tensor sum;
  for (std::size_t k = 0; k < c.at("differentiable_outputs").size(); ++k) {
    const Tensor& out = outputs.at(c.at("differentiable_outputs")[k].get<std::size_t>());
    const Tensor part = (out * case_tensor(file, c.at("cotangents")[k])).sum();
    sum = sum.defined() ? sum + part : part;
  }
  if (!sum.defined()) return;
  sum.backward();
  for (std::size_t i = 0; i < c.at("input_grads").size(); ++i) {
    const json& ref = c.at("input_grads")[i];
    if (ref.is_null()) continue;
    expect_close(tracked.at(i).grad(), file, ref, "gradient of input " + std::to_string(i));
  }
  const auto parameters = module->named_parameters();
  for (const auto& [name, ref] : c.at("parameter_grads").items()) {
    if (!ref.is_null()) expect_close(parameters[name].grad(), file, ref, "gradient of " + name);
  }
}

class OracleModule : public testing::TestWithParam<std::string> {};

TEST_P(OracleModule, MatchesStoredValues) {
  const std::string path = std::string(TENON_ORACLE_DIR) + "/" + GetParam() + ".json";
  const CaseFile file(path);
  for (const auto& c : file.cases()) {
    try {
      run_case(file, c);
    } catch (const Error& e) {
      ADD_FAILURE() << c.at("id") << ": " << e.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OracleModule, testing::ValuesIn(known_modules()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tenon::oracle
