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
// The folder of the archive's entries: `name`, or none where the program had none.
std::string archive_root(const Module& m, const std::string& name);
// Writes what torch.export.load reads, in the layout that the program was read from: each torch
// reads those of its time and earlier.
void write_exported(const Module& m, ZipWriter& zip, const ExtraFiles& extra);

}  // namespace tenon::jit::formats
