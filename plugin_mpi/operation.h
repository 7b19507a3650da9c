// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugin_mpi/communicator.h"
#include "plugin_mpi/messages.h"
#include "plugin_mpi/progress.h"
#include "tenon/sdk/collective.h"

namespace tenon::mpi_engine {

// A request of MPI, or messages. Whoever asks moves it on.
class Operation final : public sdk::CollectiveWork,
                        public Moved,
                        public std::enable_shared_from_this<Operation> {
 public:
  // Begins it; std::runtime_error: MPI refused.
  Operation(std::shared_ptr<Communicator> group, const tn_collective_call& call);
  bool wait(int64_t ms) override;
  // MPI takes back a receive, not a send or a collective.
  bool end() override;
  bool advance();  // true: it is done
  // True: it is done, and MPI uses its buffers no more.
  bool move_on() override;
  bool is_waited_for() const override { return waiting_ > 0; }
  uint64_t steps() const override { return steps_; }

 private:
  using Buffer = sdk::CollectiveBuffer;
  int begin(const tn_collective_call& call);
  int begin_reduction(const tn_collective_call& call);
  void finish(int code);
  void set_done();
  bool ask();
  bool ask_messages();
  bool ask_receive();
  int take(Receive& from);

  const std::shared_ptr<Communicator> group_;
  const Buffer in_, out_;
  const int32_t operation_, reduction_;
  const int64_t timeout_ms_;
  std::mutex lock_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // under lock_
  std::unique_ptr<Messages> messages_;      // instead of a request; under lock_
  std::optional<Receive> receive_;          // until its message has come; under lock_
  std::vector<char> other_;                 // of a message of another length
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> done_{false};
  std::atomic<int> waiting_{0};
};

}  // namespace tenon::mpi_engine
