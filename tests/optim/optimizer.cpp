// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/optimizer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

Tensor leaf(double v = 1) { return full({2}, v, requires_grad()); }

TEST(Optimizer, RefusesBadParameters) {
  using optim::SGD;
  expect_words(text_of([] { SGD({leaf() * 2}, 0.1); }), {"non-leaf"});
  const Tensor p = leaf();
  SGD sgd(std::vector<Tensor>{p}, 0.1);
  expect_words(text_of([&] { sgd.add_param_group({{p}}); }), {"more than one parameter group"});
  expect_words(text_of([] { SGD({leaf()}, -1); }), {"invalid lr: -1"});
  expect_words(text_of([] {
                 optim::Adam({leaf()}, optim::AdamOptions().betas({1.5, 0.9}));
               }),
               {"invalid betas[0]"});
  expect_words(text_of([] { SGD({leaf()}, optim::SGDOptions(0.1).nesterov(true)); }), {"nesterov"});
}

// As torch: it is not changed until it requires grad and has one.
TEST(Optimizer, AParameterThatDoesNotRequireGradIsTaken) {
  Tensor p = ones({2});
  optim::SGD sgd({p}, 0.5);
  sgd.step();
  EXPECT_TRUE(equal(p, ones({2})));
  p.requires_grad_(true);
  (p * 2).sum().backward();
  sgd.step();
  EXPECT_TRUE(equal(p, zeros({2})));
}

// A file that is refused changes nothing, wherever in it the fault is.
TEST(Optimizer, ARefusedFileChangesNothing) {
  const auto step = [](optim::Adam& adam, const Tensor& p) {
    p.mutable_grad() = full_like(p, 0.5);
    adam.step();
  };
  const auto make = [](const std::vector<Tensor>& ps, double lr) {
    std::vector<optim::OptimizerParamGroup> groups;
    for (const Tensor& p : ps)
      groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<optim::AdamOptions>(lr));
    return std::make_unique<optim::Adam>(groups, optim::AdamOptions(lr));
  };
  const Tensor a = leaf(), b = leaf();
  const auto adam = make({a, b}, 0.25);
  step(*adam, a);
  serialize::OutputArchive before;
  adam->save(before);
  std::stringstream was;
  before.save_to(was);
  // The second group's options are none; a state has other sizes; a state of the last parameter
  // lacks a field.
  for (int fault = 0; fault < 3; ++fault) {
    serialize::OutputArchive out, group0, group1, states, state;
    const Tensor c = leaf(), d = leaf();
    const auto other = make({c, d}, fault == 0 ? 0.5 : 0.75);
    step(*other, c);
    step(*other, d);
    serialize::OutputArchive good;
    other->save(good);
    std::stringstream file;
    good.save_to(file);
    serialize::InputArchive in;
    in.load_from(file);
    serialize::OutputArchive bad;
    const std::function<void(serialize::InputArchive&, serialize::OutputArchive&,
                             const std::string&)>
        copy = [&](serialize::InputArchive& from, serialize::OutputArchive& to,
                   const std::string& prefix) {
          for (const std::string& key : from.keys()) {
            const std::string name = prefix + key;
            if (fault == 0 && name == "1.lr") {
              to.write(key, IValue(-1.0));
              continue;
            }
            if (fault == 1 && name == "state.1.exp_avg") {
              to.write(key, ones({3}));
              continue;
            }
            if (fault == 2 && name == "state.1.step") continue;
            IValue value;
            Tensor tensor;
            serialize::InputArchive nested;
            if (from.try_read(key, tensor)) {
              to.write(key, tensor);
            } else if (from.try_read(key, value)) {
              to.write(key, value);
            } else if (from.try_read(key, nested)) {
              serialize::OutputArchive part;
              copy(nested, part, name + ".");
              to.write(key, part);
            }
          }
        };
    copy(in, bad, "");
    std::stringstream bytes;
    bad.save_to(bytes);
    EXPECT_THROW(load(*adam, bytes), ValueError) << fault;
    serialize::OutputArchive after;
    adam->save(after);
    std::stringstream is;
    after.save_to(is);
    EXPECT_EQ(is.str(), was.str()) << fault;
  }
}

// As libtorch: parameters may come later.
TEST(Optimizer, AGroupMayBeEmpty) {
  optim::SGD sgd(std::vector<Tensor>(), 0.5);
  sgd.step();
  const Tensor p = leaf();
  sgd.param_groups()[0].params().push_back(p);
  p.sum().backward();
  sgd.step();
  EXPECT_FLOAT_EQ(p.select(0, 0).item<float>(), 0.5f);
}

struct RateOptions : public optim::OptimizerCloneableOptions<RateOptions> {
  RateOptions(double lr = 1) : lr_(lr) {}
  TENON_ARG(double, lr) = 1;
};
struct NoRateOptions : public optim::OptimizerCloneableOptions<NoRateOptions> {};
struct OwnFormat : public optim::OptimizerCloneableOptions<OwnFormat> {
  TENON_ARG(double, lr) = 1;

 public:
  void serialize(serialize::OutputArchive& archive) const override {
    archive.write("rate", IValue(lr()));
  }
  void serialize(serialize::InputArchive& archive) override {
    IValue rate;
    archive.read("rate", rate);
    lr(rate.toDouble());
  }
};
struct Still : public optim::Optimizer {
  using Optimizer::Optimizer;
  Tensor step(LossClosure = nullptr) override { return {}; }
};

TEST(Optimizer, OptionsOfPrograms) {
  Still one({leaf()}, std::make_unique<RateOptions>(0.25));
  EXPECT_EQ(one.param_groups()[0].options().get_lr(), 0.25);
  one.param_groups()[0].options().set_lr(2);
  EXPECT_EQ(static_cast<RateOptions&>(one.param_groups()[0].options()).lr(), 2);
  std::stringstream file;
  expect_words(text_of<NotImplementedError>([&] { save(one, file); }),
               {"serialize(torch::serialize::OutputArchive&) has not been implemented"});
  Still two({leaf()}, std::make_unique<NoRateOptions>());
  expect_words(text_of<NotImplementedError>([&] { two.defaults().get_lr(); }), {"get_lr"});
}

TEST(Optimizer, OptionsMaySaveThemselves) {
  auto options = std::make_unique<OwnFormat>();
  options->lr(0.125);
  Still one({leaf()}, std::move(options)), two({leaf()}, std::make_unique<OwnFormat>());
  std::stringstream file;
  save(one, file);
  const auto& loaded = two.param_groups()[0].options();
  load(two, file);
  EXPECT_EQ(loaded.get_lr(), 0.125);  // into the options that are there
}

TEST(Optimizer, OptionsAndStatesCompareByTheirFields) {
  EXPECT_TRUE(optim::SGDOptions(0.5) == optim::SGDOptions(0.5));
  EXPECT_FALSE(optim::SGDOptions(0.5) == optim::SGDOptions(0.5).momentum(0.1));
  optim::SGDParamState a, b;
  EXPECT_TRUE(a == b);
  a.momentum_buffer(ones({2}));
  EXPECT_FALSE(a == b);
  b.momentum_buffer(ones({2}));
  EXPECT_TRUE(a == b);
  b.momentum_buffer().fill_(2);
  EXPECT_FALSE(a == b);
}

TEST(Optimizer, GroupsHaveTheirOwnOptions) {
  const Tensor a = leaf(), b = leaf();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(0.5));
  optim::SGD sgd(groups, optim::SGDOptions(0.1));
  EXPECT_EQ(sgd.size(), 2u);
  (a.sum() + b.sum()).backward();
  sgd.step();
  EXPECT_FLOAT_EQ(a.select(0, 0).item<float>(), 0.9f);
  EXPECT_FLOAT_EQ(b.select(0, 0).item<float>(), 0.5f);
  sgd.zero_grad();
  EXPECT_FALSE(a.grad().defined());
  sgd.step();  // nothing to do without gradients
  EXPECT_FLOAT_EQ(a.select(0, 0).item<float>(), 0.9f);
}

TEST(Optimizer, ClosureRunsWithGradients) {
  const Tensor p = leaf(3);
  optim::SGD sgd(std::vector<Tensor>{p}, 0.1);
  NoGradGuard no_grad;
  const Tensor loss = sgd.step([&] {
    sgd.zero_grad();
    const Tensor l = (p * p).sum();
    l.backward();
    return l;
  });
  EXPECT_FLOAT_EQ(loss.item<float>(), 18);
  EXPECT_FLOAT_EQ(p.select(0, 0).item<float>(), 2.4f);
}

// Saving in the middle and going on elsewhere gives the same bits as going on here.
TEST(Optimizer, ResumesFromFile) {
  const Tensor p = leaf(), q = leaf();
  optim::Adam one(std::vector<Tensor>{p}, optim::AdamOptions(0.1).amsgrad(true)),
      two(std::vector<Tensor>{q});
  auto steps = [](const Tensor& t, optim::Optimizer& o, int n) {
    for (int i = 0; i < n; ++i) {
      o.zero_grad();
      (t * t * t).sum().backward();
      o.step();
    }
  };
  steps(p, one, 5);
  std::stringstream file;
  save(one, file);
  load(two, file);
  q.set_data(p.detach().clone());
  EXPECT_EQ(static_cast<optim::AdamOptions&>(two.param_groups()[0].options()).lr(), 0.1);
  steps(p, one, 5);
  steps(q, two, 5);
  EXPECT_TRUE(equal(p, q));
  optim::Adam other(std::vector<Tensor>{leaf(), leaf()});
  std::stringstream again(file.str());
  expect_words(text_of([&] { load(other, again); }), {"has 1 parameters, that of the optimizer 2"});
}

TEST(Optimizer, TrainsALineOnSineData) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(1, 16), nn::Tanh(), nn::Linear(16, 1));
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.02));
  const Tensor x = linspace(-2, 2, 64).unsqueeze(1), y = x.sin();
  double last = 1;
  for (int i = 0; i < 300; ++i) {
    adam.zero_grad();
    const Tensor loss = nn::functional::mse_loss(net->forward(x), y);
    loss.backward();
    adam.step();
    last = loss.item<double>();
  }
  EXPECT_LT(last, 1e-3);
}

TEST(Schedules, RefuseBadArguments) {
  optim::SGD sgd({leaf()}, 0.1);
  expect_words(text_of([&] { optim::MultiStepLR(sgd, {3, 3}); }), {"milestones must increase"});
  expect_words(text_of([&] {
                 optim::ReduceLROnPlateauScheduler(sgd, optim::ReduceLROnPlateauScheduler::min,
                                                   1.0);
               }),
               {"below 1"});
}

TEST(Schedules, StepsAtTheRightEpochs) {
  optim::SGD sgd({leaf()}, 1.0);
  optim::StepLR schedule(sgd, 3, 0.5);
  std::vector<double> seen;
  for (int i = 0; i < 7; ++i) {
    seen.push_back(sgd.param_groups()[0].options().get_lr());
    schedule.step();
  }
  EXPECT_EQ(seen, (std::vector<double>{1, 1, 1, 0.5, 0.5, 0.5, 0.25}));
}

// A leaf of one element and 2^40 indices, whose state no memory can hold.
Tensor huge_leaf() {
  Tensor t = ones({1}).expand({int64_t{1} << 40}).detach().set_requires_grad(true);
  t.mutable_grad() = ones({1}).expand({int64_t{1} << 40});
  return t;
}

TEST(Optimizer, AFirstStepThatFailsLeavesNoHalfState) {
  optim::Rprop rprop({huge_leaf()}, 0.1);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(rprop.step(), OutOfMemoryError) << i;
  EXPECT_THROW(optim::Adagrad({huge_leaf()}, 0.1), OutOfMemoryError);  // its states come first
}

TEST(Optimizer, AFirstStepThatFailsLeavesNoMomentum) {
  Tensor small = leaf(), huge = huge_leaf();
  small.mutable_grad() = ones({2});
  optim::SGD sgd({small, huge}, optim::SGDOptions(1.0).momentum(0.9));
  { Tensor used = full({2}, 1e9); }  // what new memory may hold
  EXPECT_THROW(sgd.step(), OutOfMemoryError);
  huge.mutable_grad() = Tensor();
  sgd.step();
  EXPECT_EQ(small.detach().sum().item<double>(), 0);
}

}  // namespace
}  // namespace tenon
