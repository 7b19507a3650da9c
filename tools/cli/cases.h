// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A folder of cases: what a program was given, and what another library computed. about.json says
// how the tensors of cases.safetensors are packed into arguments and results.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/ivalue.h"

namespace tenon::command {

// All tensors of a safetensors file; none where there is no such file and it may be absent.
std::map<std::string, Tensor> read_tensors(const std::string& file, bool may_be_absent = false);

struct Case {
  std::string prefix, method;  // "b.", "forward"
  nlohmann::json in, out;      // out: null where the call must fail
  bool raises = false;
  std::string says;  // what the message must contain; may be empty
  bool records_grad = false, shapes_only = false;
};

class CaseFolder {
 public:
  // ValueError names the file and what is wrong with it.
  explicit CaseFolder(const std::string& path);
  const std::string& path() const { return path_; }
  const std::vector<Case>& cases() const { return cases_; }
  const std::map<std::string, Tensor>& gradients() const { return gradients_; }
  // How far an entry may be off, relative to its largest value: four times what float32 is off from
  // float64 there ("noise"), and at least 1e-4.
  double allowed(const std::string& entry) const;
  // New values each time: programs write their arguments.
  std::vector<IValue> arguments(const Case& c, const Device& device) const;
  IValue expected(const Case& c) const;

 private:
  IValue value(const nlohmann::json& j, const std::string& prefix, const Device& device) const;
  const Tensor& tensor(const std::string& name) const;
  std::string path_;
  std::vector<Case> cases_;
  std::map<std::string, Tensor> tensors_, gradients_;
  std::map<std::string, double> noise_;
};

// How far a result is from what was expected.
struct Comparison {
  std::function<double(int)> allowed;  // of the i-th tensor or number
  bool shapes_only = false;
  bool other_device = false;      // than the expected values name
  double largest = 0, bound = 0;  // largest difference over largest value, nearest to its bound
  std::string wrong;              // what differs first; empty: nothing

  // ONNX has neither dictionaries nor nested lists: a program's results are tensors in a row.
  bool tensors_in_a_row = false;
  // What a call gave. A scripted program may give a tuple where the class of Python gives one of
  // its elements: detectors (losses, detections), classifiers with auxiliary heads their None
  // beside the logits. Then the one element of the expected form is compared.
  void compare_result(const IValue& got, const IValue& expected);
  // Lists and tuples are the same: many functions give tuples in Python and lists in programs.
  // Tensors by dtype, shape and values, numbers with a fraction by value; all else is equal.
  void compare(const IValue& got, const IValue& expected, const std::string& name);
  void compare(const Tensor& got, const Tensor& expected, const std::string& name, double limit);

 private:
  void compare_number(double got, double expected, const std::string& name);
  void compare_items(const std::vector<IValue>& got, const std::vector<IValue>& expected,
                     const std::string& name);
  void compare_dicts(const ivalue::Dict& got, const ivalue::Dict& expected,
                     const std::string& name);
  void differ(const std::string& what);
  void record(double far, double limit);
  double share_ = 0;
  int next_ = 0;
};

// The tensors and numbers in a value, in the order of its lists and dictionaries; no None.
std::vector<IValue> leaves_of(const IValue& v);

// Largest difference over largest value; infinite where one has a NaN or infinity and the other has
// not.
double relative_difference(const Tensor& got, const Tensor& expected);

}  // namespace tenon::command
