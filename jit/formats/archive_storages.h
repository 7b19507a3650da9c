// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The memory of tensors in an archive: mapped where that is possible, each entry once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "jit/formats/zip.h"
#include "tenon/tensor.h"

namespace tenon::jit::formats {

class ArchiveStorages {
 public:
  // Entries of `folder` ("archive/data/"). `device`: where all of them go; else where the archive
  // says, or to the host if there is no such device. `swapped`: the bytes are of the other order.
  ArchiveStorages(std::shared_ptr<ZipReader> zip, std::string folder, std::optional<Device> device,
                  bool swapped);
  // A tensor of one dimension over the whole storage. ValueError if the entry has another size;
  // IndexError if there is none.
  Tensor load(ScalarType dtype, const std::string& key, const std::string& location, int64_t numel);

 private:
  core::Ref<core::Storage> bytes_of(const ZipReader::Entry& e, ScalarType dtype) const;
  Device place(const std::string& location);

  std::shared_ptr<ZipReader> zip_;
  std::string folder_;
  std::optional<Device> device_;
  bool swapped_;
  struct Loaded {
    ScalarType dtype;
    Tensor tensor;
  };
  std::map<std::string, Loaded> loaded_;
  std::map<std::string, Device> places_;
};

}  // namespace tenon::jit::formats
