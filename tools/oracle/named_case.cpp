// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "named_case.h"

#include <algorithm>

namespace tenon::oracle {
namespace {

using core::ArgType;

bool fits(ArgType type, const json& given) {
  switch (type) {
    case ArgType::Tensor:
    case ArgType::OptTensor:
      return is_tensor(given);
    case ArgType::TensorList:
    case ArgType::OptTensorList:
      return given.is_array() && std::all_of(given.begin(), given.end(), is_tensor);
    case ArgType::IntList:
    case ArgType::OptIntList:
      return given.is_array() &&
             std::all_of(given.begin(), given.end(), [](const json& j) { return j.is_number(); });
    case ArgType::Scalar:
    case ArgType::OptScalar:
    case ArgType::Float:
    case ArgType::OptFloat:
      return is_number(given);
    case ArgType::Int:
    case ArgType::OptInt:
      return given.is_number_integer();
    case ArgType::Bool:
    case ArgType::OptBool:
      return given.is_boolean();
    default:
      return false;
  }
}

bool takes(const core::Op& op, const json& args) {
  std::size_t bound = 0;
  for (int i = 0; i < op.n_args; ++i) {
    const auto given = args.find(op.args[i].name);
    if (given == args.end() ? !op.args[i].has_default : !fits(op.args[i].type, *given))
      return false;
    bound += given != args.end();
  }
  return op.boxed_call.load() != nullptr && bound == args.size();
}

}  // namespace

NamedCase name_case(const json& c) {
  NamedCase out{nullptr, c};
  std::string name = c.at("op").get<std::string>();
  json& args = out.c["args"];
  // The cases have other names for these than the operators.
  if (name == "cat") args = {{"tensors", {args.at("a"), args.at("b")}}};
  if (name == "sparse_sum") name = "_sparse_sum";
  if (name == "hspmm") args = {{"mat1", args.at("self")}, {"mat2", args.at("mat2")}};
  out.c["list"] = false;
  for (core::Op* op : core::overloads(name)) {
    if (takes(*op, args)) {
      out.op = op;
      break;
    }
  }
  return out;
}

}  // namespace tenon::oracle
