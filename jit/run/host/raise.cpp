// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// raise: known as an operator to programs that are read; plans have an instruction of their own.
#include <iterator>

#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

void raise_exception(Stack& stack) {
  const IValue cls = pop(stack);
  const std::string message = pop(stack).toStringRef();
  const std::string name = cls.isString() ? cls.toStringRef() : "Exception";
  throw Error(name.substr(name.rfind('.') + 1) + ": " + message);
}

const HostOperator kOperators[] = {
    {"prim::RaiseException(str msg, str? cls=None) -> ()", raise_exception, nullptr, true}};
const HostOperators registered(kOperators, std::size(kOperators));

}  // namespace
}  // namespace tenon::jit
