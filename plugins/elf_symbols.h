// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The third part of elf_check: the tables of dynamic symbols, their hashes and their versions.
#pragma once

#include <string>

#include "elf_image.h"

namespace tenon::plugins {

// Reads the symbols of an image that passed mapping_fault(). Empty if each has a name and a place
// inside of the library, the hash tables have every exported one where a lookup expects it, and
// the versions end and name needed libraries.
std::string symbols_fault(ElfImage& image);

}  // namespace tenon::plugins
