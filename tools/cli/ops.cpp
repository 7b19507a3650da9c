// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/op.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "table.h"
#include "tenon/core/backend.h"
#include "tenon/core/broadcasting.h"
#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/backend_source.h"

namespace tenon::command {
namespace {

const char* kind_name(const core::Op& op) {
  switch (op.kind) {
    case core::OpKind::Kernel:
      return "kernel";
    case core::OpKind::View:
      return "view";
    case core::OpKind::Composite:
      return "composite";
  }
  return "unknown";
}

std::vector<std::string> forms(const core::Op& op) {
  std::vector<std::string> out;
  if (op.flags & core::kOpFunction) out.push_back("function");
  if (op.flags & core::kOpMethod) out.push_back("method");
  if (op.flags & core::kOpInplace) out.push_back("in-place");
  if (op.flags & core::kOpOut) out.push_back("out");
  return out;
}

std::string broadcasting_line(const core::Op& op) {
  const char* text = core::broadcasting(op);
  if (text != nullptr) return *text ? std::string("broadcasts ") + text : "nothing broadcasts";
  return op.kind == core::OpKind::Composite ? "broadcasts as the operators that it calls"
                                            : "broadcasts as the shape rule of its plugin says";
}

struct Server {
  std::string device, dtype, by, reason;
};

// What serves each dtype of the operator, on each device that is there.
std::vector<Server> list_servers(const core::Op& op) {
  std::vector<Server> out;
  core::DtypeMask mask = core::parse_dtype_mask(op.dtypes);
  for (core::DeviceSlot slot = 0; slot < core::device_slots(); ++slot) {
    if (!core::ensure_device(slot)) continue;
    for (int id = 0; id < core::kMaxDtypes; ++id) {
      ScalarType t = static_cast<ScalarType>(id);
      if (!core::dtype_known(t) || !mask.has(t)) continue;
      Server s{core::device_entry(slot).name, core::dtype_info(t).name, "none",
               "nothing serves it"};
      for (const core::Candidate& c : core::explain(op, slot, t)) {
        if (!c.serves) continue;
        s.by = core::toString(c.by);
        s.reason = c.reason;
        break;
      }
      out.push_back(std::move(s));
    }
  }
  return out;
}

// One line for dtypes that are served in the same way.
std::vector<Server> merge_dtypes(const std::vector<Server>& all) {
  std::vector<Server> out;
  for (const Server& s : all) {
    Server* same = nullptr;
    for (Server& o : out) {
      if (o.device == s.device && o.by == s.by && o.reason == s.reason) same = &o;
    }
    if (same)
      same->dtype += ", " + s.dtype;
    else
      out.push_back(s);
  }
  return out;
}

nlohmann::ordered_json to_json(const core::Op& op, bool with_servers) {
  nlohmann::ordered_json j = {{"name", op.name},
                              {"schema", op.schema},
                              {"kind", kind_name(op)},
                              {"family", op.family},
                              {"dtypes", op.dtypes},
                              {"forms", forms(op)},
                              {"differentiable", (op.flags & core::kOpDifferentiable) != 0},
                              {"doc", op.doc}};
  const char* broadcasting = core::broadcasting(op);
  j["broadcasts"] = broadcasting ? nlohmann::ordered_json(broadcasting) : nullptr;
  if (!with_servers) return j;
  j["served"] = nlohmann::ordered_json::array();
  for (const Server& s : list_servers(op)) {
    j["served"].push_back(
        {{"device", s.device}, {"dtype", s.dtype}, {"served_by", s.by}, {"reason", s.reason}});
  }
  return j;
}

void print_op(const core::Op& op) {
  std::cout << op.schema << "\n  " << op.doc << "\n\n";
  std::cout << "  kind    " << kind_name(op)
            << ((op.flags & core::kOpDifferentiable) ? ", differentiable" : "") << "\n";
  std::cout << "  dtypes  " << op.dtypes << "\n  forms   " << join_list(forms(op)) << "\n  shapes  "
            << broadcasting_line(op) << "\n";
  if (op.kind == core::OpKind::Composite) {
    std::cout << "  served  by other ops\n\n";
    return;
  }
  std::cout << "\n";
  Table table({"  DEVICE", "SERVED BY", "REASON", "DTYPES"});
  for (const Server& s : merge_dtypes(list_servers(op)))
    table.add({"  " + s.device, s.by, s.reason, s.dtype});
  if (!table.empty()) std::cout << table.text() << "\n";
}

void list_all(bool json) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"NAME", "KIND", "DTYPES", "DOC"});
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    if (json)
      out.push_back(to_json(op, false));
    else
      table.add({op.name, kind_name(op), op.dtypes, op.doc});
  }
  if (json)
    std::cout << out.dump(2) << "\n";
  else
    std::cout << table.text() << "\n"
              << core::op_count() << " ops. `tenon ops NAME` has the schema of one.\n";
}

}  // namespace

void ops(const std::string& name, bool json) {
  if (name.empty()) return list_all(json);
  core::backend_source().scan();
  std::vector<core::Op*> found;
  if (core::Op* exact = core::find_op(name)) found.push_back(exact);
  if (name.find('.') == std::string::npos) found = core::overloads(name);
  if (found.empty()) found.push_back(&core::get_op(name));  // throws with the closest names
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const core::Op* op : found) {
    if (json)
      out.push_back(to_json(*op, true));
    else
      print_op(*op);
  }
  if (json) std::cout << out.dump(2) << "\n";
}

}  // namespace tenon::command
