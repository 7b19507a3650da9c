// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks what dlopen does not: it runs the library's constructors, so a foreign or damaged file is
// refused before.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::plugins {

// Empty if the file is a complete shared library for this machine that defines `symbol`; else what
// is wrong. Reads with pread only and bounds every read, so that a file that shrinks meanwhile is
// an error, not a signal.
std::string elf_fault(int fd, uint64_t bytes, const char* symbol);

}  // namespace tenon::plugins
