// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Answers requests to a saved model, one JSON object per line.
#include <tenon/jit/print.h>
#include <tenon/parallel.h>
#include <tenon/tenon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <thread>

#include "server.h"

namespace {

constexpr const char* kFooter = R"(
A request is a line of standard input:
  {"id": 1, "inputs": [[[1.0, 2.0, 3.0]]]}
  {"id": "b", "method": "forward", "inputs": [{"dtype": "int64", "shape": [2, 2], "data": [1, 2, 3, 4]}, 7]}
"inputs" has a value for each argument of the method. A tensor is an array of numbers, nested as deep as it has
dimensions (float32 if a number has a point, else int64), or an object with dtype, shape and data. Numbers, texts,
lists and dictionaries are given where the method takes them.

An answer is a line of standard output, with the id of its request. Answers come in the order in which they are ready:
  {"id":1,"outputs":[{"dtype":"float32","shape":[1,2],"data":[0.5,-1.25]}]}
  {"id":"b","error":{"kind":"program","message":"..."}}
Kinds of errors: json (the line is not JSON), request (it is not a request to this model), size (--max-request),
memory (--memory-limit), time (--time-limit), program (the model raised it). A table of latencies follows on standard
error at the end.

Examples:
  tenon_serve model.pt < requests.jsonl > answers.jsonl
  tenon_serve model.pt2 --device cuda --batch 32 --batch-wait 5
  tenon_serve model.pt --threads 4 --time-limit 500 --memory-limit 1024)";

void add_options(CLI::App& app, serve::Settings& s) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("model", s.model, "a file of torch.jit.save or torch.export.save")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--device", s.device, "where to run: cpu, cuda, ...")->capture_default_str();
  app.add_option("--threads", s.threads,
                 "requests that run at once; the kernels share the machine's processors")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--batch", s.batch,
                 "requests of one run at most. Their tensors are joined along dimension 0, where "
                 "the other sizes and "
                 "dtypes agree, and the results are split. For models that treat the entries of a "
                 "batch one by one")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--batch-wait", s.batch_wait_ms,
                 "milliseconds to wait for more requests of a batch")
      ->check(CLI::Range(0.0, 60000.0))
      ->capture_default_str();
  app.add_option(
         "--time-limit", s.time_limit_ms,
         "milliseconds from reading a request to its answer; looked at between operators. 0: none")
      ->check(CLI::Range(int64_t{0}, int64_t{86400000}))
      ->capture_default_str();
  app.add_option(
         "--memory-limit", s.memory_limit_mb,
         "MiB of tensors, beside the model's own, above which requests are refused. 0: none")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--max-request", s.max_request, "bytes of a line at most")
      ->check(CLI::Range(std::size_t{2}, std::size_t{1} << 40))
      ->capture_default_str();
  app.footer(kFooter);
}

int run(const serve::Settings& settings) {
  tenon::jit::set_print_handler([](const std::string& line) { std::cerr << line; });
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  tenon::set_num_threads(std::max(1, processors / settings.threads));
  tenon::jit::Module module = tenon::jit::load(settings.model, tenon::Device(settings.device));
  module.eval();
  serve::Server server(std::move(module), settings);
  std::cerr << "serve: " << settings.model << " on " << settings.device << ", " << settings.threads
            << " threads; a request per line\n";
  const bool written = server.serve(std::cin, std::cout);
  std::cerr << server.table();
  if (!written) std::cerr << "serve: standard output was closed\n";
  return written ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  serve::Settings settings;
  CLI::App app("Answers requests to a saved model: JSON lines in, JSON lines out.", "tenon_serve");
  add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(settings);
  } catch (const std::exception& e) {
    std::cerr << "serve: " << e.what() << "\n";
    return 1;
  }
}
