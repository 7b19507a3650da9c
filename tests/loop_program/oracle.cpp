// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/loop_program/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/abi/primitives.h"

namespace oracle {
namespace {

using namespace tenon::sdk::loop_program;

double unary(int code, double x) {
  switch (code) {
    case TN_UNARY_NEG:
      return -x;
    case TN_UNARY_ABS:
      return std::fabs(x);
    case TN_UNARY_SQRT:
      return std::sqrt(x);
    case TN_UNARY_EXP:
      return std::exp(x);
    case TN_UNARY_TANH:
      return std::tanh(x);
    case TN_UNARY_SIGMOID:
      return 1 / (1 + std::exp(-x));
    default:
      throw Error("the oracle has no unary code " + std::to_string(code));
  }
}

double binary(int code, double x, double y) {
  switch (code) {
    case TN_BINARY_ADD:
      return x + y;
    case TN_BINARY_SUB:
      return x - y;
    case TN_BINARY_MUL:
      return x * y;
    case TN_BINARY_DIV:
      return x / y;
    case TN_BINARY_MAX:
      return std::max(x, y);
    case TN_BINARY_MIN:
      return std::min(x, y);
    case TN_BINARY_LT:
      return x < y ? 1 : 0;
    case TN_BINARY_GE:
      return x >= y ? 1 : 0;
    default:
      throw Error("the oracle has no binary code " + std::to_string(code));
  }
}

double combine(Update update, double old, double value) {
  switch (update) {
    case Update::kAssign:
      return value;
    case Update::kSum:
      return old + value;
    case Update::kProd:
      return old * value;
    case Update::kMax:
      return std::max(old, value);
    case Update::kMin:
      return std::min(old, value);
  }
  return value;
}

class Run {
 public:
  Run(const Program& program, const Binding& binding, const std::vector<Values>& inputs)
      : program_(program), binding_(binding) {
    size_t next = 0;
    for (size_t i = 0; i < program.arrays.size(); ++i) {
      int64_t n = 1;
      for (int64_t it : binding.shapes[i]) n *= it;
      arrays.push_back(program.arrays[i].role == Role::kInput
                           ? inputs[next++]
                           : Values(static_cast<size_t>(n), 0.0));
    }
  }

  void nest(size_t n) {
    const Nest& nest = program_.nests[n];
    std::vector<std::map<size_t, bool>> seen(nest.stores.size());
    const Shape& extents = binding_.extents[n];
    std::vector<int64_t> point(extents.size(), 0);
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
    while (true) {
      const std::vector<double> values = body(nest, point);
      for (size_t s = 0; s < nest.stores.size(); ++s) store(nest.stores[s], values, point, seen[s]);
      size_t l = extents.size();
      while (l > 0 && ++point[l - 1] == extents[l - 1]) point[--l] = 0;
      if (l == 0) return;
    }
  }

  std::vector<Values> arrays;

 private:
  int64_t at(const Affine& value, const std::vector<int64_t>& point) const {
    int64_t sum = evaluate(value, binding_.sizes);
    for (const auto& [loop, by] : value.loops) sum += by * point[static_cast<size_t>(loop)];
    return sum;
  }

  void store(const Store& it, const std::vector<double>& values, const std::vector<int64_t>& point,
             std::map<size_t, bool>& seen) {
    int64_t flat = 0;
    const Shape& shape = binding_.shapes[static_cast<size_t>(it.array)];
    for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at(it.indices[d], point);
    const size_t where = static_cast<size_t>(flat);
    double& to = arrays[static_cast<size_t>(it.array)].at(where);
    const double value = values[static_cast<size_t>(it.node)];
    const bool first = it.from_neutral && !seen[where];
    seen[where] = true;
    to = first ? value : combine(it.update, to, value);
  }

  std::vector<double> body(const Nest& nest, const std::vector<int64_t>& point) const {
    std::vector<double> v;
    const auto of = [&](const Node& node, int i) {
      return v[static_cast<size_t>(node.operands[i])];
    };
    for (const Node& node : nest.nodes) {
      const size_t source = static_cast<size_t>(std::max(node.source, 0));
      switch (node.kind) {
        case Kind::kConstant:
          v.push_back(is_floating(node.dtype) ? node.real : static_cast<double>(node.integer));
          break;
        case Kind::kParameter:
          v.push_back(node.dtype == Dtype::kInt64 ? static_cast<double>(binding_.whole[source])
                                                  : binding_.real[source]);
          break;
        case Kind::kLoop:
          v.push_back(static_cast<double>(point[source]));
          break;
        case Kind::kSize:
          v.push_back(static_cast<double>(binding_.sizes[source]));
          break;
        case Kind::kRead:
          v.push_back(read(node, v, point));
          break;
        case Kind::kCast:
          v.push_back(is_floating(node.dtype) ? of(node, 0) : std::trunc(of(node, 0)));
          break;
        case Kind::kUnary:
          v.push_back(unary(node.code, of(node, 0)));
          break;
        case Kind::kBinary:
          v.push_back(binary(node.code, of(node, 0), of(node, 1)));
          break;
        case Kind::kSelect:
          v.push_back(of(node, 0) != 0 ? of(node, 1) : of(node, 2));
          break;
        case Kind::kPhilox:
          throw Error("the oracle draws no random numbers");
      }
    }
    return v;
  }

  double read(const Node& node, const std::vector<double>& v,
              const std::vector<int64_t>& point) const {
    const size_t source = static_cast<size_t>(node.source);
    int64_t flat = 0;
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const Index& it = node.indices[d];
      const int64_t size = binding_.shapes[source][d];
      int64_t index = it.bound == Bound::kProven
                          ? at(it.affine, point)
                          : static_cast<int64_t>(v[static_cast<size_t>(it.node)]);
      if (it.bound == Bound::kClamped) index = std::clamp<int64_t>(index, 0, size - 1);
      flat = flat * size + index;
    }
    return arrays[source].at(static_cast<size_t>(flat));
  }

  const Program& program_;
  const Binding& binding_;
};

}  // namespace

std::vector<Values> run(const Program& program, const Binding& binding,
                        const std::vector<Values>& inputs) {
  Run run(program, binding, inputs);
  for (size_t n = 0; n < program.nests.size(); ++n) run.nest(n);
  return run.arrays;
}

}  // namespace oracle
