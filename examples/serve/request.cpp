// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <algorithm>

#include "values.h"

namespace serve {
namespace {

// Nesting beyond this is refused while it is read: values are visited recursively.
constexpr int kMaxDepth = 64;

// Of brackets outside of texts.
int nesting_of(const std::string& line) {
  int depth = 0, deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text && c == '\\')
      ++i;
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!in_text && (c == ']' || c == '}'))
      --depth;
  }
  return deepest;
}

Json parse(const std::string& line) {
  if (nesting_of(line) > kMaxDepth)
    throw Failure("json", "values are nested more than " + std::to_string(kMaxDepth) + " deep");
  try {
    return Json::parse(line);
  } catch (const Json::exception& e) {
    throw Failure("json", e.what());
  }
}

[[noreturn]] void refuse(const std::string& what) { throw Failure("request", what); }

void check_names(const Json& j) {
  for (const auto& [name, value] : j.items()) {
    if (name != "id" && name != "inputs" && name != "method")
      refuse("unknown name \"" + name + "\"; a request has id, inputs and method");
  }
}

tenon::jit::Method method_of(const tenon::jit::Module& module, const std::string& name) {
  if (auto method = module.find_method(name)) return *method;
  std::string known;
  for (const auto& method : module.get_methods())
    known += (known.empty() ? "" : ", ") + std::string(method.name());
  refuse("the model has no method \"" + name + "\"; it has " + known);
}

std::vector<tenon::IValue> inputs_of(const Json& j, const tenon::jit::FunctionSchema& schema) {
  if (!j.is_array()) refuse("inputs: an array with a value for each argument");
  const auto& arguments = schema.arguments;  // the first is self
  if (j.size() + 1 > arguments.size())
    refuse("inputs: " + std::to_string(j.size()) + " given, the method takes " +
           std::to_string(arguments.size() - 1));
  std::vector<tenon::IValue> out;
  for (std::size_t i = 0; i < j.size(); ++i) {
    const auto& argument = arguments[i + 1];
    out.push_back(value_of(j[i], *argument.type,
                           "inputs[" + std::to_string(i) + "] (" + argument.name + ")"));
  }
  return out;
}

void set_group(Request& request) {
  std::string group = request.method;
  for (const tenon::IValue& input : request.inputs) {
    if (!input.isTensor() || input.toTensor().dim() == 0) return;
    const tenon::Tensor& t = input.toTensor();
    if (&input == &request.inputs.front()) request.rows = t.size(0);
    if (t.size(0) != request.rows || request.rows == 0) return;
    group += ";" + std::string(tenon::dtype_name(t.scalar_type()));
    for (int64_t size : t.sizes().slice(1)) group += "," + std::to_string(size);
  }
  if (!request.inputs.empty()) request.group = std::move(group);
}

}  // namespace

void read_request(const std::string& line, const tenon::jit::Module& module, Request& request) {
  const Json j = parse(line);
  if (!j.is_object()) refuse("a request is an object: {\"id\": 1, \"inputs\": [...]}");
  if (const auto id = j.find("id"); id != j.end()) {
    if (id->is_structured()) refuse("id: a number or a text");
    request.id = id->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  check_names(j);
  if (const auto method = j.find("method"); method != j.end()) {
    if (!method->is_string()) refuse("method: a text");
    request.method = method->get<std::string>();
  }
  const tenon::jit::Method method = method_of(module, request.method);
  const auto inputs = j.find("inputs");
  if (inputs == j.end()) refuse("inputs is missing");
  try {
    request.inputs = inputs_of(*inputs, method.function().schema());
  } catch (const Json::exception& e) {
    refuse(e.what());
  } catch (const tenon::Error& e) {
    refuse(e.what());
  }
  set_group(request);
}

}  // namespace serve
