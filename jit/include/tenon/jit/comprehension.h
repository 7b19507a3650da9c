// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensor comprehensions: kernels as index notation. Needs libtenon_jit.
//
//   auto matmul = tenon::tc::define(R"(
//     def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, kk) * B(kk, n) }
//   )");
//   Tensor c = matmul(a, b);
//
// Indices loop over ranges that are found from the sizes; an index that is only on the right is
// reduced. docs/comprehensions.md describes the language.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::tc {

// Names in a text that stand for these numbers.
using Constants = std::map<std::string, Scalar>;

// How far a search for schedules is. Times are microseconds of a call.
struct TuneProgress {
  int measured = 0, planned = 0;  // candidates
  double last = 0, best = 0;      // of the last candidate, of the best so far
  double untuned = 0;             // of what the backend chooses by itself
  const std::string& schedule;    // the best
};

struct TuneOptions {
  // A file that keeps schedules between processes: by program, strides, device, versions and number
  // of threads. What it has is not searched for again. Entries of other devices or versions, and
  // files that are damaged, are ignored with a log line. Empty: none.
  std::string cache;
  int generations = 6, population = 24;
  uint64_t seed = 0;
  // After each candidate; false ends the search, which keeps the best so far.
  std::function<bool(const TuneProgress&)> progress;
};

struct Tuned {
  std::string schedule;          // a line "NEST: ..." for each nest that has one; empty: untuned
  double best = 0, untuned = 0;  // microseconds of a call
  int measured = 0;              // candidates; 0: the schedule is from the cache
  bool interrupted = false;
};

// A definition. Copies share it; any thread may call. A definition is made into a loop program once
// for each list of sizes. Its gradient, of any order, is derived: backward computes the definition
// once more by ordinary operators. Layer has one that is written out.
class TENON_API Function {
 public:
  struct State;  // private
  explicit Function(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::string& name() const;
  std::vector<std::string> arguments() const;
  std::vector<std::string> outputs() const;
  // The sizes of each argument, as the text names or numbers them.
  std::vector<std::vector<std::string>> sizes() const;

  // The outputs, on the device of the inputs. An output that a definition adds to without ! begins
  // at zero. ValueError for inputs of other dtypes, ranks or sizes than declared,
  // jit::ErrorReport with the place for a read or write outside of a tensor.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  // Into tensors of the outputs' shapes and dtypes, whose elements are kept where the definition
  // adds to them without !, or does not write them. Records no gradient.
  void run_into(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) const;

  // The only output. ValueError if there are several.
  template <class... T>
  Tensor operator()(const T&... inputs) const {
    return run_one({inputs...});
  }

  // The loop program for such inputs, as text.
  std::string str(const std::vector<Tensor>& inputs) const;

  // Searches the schedule by which a call with such inputs is fastest: the order of loops, which of
  // them goes along vectors, tiles in registers, arrays that are packed. Later calls with inputs of
  // these shapes on this device follow it, in all copies of this function. A schedule changes no
  // result but by the order of a sum's terms. Where the backend follows none, the search ends with
  // the backend's own choice. ValueError as of run().
  Tuned tune(const std::vector<Tensor>& inputs, const TuneOptions& options = {}) const;
  // The same for inputs of these sizes, with random numbers; integers are zeros. ValueError for
  // sizes that are not exact, or not those of the arguments.
  Tuned tune(const std::vector<std::vector<int64_t>>& sizes, Device device,
             const TuneOptions& options = {}) const;

 private:
  Tensor run_one(const std::vector<Tensor>& inputs) const;

  std::shared_ptr<State> state_;
};

// The one definition of a text. jit::ErrorReport shows the place of an error.
TENON_API Function define(const std::string& text, const Constants& constants = {});

// All definitions of a text by name.
TENON_API std::map<std::string, Function> define_all(const std::string& text,
                                                     const Constants& constants = {});

// A definition with its gradient, as another definition: arguments of `backward` are named like
// arguments or outputs of `forward`, or d_O for the gradient of output O; its outputs are d_A for
// the gradient of argument A. What backward does not name is not kept. Outputs without d_O take no
// gradient, arguments without d_A get none, and backward cannot be differentiated.
class TENON_API Layer {
 public:
  struct State;  // private

  // ValueError for names of `backward` that are none of these.
  Layer(Function forward, Function backward);

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  // The only output. ValueError if there are several.
  template <class... T>
  Tensor operator()(const T&... inputs) const {
    return run_one({inputs...});
  }

 private:
  Tensor run_one(const std::vector<Tensor>& inputs) const;

  std::shared_ptr<State> state_;
};

}  // namespace tenon::tc
