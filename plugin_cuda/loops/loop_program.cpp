// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program_: printed as CUDA C, compiled by NVRTC once per text. Overwritten: the outputs,
// which are not inputs. Results do not depend on the grid. Declined: what has no text or no
// compiler, and few long reductions, which the blocks of prim_reduce do faster.
#include <algorithm>

#include "plugin_cuda/loops/programs.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/loop_program/cache.h"
#include "tenon/sdk/loop_program/tensors.h"
#include "tenon/sdk/ops/_loop_program_.h"

namespace tenon::cuda {
namespace {

using namespace sdk;
namespace lp = sdk::loop_program;

constexpr int64_t kFewItems = 64, kLongLoop = 1 << 16;
constexpr int64_t kBlock = 256, kBlocksPerMultiprocessor = 16;

lp::Cache& parsed() {
  static auto& cache = *new lp::Cache;
  return cache;
}

lp::Binding bind(const lp::Program& program, TensorList outputs, TensorList inputs, Ints numbers,
                 Floats reals) {
  return lp::bind_call(program, lp::given(outputs), lp::given(inputs),
                       {numbers.begin(), numbers.end()}, {reals.begin(), reals.end()});
}

int64_t bytes_of(const lp::Array& array, const lp::Shape& shape) {
  int64_t n = lp::itemsize(array.dtype);
  for (const int64_t it : shape) n *= it;
  return (n + 255) / 256 * 256;
}

// The arrays of a call by index: its tensors, and temporaries in the workspace.
struct Arrays {
  std::vector<void*> memory;
  std::vector<lp::Placement> placements;
};

Arrays place(const Call& call, const lp::Program& program, const lp::Binding& binding,
             TensorList outputs, TensorList inputs) {
  Arrays arrays;
  char* temporary = call.workspace<char>();
  int64_t next_input = 0, next_output = 0;
  for (std::size_t a = 0; a < program.arrays.size(); ++a) {
    const lp::Array& it = program.arrays[a];
    if (it.role == lp::Role::kTemporary) {
      arrays.memory.push_back(temporary);
      arrays.placements.push_back(lp::row_major(binding.shapes[a]));
      temporary += bytes_of(it, binding.shapes[a]);
      continue;
    }
    const Tensor& t = it.role == lp::Role::kInput ? inputs[next_input++] : outputs[next_output++];
    arrays.memory.push_back(t.data<char>());
    arrays.placements.push_back({0, {t.strides().begin(), t.strides().end()}});
  }
  return arrays;
}

bool reduces_long_to_few(const lp::CProgram& printed, const lp::Binding& binding) {
  return std::any_of(printed.kernels.begin(), printed.kernels.end(), [&](const lp::CKernel& it) {
    return lp::count_inner(it, binding) >= kLongLoop &&
           lp::count_items(printed, it, binding) < kFewItems;
  });
}

// The launch of one kernel on the current device.
class Launch {
 public:
  Launch(const Call& call, int index)
      : index_(index), stream_(native(index, call.stream())), word_(call.device_error()) {
    op_ = call.abi()->op;
  }
  cudaStream_t stream() const { return stream_; }

  void run(KernelHandle function, const lp::CKernel& kernel, const lp::Binding& binding,
           const Arrays& arrays, int64_t items) {
    std::vector<int64_t> numbers = lp::find_numbers(kernel, binding, arrays.placements, items);
    std::vector<double> reals = lp::find_reals(kernel, binding);
    std::vector<void*> pointers, arguments{numbers.data()};
    for (const lp::CPointer& it : kernel.pointers)
      pointers.push_back(arrays.memory[static_cast<std::size_t>(it.array)]);
    if (!reals.empty()) arguments.push_back(reals.data());
    for (void*& it : pointers) arguments.push_back(&it);
    if (kernel.reports) arguments.insert(arguments.end(), {&word_, &op_});
    const int64_t most = kBlocksPerMultiprocessor * gpu(index_).props.multiProcessorCount;
    const int64_t blocks = std::min((items - 1) / kBlock + 1, most);
    const cudaError_t status =
        cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(kBlock)), arguments.data(), 0, stream_);
    launched(status, index_, stream_, "_loop_program_");
  }

 private:
  int index_;
  cudaStream_t stream_;
  tn_error_word* word_;
  int op_;
};

void launch(const Call& call, int index, LoadedProgram& loaded, const lp::Binding& binding,
            const Arrays& arrays) {
  Launch launch(call, index);
  if (capturing(index, launch.stream())) loaded.captured = true;
  for (std::size_t k = 0; k < loaded.kernels.size(); ++k) {
    const lp::CKernel& kernel = loaded.printed.kernels[k];
    if (const int64_t items = lp::count_items(loaded.printed, kernel, binding))
      launch.run(loaded.kernels[k], kernel, binding, arrays, items);
  }
}

bool reports(const lp::CProgram& printed) {
  return std::any_of(printed.kernels.begin(), printed.kernels.end(),
                     [](const lp::CKernel& it) { return it.reports; });
}

tn_status run_program(Call& call, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  if (outputs.size() == 0) return TN_DECLINED;
  const int index = outputs[0].device().index;
  const DeviceGuard guard(index);
  try {
    const std::shared_ptr<const lp::Program> program = parsed().get(text);
    lp::Binding binding = bind(*program, outputs, inputs, numbers, reals);
    const std::shared_ptr<LoadedProgram> loaded = find_program(index, text, *program);
    if (!loaded || loaded->kernels.empty()) return TN_DECLINED;
    binding = lp::bind_c(loaded->printed, std::move(binding));
    if (reports(loaded->printed) && !call.device_error()) return TN_DECLINED;
    if (reduces_long_to_few(loaded->printed, binding)) return TN_DECLINED;
    launch(call, index, *loaded, binding, place(call, *program, binding, outputs, inputs));
    return TN_OK;
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
}

TensorList tensors_of(const tn_value& v) {
  return TensorList(v.u.tensors, static_cast<int64_t>(v.len));
}

// Temporaries.
tn_status workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    *bytes = 0;
    const Str text(c->in[2].u.str, c->in[2].len);
    try {
      const std::shared_ptr<const lp::Program> program = parsed().get(text);
      const auto is_temporary = [](const lp::Array& it) { return it.role == lp::Role::kTemporary; };
      if (std::none_of(program->arrays.begin(), program->arrays.end(), is_temporary)) return TN_OK;
      const lp::Binding binding = bind(*program, tensors_of(c->in[0]), tensors_of(c->in[1]),
                                       Ints(c->in[3].u.i64s, static_cast<int64_t>(c->in[3].len)),
                                       Floats(c->in[4].u.f64s, static_cast<int64_t>(c->in[4].len)));
      for (std::size_t a = 0; a < program->arrays.size(); ++a)
        if (is_temporary(program->arrays[a]))
          *bytes += static_cast<uint64_t>(bytes_of(program->arrays[a], binding.shapes[a]));
    } catch (const lp::Error& e) {
      throw sdk::Error(TN_ERROR_VALUE, e.what());
    }
    return TN_OK;
  });
}

}  // namespace

TN_KERNEL(_loop_program_, run_program,
          dtypes("all").any_strides().capture_safe().workspace(workspace));

}  // namespace tenon::cuda
