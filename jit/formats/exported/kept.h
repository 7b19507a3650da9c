// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a module that was read from an exported program keeps, so that it can be written again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/formats/zip.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

// How torch has written programs: serialized_*.pt in no folder (until 2.7), data/weights/NAME.pt
// (2.8), and entries of raw bytes with a configuration (later).
enum class ExportedLayout : uint8_t { Flat, SavedWeights, RawWeights };

struct KeptProgram final : CompilationUnit::Kept {
  std::shared_ptr<ZipReader> zip;
  ExportedLayout layout = ExportedLayout::RawWeights;
  std::string name;     // of models/NAME.json
  std::string program;  // whole names of entries
  std::string samples;  // the sample inputs; empty: there are none
  const Type* cls = nullptr;
  struct Weight {
    std::string name;
    bool constant, parameter;
  };
  std::vector<Weight> weights;
};

}  // namespace tenon::jit::formats
