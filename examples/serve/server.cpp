// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <tenon/jit/limits.h>
#include <tenon/runtime/allocator.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "batch.h"
#include "values.h"

namespace serve {

using tenon::IValue;

namespace {

// The results of a tuple are the outputs; anything else is the only one.
std::string answer_line(const Request& request, const IValue& result) {
  std::string line = "{\"id\":" + request.id + ",\"outputs\":";
  if (!result.isTuple()) line += '[';
  append_value(line, result);
  line += result.isTuple() ? "}\n" : "]}\n";
  return line;
}

}  // namespace

Server::Server(tenon::jit::Module module, const Settings& settings)
    : module_(std::move(module)),
      settings_(settings),
      device_(settings.device),
      memory_at_start_(memory_in_use()) {}

bool Server::serve(std::istream& in, std::ostream& out) {
  out_ = &out;
  begin_ = Clock::now();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(std::max(settings_.threads, 0)));
  for (int i = 0; i < settings_.threads; ++i) threads.emplace_back([this] { work(); });
  read(in);
  queue_.close();
  for (std::thread& t : threads) t.join();
  end_ = Clock::now();
  return out.good();
}

std::string Server::table() const { return latencies_.table(end_ - begin_); }

// What is beyond the limit of a line is skipped.
void Server::read(std::istream& in) {
  std::string line;
  bool whole = true;
  std::streambuf& bytes = *in.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  for (int c = bytes.sbumpc(); c != kEnd; c = bytes.sbumpc()) {
    if (c == '\n') {
      accept(line, whole);
      line.clear();
      whole = true;
    } else if (line.size() < settings_.max_request) {
      line.push_back(static_cast<char>(c));
    } else {
      whole = false;
    }
  }
  accept(line, whole);
}

void Server::accept(const std::string& line, bool whole) {
  if (whole && line.find_first_not_of(" \t\r") == std::string::npos) return;
  Request request;
  try {
    if (!whole)
      throw Failure("size", "the line is longer than " + std::to_string(settings_.max_request) +
                                " bytes (--max-request)");
    read_request(line, module_, request);
    check_memory();
    queue_.put(std::move(request));
  } catch (const Failure& e) {
    refuse(request, e.kind(), e.what());
  } catch (const std::bad_alloc&) {
    refuse(request, "memory", "not enough memory for the request");
  } catch (const std::exception& e) {
    refuse(request, "request", e.what());
  }
}

void Server::work() {
  const tenon::InferenceMode inference;
  const auto wait = std::chrono::microseconds(static_cast<int64_t>(1000 * settings_.batch_wait_ms));
  for (;;) {
    const auto requests = queue_.take(static_cast<std::size_t>(settings_.batch), wait);
    if (requests.empty()) return;
    run(requests);
  }
}

// One bad request of several must not fail the others: they run alone then.
void Server::run(const std::vector<Request>& requests) {
  if (requests.size() > 1 && run_together(requests)) return;
  for (const Request& request : requests) run_alone(request);
}

bool Server::run_together(const std::vector<Request>& requests) {
  const std::string& method = requests.front().method;
  {
    const std::lock_guard lock(mutex_);
    if (alone_.count(method) > 0) return false;
  }
  try {
    const IValue result = call(method, joined_inputs(requests), requests.front().arrival);
    const auto parts = split_result(result, requests);
    if (!parts) {
      const std::lock_guard lock(mutex_);
      alone_.insert(method);
      return false;
    }
    std::vector<std::string> lines;  // all of them, before one is written
    for (std::size_t i = 0; i < requests.size(); ++i)
      lines.push_back(answer_line(requests[i], (*parts)[i]));
    for (std::size_t i = 0; i < requests.size(); ++i) answer(requests[i], lines[i]);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Server::run_alone(const Request& request) {
  try {
    answer(request, answer_line(request, call(request.method, request.inputs, request.arrival)));
  } catch (const Failure& e) {
    refuse(request, e.kind(), e.what());
  } catch (const tenon::OutOfMemoryError& e) {
    refuse(request, "memory", e.what());
  } catch (const std::bad_alloc&) {
    refuse(request, "memory", "not enough memory for the answer");
  } catch (const std::exception& e) {
    refuse(request, late(request.arrival) ? "time" : "program", e.what());
  }
}

// Runs with the time that is left of the limit since then.
IValue Server::call(const std::string& method, std::vector<IValue> inputs,
                    Clock::time_point since) {
  if (late(since))
    throw Failure("time", "the request waited longer than the limit of " +
                              std::to_string(settings_.time_limit_ms) + " ms (--time-limit)");
  tenon::jit::RunLimits limits = tenon::jit::run_limits();
  if (settings_.time_limit_ms > 0) {
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since);
    limits.milliseconds = std::max<int64_t>(1, settings_.time_limit_ms - spent.count());
  }
  tenon::jit::set_run_limits(limits);
  if (!device_.is_cpu()) {
    for (IValue& input : inputs) input = on_device(input, device_);
  }
  IValue result = module_.get_method(method)(std::move(inputs));
  const std::lock_guard lock(mutex_);
  latencies_.add_run();
  return result;
}

void Server::answer(const Request& request, const std::string& line) {
  const std::lock_guard lock(mutex_);
  latencies_.add(Clock::now() - request.arrival);
  write(line);
}

void Server::refuse(const Request& request, const std::string& kind, const std::string& message) {
  const std::string line = "{\"id\":" + request.id + ",\"error\":{\"kind\":" + quoted(kind) +
                           ",\"message\":" + quoted(message) + "}}\n";
  const std::lock_guard lock(mutex_);
  latencies_.add_error();
  write(line);
}

void Server::write(const std::string& line) {
  *out_ << line;
  out_->flush();
}

bool Server::late(Clock::time_point since) const {
  return settings_.time_limit_ms > 0 &&
         Clock::now() - since >= std::chrono::milliseconds(settings_.time_limit_ms);
}

void Server::check_memory() const {
  if (settings_.memory_limit_mb == 0) return;
  const uint64_t now = memory_in_use();
  const uint64_t used = now > memory_at_start_ ? now - memory_at_start_ : 0;
  if (used > static_cast<uint64_t>(settings_.memory_limit_mb) << 20)
    throw Failure("memory", "tensors take " + std::to_string(used) +
                                " bytes with this request, the limit is " +
                                std::to_string(settings_.memory_limit_mb) +
                                " MiB (--memory-limit); try again when others are answered");
}

uint64_t Server::memory_in_use() const {
  uint64_t bytes = tenon::core::memory_stats(tenon::core::kHost).allocated;
  if (!device_.is_cpu())
    bytes += tenon::core::memory_stats(tenon::core::device_id(device_)).allocated;
  return bytes;
}

}  // namespace serve
