// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the two readers of the headers of abi/ share.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace tenon::abi_headers {

// Ends the program: `where` is a file, or a place in one.
[[noreturn]] inline void fail(const std::string& where, const std::string& what) {
  std::cerr << where << ": " << what << "\n";
  std::exit(1);
}

// The whole text of a file.
inline std::string read(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail(path, "cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace tenon::abi_headers
