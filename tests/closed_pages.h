// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory between two pages that nobody may touch: what reads or writes beyond its end dies.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace tenon::test {

class ClosedPages {
 public:
  // Whole pages; std::bad_alloc if there are none.
  explicit ClosedPages(std::size_t bytes)
      : bytes_(std::max(page(), (bytes + page() - 1) / page() * page())) {
    void* const all =
        mmap(nullptr, bytes_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    start_ = static_cast<char*>(all) + page();
    mprotect(start_, bytes_, PROT_READ | PROT_WRITE);
  }
  ~ClosedPages() { munmap(start_ - page(), bytes_ + 2 * page()); }
  ClosedPages(const ClosedPages&) = delete;
  ClosedPages& operator=(const ClosedPages&) = delete;

  char* begin() const { return start_; }
  char* end() const { return start_ + bytes_; }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::size_t bytes_;
  char* start_;
};

}  // namespace tenon::test
