// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Optimizers, step by step, and schedules.
#include <cmath>

#include "replay_training.h"
#include "tenon/ops.h"
#include "tenon/optim.h"

namespace tenon::oracle {
namespace {

// Sets options by the names of the case.
class FromJson final : public optim::FieldVisitor {
 public:
  explicit FromJson(const json& options) : options_(options) {}
  void field(const char* name, double& value) override {
    if (const json* j = find(name)) value = number(*j);
  }
  void field(const char* name, int64_t& value) override {
    if (const json* j = find(name)) value = j->get<int64_t>();
  }
  void field(const char* name, bool& value) override {
    if (const json* j = find(name)) value = j->get<bool>();
  }
  using FieldVisitor::field;
  void field(const char*, Tensor&) override {}

 private:
  const json* find(const std::string& name) const {
    const auto dot = name.find('.');
    const std::string key = name.substr(0, dot);
    if (!options_.contains(key)) return nullptr;
    const json& j = options_.at(key);
    return dot == std::string::npos
               ? &j
               : &j.at(static_cast<std::size_t>(std::stoi(name.substr(dot + 1))));
  }
  const json& options_;
};

template <class O, class Options>
std::unique_ptr<optim::Optimizer> make(std::vector<Tensor> params, Options options,
                                       const json& given) {
  FromJson reader(given);
  options.fields(reader);
  return std::make_unique<O>(std::move(params), std::move(options));
}

std::unique_ptr<optim::Optimizer> build(const std::string& name, std::vector<Tensor> p,
                                        const json& o) {
  if (name == "SGD") return make<optim::SGD>(std::move(p), optim::SGDOptions(1e-3), o);
#define TENON_ORACLE_OPTIM(N) \
  if (name == #N) return make<optim::N>(std::move(p), optim::N##Options(), o);
  TENON_ORACLE_OPTIM(Adam)
  TENON_ORACLE_OPTIM(AdamW)
  TENON_ORACLE_OPTIM(Adagrad)
  TENON_ORACLE_OPTIM(Adadelta)
  TENON_ORACLE_OPTIM(RMSprop)
  TENON_ORACLE_OPTIM(Adamax)
  TENON_ORACLE_OPTIM(ASGD)
  TENON_ORACLE_OPTIM(Rprop)
  TENON_ORACLE_OPTIM(RAdam)
#undef TENON_ORACLE_OPTIM
  return nullptr;
}

std::unique_ptr<optim::LRScheduler> schedule(const std::string& name, optim::Optimizer& o,
                                             const json& a) {
  auto num = [&](const char* k, double d) { return a.contains(k) ? number(a.at(k)) : d; };
  auto integer = [&](const char* k, int64_t d) {
    return a.contains(k) ? a.at(k).get<int64_t>() : d;
  };
  if (name == "StepLR")
    return std::make_unique<optim::StepLR>(o, integer("step_size", 1), num("gamma", 0.1));
  if (name == "MultiStepLR") {
    return std::make_unique<optim::MultiStepLR>(o, a.at("milestones").get<std::vector<int64_t>>(),
                                                num("gamma", 0.1));
  }
  if (name == "ExponentialLR") return std::make_unique<optim::ExponentialLR>(o, num("gamma", 1));
  if (name == "ConstantLR") {
    return std::make_unique<optim::ConstantLR>(o, num("factor", 1.0 / 3),
                                               integer("total_iters", 5));
  }
  if (name == "LinearLR") {
    return std::make_unique<optim::LinearLR>(o, num("start_factor", 1.0 / 3), num("end_factor", 1),
                                             integer("total_iters", 5));
  }
  if (name == "PolynomialLR") {
    return std::make_unique<optim::PolynomialLR>(o, integer("total_iters", 5), num("power", 1));
  }
  if (name == "CosineAnnealingLR") {
    return std::make_unique<optim::CosineAnnealingLR>(o, integer("T_max", 1), num("eta_min", 0));
  }
  if (name == "CosineAnnealingWarmRestarts") {
    return std::make_unique<optim::CosineAnnealingWarmRestarts>(
        o, integer("T_0", 1), integer("T_mult", 1), num("eta_min", 0));
  }
  if (name == "CyclicLR") {
    return std::make_unique<optim::CyclicLR>(o, num("base_lr", 0), num("max_lr", 0),
                                             integer("step_size_up", 2000));
  }
  return nullptr;
}

// One step with the gradients of the case, which it must not change.
std::string step(optim::Optimizer& optimizer, std::vector<Tensor>& params, const CaseFile& file,
                 const json& grads) {
  for (std::size_t i = 0; i < params.size(); ++i)
    params[i].mutable_grad() = Tensor(file.tensor(grads[i]));
  optimizer.step();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::string wrong = compare_values(values_of(*params[i].grad().unsafeGetTensorImpl()),
                                             file.values(grads[i]), {});
    if (!wrong.empty()) return core::join("step() wrote into gradient ", i, ": ", wrong);
  }
  return {};
}

}  // namespace

Outcome replay_optimizer(const CaseFile& file, const json& c) {
  std::vector<Tensor> params;
  for (const auto& ref : c.at("start"))
    params.push_back(Tensor(file.tensor(ref)).set_requires_grad(true));
  const std::string name = c.at("optimizer");
  const auto optimizer = build(name, params, c.at("options"));
  if (!optimizer) return {Verdict::Skipped, "no optimizer named " + name};
  std::string wrong;
  int64_t at = 0;
  for (const auto& grads : c.at("gradients")) {
    wrong = step(*optimizer, params, file, grads);
    const std::string key = std::to_string(++at);
    const bool known = c.at("after").contains(key);
    for (std::size_t i = 0; i < params.size() && known && wrong.empty(); ++i) {
      wrong = close(params[i].detach(), file, c.at("after").at(key)[i],
                    core::join("after step ", key, ", parameter ", i));
    }
    if (!wrong.empty()) return {Verdict::Failed, wrong};
  }
  return {Verdict::Passed, ""};
}

Outcome replay_schedule(const json& c) {
  optim::SGD sgd({tenon::zeros({1}, requires_grad())},
                 optim::SGDOptions(number(c.at("initial_lr"))));
  const json& options = c.at("options");
  const std::string name = c.at("scheduler");
  const bool plateau = name == "ReduceLROnPlateau";
  const std::unique_ptr<optim::LRScheduler> s = plateau ? nullptr : schedule(name, sgd, options);
  if (!plateau && !s) return {Verdict::Skipped, "no schedule named " + name};
  optim::ReduceLROnPlateauScheduler p(
      sgd, optim::ReduceLROnPlateauScheduler::min, plateau ? number(options.at("factor")) : 0.5,
      options.value("patience", 10), options.value("threshold", 1e-4),
      optim::ReduceLROnPlateauScheduler::rel, options.value("cooldown", 0),
      {static_cast<float>(options.value("min_lr", 0.0))});
  const json& want = c.at("lr");
  for (std::size_t epoch = 0; epoch < want.size(); ++epoch) {
    const double lr = sgd.param_groups()[0].options().get_lr(), truth = number(want[epoch]);
    if (!(std::abs(lr - truth) <= 1e-7 * std::abs(truth) + 1e-9)) {
      return {Verdict::Failed, core::join("epoch ", epoch, ": got ", lr, ", expected ", truth)};
    }
    if (epoch + 1 == want.size()) break;
    if (s)
      s->step();
    else
      p.step(number(c.at("metric")[epoch]));
  }
  return {Verdict::Passed, ""};
}

}  // namespace tenon::oracle
