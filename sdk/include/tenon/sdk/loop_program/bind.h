// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A checked program with the shapes of a call: bind_sizes() finds its sizes and proves that every
// affine index stays inside of its array, or throws Error naming the nest, the array, the dimension
// and the range. The proof is exact: an affine value over a box is least and greatest at its
// corners.
#ifndef TENON_SDK_LOOP_PROGRAM_BIND_H_
#define TENON_SDK_LOOP_PROGRAM_BIND_H_

#include <algorithm>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::sdk::loop_program {

using Shape = std::vector<int64_t>;

struct Binding {
  std::vector<int64_t> sizes;
  std::vector<Shape> shapes;   // by array
  std::vector<Shape> extents;  // by nest; none negative
  std::vector<int64_t> whole;  // by parameter: of int64
  std::vector<double> real;    // by parameter: of float64
};

// Sum of the constant and the sizes' terms; Error if it does not fit in 64 bits.
inline int64_t evaluate(const Affine& value, const std::vector<int64_t>& sizes) {
  int64_t sum = value.constant;
  for (const auto& [size, by] : value.sizes) {
    int64_t term = 0;
    if (__builtin_mul_overflow(by, sizes[size], &term) || __builtin_add_overflow(sum, term, &sum))
      throw Error("loop program: a size is out of range");
  }
  return sum;
}

inline std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

class Binder {
 public:
  Binder(const Program& program, const std::vector<Shape>& inputs) : program_(program) {
    bound_.sizes.assign(program.sizes.size(), unknown);
    size_t at = 0;
    for (const Array& array : program.arrays) {
      if (array.role != Role::kInput) continue;
      if (at == inputs.size()) fail_count(inputs.size());
      bind_input(array, inputs[at++]);
    }
    if (at != inputs.size()) fail_count(inputs.size());
  }

  // whole: the sizes that no input binds, then the int64 parameters; real: the float64 parameters.
  Binding bind(const std::vector<int64_t>& whole, const std::vector<double>& real) {
    set_sizes(whole);
    set_parameters(whole, real);
    set_shapes();
    for (size_t i = 0; i < program_.nests.size(); ++i)
      prove(program_.nests[i], static_cast<int>(i));
    return std::move(bound_);
  }

  // After bind(): that the inputs have the shapes which the program says.
  void check_inputs(const std::vector<Shape>& inputs, const std::vector<Shape>& shapes) const {
    size_t at = 0;
    for (size_t i = 0; i < program_.arrays.size(); ++i) {
      if (program_.arrays[i].role != Role::kInput) continue;
      if (inputs[at] != shapes[i])
        throw Error("loop program: input " + program_.arrays[i].name + " has shape " +
                    text_of(inputs[at]) + ", expected " + text_of(shapes[i]));
      ++at;
    }
  }

 private:
  static constexpr int64_t unknown = INT64_MIN;

  [[noreturn]] void fail_count(size_t given) const {
    size_t n = 0;
    for (const Array& it : program_.arrays) n += it.role == Role::kInput ? 1 : 0;
    throw Error("loop program: takes " + std::to_string(n) + " inputs, given " +
                std::to_string(given));
  }

  // A dimension that is one size alone and no other input has bound gives that size.
  void bind_input(const Array& array, const Shape& shape) {
    if (shape.size() != array.shape.size())
      throw Error("loop program: input " + array.name + " has " + std::to_string(shape.size()) +
                  " dimensions, expected " + std::to_string(array.shape.size()));
    for (size_t d = 0; d < shape.size(); ++d) {
      const Affine& it = array.shape[d];
      if (it.constant != 0 || it.sizes.size() != 1 || it.sizes[0].second != 1) continue;
      int64_t& size = bound_.sizes[it.sizes[0].first];
      if (size == unknown && !program_.sizes[it.sizes[0].first].defined) size = shape[d];
    }
  }

  void set_sizes(const std::vector<int64_t>& whole) {
    for (size_t i = 0; i < bound_.sizes.size(); ++i) {
      const Size& size = program_.sizes[i];
      if (size.defined) {
        const int64_t value = evaluate(size.numerator, bound_.sizes);
        bound_.sizes[i] = value / size.divisor - (value % size.divisor < 0 ? 1 : 0);
      } else if (bound_.sizes[i] == unknown) {
        if (next_ == whole.size())
          throw Error("loop program: no input and no number gives size " + size.name);
        bound_.sizes[i] = whole[next_++];
      }
    }
  }

  void set_parameters(const std::vector<int64_t>& whole, const std::vector<double>& real) {
    size_t next_real = 0;
    for (const Parameter& it : program_.parameters) {
      const bool is_whole = it.dtype == Dtype::kInt64;
      if (is_whole ? next_ == whole.size() : next_real == real.size())
        throw Error("loop program: no number gives parameter " + it.name);
      bound_.whole.push_back(is_whole ? whole[next_++] : 0);
      bound_.real.push_back(is_whole ? 0 : real[next_real++]);
    }
    if (next_ != whole.size() || next_real != real.size())
      throw Error("loop program: takes " + std::to_string(next_) + " whole and " +
                  std::to_string(next_real) + " real numbers, given " +
                  std::to_string(whole.size()) + " and " + std::to_string(real.size()));
  }

  void set_shapes() {
    for (const Array& array : program_.arrays) {
      Shape shape;
      int64_t bytes = itemsize(array.dtype);
      for (const Affine& it : array.shape) {
        shape.push_back(evaluate(it, bound_.sizes));
        const int64_t size = shape.back() > 1 ? shape.back() : 1;
        if (shape.back() < 0 || __builtin_mul_overflow(bytes, size, &bytes))
          throw Error("loop program: " + array.name + " cannot have the shape of these sizes, " +
                      text_of(shape));
      }
      bound_.shapes.push_back(std::move(shape));
    }
    for (const Nest& nest : program_.nests) {
      Shape extents;
      for (const Loop& it : nest.loops)
        extents.push_back(std::max<int64_t>(0, evaluate(it.extent, bound_.sizes)));
      bound_.extents.push_back(std::move(extents));
    }
  }

  void prove(const Nest& nest, int number) const {
    const Shape& extents = bound_.extents[number];
    const bool runs = std::find(extents.begin(), extents.end(), 0) == extents.end();
    for (size_t i = 0; runs && i < nest.nodes.size(); ++i)
      if (nest.nodes[i].kind == Kind::kRead) prove_read(nest.nodes[i], number);
    for (const Store& store : nest.stores) {
      bool touches = runs || store.from_neutral;  // of an empty reduction: its neutral element
      for (const Affine& it : store.indices)
        touches = touches && (it.loops.empty() || extents[it.loops[0].first] > 0);
      for (size_t d = 0; touches && d < store.indices.size(); ++d)
        prove_index(store.indices[d], number, store.array, d);
    }
  }

  void prove_read(const Node& node, int number) const {
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const Index& index = node.indices[d];
      if (index.bound == Bound::kProven) prove_index(index.affine, number, node.source, d);
      if (index.bound == Bound::kClamped && bound_.shapes[node.source][d] == 0)
        throw Error("loop program: an index is clamped into dimension " + std::to_string(d) +
                    " of " + program_.arrays[node.source].name + ", which has no elements");
    }
  }

  void prove_index(const Affine& index, int nest, int array, size_t d) const {
    __int128 low = evaluate(index, bound_.sizes);
    __int128 high = low;
    for (const auto& [loop, by] : index.loops) {
      const __int128 last = static_cast<__int128>(by) * (bound_.extents[nest][loop] - 1);
      (last < 0 ? low : high) += last;
    }
    const int64_t size = bound_.shapes[array][d];
    if (low >= 0 && high < size) return;
    const auto number = [](__int128 it) {
      return std::to_string(static_cast<int64_t>(it < INT64_MIN   ? INT64_MIN
                                                 : it > INT64_MAX ? INT64_MAX
                                                                  : it));
    };
    throw Error("loop program, nest " + std::to_string(nest) + ": index " + std::to_string(d) +
                " of " + program_.arrays[array].name + " runs from " + number(low) + " to " +
                number(high) + ", its dimension has " + std::to_string(size) + " elements");
  }

  const Program& program_;
  Binding bound_;
  size_t next_ = 0;  // of the integer arguments
};

inline Binding bind_sizes(const Program& program, const std::vector<Shape>& inputs,
                          const std::vector<int64_t>& whole, const std::vector<double>& real) {
  Binder binder(program, inputs);
  Binding bound = binder.bind(whole, real);
  binder.check_inputs(inputs, bound.shapes);
  return bound;
}

}  // namespace tenon::sdk::loop_program

#endif
