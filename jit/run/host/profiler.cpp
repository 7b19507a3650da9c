// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// `with torch.profiler.record_function("name")`: a range that record_function.h's observers hear.
// An object of torch's class of C++ holds it.
#include <memory>

#include "tenon/jit/operator.h"
#include "tenon/record_function.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

struct RangeHolder final : ivalue::ObjectType {
  const std::string& class_name() const override {
    static const std::string kName = "__torch__.torch.classes.profiler._RecordFunction";
    return kName;
  }
  int find_slot(std::string_view) const override { return -1; }
  const std::string& slot_name(int) const override { return class_name(); }
  bool is_module_class() const override { return false; }
  const std::unique_ptr<RecordFunction> range =
      std::make_unique<RecordFunction>(RecordScope::USER_SCOPE);
};

void enter(Stack& s) {
  drop(s, 1);  // a text about the arguments
  const IValue name = pop(s);
  auto holder = std::make_shared<RangeHolder>();
  holder->range->before(name.toStringRef());
  s.emplace_back(
      core::Ref<ivalue::Object>::adopt(new ivalue::Object(std::move(holder), std::size_t{0})));
}
void end_range(const IValue& record) {
  const auto* holder = dynamic_cast<const RangeHolder*>(record.toObjectRef().type.get());
  TENON_CHECK(holder, TypeError, "_record_function_exit: expected a _RecordFunction, got ",
              record.toObjectRef().name());
  holder->range->end();
}
void leave(Stack& s) { end_range(pop(s)); }
// The range ends here, not with the future: observers are called in the thread that began it.
void leave_with_future(Stack& s) {
  const IValue future = pop(s);
  end_range(pop(s));
  s.push_back(future);
}

const HostOperator list[] = {
    {"profiler::_record_function_enter_new(str name, str? args=None) -> Any", enter, nullptr, true},
    {"profiler::_record_function_exit(Any record) -> ()", leave, nullptr, true},
    {"profiler::_call_end_callbacks_on_jit_fut(Any record, Future(t) future) -> Future(t)",
     leave_with_future, nullptr, true},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
