// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program_: nest by nest over memory. Overwritten: the outputs, which are not inputs. Float
// sums accumulate in double; results do not depend on the number of threads. Declines 16-bit
// floats, random numbers, division of integers, and nests whose stores are over different loops.
#include <cstring>
#include <memory>

#include "plugin_cpu/loops/nest.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/loop_program/cache.h"
#include "tenon/sdk/loop_program/tensors.h"
#include "tenon/sdk/ops/_loop_program_.h"

namespace tenon::cpu {
namespace {

using namespace sdk;
namespace lp = sdk::loop_program;

loop_program::Memory memory_of(const Tensor& t, int64_t item) {
  loop_program::Memory memory;
  memory.data = t.data<char>();
  for (const int64_t stride : t.strides()) memory.strides.push_back(stride * item);
  return memory;
}

// Of an array that the program alone sees.
loop_program::Memory temporary(const lp::Shape& shape, int64_t item,
                               std::unique_ptr<char[]>& owner) {
  loop_program::Memory memory;
  memory.strides.resize(shape.size());
  int64_t bytes = item;
  for (std::size_t d = shape.size(); d-- > 0;) {
    memory.strides[d] = bytes;
    bytes *= shape[d];
  }
  owner.reset(new char[static_cast<std::size_t>(bytes)]);
  memory.data = owner.get();
  return memory;
}

// Zeros where no nest stores first.
void clear(const loop_program::Memory& memory, const lp::Shape& shape, int64_t item) {
  std::vector<int64_t> point(shape.size(), 0);
  for (const int64_t n : shape)
    if (n == 0) return;
  while (true) {
    char* at = memory.data;
    for (std::size_t d = 0; d < shape.size(); ++d) at += point[d] * memory.strides[d];
    std::memset(at, 0, static_cast<std::size_t>(item));
    std::size_t d = shape.size();
    while (d > 0 && ++point[d - 1] == shape[d - 1]) point[--d] = 0;
    if (d == 0) return;
  }
}

tn_status run_program(Call&, TensorList outputs, TensorList inputs, Str text, Ints numbers,
                      Floats reals) {
  static lp::Cache cache;
  try {
    const std::shared_ptr<const lp::Program> program = cache.get(text);
    const lp::Binding binding =
        lp::bind_call(*program, lp::given(outputs), lp::given(inputs),
                      {numbers.begin(), numbers.end()}, {reals.begin(), reals.end()});
    for (const lp::Nest& it : program->nests)
      if (!loop_program::takes(*program, it)) return TN_DECLINED;
    const std::size_t n = program->arrays.size();
    std::vector<loop_program::Memory> arrays(n);
    std::vector<std::unique_ptr<char[]>> owners(n);
    int64_t next_input = 0, next_output = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const lp::Array& it = program->arrays[i];
      const int64_t item = lp::itemsize(it.dtype);
      if (it.role == lp::Role::kInput) arrays[i] = memory_of(inputs[next_input++], item);
      if (it.role == lp::Role::kOutput) arrays[i] = memory_of(outputs[next_output++], item);
      if (it.role == lp::Role::kTemporary)
        arrays[i] = temporary(binding.shapes[i], item, owners[i]);
      if (it.role != lp::Role::kInput &&
          !lp::starts_covered(*program, binding, static_cast<int>(i)))
        clear(arrays[i], binding.shapes[i], item);
    }
    for (std::size_t k = 0; k < program->nests.size(); ++k)
      loop_program::run_nest(*program, binding, k, arrays);
  } catch (const lp::Error& e) {
    throw sdk::Error(TN_ERROR_VALUE, e.what());
  }
  return TN_OK;
}

}  // namespace
}  // namespace tenon::cpu

TN_KERNEL(_loop_program_, tenon::cpu::run_program,
          dtypes("bool,uint8,int8,int16,int32,int64,float32,float64").any_strides());
