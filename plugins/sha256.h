// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), of files only: a manifest may state the hash of its library.
#pragma once

#include <string>

namespace tenon::plugins {

// Lower-case hex of the whole file open as `fd`, read with pread. BackendError if it cannot be
// read.
std::string sha256_of_file(int fd);

}  // namespace tenon::plugins
