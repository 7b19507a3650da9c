// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fourth part of elf_check: what the dynamic linker writes into the mapped library.
#pragma once

#include <string>

#include "elf_image.h"

namespace tenon::plugins {

// Takes an image that passed symbols_fault(). Empty if every relocation writes once, into
// initialized writable data, an address inside of the library or a symbol's, and every constructor
// and destructor is such an address of code. The dynamic linker checks none of that.
std::string relocations_fault(const ElfImage& image);

}  // namespace tenon::plugins
