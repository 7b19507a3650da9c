// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A collective that is messages of its own, which have a timeout and do not overrun a buffer: see
// "messages that do not fit" in receives.h.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "plugin_mpi/communicator.h"

namespace tenon::mpi_engine {

class Messages {
 public:
  virtual ~Messages();
  Messages(const Messages&) = delete;

  // Asks MPI and goes on. True: it is done or has failed, and MPI uses the buffers no more.
  bool advance();
  // Takes the receives of one that has failed or is given up back; what was sent ends with its
  // receiver. False: it goes on.
  bool cancel(bool is_given_up);
  const std::string& fault() const { return fault_; }  // also before advance() is true
  uint64_t steps() const { return steps_; }            // grows when something has happened

 protected:
  // `hash` is of what must be the same on all ranks, which begin theirs in the same order, one
  // thread at a time. A message has at most so many elements; longer ones are several. `scratch` is
  // in bytes.
  Messages(Communicator& group, MPI_Datatype type, size_t item, size_t max_elements, uint32_t hash,
           size_t scratch);
  // Sends and receives what comes next. False: there is nothing more.
  virtual bool go_on() = 0;

  char* scratch() { return scratch_.memory.get(); }
  size_t bytes_of(size_t elements) const { return elements * item_; }
  void receive(int from, char* to, size_t elements);
  void send(int to, const char* from, size_t elements);
  void check(int code, const char* what);

  Communicator& group_;
  const MPI_Datatype type_;

 private:
  int tag_of(size_t elements) const;
  void add(MPI_Request request, std::pair<int, int> expected);
  void look_at(const MPI_Status& status, std::pair<int, int> expected);
  void ask();

  const size_t item_, max_elements_;  // bytes; of a message
  const uint32_t hash_, number_;
  Scratch::Block scratch_;
  size_t left_ = 0;
  bool done_ = false;
  uint64_t steps_ = 0;
  std::string fault_;
};

}  // namespace tenon::mpi_engine
