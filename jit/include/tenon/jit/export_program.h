// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs of TorchScript, of ONNX and recorded ones (jit::trace) as torch.export.save writes them
// (.pt2).
#pragma once

#include <string>
#include <vector>

#include "tenon/jit/module.h"

namespace tenon::jit {

// Runs the program once with the inputs, which tell shapes: the file is for inputs of these sizes.
// It is written as it computes in evaluation; weights keep their names. torch.export.load reads it
// (torch 2.9 and later), and so does jit::load. NotImplementedError names the operator and the
// place of what it cannot hold: branches and loops by data, operators that torch does not have.
// Modules that were loaded from an exported program are written by Module::save, with the sizes
// that they may have.
TENON_API void export_program(const Module& m, const std::vector<IValue>& inputs,
                              const std::string& path);

}  // namespace tenon::jit
