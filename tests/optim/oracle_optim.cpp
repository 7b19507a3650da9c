// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Optimisers and schedules against numbers that another library computed.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tools/oracle/case_reader.h"

namespace tenon::oracle {
namespace {

std::string path(const char* name) { return std::string(TENON_ORACLE_DIR) + "/" + name + ".json"; }

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
  void field(const char*, Tensor&) override {}

 private:
  const json* find(const std::string& name) const {
    const auto dot = name.find('.');
    const std::string key = name.substr(0, dot);
    if (!options_.contains(key)) return nullptr;
    const json& j = options_.at(key);
    return dot == std::string::npos ? &j : &j.at(static_cast<std::size_t>(std::stoi(name.substr(dot + 1))));
  }
  const json& options_;
};

template <class O, class Options>
std::unique_ptr<optim::Optimizer> make(std::vector<Tensor> params, Options options, const json& given) {
  FromJson reader(given);
  options.fields(reader);
  return std::make_unique<O>(std::move(params), std::move(options));
}

std::unique_ptr<optim::Optimizer> build(const std::string& name, std::vector<Tensor> p, const json& o) {
  if (name == "SGD") return make<optim::SGD>(std::move(p), optim::SGDOptions(1e-3), o);
#define TENON_TEST_OPTIM(N) \
  if (name == #N) return make<optim::N>(std::move(p), optim::N##Options(), o);
  TENON_TEST_OPTIM(Adam)
  TENON_TEST_OPTIM(AdamW)
  TENON_TEST_OPTIM(Adagrad)
  TENON_TEST_OPTIM(Adadelta)
  TENON_TEST_OPTIM(RMSprop)
  TENON_TEST_OPTIM(Adamax)
  TENON_TEST_OPTIM(ASGD)
  TENON_TEST_OPTIM(Rprop)
  TENON_TEST_OPTIM(RAdam)
#undef TENON_TEST_OPTIM
  return nullptr;
}

void expect_close(const Tensor& got, const CaseFile& file, const json& ref, const std::string& what) {
  const Values truth = file.values(ref), mine = values_of(*got.unsafeGetTensorImpl());
  ASSERT_EQ(mine.sizes, truth.sizes) << what;
  for (std::size_t i = 0; i < truth.real.size(); ++i) {
    ASSERT_LE(std::abs(mine.real[i] - truth.real[i]), 1e-8 + 1e-7 * std::abs(truth.real[i])) << what << " " << i;
  }
}

TEST(OracleOptim, Optimisers) {
  const CaseFile file(path("optimisers"));
  for (const auto& c : file.cases()) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    std::vector<Tensor> params;
    for (const auto& ref : c.at("start")) params.push_back(Tensor(file.tensor(ref)).set_requires_grad(true));
    auto optimiser = build(c.at("optimiser"), params, c.at("options"));
    ASSERT_NE(optimiser, nullptr) << "no such optimiser";
    int64_t step = 0;
    for (const auto& grads : c.at("gradients")) {
      std::vector<Values> before;
      for (std::size_t i = 0; i < params.size(); ++i) {
        params[i].mutable_grad() = Tensor(file.tensor(grads[i]));
        before.push_back(values_of(*params[i].grad().unsafeGetTensorImpl()));
      }
      optimiser->step();
      for (std::size_t i = 0; i < params.size(); ++i) {
        ASSERT_EQ(values_of(*params[i].grad().unsafeGetTensorImpl()).real, before[i].real) << "step() wrote into .grad";
      }
      const std::string key = std::to_string(++step);
      if (!c.at("after").contains(key)) continue;
      for (std::size_t i = 0; i < params.size(); ++i) {
        expect_close(params[i].detach(), file, c.at("after").at(key)[i], "after " + key + ", parameter");
      }
    }
  }
}

std::unique_ptr<optim::LRScheduler> schedule(const std::string& name, optim::Optimizer& o, const json& a) {
  auto num = [&](const char* k, double d) { return a.contains(k) ? number(a.at(k)) : d; };
  auto integer = [&](const char* k, int64_t d) { return a.contains(k) ? a.at(k).get<int64_t>() : d; };
  if (name == "StepLR") return std::make_unique<optim::StepLR>(o, integer("step_size", 1), num("gamma", 0.1));
  if (name == "MultiStepLR") {
    return std::make_unique<optim::MultiStepLR>(o, a.at("milestones").get<std::vector<int64_t>>(), num("gamma", 0.1));
  }
  if (name == "ExponentialLR") return std::make_unique<optim::ExponentialLR>(o, num("gamma", 1));
  if (name == "ConstantLR") {
    return std::make_unique<optim::ConstantLR>(o, num("factor", 1.0 / 3), integer("total_iters", 5));
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
    return std::make_unique<optim::CosineAnnealingWarmRestarts>(o, integer("T_0", 1), integer("T_mult", 1),
                                                                num("eta_min", 0));
  }
  if (name == "CyclicLR") {
    return std::make_unique<optim::CyclicLR>(o, num("base_lr", 0), num("max_lr", 0), integer("step_size_up", 2000));
  }
  return nullptr;
}

TEST(OracleOptim, Schedules) {
  const CaseFile file(path("schedulers"));
  for (const auto& c : file.cases()) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    optim::SGD sgd({tenon::zeros({1}, requires_grad())}, optim::SGDOptions(number(c.at("initial_lr"))));
    const json& options = c.at("options");
    const auto lr = [&] { return sgd.param_groups()[0].options().get_lr(); };
    const bool plateau = c.at("scheduler") == "ReduceLROnPlateau";
    std::unique_ptr<optim::LRScheduler> s = plateau ? nullptr : schedule(c.at("scheduler"), sgd, options);
    ASSERT_TRUE(plateau || s) << "no such schedule";
    optim::ReduceLROnPlateauScheduler p(
        sgd, optim::ReduceLROnPlateauScheduler::min, plateau ? number(options.at("factor")) : 0.5,
        options.value("patience", 10), options.value("threshold", 1e-4), optim::ReduceLROnPlateauScheduler::rel,
        options.value("cooldown", 0), {static_cast<float>(options.value("min_lr", 0.0))});
    const auto& want = c.at("lr");
    for (std::size_t epoch = 0; epoch < want.size(); ++epoch) {
      ASSERT_NEAR(lr(), number(want[epoch]), 1e-7 * std::abs(number(want[epoch])) + 1e-9) << "epoch " << epoch;
      if (epoch + 1 == want.size()) break;
      if (s) {
        s->step();
      } else {
        p.step(number(c.at("metric")[epoch]));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::oracle
