// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One call of an operator, as its rule sees it. Arguments go by their names in the schema.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/export/exporter.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {

// Of what is joined: a tensor of shape [0] among tensors of more dimensions stands for none.
bool is_nothing(const Item& part, const Tensor& joined);

class Call {
 public:
  Call(Exporter& e, const jit::Node& n);
  Exporter& exporter;
  const jit::Node& node;
  std::string name;  // of the rule: that of the functional operator, "aten::relu" for relu_

  bool has(const char* argument) const;   // the overload has it
  bool none(const char* argument) const;  // it is None, or the overload does not have it
  const char* first_argument() const { return node.op->schema.arguments.at(0).name.c_str(); }
  Item* find(const char* argument) const;
  Item& get(const char* argument) const;

  // Constants; Refusal for a value that the program computes.
  int64_t integer(const char* argument, int64_t otherwise = 0) const;
  double number(const char* argument, double otherwise = 0) const;
  bool flag(const char* argument, bool otherwise = false) const;
  std::string text(const char* argument, const std::string& otherwise = "") const;
  // One number stands for all `n`, if n is given.
  std::vector<int64_t> ints(const char* argument, std::size_t n = 0) const;
  std::vector<double> numbers(const char* argument) const;
  bool is_constant(const char* argument) const;

  // The tensor of the examples, and what it tells.
  Tensor example(const char* argument) const;
  ScalarType dtype(const char* argument) const { return example(argument).scalar_type(); }
  int64_t rank(const char* argument) const { return example(argument).dim(); }
  int64_t axis(const char* argument, const char* of) const;  // not negative
  int64_t size(const char* argument, int64_t dim) const;
  // Its sizes, or this one, are the same in every run.
  bool is_fixed(const char* argument) const;
  bool is_fixed(const char* argument, int64_t dim) const;

  // The model's values.
  std::string in(const char* argument) const;                    // as it is
  std::string in(const char* argument, ScalarType dtype) const;  // cast
  std::string in_or(const char* argument) const;                 // "" for None
  std::string cast(const std::string& value, ScalarType from, ScalarType to) const;
  std::string constant(const Tensor& t) const { return exporter.initializer(t); }
  std::string constant(double v, ScalarType dtype) const;
  std::string int_list(const std::vector<int64_t>& v) const;
  std::string op(const std::string& type, const Names& inputs, const Attrs& attrs = {}) const {
    return exporter.node(type, inputs, attrs).front();
  }
  Names ops(const std::string& type, const Names& inputs, const Attrs& attrs,
            std::size_t outputs) const {
    return exporter.node(type, inputs, attrs, outputs);
  }
  // Operators whose axes are an attribute in older versions and an input in newer ones.
  std::string squeeze(const std::string& x, const std::vector<int64_t>& axes) const;
  std::string unsqueeze(const std::string& x, const std::vector<int64_t>& axes) const;
  std::string transpose(const std::string& x, const std::vector<int64_t>& order) const;
  std::string reduce(const std::string& type, const std::string& x,
                     const std::vector<int64_t>& axes, bool keep) const;
  std::string slice(const std::string& x, int64_t axis, int64_t begin, int64_t end,
                    int64_t step = 1) const;

  // Elements of `yes` where the mask is true, else of `no`; ONNX Runtime has Where of few dtypes.
  std::string choose(const std::string& mask, const std::string& yes, const std::string& no,
                     ScalarType dtype) const;

  // The result, and what the program computed with the examples; cast to its dtype if `from` says
  // what the value has.
  void give(const std::string& value, std::size_t k = 0);
  void give_cast(const std::string& value, ScalarType from);
  void give_parts(const Names& values);  // of a list
  Tensor result(std::size_t k = 0) const { return as_tensor(results.at(k)); }
  std::vector<IValue> results;
  std::vector<ItemPtr> given;
  bool by_pairs = false;  // its rule writes pairs for complex tensors (pairs.h)
  // For the refusal: what its rule refused, and why its parts were not written instead.
  std::string refused = "there is no rule for it", reason;
};

// The positions of what is not zero, a list of one tensor a dimension.
void give_positions(Call& c, const char* argument);

// What several rules are made of. The exact gelu:
std::string gelu_of(Call& c, const std::string& x, ScalarType dtype);
// Normalized over the last dimensions. "" for no weight, which opset 17 does not allow, or no bias.
std::string norm_of_last(Call& c, const std::string& x, int64_t dims, ScalarType dtype,
                         const std::string& weight, const std::string& bias, double eps);

// self with the part that the view shows exchanged for src; the call has the view's arguments.
void view_scatter(Call& c, const char* view);

// An operator that is one of the primitives by its code: by the rule of that one. False: it is not.
bool give_by_code(Call& c);

using Rule = void (*)(Call&);
struct Rules {  // registers a list
  struct Entry {
    const char* op;
    Rule rule;
  };
  // `complex`: for calls with complex arguments or results.
  Rules(const Entry* list, std::size_t n, bool complex = false);
};
#define TENON_EXPORT_RULES(list) static const Rules rules_of_##list(list, std::size(list))
#define TENON_EXPORT_COMPLEX_RULES(list) \
  static const Rules complex_rules_of_##list(list, std::size(list), true)
// Null if there is none; by the name without overload, "aten::add".
const std::function<void(Call&)>* find_rule(const std::string& op);
const std::function<void(Call&)>* find_complex_rule(const std::string& op);

// Numbers before each dimension, and the same behind it: pads.
inline std::vector<int64_t> twice(const std::vector<int64_t>& v) {
  std::vector<int64_t> out = v;
  out.insert(out.end(), v.begin(), v.end());
  return out;
}

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

}  // namespace tenon::onnx::exporting
