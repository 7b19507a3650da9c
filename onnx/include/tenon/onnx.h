// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// ONNX models as programs of Tenon. jit::load reads them by itself where libtenon_onnx is
// installed; link Tenon::onnx for what is here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit.h"

namespace tenon::onnx {

// What a model says of itself.
struct ModelInfo {
  int64_t ir_version = 0, model_version = 0;
  std::string producer_name, producer_version, domain, doc_string, graph_name;
  std::map<std::string, int64_t> opsets;  // by domain; "" is ONNX's own
  std::map<std::string, std::string> metadata;
  std::vector<std::string> inputs, outputs;  // of the graph, by the names in the file
};

// An operator that models may use.
struct OperatorInfo {
  std::string domain, name;
  int64_t since = 1, until = 0;  // versions of the operator set; until 0: the newest
};
// All that `load` knows, by domain and name.
TENON_API std::vector<OperatorInfo> operators();

// The newest operator set of ONNX's own domain that is known. Newer models are read as if they were
// of this one where they use operators that did not change.
TENON_API int64_t newest_opset() noexcept;

// The model as a module with one method, forward, whose arguments are the graph's inputs. Floating
// initializers that are used as weights are parameters, the other tensors buffers; what only tells
// shapes is part of the program. External data must lie in the folder of the file. Nothing in a
// file is trusted: ValueError for damage names node and value; NotImplementedError lists every
// operator that is missing, with how often it occurs.
TENON_API jit::Module load(const std::string& path, std::optional<Device> device = std::nullopt);
// From memory: a model with external data is refused.
TENON_API jit::Module load_bytes(std::string_view bytes,
                                 std::optional<Device> device = std::nullopt);

// Of a module that was loaded from ONNX; nothing for others.
TENON_API std::optional<ModelInfo> model_info(const jit::Module& module);

}  // namespace tenon::onnx
