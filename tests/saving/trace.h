// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every system call of a piece of code, from outside: a child does it under ptrace, and stops
// before and after each.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::test {

struct SystemCall {
  uint64_t number = 0;
  uint64_t arguments[6] = {};
  int64_t result = 0;
  std::string path, second_path;  // of those that take some
  std::string data;               // of writes
};

class Traced {
 public:
  explicit Traced(const std::function<void()>& body);
  ~Traced();  // kills it where it stands
  // To the next stop, before or after a system call. False when the child has ended.
  bool step();
  // The call before which, or after which, the child stands.
  const SystemCall& call() const { return call_; }
  bool after() const { return after_; }
  int status() const { return status_; }  // of waitpid, once step() was false

 private:
  std::string text_at(uint64_t address, std::size_t max_bytes, bool ends_at_zero) const;
  void read_arguments();

  pid_t child_ = -1;
  int status_ = 0;
  bool after_ = false;
  SystemCall call_;
};

// All of them, in order. `ended_well`: the child returned from body.
std::vector<SystemCall> trace(const std::function<void()>& body, bool* ended_well);

}  // namespace tenon::test
