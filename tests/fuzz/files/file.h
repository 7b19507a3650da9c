// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Invalid files: valid ones that are changed in one place or many, and generated headers.
#pragma once

#include <string>
#include <vector>

#include "fuzz.h"

namespace tenon::fuzz {

// The parts of a safetensors file.
struct File {
  std::string header, data;

  static File split(const std::string& bytes);
  // With the right length of the header, and the right checksum where the header has a place for
  // it.
  std::string whole() const;
};

// A few changes of any of its parts; the result may have a wrong length or checksum.
std::string damage(File file, Random& random);
// A header of tensors, views, strides, layouts, values and archives, most of it likely and some of
// it not.
File invent(Random& random);

}  // namespace tenon::fuzz
