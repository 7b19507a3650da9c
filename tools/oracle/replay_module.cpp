// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules: outputs, buffers afterwards and gradients.
#include <algorithm>
#include <map>

#include "modules.h"
#include "replay_training.h"
#include "tenon/ops.h"

namespace tenon::oracle {

std::string close(const Tensor& got, const CaseFile& file, const json& ref,
                  const std::string& what) {
  if (!got.defined()) return what + " is undefined";
  const std::string wrong =
      compare_values(values_of(*got.unsafeGetTensorImpl()), file.values(ref), {1e-7, 1e-8});
  return wrong.empty() ? wrong : core::join(what, ": ", wrong);
}

namespace {

template <class M>
std::vector<Tensor> call_layers(M& layers, const std::vector<Tensor>& x) {
  const auto [y, h] = x.size() == 2 ? layers.forward(x[0], x[1]) : layers.forward(x.at(0));
  return {y, h};
}

// Modules whose states make tuples; empty if this is none of them.
std::vector<Tensor> call_recurrent(nn::Module& m, const std::vector<Tensor>& x) {
  if (auto* cell = dynamic_cast<nn::LSTMCellImpl*>(&m)) {
    const auto [h, c] =
        x.size() == 3 ? cell->forward(x[0], std::make_tuple(x[1], x[2])) : cell->forward(x.at(0));
    return {h, c};
  }
  if (auto* lstm = dynamic_cast<nn::LSTMImpl*>(&m)) {
    const auto [y, s] =
        x.size() == 3 ? lstm->forward(x[0], std::make_tuple(x[1], x[2])) : lstm->forward(x.at(0));
    return {y, std::get<0>(s), std::get<1>(s)};
  }
  if (auto* rnn = dynamic_cast<nn::RNNImpl*>(&m)) return call_layers(*rnn, x);
  if (auto* gru = dynamic_cast<nn::GRUImpl*>(&m)) return call_layers(*gru, x);
  return {};
}

using Keywords = std::map<std::string, Tensor>;

// Modules with masks, which are given by name; empty if this is none of them.
std::vector<Tensor> call_masked(nn::Module& m, const std::vector<Tensor>& x,
                                const Keywords& masks) {
  const auto mask = [&](const char* name) {
    const auto found = masks.find(name);
    return found == masks.end() ? Tensor() : found->second;
  };
  if (auto* attention = dynamic_cast<nn::MultiheadAttentionImpl*>(&m)) {
    const auto [y, weights] = attention->forward(x.at(0), x.at(1), x.at(2),
                                                 mask("key_padding_mask"), true, mask("attn_mask"));
    return {y, weights};
  }
  if (auto* encoder = dynamic_cast<nn::TransformerEncoderLayerImpl*>(&m))
    return {encoder->forward(x.at(0), mask("src_mask"), mask("src_key_padding_mask"))};
  if (auto* decoder = dynamic_cast<nn::TransformerDecoderLayerImpl*>(&m)) {
    return {decoder->forward(x.at(0), x.at(1), mask("tgt_mask"), mask("memory_mask"),
                             mask("tgt_key_padding_mask"), mask("memory_key_padding_mask"))};
  }
  if (auto* both = dynamic_cast<nn::TransformerImpl*>(&m)) {
    return {both->forward(x.at(0), x.at(1), mask("src_mask"), mask("tgt_mask"), mask("memory_mask"),
                          mask("src_key_padding_mask"), mask("tgt_key_padding_mask"),
                          mask("memory_key_padding_mask"))};
  }
  return {};
}

std::vector<Tensor> call(BuiltModule& m, std::vector<Tensor> x, const Keywords& keywords) {
  if (const auto outputs = call_masked(*m.module.ptr(), x, keywords); !outputs.empty())
    return outputs;
  for (const auto& [name, t] : keywords) x.push_back(t);

  if (m.with_indices) {
    std::tuple<Tensor, Tensor> both;
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool1dImpl>(m.module.ptr()))
      both = p->forward_with_indices(x.at(0));
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool2dImpl>(m.module.ptr()))
      both = p->forward_with_indices(x.at(0));
    if (auto p = std::dynamic_pointer_cast<nn::MaxPool3dImpl>(m.module.ptr()))
      both = p->forward_with_indices(x.at(0));
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
    case 4:
      return {m.module.forward(x[0], x[1], x[2], x[3])};
    default:
      throw ValueError(core::join(x.size(), " inputs"));
  }
}

struct Inputs {
  std::vector<Tensor> all, tracked;
  Keywords keywords;
  Inputs(const CaseFile& file, const json& c) {
    const auto read = [&](const json& ref) {
      Tensor t = case_tensor(file, ref);
      if (t.is_floating_point()) tracked.push_back(t.set_requires_grad(true));
      return t;
    };
    for (const auto& ref : c.at("inputs")) {
      if (!ref.is_array())
        all.push_back(read(ref));
      else if (!ref.empty() && ref[0].is_number())
        all.push_back(tensor(ref.get<std::vector<int64_t>>(), TensorOptions(kLong)));
      else
        std::transform(ref.begin(), ref.end(), std::back_inserter(all), read);
    }
    for (const auto& [name, ref] : c.at("keyword_inputs").items()) {
      if (!ref.is_null()) keywords.emplace(name, read(ref));
    }
  }
};

std::shared_ptr<nn::Module> prepared(BuiltModule& m, const CaseFile& file, const json& c) {
  const auto module = m.module.ptr();
  module->to(kFloat64);
  module->train(c.at("training").get<bool>());
  OrderedDict<std::string, Tensor> state;
  for (const auto& [name, ref] : c.at("state").items()) state.insert(name, case_tensor(file, ref));
  module->load_state_dict(state);
  return module;
}

std::string gradients(const nn::Module& module, const std::vector<Tensor>& outputs,
                      const std::vector<Tensor>& tracked, const CaseFile& file, const json& c) {
  Tensor sum;
  for (std::size_t k = 0; k < c.at("differentiable_outputs").size(); ++k) {
    const Tensor& out = outputs.at(c.at("differentiable_outputs")[k].get<std::size_t>());
    const Tensor part = (out * case_tensor(file, c.at("cotangents")[k])).sum();
    sum = sum.defined() ? sum + part : part;
  }
  if (!sum.defined()) return {};
  sum.backward();
  std::string wrong;
  for (std::size_t i = 0; i < c.at("input_grads").size() && wrong.empty(); ++i) {
    const json& ref = c.at("input_grads")[i];
    if (!ref.is_null())
      wrong = close(tracked.at(i).grad(), file, ref, core::join("gradient of input ", i));
  }
  const auto parameters = module.named_parameters();
  for (const auto& [name, ref] : c.at("parameter_grads").items()) {
    if (wrong.empty() && !ref.is_null())
      wrong = close(parameters[name].grad(), file, ref, "gradient of " + name);
  }
  return wrong;
}

}  // namespace

Outcome replay_module(const CaseFile& file, const json& c) {
  BuiltModule m;
  if (!build_module(file, c, &m))
    return {Verdict::Skipped, "no module named " + c.at("module").get<std::string>()};
  const auto module = prepared(m, file, c);
  const Inputs inputs(file, c);
  const std::vector<Tensor> outputs = call(m, inputs.all, inputs.keywords);
  const json& expected = c.at("outputs");
  std::string wrong;
  if (outputs.size() != expected.size())
    wrong = core::join(outputs.size(), " outputs, expected ", expected.size());
  for (std::size_t i = 0; i < outputs.size() && wrong.empty(); ++i) {
    wrong = close(outputs[i], file, expected[i], core::join("output ", i));
  }
  for (const auto& [name, ref] : c.at("state_after").items()) {
    if (wrong.empty()) wrong = close(module->named_buffers()[name], file, ref, "buffer " + name);
  }
  if (wrong.empty()) wrong = gradients(*module, outputs, inputs.tracked, file, c);
  return {wrong.empty() ? Verdict::Passed : Verdict::Failed, wrong};
}

}  // namespace tenon::oracle
