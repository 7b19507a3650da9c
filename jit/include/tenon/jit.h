// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs of others and our own: load, run, train and save them. Link Tenon::jit.
//
//   tenon::jit::Module m = tenon::jit::load("model.pt");
//   tenon::Tensor y = m.forward({x}).toTensor();
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tenon/jit/module.h"

namespace tenon::jit {

using ExtraFiles = std::map<std::string, std::string>;

// A TorchScript archive (torch.jit.save), an exported program (torch.export.save) or, where
// libtenon_onnx is installed, an ONNX model, told apart by content. Nothing in the file is trusted.
// An operator that is missing is told at load: all of them at once, with how often each occurs and
// the closest names. `device`: where parameters and buffers go; by default where the file says, or
// on the host if that device is not here. Files named in `extra` are read into it. Errors name the
// entry of the archive and the reason.
TENON_API Module load(const std::string& path, std::optional<Device> device = std::nullopt);
TENON_API Module load(const std::string& path, std::optional<Device> device, ExtraFiles& extra);
TENON_API Module load(std::istream& in, std::optional<Device> device = std::nullopt);
TENON_API Module load(std::istream& in, std::optional<Device> device, ExtraFiles& extra);

// As torch.jit.load reads it; a module that was loaded from an exported program, as
// torch.export.load does: the program as it was, with the weights as they are now.
TENON_API void save(const Module& m, const std::string& path, const ExtraFiles& extra = {});

// Functions from text: def relu_plus(x: Tensor, n: int): ...
TENON_API std::shared_ptr<CompilationUnit> compile(const std::string& text);

}  // namespace tenon::jit
