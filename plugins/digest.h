// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A fast digest of a library that detects damage: bad disks, cut downloads. File ownership, not
// this, guards against attacks. Does not depend on core, because a build tool writes it into
// manifests.
#pragma once

#include <string>

namespace tenon::plugins {

// "xxh64:" and 16 hex digits of XXH64 (libxxhash) over what a loader uses of an ELF file: the ELF
// and the program headers, then the bytes of the loaded segments in pieces of 64 KiB, where those
// headers read as zero. The seed of each part is the hash of the one before. What `strip` changes
// is left out: the place of the section headers, and the offsets of segments that are not loaded.
// Empty if the file cannot be read or is not an ELF file.
std::string loaded_digest(int fd);

}  // namespace tenon::plugins
