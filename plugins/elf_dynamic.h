// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The second part of elf_check: how the file asks to be mapped, and its dynamic section.
#pragma once

#include <string>

#include "elf_image.h"

namespace tenon::plugins {

// Fills in the dynamic section. Empty if the loaded segments are in ascending order and contain
// every table that the dynamic section points to, and it asks for nothing unsafe: text relocations,
// static thread-local storage, libraries by a relative path.
std::string mapping_fault(ElfImage& image);

}  // namespace tenon::plugins
