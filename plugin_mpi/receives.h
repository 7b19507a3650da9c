// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Note "messages that do not fit". Open MPI 4 writes the whole of a message of 4 KiB or more from
// another process of the machine to a receiver's buffer, however short that is, and then reports
// MPI_ERR_TRUNCATE. So a message is looked at before it is received.
#pragma once

#include <mpi.h>

#include <list>
#include <mutex>

namespace tenon::mpi_engine {

// A receive, and the message that is for it.
struct Receive {
  int source = MPI_ANY_SOURCE, tag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  bool has_come = false;
};

// Those of a communicator that wait for their message, in the order in which they began: messages
// are for the first one that they match.
class Receives {
 public:
  void add(Receive& r);
  void remove(Receive& r);  // one that need not be there
  // Asks MPI for the messages of all; the code of MPI. True in has_come: r has its own.
  int ask(MPI_Comm comm, Receive& r, bool& has_come);

 private:
  std::mutex lock_;
  std::list<Receive*> waiting_;  // under lock_
};

}  // namespace tenon::mpi_engine
