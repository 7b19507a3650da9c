// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What `tenon run`, `tenon show` and `tenon convert` are asked, and what they share.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tenon/jit.h"

namespace tenon::command {

struct RunOptions {
  std::string model;  // a file, or a folder of cases: then `format` names the file in it
  std::string format, cases, inputs, outputs;
  std::string device = "cpu", method = "forward";
  int threads = 0;  // 0: what the library chooses
  int bench = 0;    // runs to measure
  int64_t time_limit = 0, instruction_limit = 0;
  bool grads = false, verify = false, optimize = false;
};

// The program on the device that the text names. What it prints goes to standard output.
jit::Module load_program(const std::string& file, const Device& device);
// The same, frozen and optimized; the methods stay beside forward.
jit::Module load_optimized(const std::string& file, const Device& device,
                           const std::vector<std::string>& methods);
// "cpu", "opencl:1", with the manifests of all plugins read. ValueError if it is not here.
Device find_device(const std::string& name);

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

std::string format_number(const char* format, double v);  // "%.3g"
std::string format_ms(double ms);                         // "12.3 ms"
std::string format_bytes(uint64_t bytes);                 // "4.2 MiB"

// Waits until the device has done what it was given.
void wait_for(const Device& device);

// The functions that the module's methods are made of, each once: those of its submodules, and what
// they call.
std::vector<jit::Function*> reachable_functions(const jit::Module& m);
// Every node of a graph, blocks and graphs in attributes included.
void for_each_node(const jit::Graph& g, const std::function<void(const jit::Node&)>& f);

// The method's arguments of a file, by place (in.0, in.1, ...) or name: numbers where its schema
// asks for them; parts of lists and tuples are in.0.0, in.0.1, those of dictionaries in.0.KEY.
std::vector<IValue> read_arguments(const std::string& file, const jit::Method& method,
                                   const Device& device);
// The tensors and numbers of a result as out.0, out.1, ...
void write_results(const std::string& file, const IValue& result);

// What loading took, and what the process held before: code of the libraries that were loaded.
struct Loading {
  uint64_t resident_before = resident_bytes();
  double ms = 0;

  static uint64_t resident_bytes();
};
// Load, first run, median, memory, and the operators that took the longest.
void print_bench(const jit::Method& method, const std::vector<IValue>& arguments,
                 const Device& device, const Loading& loading, int runs);

}  // namespace tenon::command
