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
#include "plugin_llvm/prepared.h"
#include "tenon/sdk/ops/_loop_program_.h"
#include "tenon/sdk/plugin.h"

namespace tenon::llvm_loops {
namespace {

using namespace sdk;

int64_t g_min_work = 1 << 16;  // points times nodes of a call

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

// Where the arrays are: of the call's tensors, or in the workspace.
void find_data(const Prepared& p, const Given& given, char* workspace, void** data) {
  int64_t next_input = 0, next_output = 0;
  for (std::size_t a = 0; a < p.temporaries.size(); ++a) {
    if (p.temporaries[a] >= 0)
      data[a] = workspace + p.temporaries[a];
    else if (p.program->arrays[a].role == lp::Role::kInput)
      data[a] = given.inputs[next_input++].data<char>();
    else
      data[a] = given.outputs[next_output++].data<char>();
  }
}

// Copies what the part reads from copies, whose places take those of the arrays.
void pack(const Prepared& p, const Plan& plan, char* workspace, void** data) {
  char* next = workspace + p.copies;
  for (const Pack& it : plan.packs) {
    const auto a = static_cast<std::size_t>(it.array);
    const lp::Shape& shape = p.binding.shapes[a];
    const int64_t item = lp::itemsize(p.program->arrays[a].dtype);
    copy(shape, item, static_cast<const char*>(data[a]), p.placements[a], next, it.to);
    data[a] = next;
    next += aligned(numel(shape) * item);
  }
}

void run(const Prepared& p, const Prepared::Part& part, const Given& given, char* workspace,
         void** data) {
  const Plan& plan = part.plan;
  const double* reals = p.has_integers ? p.binding.real.data() : given.reals.data();
  pack(p, plan, workspace, data);
  Report report{};
  parallel_for(plan.items, std::max<int64_t>(1, plan.grain / plan.points_per_item),
               [&](int64_t first, int64_t last) {
                 part.kernel(plan.numbers.data(), reals, data, &report, first, last);
               });
  if (report.code != 0) raise(report, *plan.spec.program, plan.spec.nest);
}

std::shared_ptr<const Prepared> prepare(const Given& given) {
  try {
    return llvm_loops::prepare(given, g_min_work);
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
}

// The workspace ends with the addresses of the arrays, and those of one part.
tn_status find_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    using sdk::detail::Unpack;
    const std::shared_ptr<const Prepared> p = prepare(
        {Unpack<TensorList>::get(c->in[0]), Unpack<TensorList>::get(c->in[1]),
         Unpack<Str>::get(c->in[2]), Unpack<Ints>::get(c->in[3]), Unpack<Floats>::get(c->in[4])});
    if (!p) return TN_DECLINED;
    *bytes = static_cast<uint64_t>(p->workspace) + 2 * p->temporaries.size() * sizeof(void*);
    return TN_OK;
  });
}

tn_status run_program(Call& call, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  const Given given{outputs, inputs, text, numbers, reals};
  const std::shared_ptr<const Prepared> p = prepare(given);
  if (!p) return TN_DECLINED;
  char* workspace = call.workspace<char>();
  const std::size_t n = p->temporaries.size();
  void** data = reinterpret_cast<void**>(workspace + p->workspace);
  find_data(*p, given, workspace, data);
  for (const int it : p->cleared) {
    const auto a = static_cast<std::size_t>(it);
    clear(static_cast<char*>(data[a]), p->placements[a], p->binding.shapes[a],
          lp::itemsize(p->program->arrays[a].dtype));
  }
  for (const Prepared::Part& part : p->parts) {
    std::copy(data, data + n, data + n);
    run(*p, part, given, workspace, data + n);
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
TN_KERNEL(_loop_program_, tenon::llvm_loops::run_program,
          dtypes("all").any_strides().priority(1).workspace(tenon::llvm_loops::find_workspace));

TN_PLUGIN_INIT(tenon::llvm_loops::init,
               tenon::sdk::PluginInfo{}.name("llvm").device("cpu").host_memory().describe(
                   tenon::llvm_loops::describe));
