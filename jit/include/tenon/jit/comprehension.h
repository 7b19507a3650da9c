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

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::tc {

// Names in a text that stand for these numbers.
using Constants = std::map<std::string, Scalar>;

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
