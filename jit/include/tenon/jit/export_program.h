// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs of TorchScript, of ONNX and recorded ones (jit::trace) as torch.export.save writes them
// (.pt2).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/module.h"

namespace tenon::jit {

struct ExportProgramOptions {
  // By input: the dimensions whose size may differ from the example's, and names of these sizes;
  // sizes of one name are equal. Parts of tuples and lists are inputs as "pair[0]", those of
  // dictionaries as "batch['mask']". Without any, the file is for inputs of the examples' sizes.
  std::map<std::string, std::map<int64_t, std::string>> dynamic_axes;
  // By name: the smallest and the largest size that the file is for. Without: any.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  // A module in training mode is written as it computes there: dropout draws, and batch
  // normalization updates its statistics. Without: in evaluation.
  bool training = false;
};

// Runs the program with the inputs, which tell dtypes and sizes, and a few times more with inputs
// of other sizes where these may vary: rows of the examples, repeated. It is written as it computes
// in evaluation; weights keep their names. Tensors that it keeps in attributes for the next call
// are buffers of the file, if their sizes do not change. A branch by sizes goes the way that it
// goes in all runs, and the file checks the condition. torch.export.load reads it (torch 2.9 and
// later), and so does jit::load.
//
// NotImplementedError names the operator and the place of what the file cannot hold: branches and
// loops by data, or by sizes that vary, operators that torch does not have. ValueError and
// IndexError for options that do not fit the inputs.
TENON_API void export_program(const Module& m, const std::vector<IValue>& inputs,
                              const std::string& path, const ExportProgramOptions& options = {});

}  // namespace tenon::jit
