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
#include "plugin_llvm/panels.h"
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
    else if (p.program->arrays[a].role == lp::Role::kTemporary)
      data[a] = nullptr;
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

// The addresses of a block's panels in the slot in place of those of the arrays.
void find_panels(const Prepared& p, const Plan& plan, int64_t block, char* slot, bool copies,
                 void* const* data, void** own) {
  const Blocks& b = plan.blocks;
  const int64_t first = block % b.along * b.width, columns = std::min(b.width, b.extent - first);
  for (const Panel& it : plan.panels) {
    const auto a = static_cast<std::size_t>(it.array);
    const int64_t item = lp::itemsize(p.program->arrays[a].dtype);
    int64_t from = p.placements[a].offset + first * it.from[static_cast<std::size_t>(it.across)];
    int64_t rest = block / b.along;
    for (std::size_t k = b.outer.size(); k-- > 0; rest /= b.outer[k])
      for (const Panel::Fixed& fixed : it.fixed)
        if (fixed.digit == static_cast<int>(k))
          from += rest % b.outer[k] * it.from[static_cast<std::size_t>(fixed.dimension)];
    if (copies) copy(it, item, columns, static_cast<const char*>(data[a]) + from * item, slot);
    own[a] = slot - first * item;
    slot += aligned(it.bytes);
  }
}

// f(first, last, arrays) for the items of each block, with its panels.
template <class F>
void run_blocks(const Prepared& p, const Plan& plan, Slots& slots, void* const* data, int64_t first,
                int64_t last, F f) {
  void* own[kMaxArrays];
  std::copy(data, data + p.temporaries.size(), own);
  while (first < last) {
    const int64_t block = first / plan.blocks.items;
    const int64_t end = std::min(last, (block + 1) * plan.blocks.items);
    const int slot = slots.take(block);
    find_panels(p, plan, block, slots.memory(slot), slots.held(slot) != block, data, own);
    slots.hold(slot, block);
    f(first, end, own);
    slots.give_back(slot);
    first = end;
  }
}

// The workspace ends with the addresses of the arrays, those of one part, and the slots of panels.
struct Workspace {
  char* data;
  void **arrays, **of_part;
  char* slots;
  int count = 0;  // of the slots

  static int64_t bytes(const Prepared& p, int slots) {
    return p.workspace + aligned(2 * addresses(p)) + p.slot * slots;
  }
  static int64_t addresses(const Prepared& p) {
    return static_cast<int64_t>(p.temporaries.size() * sizeof(void*));
  }
  Workspace(const Prepared& p, char* memory, int64_t size)
      : data(memory),
        arrays(reinterpret_cast<void**>(memory + p.workspace)),
        of_part(arrays + p.temporaries.size()),
        slots(memory + bytes(p, 0)),
        count(p.slot == 0 ? 0 : static_cast<int>((size - bytes(p, 0)) / p.slot)) {}
};

void run(const Prepared& p, const Prepared::Part& part, const Given& given,
         const Workspace& workspace) {
  const Plan& plan = part.plan;
  const double* reals = p.has_integers ? p.binding.real.data() : given.reals.data();
  void** data = workspace.of_part;
  std::copy(workspace.arrays, workspace.arrays + p.temporaries.size(), data);
  pack(p, plan, workspace.data, data);
  Report report{};
  Slots slots(workspace.slots, p.slot, workspace.count);
  const auto kernel = [&](int64_t first, int64_t last, void* const* arrays) {
    part.kernel(plan.numbers.data(), reals, arrays, &report, first, last);
  };
  parallel_for(plan.items, plan.grain, [&](int64_t first, int64_t last) {
    if (plan.panels.empty()) return kernel(first, last, data);
    run_blocks(p, plan, slots, data, first, last, kernel);
  });
  if (report.code != 0) raise(report, *plan.spec.program, plan.spec.nest);
}

// All parts over `step` rows from the number `task` of those on.
void run_rows(const Prepared& p, const Prepared::Stage& stage, int64_t task, const double* reals,
              char* slot, void* const* data, Report* reports) {
  void* own[kMaxArrays];
  std::copy(data, data + p.temporaries.size(), own);
  const int64_t begin = task * stage.step, end = std::min(stage.rows, begin + stage.step);
  for (const Prepared::Stage::Local& it : stage.locals) {
    own[it.array] = slot - begin * it.row;
    slot += aligned(it.row * stage.step);
  }
  for (std::size_t k = 0; k < stage.count; ++k) {
    const Prepared::Part& part = p.parts[stage.first + k];
    part.kernel(part.plan.numbers.data(), reals, own, reports + k, part.rows.items_before(begin),
                part.rows.items_before(end));
  }
}

void run_rows(const Prepared& p, const Prepared::Stage& stage, const Given& given,
              const Workspace& workspace) {
  const double* reals = p.has_integers ? p.binding.real.data() : given.reals.data();
  Report reports[kMaxInBand]{};
  Slots slots(workspace.slots, p.slot, workspace.count);
  const auto body = [&](int64_t first, int64_t last) {
    const int slot = stage.locals.empty() ? 0 : slots.take(0);
    for (int64_t i = first; i < last; ++i)
      run_rows(p, stage, i, reals, slots.memory(slot), workspace.arrays, reports);
    if (!stage.locals.empty()) slots.give_back(slot);
  };
  parallel_for((stage.rows + stage.step - 1) / stage.step, 1, body);
  for (std::size_t k = 0; k < stage.count; ++k) {
    const Spec& spec = p.parts[stage.first + k].plan.spec;
    if (reports[k].code != 0) raise(reports[k], *spec.program, spec.nest);
  }
}

std::shared_ptr<const Prepared> prepare(const Given& given) {
  try {
    return llvm_loops::prepare(given, g_min_work);
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
}

tn_status find_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    using sdk::detail::Unpack;
    const std::shared_ptr<const Prepared> p = prepare(
        {Unpack<TensorList>::get(c->in[0]), Unpack<TensorList>::get(c->in[1]),
         Unpack<Str>::get(c->in[2]), Unpack<Ints>::get(c->in[3]), Unpack<Floats>::get(c->in[4])});
    if (!p) return TN_DECLINED;
    *bytes =
        static_cast<uint64_t>(Workspace::bytes(*p, std::clamp(host().num_threads(), 1, kMaxSlots)));
    return TN_OK;
  });
}

tn_status run_program(Call& call, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  const Given given{outputs, inputs, text, numbers, reals};
  const std::shared_ptr<const Prepared> p = prepare(given);
  if (!p) return TN_DECLINED;
  const Workspace workspace(*p, call.workspace<char>(),
                            static_cast<int64_t>(call.workspace_bytes()));
  void** data = workspace.arrays;
  find_data(*p, given, workspace.data, data);
  for (const int it : p->cleared) {
    const auto a = static_cast<std::size_t>(it);
    clear(static_cast<char*>(data[a]), p->placements[a], p->binding.shapes[a],
          lp::itemsize(p->program->arrays[a].dtype));
  }
  for (const Prepared::Stage& it : p->stages) {
    if (it.rows > 0)
      run_rows(*p, it, given, workspace);
    else
      run(*p, p->parts[it.first], given, workspace);
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
