// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "commands.h"
#include "programs.h"
#include "tenon/runtime/error.h"

namespace tenon::command {

void convert_program(const std::string& in, const std::string& out) {
  const std::string extension = std::filesystem::path(out).extension().string();
  TENON_CHECK(extension != ".pt2" && extension != ".onnx", NotImplementedError,
              "convert: ", extension, " cannot be written yet; .pt can");
  TENON_CHECK(extension == ".pt", ValueError, "convert: '", out,
              "' does not say its format: a name that ends in .pt is a TorchScript archive");
  const jit::Module m = load_program(in, Device("cpu"));
  m.unit()->kept = nullptr;  // or it would be written as what it was read from
  m.save(out);
  std::cout << "wrote " << out << ", " << format_bytes(std::filesystem::file_size(out)) << "\n";
}

}  // namespace tenon::command
