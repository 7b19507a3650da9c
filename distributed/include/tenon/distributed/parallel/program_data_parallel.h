// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// DistributedDataParallel of a program, such as a jit::Module. A template, so that this library
// does without the one that runs programs.
//
//   auto program = jit::load("model.pt");
//   distributed::ProgramDataParallel ddp(program, options);
//   loss_of(ddp({x}).toTensor(), y).backward();
#pragma once

#include <utility>
#include <vector>

#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/ivalue.h"

namespace tenon::distributed {

// Program: named_parameters() and named_buffers() of {name, value}, is_training(), and forward() of
// a list of IValues.
template <class Program>
class ProgramDataParallel {
 public:
  explicit ProgramDataParallel(Program program, DistributedDataParallelOptions options = {})
      : program_(std::move(program)),
        state_(dict_of(program_.named_parameters()), dict_of(program_.named_buffers()),
               std::move(options)) {}

  IValue forward(std::vector<IValue> arguments) {
    state_.before_forward(program_.is_training());
    IValue result = program_.forward(std::move(arguments));
    std::vector<Tensor> outputs;
    collect(result, outputs);
    state_.after_forward(outputs);
    return result;
  }
  IValue operator()(std::vector<IValue> arguments) { return forward(std::move(arguments)); }

  Program& program() { return program_; }
  NoSync no_sync() { return NoSync(state_); }
  void join(FunctionRef<void()> loop, bool divide_by_initial_world_size = true) {
    state_.join(loop, divide_by_initial_world_size);
  }
  DataParallelState& state() { return state_; }

 private:
  template <class Named>
  static DataParallelState::Named dict_of(const Named& named) {
    DataParallelState::Named out;
    for (const auto& item : named) out.insert(item.name, item.value);
    return out;
  }
  static void collect(const IValue& value, std::vector<Tensor>& out) {
    if (value.isTensor()) {
      out.push_back(value.toTensor());
    } else if (value.isTuple()) {
      for (const IValue& v : value.toTupleRef().elements()) collect(v, out);
    } else if (value.isList()) {
      const List<IValue> list = value.toList();
      for (std::size_t i = 0; i < list.size(); ++i) collect(list.get(i), out);
    } else if (value.isGenericDict()) {
      for (const auto& item : value.toGenericDict()) collect(item.value(), out);
    }
  }

  Program program_;
  DataParallelState state_;
};

template <class Program>
ProgramDataParallel(Program) -> ProgramDataParallel<Program>;
template <class Program>
ProgramDataParallel(Program, DistributedDataParallelOptions) -> ProgramDataParallel<Program>;

}  // namespace tenon::distributed
