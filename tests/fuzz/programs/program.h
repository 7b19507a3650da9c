// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random programs over float64 tensors, and the two ways to run them.
//
// A program works on tensors: views share memory, writes are in place, hooks run. Its twin has none
// of these. It keeps each block of memory as a flat tensor that is never written: a view is a list
// of offsets into one, and a write creates a new one by index_copy. What a program hides from
// autograd (detach, NoGradGuard, a hook) the twin says with constants, so that differences of the
// twin's values are the gradients that the program must give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz.h"
#include "tenon/ops.h"

namespace tenon::fuzz {

// One operator, as a function and in place (null: it has no such form). `b` broadcasts to `a`;
// unary ones ignore it.
struct Operator {
  const char* name;
  bool binary;
  Tensor (*call)(const Tensor& a, const Tensor& b);
  void (*write)(const Tensor& a, const Tensor& b);
};
const std::vector<Operator>& operators();

// A function that the program defines with its own gradient, and the same by operators.
Tensor cubed(const Tensor& a);
void double_exponential(const Tensor& a);  // in place: a = exp(2 a)

struct Variable {
  std::vector<int64_t> sizes;
  int memory = 0;           // index of the block
  std::vector<int64_t> at;  // offset of each element in the block
  bool constant = false;    // autograd does not record its inputs
  bool writable = false;
  bool gone = false;
};

struct Step {
  enum Kind {
    kCompute,        // dst = op(a, b)
    kView,           // dst = a view of a
    kWrite,          // a = op(a, b) in place
    kDetach,         // dst = a.detach()
    kHiddenCompute,  // kCompute under NoGradGuard
    kHiddenWrite,    // kWrite under NoGradGuard
    kHook,           // dst = op(a, b), with a hook that scales its gradient by `number`
    kTranspose,      // a.transpose_(dim, dim2), from now on dst
    kFunction,       // dst = cubed(a)
    kFunctionWrite   // double_exponential(a)
  } kind;
  int op = 0, dst = -1, a = -1, b = -1;
  int view = 0;
  int64_t dim = 0, dim2 = 0;
  double number = 0;
};

struct Program {
  std::vector<Variable> variables;  // the first are the leaves
  std::vector<std::vector<double>> leaves;
  std::vector<int64_t> memories;  // the number of elements of each block
  std::vector<Step> steps;
  std::vector<int> outputs;
};

Program generate(Random& random);
std::string text_of(const Program& p);
Tensor view_of(const Step& s, const Tensor& a);

// The elements of each of the program's outputs.
std::vector<Tensor> run(const Program& p, const std::vector<Tensor>& leaves);

// The constants, in the order of the run: stored by the first run and reused by later ones.
class Constants {
 public:
  void restart() { next_ = 0; }
  // An intermediate value was so large that later ones are noise.
  bool noisy = false;
  Tensor take(const Tensor& t) {
    if (next_ == kept_.size()) kept_.push_back(t.detach().clone());
    return kept_[next_++];
  }

 private:
  std::vector<Tensor> kept_;
  std::size_t next_ = 0;
};
std::vector<Tensor> run_twin(const Program& p, const std::vector<Tensor>& leaves,
                             Constants& constants);

}  // namespace tenon::fuzz
