// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// raise: known as an operator to programs that are read; plans have an instruction of their own.
#include <iterator>
#include <utility>

#include "tenon/jit/exception.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

void raise_exception(Stack& stack) {
  const IValue cls = pop(stack);
  const std::string message = pop(stack).toStringRef();
  raise(cls.isString() ? cls.toStringRef() : "Exception", message);
}

const HostOperator kOperators[] = {
    {"prim::RaiseException(str msg, str? cls=None) -> ()", raise_exception, nullptr, true}};
const HostOperators registered(kOperators, std::size(kOperators));

}  // namespace

void raise(std::string class_name, std::string message) {
  std::string text = class_name.substr(class_name.rfind('.') + 1) + ": " + message;
  throw JITException(std::move(text), std::move(class_name), std::move(message));
}

}  // namespace tenon::jit
