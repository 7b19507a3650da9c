// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/missing.h"

#include <map>
#include <set>
#include <tuple>

#include "onnx/import/table.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using Opsets = std::map<std::string, int64_t>;

std::string plain_domain(const std::string& d) { return d == "ai.onnx" ? "" : d; }

template <class List>
Opsets opsets_of(const List& list) {
  Opsets out;
  for (const auto& o : list) out[plain_domain(o.domain())] = o.version();
  return out;
}

struct Search {
  std::set<std::string> functions;
  // (domain, name, version): how often
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> missing;

  void nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& list, const Opsets& opsets) {
    for (const pb::NodeProto& n : list) {
      for (const pb::AttributeProto& a : n.attribute()) {
        if (a.has_g()) nodes(a.g().node(), opsets);
        for (const pb::GraphProto& g : a.graphs()) nodes(g.node(), opsets);
      }
      const std::string domain = plain_domain(n.domain());
      if (functions.count(domain + "::" + n.op_type()) != 0) continue;
      const auto version = opsets.find(domain);
      const int64_t v = version == opsets.end() ? 1 : version->second;
      if (!find_entry(domain, n.op_type(), v)) ++missing[{domain, n.op_type(), v}];
    }
  }
};

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

}  // namespace

void check_operators(const pb::ModelProto& m) {
  Search search;
  for (const pb::FunctionProto& f : m.functions())
    search.functions.insert(plain_domain(f.domain()) + "::" + f.name());
  search.nodes(m.graph().node(), opsets_of(m.opset_import()));
  for (const pb::FunctionProto& f : m.functions())
    search.nodes(f.node(), opsets_of(f.opset_import()));
  if (search.missing.empty()) return;
  bool of_processor = false;
  std::string text = core::join("operators that are not supported (", search.missing.size(), "):");
  for (const auto& [key, count] : search.missing) {
    const auto& [domain, name, version] = key;
    text += core::join("\n  ", domain.empty() ? "" : domain + "::", name.substr(0, 200),
                       " (version ", version, "), ", count, count == 1 ? " time" : " times");
    of_processor |= domain == "com.microsoft.nchwc";
    const std::string known = known_versions(domain, name);
    if (!known.empty())
      text += "; known are versions " + known;
    else if (const auto near = similar_entries(domain, name); !near.empty())
      text += "; similar: " + joined(near);
  }
  // The file does not say into how many channels the weights are blocked: 8 or 16.
  if (of_processor)
    text +=
        "\nONNX Runtime optimized the model for one processor: take the model that it was made "
        "from, or let it optimize up to ORT_ENABLE_EXTENDED";
  throw NotImplementedError(text);
}

}  // namespace tenon::onnx
