// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parameters, buffers and constants of an exported program, in the three layouts that torch has
// written: entries of raw bytes with a configuration (2.9 and later), archives of torch.save in the
// archive (2.8), and next to the program (until 2.7).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/formats/archive_storages.h"
#include "jit/formats/exported/json.h"

namespace tenon::jit::formats {

struct NamedWeight {
  std::string name;  // "layer1.0.weight"
  Tensor value;
  bool constant;  // not in the state dictionary
};

class ExportedWeights {
 public:
  // `name` is that of models/NAME.json; empty for the layout until torch 2.7.
  ExportedWeights(std::shared_ptr<ZipReader> zip, std::string name, std::optional<Device> device);
  // In the order of the file, weights before constants. A weight that has several names is one
  // tensor. Errors name the entry.
  std::vector<NamedWeight> read();

 private:
  void read_entries(const std::string& folder, const std::string& config);
  void read_entry(ArchiveStorages& storages, const std::string& folder, const std::string& name,
                  const Json& payload);
  void read_saved(const ZipReader::Entry& e);

  std::shared_ptr<ZipReader> zip_;
  std::string root_, name_;
  std::optional<Device> device_;
  std::vector<NamedWeight> out_;
  bool constants_ = false;              // is what is being read
  std::map<std::string, Tensor> seen_;  // by entry and form
};

}  // namespace tenon::jit::formats
