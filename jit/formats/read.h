// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The readers of archives that programs come in. Errors name the file, the entry and the reason.
#pragma once

#include <memory>
#include <optional>

#include "jit/formats/zip.h"
#include "tenon/jit.h"

namespace tenon::jit::formats {

// What torch.jit.save writes. `extra` may be null.
Module read_torchscript(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
                        ExtraFiles* extra);
// What torch.export.save writes.
Module read_exported(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
                     ExtraFiles* extra);

// Fills `extra` with those of its names that the folder has.
void read_extra_files(const ZipReader& zip, const std::string& folder, ExtraFiles* extra);

}  // namespace tenon::jit::formats
