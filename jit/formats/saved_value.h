// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values in the two forms that torch.save had.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jit/formats/zip.h"
#include "tenon/jit/pickle.h"

namespace tenon::jit::formats {

// data.pkl and the memory of tensors in data/.
IValue read_saved_zip(const std::shared_ptr<ZipReader>& zip, const DeviceMap& map);
// Before torch 1.6: a magic number, a version, sizes of the machine's types and the value, each a
// pickle, then the keys of the storages and their bytes.
bool is_legacy(std::string_view bytes);
IValue read_legacy(std::string_view bytes, const DeviceMap& map);

}  // namespace tenon::jit::formats
