// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tenon_digest FILE: prints the digest that the manifest of a plugin's library has. A tool of the
// build.
#include <fcntl.h>

#include <cstdio>

#include "plugins/digest.h"

int main(int argc, char** argv) {
  const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
  const std::string digest = fd >= 0 ? tenon::plugins::loaded_digest(fd) : "";
  if (digest.empty()) {
    std::fprintf(stderr, "usage: tenon_digest FILE, a shared library that can be read\n");
    return 1;
  }
  std::printf("%s", digest.c_str());
  return 0;
}
