// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of reading and writing.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {

namespace {

constexpr long bytes = 512 * M;

// A file in memory, removed with the last row that reads it.
struct File {
  std::string path = "/dev/shm/tenon_bench." + std::to_string(getpid());
  ~File() { unlink(path.c_str()); }

  void write_all(char const* p) const {
    int f = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (f < 0) throw std::runtime_error("cannot write " + path);
    long at = 0, done = 1;
    for (; at < bytes && done > 0; at += done) done = write(f, p + at, size_t(bytes - at));
    close(f);
    if (done <= 0) throw std::runtime_error(path + ": no space for 512 MiB");
  }
  void read_all(char* p) const {
    int f = open(path.c_str(), O_RDONLY);
    long at = 0, done = 1;
    for (; at < bytes && done > 0; at += done) done = pread(f, p + at, size_t(bytes - at), at);
    close(f);
    if (done <= 0) throw std::runtime_error("cannot read " + path);
  }
};

}  // namespace

void files(Suite& s) {
  Group row{s, "files"};
  row(
      "save_512MB",
      [] {
        return [f = std::make_shared<File>(), t = floats(bytes / 4)] {
          f->write_all(reinterpret_cast<char*>(t.get()));
        };
      },
      "write() to tmpfs");
  row(
      "load_512MB",
      [] {
        auto f = std::make_shared<File>();
        auto t = floats(bytes / 4);
        f->write_all(reinterpret_cast<char*>(t.get()));
        return [=] { f->read_all(reinterpret_cast<char*>(t.get())); };
      },
      "pread into a warm buffer");
  row(
      "load_512MB_mmap",
      [] {
        auto file = std::make_shared<File>();
        file->write_all(reinterpret_cast<char*>(floats(bytes / 4).get()));
        return [=] {
          int f = open(file->path.c_str(), O_RDONLY);
          auto* p = static_cast<char const*>(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, f, 0));
          close(f);
          keep(p[bytes / 2]);
          munmap(const_cast<char*>(p), bytes);
        };
      },
      "mmap, touch one page");
}

}  // namespace bench::lower_bounds
