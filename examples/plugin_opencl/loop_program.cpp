// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program_: printed as OpenCL C, built once per text. Overwritten: the outputs, which are not
// inputs. Results do not depend on the number of work items. Declined: float64 where the device has
// none, functions without a text, kernels with more arguments than the device takes, and few long
// reductions, which the work-groups of prim_reduce do faster.
#include <map>
#include <memory>

#include "launch.h"
#include "tenon/sdk/loop_program/cache.h"
#include "tenon/sdk/loop_program/print_c.h"
#include "tenon/sdk/loop_program/tensors.h"
#include "tenon/sdk/ops/_loop_program_.h"
#include "tenon/sdk/parallel.h"

namespace tenon::opencl {
namespace {

using namespace sdk;
namespace lp = sdk::loop_program;

constexpr std::size_t kMaxPrograms = 512;
constexpr int64_t kFewItems = 64, kLongLoop = 1 << 16;

// The kernels of a program, or none: it is left to the fallback.
struct Built {
  lp::CProgram printed;
  std::vector<Kernel> kernels;
  ~Built() {
    for (const Kernel& it : kernels)
      if (it.kernel) clReleaseKernel(it.kernel);
  }
};

uint64_t argument_bytes(const lp::CKernel& kernel) {
  const auto words = kernel.numbers.size() + kernel.reals.size() + kernel.pointers.size();
  return 8 * words + (kernel.reports ? 16 : 0);
}

std::shared_ptr<Built> build(Gpu& g, const lp::Program& program) {
  auto made = std::make_shared<Built>();
  try {
    made->printed = lp::print_c(program, lp::opencl_c(g.doubles));
  } catch (const lp::NotPrinted&) {
    return made;
  }
  std::size_t most = 0;
  clGetDeviceInfo(g.id, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof most, &most, nullptr);
  for (const lp::CKernel& it : made->printed.kernels)
    if (argument_bytes(it) > most) return made;
  cl_program built;
  try {
    built = build_program(g, {made->printed.source.c_str()}, " -cl-std=CL1.2", "a loop program");
  } catch (const sdk::Error& e) {
    sdk::log(TN_LOG_WARNING, std::string("opencl: left to other kernels: ") + e.what());
    return made;
  }
  std::vector<Kernel> kernels(made->printed.kernels.size());
  made->kernels.swap(kernels);
  for (std::size_t k = 0; k < made->kernels.size(); ++k)
    made->kernels[k].kernel = make_kernel(built, made->printed.kernels[k].name);
  clReleaseProgram(built);
  return made;
}

// Programs in use stay when the cache is emptied.
std::shared_ptr<Built> find(Gpu& g, std::string_view text, const lp::Program& program) {
  static std::mutex lock;
  static auto& all = *new std::map<std::pair<Gpu*, std::string>, std::shared_ptr<Built>>;
  std::lock_guard<std::mutex> hold(lock);
  const std::pair<Gpu*, std::string> key{&g, std::string(text)};
  const auto at = all.find(key);
  if (at != all.end()) return at->second;
  if (all.size() >= kMaxPrograms) all.clear();
  return all.emplace(key, build(g, program)).first->second;
}

// The arrays of a call by index: its tensors, and temporaries.
struct Arrays {
  std::vector<cl_mem> memory;
  std::vector<lp::Placement> placements;
  std::vector<std::unique_ptr<Scratch>> temporaries;

  void add(const Tensor& t, int64_t item) {
    const View v(t);
    if (v.base % static_cast<uint64_t>(item) != 0) throw Declined{};
    memory.push_back(v.memory);
    placements.push_back({static_cast<int64_t>(v.base) / item, {v.stride, v.stride + v.ndim}});
  }
  void add_temporary(Gpu& g, const lp::Shape& shape, int64_t item) {
    int64_t n = item;
    for (const int64_t it : shape) n *= it;
    temporaries.push_back(std::make_unique<Scratch>(g, static_cast<uint64_t>(n)));
    memory.push_back(temporaries.back()->memory);
    placements.push_back(lp::row_major(shape));
  }
};

Arrays place(Gpu& g, const lp::Program& program, const lp::Binding& binding, TensorList outputs,
             TensorList inputs) {
  Arrays arrays;
  int64_t next_input = 0, next_output = 0;
  for (std::size_t a = 0; a < program.arrays.size(); ++a) {
    const lp::Array& it = program.arrays[a];
    const int64_t item = lp::itemsize(it.dtype);
    if (it.role == lp::Role::kInput) arrays.add(inputs[next_input++], item);
    if (it.role == lp::Role::kOutput) arrays.add(outputs[next_output++], item);
    if (it.role == lp::Role::kTemporary) arrays.add_temporary(g, binding.shapes[a], item);
  }
  return arrays;
}

void launch(Call& call, int index, Built& built, const lp::Binding& binding, const Arrays& arrays) {
  for (std::size_t k = 0; k < built.kernels.size(); ++k) {
    const lp::CKernel& kernel = built.printed.kernels[k];
    const int64_t items = lp::count_items(built.printed, kernel, binding);
    if (items == 0) continue;
    Launch launch(call, index, built.kernels[k]);
    launch.arg(lp::find_numbers(kernel, binding, arrays.placements, items));
    if (!kernel.reals.empty()) launch.arg(lp::find_reals(kernel, binding));
    for (const lp::CPointer& it : kernel.pointers)
      launch.arg(arrays.memory[static_cast<std::size_t>(it.array)]);
    if (kernel.reports) launch.report();
    launch.run_items(items);
  }
}

tn_status run_program(Call& call, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  static auto& programs = *new lp::Cache;
  if (outputs.size() == 0) return TN_DECLINED;
  const int index = outputs[0].device().index;
  try {
    const std::shared_ptr<const lp::Program> program = programs.get(text);
    lp::Binding binding =
        lp::bind_call(*program, lp::given(outputs), lp::given(inputs),
                      {numbers.begin(), numbers.end()}, {reals.begin(), reals.end()});
    Gpu& g = gpu(index);
    const std::shared_ptr<Built> built = find(g, text, *program);
    if (built->kernels.empty()) return TN_DECLINED;
    binding = lp::bind_c(built->printed, std::move(binding));
    for (const lp::CKernel& it : built->printed.kernels)
      if (lp::count_inner(it, binding) >= kLongLoop &&
          lp::count_items(built->printed, it, binding) < kFewItems)
        return TN_DECLINED;
    return run_or_decline([&] {
      launch(call, index, *built, binding, place(g, *program, binding, outputs, inputs));
    });
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
}

}  // namespace

TN_KERNEL(_loop_program_, run_program, dtypes("all").any_strides());

}  // namespace tenon::opencl
