// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/operation.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "plugin_mpi/exchange.h"
#include "plugin_mpi/moves.h"
#include "plugin_mpi/process.h"
#include "tenon/sdk/collective_reduce.h"

namespace tenon::mpi_engine {
namespace {

// What MPI itself is asked for.
const char* name_of(int32_t operation) {
  switch (operation) {
    case TN_COLLECTIVE_ALL_REDUCE:
      return "MPI_Iallreduce";
    case TN_COLLECTIVE_REDUCE:
      return "MPI_Ireduce";
    case TN_COLLECTIVE_REDUCE_SCATTER:
      return "MPI_Ireduce_scatter_block";
    default:
      return operation == TN_COLLECTIVE_SEND ? "MPI_Isend" : "MPI_Imrecv";
  }
}

int tag_of(uint32_t tag, const Communicator& group) {
  if (tag > static_cast<uint32_t>(group.max_tag))
    throw std::runtime_error("MPI has tags up to " + std::to_string(group.max_tag) + ", not " +
                             std::to_string(tag));
  return static_cast<int>(tag);
}

std::string size_text(size_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Operation::Operation(std::shared_ptr<Communicator> group, const tn_collective_call& call)
    : group_(std::move(group)),
      in_(call.in),
      out_(call.out),
      operation_(call.operation),
      reduction_(call.reduction),
      timeout_ms_(std::max<int64_t>(call.timeout_ms, 1)) {
  begin_ns = sdk::collective_clock();
  check(begin(call), name_of(operation_));
}

int Operation::begin(const tn_collective_call& call) {
  const MPI_Datatype type = datatype_of(call.in ? in_.dtype : out_.dtype);
  if (sdk::is_reduction(operation_)) return begin_reduction(call);
  if (!sdk::is_to_one(operation_)) {
    messages_ = std::make_unique<Moves>(*group_, call, type);
    return MPI_SUCCESS;
  }
  const int tag = tag_of(call.tag, *group_);
  if (operation_ == TN_COLLECTIVE_SEND)
    return MPI_Isend(in_.data, to_int(in_.elements), type, call.root, tag, group_->comm, &request_);
  receive_.emplace();
  receive_->source = call.root == TN_COLLECTIVE_ANY_SOURCE ? MPI_ANY_SOURCE : call.root;
  receive_->tag = tag;
  group_->receives.add(*receive_);
  return MPI_SUCCESS;
}

int Operation::begin_reduction(const tn_collective_call& call) {
  const MPI_Comm comm = group_->comm;
  const bool root = call.root == group_->rank;
  const MPI_Datatype type = datatype_of(in_.dtype);
  const MPI_Op op = reduction_of(in_.dtype, reduction_);
  if (Exchange::serves(in_.bytes(), group_->size)) {
    messages_ = std::make_unique<Exchange>(
        *group_, Exchange::Reduction{operation_, reduction_, call.root, in_, out_, type, op});
    return MPI_SUCCESS;
  }
  const int in = to_int(in_.elements), out = to_int(out_.elements);
  const void* from = in_.data == out_.data && call.out ? MPI_IN_PLACE : in_.data;
  if (operation_ == TN_COLLECTIVE_ALL_REDUCE)
    return MPI_Iallreduce(from, out_.data, in, type, op, comm, &request_);
  if (operation_ == TN_COLLECTIVE_REDUCE_SCATTER)
    return MPI_Ireduce_scatter_block(in_.data, out_.data, out, type, op, comm, &request_);
  return MPI_Ireduce(root ? from : in_.data, root ? out_.data : nullptr, in, type, op, call.root,
                     comm, &request_);
}

void Operation::finish(int code) {
  if (code != MPI_SUCCESS && fault.empty()) fault = text_of(code, name_of(operation_));
  if (fault.empty() && sdk::is_reduction(operation_) && reduction_ == TN_COLLECTIVE_AVG &&
      out_.elements)
    sdk::divide_of(out_.dtype)(out_.data, out_.elements, group_->size);
}

// It goes on also where its timeout has passed, as a request of MPI does: others may wait for it.
bool Operation::ask_messages() {
  const bool is_free = messages_->advance();
  steps_ = messages_->steps();
  if (!done_ && !messages_->fault().empty()) {
    fault = messages_->fault();
    set_done();
  }
  return is_free;
}

// Under lock_.
void Operation::set_done() {
  if (!done_) end_ns = sdk::collective_clock();
  done_ = true;
}

// Under lock_. True: MPI is done with the buffers, as it has failed.
bool Operation::ask_receive() {
  bool has_come = false;
  int code = group_->receives.ask(group_->comm, *receive_, has_come);
  if (code == MPI_SUCCESS && !has_come) return false;
  if (code == MPI_SUCCESS) code = take(*receive_);
  receive_.reset();
  if (code != MPI_SUCCESS && !done_) finish(code);
  return code != MPI_SUCCESS;
}

// A message of another length goes to memory of its own.
int Operation::take(Receive& from) {
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&from.status, MPI_BYTE, &bytes);
  const auto came = static_cast<size_t>(bytes);
  source = from.status.MPI_SOURCE;
  if (came == out_.bytes() && !done_)
    return MPI_Imrecv(out_.data, to_int(out_.elements), datatype_of(out_.dtype), &from.message,
                      &request_);
  if (fault.empty())
    fault = "rank " + std::to_string(source) + " sent " + size_text(came) + "; expected " +
            size_text(out_.bytes()) + " on rank " + std::to_string(group_->rank);
  other_.resize(came);
  return MPI_Imrecv(other_.data(), to_int(came), MPI_BYTE, &from.message, &request_);
}

// Under lock_. True: MPI is done with the buffers.
bool Operation::ask() {
  if (messages_) return ask_messages();
  if (receive_ && (ask_receive() || receive_)) return !receive_;
  if (request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  const int code = MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && !done) return false;
  request_ = MPI_REQUEST_NULL;
  if (!done_) finish(code);
  return true;
}

bool Operation::move_on() {
  std::lock_guard held(lock_);
  const bool is_free = ask();
  if (!is_free && !done_) {
    const int64_t spent_ms = (sdk::collective_clock() - begin_ns) / 1000000;
    if (group_->aborted)
      fault = "the group was aborted";
    else if (spent_ms >= timeout_ms_)
      fault = "not done within " + std::to_string(timeout_ms_) + " ms";
    else
      return false;
    group_->aborted = true;  // those that follow would meet another operation of the peers
  }
  set_done();
  return is_free;
}

bool Operation::advance() {
  if (!done_) move_on();
  return done_;
}

bool Operation::wait(int64_t ms) {
  const auto start = std::chrono::steady_clock::now();
  ++waiting_;
  Backoff backoff(/*eager=*/true);
  bool done = advance();
  for (uint64_t before = steps(); !done && ms > 0;) {
    backoff.pause();
    done = advance();
    if (steps() != before) backoff.reset();
    before = steps();
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent >= std::chrono::milliseconds(std::min<int64_t>(ms, int64_t{1} << 40))) break;
  }
  --waiting_;
  return done;
}

bool Operation::end() {
  bool cancels = false;
  {
    std::lock_guard held(lock_);
    if (messages_) cancels = messages_->cancel(!fault.empty() || group_->aborted);
    if (receive_) {
      group_->receives.remove(*receive_);
      cancels = receive_->has_come;
      if (!receive_->has_come) receive_.reset();
    }
  }
  for (int i = 0; i < 100; ++i) {
    if (move_on()) return true;
    if (!cancels) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Progress::instance().add(shared_from_this());
  return false;
}

}  // namespace tenon::mpi_engine
