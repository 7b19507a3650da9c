// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Saved programs, by libtorch's names. A program that loads one links Tenon::jit.
#pragma once

#include <ATen/core/jit_type.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <vector>

#include "tenon/jit.h"
#include "tenon/jit/exception.h"
#include "tenon/jit/freeze.h"
#include "tenon/jit/pickle.h"

// torch is another spelling of tenon.
namespace torch::jit {

using ::tenon::IValue;
using ExtraFilesMap = ExtraFiles;
using ::tenon::pickle_load;
using ::tenon::pickle_save;

// As pickle_save and pickle_load: the tensors are in the bytes, so that no table is filled.
inline std::vector<char> pickle(const IValue& value, std::vector<Tensor>* = nullptr) {
  return pickle_save(value);
}
inline IValue unpickle(const char* data, std::size_t size) {
  return pickle_load(std::vector<char>(data, data + size));
}

namespace script {
using jit::CompilationUnit;
using jit::compile;
using jit::ExtraFilesMap;
using jit::freeze;
using jit::load;
using jit::optimize_for_inference;
using jit::save;
using ::tenon::IValue;
}  // namespace script

}  // namespace torch::jit
