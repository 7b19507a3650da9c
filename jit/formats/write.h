// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/formats/zip.h"
#include "tenon/jit.h"

namespace tenon::jit::formats {

// Writes what torch.jit.load reads. NotImplementedError names what an archive cannot hold.
void write_torchscript(const Module& m, ZipWriter& zip, const ExtraFiles& extra);

// Whether the module was read from an exported program.
bool is_exported(const Module& m);
// Writes what torch.export.load reads.
void write_exported(const Module& m, ZipWriter& zip, const ExtraFiles& extra);

}  // namespace tenon::jit::formats
