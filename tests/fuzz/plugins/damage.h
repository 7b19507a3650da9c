// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What disks, networks and editors do to the two files of a plugin.
#pragma once

#include <string>

#include "fuzz.h"

namespace tenon::fuzz {

// A damaged copy of a library's bytes; rarely the good one.
std::string damaged_library(Random& random, const std::string& good);
// A damaged copy of a manifest; rarely the good one.
std::string damaged_manifest(Random& random, const std::string& good);

}  // namespace tenon::fuzz
