// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <utility>

#include "jit/comprehension/function_state.h"
#include "jit/comprehension/parser.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops/loop_program.gen.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::tc {
namespace {

namespace language = jit::comprehension;
namespace lp = sdk::loop_program;
using language::Shape;

constexpr std::size_t kMaxPrograms = 256;  // of a definition; then it begins again

std::vector<language::Definition> parse(const std::string& text, const Constants& constants) {
  return language::parse(std::make_shared<const jit::Source>(jit::Source{text, ""}), constants);
}

// Errors that do not depend on sizes, before any call.
void check(const language::Definition& d) {
  language::Facts facts;
  facts.structural = true;
  for (const language::Parameter& p : d.parameters) {
    Shape shape;
    for (const language::Expression& it : p.sizes) {
      if (it.form == language::Form::kName) facts.sizes[it.name] = 64;
      shape.push_back(it.form == language::Form::kName ? 64 : it.integer);
    }
    TENON_PROGRAM_CHECK(facts.shapes.emplace(p.name, shape).second, p.where,
                        "two arguments are named ", p.name);
  }
  for (const language::Parameter& p : d.parameters)
    TENON_PROGRAM_CHECK(facts.sizes.count(p.name) == 0, p.where, p.name,
                        " is both a size and an argument");
  language::emit(d, facts, false);
}

}  // namespace

language::Facts Function::State::bind(const std::vector<Tensor>& inputs) const {
  const std::string& name = definition.name;
  language::Facts facts;
  std::map<std::string, std::string> bound_by;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const language::Parameter& p = definition.parameters[i];
    const Tensor& t = inputs[i];
    TENON_CHECK(static_cast<std::size_t>(t.dim()) == p.sizes.size(), ValueError, name,
                ": argument ", p.name, " has ", t.dim(), " dimensions, expected ", p.sizes.size());
    facts.shapes[p.name] = {t.sizes().begin(), t.sizes().end()};
    for (std::size_t d = 0; d < p.sizes.size(); ++d) {
      const language::Expression& it = p.sizes[d];
      const int64_t size = t.size(static_cast<int64_t>(d));
      if (it.form == language::Form::kNumber) {
        TENON_CHECK(size == it.integer, ValueError, name, ": size ", d, " of ", p.name, " is ",
                    size, ", expected ", it.integer);
        continue;
      }
      const auto [at, is_new] = facts.sizes.emplace(it.name, size);
      if (is_new) bound_by[it.name] = p.name;
      TENON_CHECK(at->second == size, ValueError, name, ": size ", it.name, " is ", at->second,
                  " in ", bound_by[it.name], " but ", size, " in ", p.name);
    }
  }
  return facts;
}

std::shared_ptr<const language::Emitted> Function::State::program(const std::vector<Tensor>& inputs,
                                                                  bool into) {
  const std::vector<language::Parameter>& parameters = definition.parameters;
  TENON_CHECK(inputs.size() == parameters.size(), ValueError, definition.name, ": takes ",
              parameters.size(), " tensors, given ", inputs.size());
  Key key{{}, into, inputs.empty() ? Device(kCPU) : inputs[0].device()};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    TENON_CHECK(t.defined(), ValueError, definition.name, ": argument ", parameters[i].name,
                " is undefined");
    const std::string_view expected = lp::dtype_name(parameters[i].dtype);
    TENON_CHECK(dtype_name(t.scalar_type()) == expected, ValueError, definition.name, ": argument ",
                parameters[i].name, " is ", dtype_name(t.scalar_type()), ", expected ", expected);
    TENON_CHECK(!into || !GradMode::is_enabled() || !t.requires_grad(), ValueError, definition.name,
                ": run_into records no gradient; argument ", parameters[i].name,
                " requires one: call run(), or run_into() under NoGradGuard");
    key.shapes.emplace_back(t.sizes().begin(), t.sizes().end());
  }
  {
    const std::lock_guard<core::LeafMutex> lock(mutex);
    const auto at = programs.find(key);
    if (at != programs.end()) return at->second;
  }
  language::Emitted made = emit(definition, bind(inputs), into);
  const std::lock_guard<core::LeafMutex> lock(mutex);
  const auto tuned = schedules.find(key);
  if (tuned != schedules.end()) made.text = language::add_schedules(made.text, tuned->second);
  if (programs.size() >= kMaxPrograms) programs.clear();
  return programs
      .emplace(std::move(key), std::make_shared<const language::Emitted>(std::move(made)))
      .first->second;
}

void Function::State::set_schedules(const std::vector<Tensor>& inputs,
                                    const std::vector<std::string>& lines) {
  Key key{{}, false, inputs.empty() ? Device(kCPU) : inputs[0].device()};
  for (const Tensor& t : inputs) key.shapes.emplace_back(t.sizes().begin(), t.sizes().end());
  const std::lock_guard<core::LeafMutex> lock(mutex);
  if (schedules.size() >= kMaxPrograms) schedules.clear();
  programs.erase(key);
  schedules[key] = lines;
}

const std::string& Function::name() const { return state_->definition.name; }

std::vector<std::string> Function::arguments() const {
  std::vector<std::string> names;
  for (const language::Parameter& it : state_->definition.parameters) names.push_back(it.name);
  return names;
}

std::vector<std::string> Function::outputs() const { return state_->definition.outputs; }

std::vector<std::vector<std::string>> Function::sizes() const {
  std::vector<std::vector<std::string>> all;
  for (const language::Parameter& p : state_->definition.parameters) {
    std::vector<std::string>& names = all.emplace_back();
    for (const language::Expression& it : p.sizes)
      names.push_back(it.form == language::Form::kName ? it.name : std::to_string(it.integer));
  }
  return all;
}

std::vector<Tensor> Function::run(const std::vector<Tensor>& inputs) const {
  return tenon::_loop_program(inputs, state_->program(inputs, false)->text);
}

void Function::run_into(const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& inputs) const {
  const std::shared_ptr<const language::Emitted> program = state_->program(inputs, true);
  const std::vector<std::string>& names = state_->definition.outputs;
  TENON_CHECK(outputs.size() == names.size(), ValueError, name(), ": has ", names.size(),
              " outputs, given ", outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    const std::string_view dtype = lp::dtype_name(program->dtypes[i]);
    TENON_CHECK(t.defined() && t.sizes() == IntArrayRef(program->shapes[i]) &&
                    dtype_name(t.scalar_type()) == dtype,
                ValueError, name(), ": output ", names[i], " is ",
                t.defined() ? core::join(dtype_name(t.scalar_type()), " ", t.sizes())
                            : std::string("undefined"),
                ", expected ", dtype, " ", IntArrayRef(program->shapes[i]));
  }
  std::vector<Tensor> all = inputs;
  for (const std::size_t i : program->taken) all.push_back(outputs[i].clone());
  tenon::_loop_program_(outputs, all, program->text, {}, {});
}

Tensor Function::run_one(const std::vector<Tensor>& inputs) const {
  TENON_CHECK(state_->definition.outputs.size() == 1, ValueError, name(), ": has ",
              state_->definition.outputs.size(), " outputs: call run()");
  return run(inputs)[0];
}

std::string Function::str(const std::vector<Tensor>& inputs) const {
  return state_->program(inputs, false)->text;
}

Function define(const std::string& text, const Constants& constants) {
  std::map<std::string, Function> all = define_all(text, constants);
  TENON_CHECK(all.size() == 1, ValueError, "tc::define: the text has ", all.size(),
              " definitions, expected one; use define_all");
  return std::move(all.begin()->second);
}

std::map<std::string, Function> define_all(const std::string& text, const Constants& constants) {
  std::map<std::string, Function> all;
  for (language::Definition& d : parse(text, constants)) {
    check(d);
    const std::string name = d.name;
    all.emplace(name, Function(std::make_shared<Function::State>(std::move(d))));
  }
  return all;
}

}  // namespace tenon::tc
