// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files of parameters by name.
#pragma once

#include <torch/csrc/jit/api/object.h>

#include <map>
#include <optional>
#include <string>

namespace torch::jit {

// As jit::load_state_dict reads them.
inline std::map<std::string, Tensor> _load_parameters(const std::string& filename,
                                                      std::optional<Device> device = std::nullopt) {
  std::map<std::string, Tensor> out;
  for (const auto& item : load_state_dict(filename))
    out.emplace(item.key(), device ? item.value().to(*device) : item.value());
  return out;
}

}  // namespace torch::jit
