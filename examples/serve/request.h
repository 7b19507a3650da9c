// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One line of the input, as what a method is called with.
#pragma once

#include <tenon/jit.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace serve {

using Clock = std::chrono::steady_clock;

// What goes wrong with one request. The kind is for programs: "json", "request", "size", "memory",
// "time" or "program".
class Failure : public std::runtime_error {
 public:
  Failure(std::string kind, const std::string& message)
      : std::runtime_error(message), kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
};

struct Request {
  std::string id = "null";  // as JSON
  std::string method = "forward";
  std::vector<tenon::IValue> inputs;
  // Requests of one group may share a run: tensors alone, equal in dtypes and in shapes after
  // dimension 0. Empty: this one runs alone.
  std::string group;
  int64_t rows = 0;  // size of dimension 0 of all inputs, where there is a group
  Clock::time_point arrival = Clock::now();
};

// Reads {"id": 1, "inputs": [...], "method": "forward"} into `request`, whose id is set first, so
// that an error can name it. Failure says what is wrong with the line.
void read_request(const std::string& line, const tenon::jit::Module& module, Request& request);

}  // namespace serve
