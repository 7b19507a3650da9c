// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The script language is not here; what programs do with saved models throws and says so.
#pragma once

#include <torch/missing.h>
#include <torch/torch.h>

namespace torch::jit {

struct Module {
  template <class... Args>
  IValue forward(Args&&...) const {
    tenon::compat::missing("jit::Module::forward", "there is no TorchScript here");
  }
};
namespace script {
using Module = jit::Module;
}
template <class... Args>
Module load(const std::string& filename, Args&&...) {
  tenon::compat::missing(("jit::load(\"" + filename + "\")").c_str(),
                         "there is no TorchScript here; load() reads safetensors");
}

}  // namespace torch::jit
