// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A loop program: loops over tensors as data. Its makers are whoever fuses calls or compiles a
// language, its takers are backends: the operator _loop_program carries its text (print.h,
// parse.h). check.h says which programs are valid, bind.h gives sizes and proves accesses.
//
// A program runs its nests in order. A nest runs its body once per point of its loops; each loop
// variable starts at 0. The points of a nest are in no order, and no nest reads what it stores.
// Temporaries and outputs start as zeros; a reduction from neutral over no points stores its
// neutral element. Half precision follows abi/primitives.h: every node is
// computed in float32 and rounded, reductions accumulate in float32 and are rounded once.
#ifndef TENON_SDK_LOOP_PROGRAM_PROGRAM_H_
#define TENON_SDK_LOOP_PROGRAM_PROGRAM_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenon::sdk::loop_program {

inline constexpr int format_version = 1;

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Dtype {
  kBool,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kHalf,
  kBfloat16,
  kFloat,
  kDouble
};

// constant + sum of coefficient * loop variable + sum of coefficient * size. Terms are in the order
// of their index, each at most once, none with coefficient 0: equal values have equal members.
struct Affine {
  using Terms = std::vector<std::pair<int, int64_t>>;  // index of a loop or size, coefficient
  int64_t constant = 0;
  Terms loops;
  Terms sizes;
};

// A size is bound by the shapes of the inputs, or by the next number of the call, or is defined by
// the sizes before it as floor(numerator / divisor).
struct Size {
  std::string name;
  bool defined = false;
  Affine numerator;
  int64_t divisor = 1;
};

enum class Role { kInput, kTemporary, kOutput };

struct Array {
  std::string name;
  Role role = Role::kInput;
  Dtype dtype = Dtype::kFloat;
  std::vector<Affine> shape;  // of sizes alone
};

// A number of the call: kInt64 or kDouble.
struct Parameter {
  std::string name;
  Dtype dtype = Dtype::kDouble;
};

// How an index stays inside of its dimension: by proof when sizes are known (affine), by moving it
// to the nearest element, or by an error of the call (TN_ERROR_INDEX).
enum class Bound { kProven, kClamped, kChecked };

struct Index {
  Bound bound = Bound::kProven;
  Affine affine;  // of kProven
  int node = -1;  // of the others: an integer value, negative ones do not wrap
};

enum class Kind {
  kConstant,
  kParameter,
  kLoop,
  kSize,
  kRead,
  kCast,
  kUnary,
  kBinary,
  kSelect,
  kPhilox
};

// One value of a nest's body. Operands are nodes before it.
struct Node {
  Kind kind = Kind::kConstant;
  Dtype dtype = Dtype::kFloat;     // of the value; parameters, loops and sizes: see check.h
  int code = 0;                    // kUnary, kBinary: of abi/primitives.h
  int source = -1;                 // which parameter, loop, size or array
  int operands[3] = {-1, -1, -1};  // kSelect: condition, then, else. kPhilox: seed, offset, word
  std::vector<Index> indices;      // kRead
  double real = 0;                 // kConstant of floating dtypes
  int64_t integer = 0;             // kConstant of the others
};

enum class Update { kAssign, kSum, kProd, kMax, kMin };

// array[indices] = node, or a reduction over the loops that the indices do not name.
struct Store {
  int array = -1;
  std::vector<Affine> indices;  // each of at most one loop, with coefficient 1
  int node = -1;
  Update update = Update::kAssign;
  bool from_neutral = false;  // a reduction that forgets what stood there before the nest
};

struct Loop {
  std::string name;
  Affine extent;  // of sizes alone; nothing runs if it is not positive
};

// How a nest runs best, for takers that can follow it; others need not. It changes no result but by
// the order of a sum's terms. Empty: the taker chooses.
struct Schedule {
  std::vector<int> order;                      // loops from the outermost on; all, or none
  int vector = -1;                             // the loop along vectors
  int64_t vectors = 0;                         // of it at once
  std::vector<std::pair<int, int64_t>> tiles;  // other loops, and points of them at once
  std::vector<int> packed;  // arrays that are copied so that vectors read neighbors
  int64_t grain = 0;        // points of a thread's task; 0: the taker chooses

  bool empty() const {
    return order.empty() && vector < 0 && tiles.empty() && packed.empty() && grain == 0;
  }
};

struct Nest {
  std::vector<Loop> loops;  // outermost first
  std::vector<Node> nodes;
  std::vector<Store> stores;
  Schedule schedule;
};

struct Program {
  std::vector<Size> sizes;
  std::vector<Parameter> parameters;
  std::vector<Array> arrays;  // in any order of roles; inputs and outputs count in order
  std::vector<Nest> nests;
};

inline bool is_floating(Dtype dtype) { return dtype >= Dtype::kHalf; }

inline int64_t itemsize(Dtype dtype) {
  constexpr int64_t table[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return table[static_cast<int>(dtype)];
}

inline void add_term(Affine::Terms& terms, int index, int64_t coefficient) {
  auto at = terms.begin();
  while (at != terms.end() && at->first < index) ++at;
  if (at == terms.end() || at->first != index) at = terms.insert(at, {index, 0});
  if (__builtin_add_overflow(at->second, coefficient, &at->second))
    throw Error("loop program: a coefficient is out of range");
  if (at->second == 0) terms.erase(at);
}

}  // namespace tenon::sdk::loop_program

#endif
