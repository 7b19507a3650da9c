// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The memory of tensors below one folder of an archive, each storage once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/formats/pickle.h"
#include "jit/formats/zip.h"

namespace tenon::jit::formats {

class StorageWriter {
 public:
  StorageWriter(ZipWriter& zip, std::string folder) : zip_(zip), folder_(std::move(folder)) {}

  std::string save(const Tensor& t) {
    const auto& storage = t.unsafeGetTensorImpl()->storage;
    const auto [it, fresh] = keys_.emplace(storage.get(), std::to_string(keys_.size()));
    if (!fresh) return it->second;
    alive_.push_back(t);
    const auto bytes = static_cast<int64_t>(storage->bytes);
    Tensor all = tensor_over(t, kByte, 0, {bytes}, {1});
    if (!all.is_cpu()) all = all.to(kCPU);
    zip_.add(folder_ + it->second, all.const_data_ptr(), storage->bytes);
    return it->second;
  }

 private:
  ZipWriter& zip_;
  std::string folder_;
  std::map<const void*, std::string> keys_;
  std::vector<Tensor> alive_;
};

}  // namespace tenon::jit::formats
