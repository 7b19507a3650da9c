// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "gradients.h"

#include <algorithm>
#include <regex>

#include "programs.h"
#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

// What draws random numbers while it trains stays in eval mode, as where the gradients come from.
void train_without_dropout(const jit::Module& m) {
  static const std::regex kDropout("drop(out|path|block)|stochasticdepth", std::regex::icase);
  m.train();
  for (const jit::Module& part : m.modules()) {
    const std::string name = part.type()->class_name();
    if (std::regex_search(name.substr(name.rfind('.') + 1), kDropout)) part.eval();
  }
}

bool reads_training(const jit::Module& m) {
  bool found = false;
  for (jit::Function* f : reachable_functions(m)) {
    for_each_node(*f->graph(), [&](const jit::Node& n) {
      found |= n.is("prim::GetAttr") && n.s("name") == "training";
    });
  }
  return found;
}

void add_means(const IValue& v, Tensor& sum) {
  if (v.isTensor()) {
    const Tensor& t = v.toTensor();
    if (!t.defined() || !t.is_floating_point() || !t.requires_grad()) return;
    sum = sum.defined() ? sum + t.mean() : t.mean();
  } else if (v.isList()) {
    for (const IValue& e : v.toListRef().items) add_means(e, sum);
  } else if (v.isTuple()) {
    for (const IValue& e : v.toTupleRef().items) add_means(e, sum);
  } else if (v.isGenericDict()) {
    for (const auto& item : v.toDictRef().items()) add_means(item.second, sum);
  }
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

// Parameters that share their memory are one: the gradient of each name is the sum of theirs.
Tensor gradient_of(const jit::NamedTensor& p, const std::vector<jit::NamedTensor>& all) {
  Tensor sum;
  for (const jit::NamedTensor& other : all) {
    const bool same =
        other.name == p.name || (p.value.numel() > 0 && p.value.is_alias_of(other.value) &&
                                 p.value.sizes() == other.value.sizes());
    if (!same || !other.value.grad().defined()) continue;
    sum = sum.defined() ? sum + other.value.grad() : other.value.grad();
  }
  return sum;
}

class Check {
 public:
  Check(const CaseFolder& folder, const std::string& mode, GradientResult& result)
      : folder_(folder), mode_(mode), result_(result) {}

  void run(const jit::Module& m, const Device& device) {
    std::vector<IValue> arguments = folder_.arguments(folder_.cases().at(0), device);
    record(arguments);
    m.zero_grad();
    const EnableGradGuard recording;
    Tensor loss;
    add_means(m(arguments), loss);
    TENON_CHECK(loss.defined(), ValueError, "no result records a gradient");
    compare("loss", loss.detach());
    loss.backward();
    const std::vector<jit::NamedTensor> parameters = m.named_parameters();
    for (const auto& p : parameters) compare(p.name, gradient_of(p, parameters));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].isTensor()) compare_input(i, arguments[i].toTensor());
    }
    const auto total =
        std::count_if(folder_.gradients().begin(), folder_.gradients().end(), [&](const auto& g) {
          return begins(g.first, mode_ + ".") || begins(g.first, mode_ + "i.");
        });
    if (result_.compared < total && result_.comparison.wrong.empty())
      result_.comparison.wrong = std::to_string(total - result_.compared) +
                                 " gradients are of parameters that the program has not";
  }

 private:
  // Inputs record where the folder has gradients of them.
  void record(std::vector<IValue>& arguments) {
    const auto& all = folder_.gradients();
    const auto first = all.lower_bound(mode_ + "i.");
    if (first == all.end() || !begins(first->first, mode_ + "i.")) return;
    for (const IValue& v : arguments) {
      if (v.isTensor() && v.toTensor().is_floating_point()) v.toTensor().requires_grad_(true);
    }
  }
  void compare_input(std::size_t i, const Tensor& t) {
    compare_entry(mode_ + "i." + std::to_string(i), t.grad());
  }
  void compare(const std::string& name, const Tensor& got) {
    compare_entry(mode_ + "." + name, got);
  }
  void compare_entry(const std::string& entry, const Tensor& got) {
    const auto it = folder_.gradients().find(entry);
    if (it == folder_.gradients().end()) return;
    ++result_.compared;
    // What no result depends on in this run has none: torch writes zeros for a branch not taken.
    const Tensor& expected = it->second;
    if (got.defined() || expected.count_nonzero().item<int64_t>() == 0)
      result_.comparison.compare(got.defined() ? got : zeros_like(expected), expected, entry,
                                 folder_.allowed(entry));
    else if (result_.comparison.wrong.empty())
      result_.comparison.wrong = entry + " has no gradient";
  }
  const CaseFolder& folder_;
  std::string mode_;
  GradientResult& result_;
};

}  // namespace

std::vector<GradientResult> compare_gradients(const CaseFolder& folder,
                                              const std::function<jit::Module()>& load,
                                              const Device& device) {
  std::vector<GradientResult> out;
  for (const std::string mode : {"e", "g"}) {
    const auto first = folder.gradients().lower_bound(mode + ".");
    if (first == folder.gradients().end() || !begins(first->first, mode + ".")) continue;
    GradientResult r;
    r.mode = mode == "e" ? "eval" : "train";
    const Stopwatch watch;
    try {
      const jit::Module m = load();
      const bool has_modes = m.hasattr("training");
      const bool as_saved = has_modes && m.is_training() == (mode == "g");
      if (mode == "e" && has_modes && !as_saved) m.eval();
      if (mode == "g" && !as_saved && !reads_training(m))
        r.skipped = "the program does not ask whether it trains";
      else if (mode == "g" && !as_saved)
        train_without_dropout(m);
      if (r.skipped.empty()) Check(folder, mode, r).run(m, device);
    } catch (const std::exception& e) {
      r.comparison.wrong = e.what();
    }
    r.milliseconds = watch.milliseconds();
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace tenon::command
