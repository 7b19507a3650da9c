// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads requests, runs them on several threads and writes answers.
#pragma once

#include <tenon/jit.h>

#include <istream>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "latency.h"
#include "queue.h"

namespace serve {

struct Settings {
  std::string model, device = "cpu";
  int threads = 2;
  int batch = 1;                        // requests of one run at most
  double batch_wait_ms = 2;             // for more of them
  int64_t time_limit_ms = 0;            // from reading a request to its answer; 0: none
  int64_t memory_limit_mb = 0;          // of tensors, beside the model's own; 0: none
  std::size_t max_request = 16u << 20;  // bytes of a line
};

class Server {
 public:
  Server(tenon::jit::Module module, const Settings& settings);
  // Until the end of `in`, with every request answered; false if `out` cannot be written.
  bool serve(std::istream& in, std::ostream& out);
  // Two lines of text about what was served.
  std::string table() const;

 private:
  void read(std::istream& in);
  void accept(const std::string& line, bool whole);
  void work();
  void run(const std::vector<Request>& requests);
  bool run_together(const std::vector<Request>& requests);
  void run_alone(const Request& request);
  tenon::IValue call(const std::string& method, std::vector<tenon::IValue> inputs,
                     Clock::time_point since);
  void answer(const Request& request, const std::string& line);
  void refuse(const Request& request, const std::string& kind, const std::string& message);
  void write(const std::string& line);
  bool late(Clock::time_point since) const;
  void check_memory() const;
  uint64_t memory_in_use() const;

  const tenon::jit::Module module_;
  const Settings settings_;
  const tenon::Device device_;
  uint64_t memory_at_start_ = 0;
  Queue queue_;
  Clock::time_point begin_, end_;
  std::mutex mutex_;  // guards what follows
  std::ostream* out_ = nullptr;
  Latencies latencies_;
  std::set<std::string> alone_;  // methods whose results could not be split
};

}  // namespace serve
