// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program_: compiled nest by nest. Overwritten: the outputs, which are not inputs. Results do
// not depend on the number of threads. Float32 sums of products accumulate in float32 by fused
// multiply-add, at most 1024 terms, and those sums in float64; other float32 sums accumulate in
// float64. Declined: little work, sums over no terms, what LLVM or the processor cannot.
#include <charconv>
#include <cstring>
#include <memory>

#include "isa/isa.h"
#include "plugin_llvm/compiled.h"
#include "plugin_llvm/plan.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/loop_program/cache.h"
#include "tenon/sdk/loop_program/tensors.h"
#include "tenon/sdk/ops/_loop_program_.h"
#include "tenon/sdk/plugin.h"

namespace tenon::llvm_loops {
namespace {

using namespace sdk;

constexpr int64_t kGrain = 1 << 15;  // points of a task
int64_t g_min_work = 1 << 16;        // points times nodes of a call

struct Arrays {
  std::vector<void*> data;
  std::vector<lp::Placement> placements;
  std::vector<std::unique_ptr<char[]>> temporaries;
};

void clear(char* data, const lp::Placement& where, const lp::Shape& shape, int64_t item) {
  if (where.strides == lp::row_major(shape).strides) {
    int64_t bytes = item;
    for (const int64_t n : shape) bytes *= n;
    std::memset(data, 0, static_cast<std::size_t>(bytes));
    return;
  }
  lp::Shape point(shape.size(), 0);
  while (true) {
    int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) at += point[d] * where.strides[d];
    std::memset(data + at * item, 0, static_cast<std::size_t>(item));
    std::size_t d = shape.size();
    while (d > 0 && ++point[d - 1] == shape[d - 1]) point[--d] = 0;
    if (d == 0) return;
  }
}

int64_t numel(const lp::Shape& shape) {
  int64_t n = 1;
  for (const int64_t it : shape) n *= it;
  return n;
}

Arrays place(const lp::Program& program, const lp::Binding& binding, TensorList outputs,
             TensorList inputs) {
  Arrays arrays;
  int64_t next_input = 0, next_output = 0;
  for (std::size_t a = 0; a < program.arrays.size(); ++a) {
    const lp::Array& it = program.arrays[a];
    if (it.role == lp::Role::kTemporary) {
      const int64_t bytes = numel(binding.shapes[a]) * lp::itemsize(it.dtype);
      arrays.temporaries.emplace_back(new char[static_cast<std::size_t>(bytes)]);
      arrays.data.push_back(arrays.temporaries.back().get());
      arrays.placements.push_back(lp::row_major(binding.shapes[a]));
      continue;
    }
    const Tensor& t = it.role == lp::Role::kInput ? inputs[next_input++] : outputs[next_output++];
    arrays.data.push_back(t.data<char>());
    arrays.placements.push_back({0, {t.strides().begin(), t.strides().end()}});
  }
  return arrays;
}

// Points times nodes; 0 where a reduction has no terms or an array of indirect reads no elements.
int64_t work_of(const lp::Program& program, const lp::Binding& binding) {
  int64_t work = 1;
  for (std::size_t n = 0; n < program.nests.size(); ++n) {
    const int64_t points = numel(binding.extents[n]);
    for (const lp::Store& it : program.nests[n].stores)
      if (points == 0 && it.from_neutral) return 0;
    for (const lp::Node& node : program.nests[n].nodes)
      for (const lp::Index& it : node.indices)
        if (it.bound != lp::Bound::kProven &&
            numel(binding.shapes[static_cast<std::size_t>(node.source)]) == 0)
          return 0;
    work += points * static_cast<int64_t>(program.nests[n].nodes.size());
  }
  return work;
}

void raise(const Report& r, const lp::Program& program, int nest) {
  const lp::Node& node =
      program.nests[static_cast<std::size_t>(nest)].nodes[static_cast<std::size_t>(r.node)];
  if (r.code == TN_ERROR_INDEX)
    throw sdk::Error(TN_ERROR_INDEX, "_loop_program_: index ", int64_t{r.dim}, " of ",
                     program.arrays[static_cast<std::size_t>(node.source)].name, " is ", r.index,
                     ", its dimension has ", r.limit, " elements");
  if (r.code == TN_ERROR_VALUE)
    throw sdk::Error(TN_ERROR_VALUE, "_loop_program_: a shift by ", r.index,
                     ", expected a count in [0, ", r.limit, ")");
  throw sdk::Error(TN_ERROR, "_loop_program_: the integer ", r.index, " is divided by zero");
}

void run(const Plan& plan, Kernel kernel, const Arrays& arrays, const lp::Binding& binding) {
  Report report{};
  parallel_for(plan.items, std::max<int64_t>(1, kGrain / plan.points_per_item),
               [&](int64_t first, int64_t last) {
                 kernel(plan.numbers.data(), binding.real.data(), arrays.data.data(), &report,
                        first, last);
               });
  if (report.code != 0) raise(report, *plan.spec.program, plan.spec.nest);
}

tn_status run_program(Call&, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  static auto& programs = *new lp::Cache;
  if (lanes() == 0) return TN_DECLINED;
  try {
    const std::shared_ptr<const lp::Program> program = programs.get(text);
    const lp::Binding binding =
        lp::bind_call(*program, lp::given(outputs), lp::given(inputs),
                      {numbers.begin(), numbers.end()}, {reals.begin(), reals.end()});
    const int64_t work = work_of(*program, binding);
    if (work == 0 || work < g_min_work) return TN_DECLINED;
    const std::vector<Group> groups = groups_of(*program);
    if (groups.empty()) return TN_DECLINED;
    const Arrays arrays = place(*program, binding, outputs, inputs);
    std::vector<std::pair<Plan, Kernel>> list;
    for (const Group& it : groups) {
      if (numel(binding.extents[static_cast<std::size_t>(it.nest)]) == 0) continue;
      Plan plan = make_plan(*program, it, binding, arrays.placements, lanes());
      const Kernel kernel = find_kernel(plan.spec, text);
      if (!kernel) return TN_DECLINED;
      list.emplace_back(std::move(plan), kernel);
    }
    for (std::size_t a = 0; a < program->arrays.size(); ++a) {
      const lp::Array& it = program->arrays[a];
      if (it.role == lp::Role::kInput || numel(binding.shapes[a]) == 0) continue;
      if (!lp::starts_covered(*program, binding, static_cast<int>(a)))
        clear(static_cast<char*>(arrays.data[a]), arrays.placements[a], binding.shapes[a],
              lp::itemsize(it.dtype));
    }
    for (const auto& [plan, kernel] : list) run(plan, kernel, arrays, binding);
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
  return TN_OK;
}

tn_status init(const tn_host&, tn_str*) {
  if (const auto isa = setting("CPU_ISA")) cpu::choose_isa(*isa);  // plugin_cpu warns
  const auto text = setting("LLVM_MIN_WORK");
  if (!text) return TN_OK;
  int64_t work = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), work);
  if (fault == std::errc() && end == text->data() + text->size() && work >= 0)
    g_min_work = work;
  else
    log(TN_LOG_WARNING,
        join("TENON_LLVM_MIN_WORK=", *text, " is not an integer from 0; using ", g_min_work));
  return TN_OK;
}

tn_str describe() { return sdk::detail::text("LLVM 14, loop programs"); }

}  // namespace
}  // namespace tenon::llvm_loops

// Before plugin_cpu's.
TN_KERNEL(_loop_program_, tenon::llvm_loops::run_program, dtypes("all").any_strides().priority(1));

TN_PLUGIN_INIT(tenon::llvm_loops::init,
               tenon::sdk::PluginInfo{}.name("llvm").device("cpu").host_memory().describe(
                   tenon::llvm_loops::describe));
