// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The worker threads of a data loader: jobs go in numbered, results come out in that order or as
// they are ready. Types are erased so that <thread> and <mutex> stay out of public headers.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "tenon/data/options.h"
#include "tenon/runtime/export.h"

namespace tenon::data {

// An exception from a worker thread, thrown where the batch was asked for.
struct TENON_API WorkerException : public std::exception {
  explicit WorkerException(std::exception_ptr original);
  const char* what() const noexcept override { return message.c_str(); }

  std::exception_ptr original_exception;  // rethrow it to get at its type
  std::string message;                    // names the original's text
};

namespace detail {

class TENON_API Pipeline {
 public:
  // Called once per iteration of a worker's loop: takes the request, returns the result. Both are
  // shared_ptr<void> of types that the loader knows.
  using Work = std::function<std::shared_ptr<void>(std::shared_ptr<void> request)>;

  explicit Pipeline(const FullDataLoaderOptions& options);
  ~Pipeline();  // waits for jobs that run, forgets those that wait
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void add_worker(Work work);
  void push(std::shared_ptr<void> request);
  // The next result; null if nothing is in flight. Throws the worker's exception, and Error after a
  // timeout.
  std::shared_ptr<void> pop();
  void drain();  // forgets waiting jobs, waits for running ones, forgets their results
  std::size_t in_flight() const;
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail
}  // namespace tenon::data
