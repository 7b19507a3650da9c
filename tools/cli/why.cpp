// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "table.h"
#include "tenon/core/backend.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/backend_source.h"

namespace tenon::command {
namespace {

// "add" stands for the only overload, or for the usual one.
const core::Op& find_overload(const std::string& name) {
  if (core::Op* exact = core::find_op(name)) return *exact;
  std::vector<core::Op*> all = core::overloads(name);
  if (all.empty()) return core::get_op(name);  // throws with the closest names
  if (core::Op* tensor = core::find_op(name + ".Tensor")) return *tensor;
  return *all.front();
}

}  // namespace

void why(const std::string& op_name, const std::string& device, const std::string& dtype,
         bool json) {
  core::backend_source().scan();
  const core::Op& op = find_overload(op_name);
  Device d = core::resolve(Device(device));
  ScalarType t = core::dtype_from_name(dtype);
  const std::vector<core::Candidate> candidates = core::explain(op, core::device_slot(d.type()), t);
  if (json) {
    nlohmann::ordered_json out = {{"op", op.name},
                                  {"device", device},
                                  {"dtype", dtype},
                                  {"candidates", nlohmann::ordered_json::array()}};
    for (const core::Candidate& c : candidates) {
      out["candidates"].push_back(
          {{"served_by", core::toString(c.by)}, {"serves", c.serves}, {"reason", c.reason}});
    }
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << op.name << " on " << device << " with " << dtype << "\n\n";
  Table table({"SERVED BY", "SERVES", "REASON"});
  bool taken = false;
  for (const core::Candidate& c : candidates) {
    table.add({core::toString(c.by), !c.serves ? "no" : taken ? "could" : "yes", c.reason});
    taken |= c.serves;
  }
  std::cout << table.text();
  if (!taken) std::cout << "\nNothing serves it: the call raises an error with these reasons.\n";
}

}  // namespace tenon::command
