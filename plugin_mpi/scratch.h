// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tenon::mpi_engine {

// Memory that is kept from one operation to the next.
class Scratch {
 public:
  struct Free {
    void operator()(char* p) const;
  };
  using Memory = std::unique_ptr<char, Free>;
  // Of the messages under way.
  struct Lists {
    std::vector<MPI_Request> requests;
    std::vector<std::pair<int, int>> expected;  // rank, elements of a receive; -1: a send
    std::vector<int> indices;                   // of those that have ended, with
    std::vector<MPI_Status> statuses;
    void clear() {
      requests.clear();
      expected.clear();
    }
  };
  struct Block {
    Memory memory;
    size_t bytes = 0;
    Lists lists;
  };
  Scratch() { free_.reserve(kKept + 1); }
  Block take(size_t bytes);     // as many or more, not initialized
  void give_back(Block block);  // the largest are kept

 private:
  static constexpr size_t kKept = 4;  // blocks

  std::mutex lock_;
  std::vector<Block> free_;  // under lock_
};

}  // namespace tenon::mpi_engine
