// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Regions of autocast: what they compute is a graph of the file, which torch runs in that mode. All
// tensors that it makes are its results; those that nobody uses are dropped at the end.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/autocast.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr const char* kRegion = "torch.ops.higher_order.wrap_with_autocast";

bool begins_region(const Node& n) {
  return n.is("prim::enter_autocast") || n.is("exported::autocast_mode");
}
bool ends_region(const Node& n, const Node& begin) {
  return (n.is("prim::leave_autocast") || n.is("exported::end_mode")) &&
         n.input(0)->node() == &begin;
}

Json& graph_of(Json& region) { return region["inputs"][4]["arg"]["as_graph"]["graph"]; }

}  // namespace

void ProgramWriter::visit(const Block& b) {
  const auto nodes = b.nodes();
  visit(std::vector<const Node*>(nodes.begin(), nodes.end()));
}

void ProgramWriter::visit(const std::vector<const Node*>& nodes) {
  for (auto it = nodes.begin(); it != nodes.end(); ++it) {
    if (!begins_region(**it)) {
      visit(**it);
      continue;
    }
    const Node& begin = **it;
    const auto end =
        std::find_if(it, nodes.end(), [&](const Node* n) { return ends_region(*n, begin); });
    if (end == nodes.end()) refuse(begin, "the program leaves the block early");
    visit_region(begin, {it + 1, end});
    it = end;
  }
}

ProgramWriter::Autocast ProgramWriter::autocast_of(const Node& begin) const {
  const auto known = [&](const Item& item) {
    if (!item.constant) refuse(begin, "the mode depends on data");
    return item.example;
  };
  if (begin.is("exported::autocast_mode")) {
    const IValue dtype = known(at(begin.input(1)));
    return {Device(known(at(begin.input(0))).toStringRef()),
            dtype.isNone() ? std::nullopt : std::optional(dtype.toScalarType()),
            known(at(begin.input(2))).toBool()};
  }
  const auto object = at(begin.input(0)).example.toObject();
  const auto attribute = [&](const char* name) {
    const auto it = set_attributes_.find({object.get(), name});
    return it == set_attributes_.end() ? object->getAttr(name) : known(*it->second);
  };
  return {Device(attribute("device").toStringRef()), attribute("fast_dtype").toScalarType(),
          attribute("_enabled").toBool()};
}

void ProgramWriter::visit_region(const Node& begin, const std::vector<const Node*>& nodes) {
  const Autocast mode = autocast_of(begin);
  const Part part = visit_part([&] {
    const std::optional<ScalarType> dtype = mode.enabled ? mode.dtype : std::nullopt;
    const autocast::AutocastGuard casts(mode.device.type(), dtype, mode.enabled);
    visit(nodes);
  });
  Json argument = part_argument("autocast_graph_" + std::to_string(parts_++), part, {},
                                outside_values({&part}));
  std::vector<Json> arguments = {
      {{"as_string", mode.device.is_cpu() ? "cpu" : "cuda"}},
      mode.dtype ? Json{{"as_scalar_type", number_of_dtype(*mode.dtype)}} : Json{{"as_none", true}},
      {{"as_bool", mode.enabled}},
      {{"as_bool", false}},  // no cache of casts, as torch.export writes it
      argument};
  Json results = Json::array();
  for (const auto& taken : argument["as_graph"]["graph"]["inputs"]) arguments.push_back(taken);
  for (const Json& node : part.nodes)
    for (const Json& out : node["outputs"]) {
      if (out.contains("as_tensor")) results.push_back(out);
      if (!out.contains("as_tensors")) continue;
      for (const Json& each : out["as_tensors"]) results.push_back({{"as_tensor", each}});
    }
  for (const Json& r : results) {
    const std::string name = r["as_tensor"]["name"].get<std::string>();
    graph_.tensors[name] = part.tensors.at(name);
  }
  arguments[4]["as_graph"]["graph"]["outputs"] = results;
  add_higher("wrap_with_autocast", std::move(arguments), std::move(results));
  repeat_numbers(part);
}

// What the region asks of sizes, for those who use it later: they see its tensors alone.
void ProgramWriter::repeat_numbers(const Part& part) {
  for (const Json& node : part.nodes) {
    const std::string name = node["name"].get<std::string>();
    if (!expressions_.count(name)) continue;
    graph_.nodes.push_back(node);
    if (part.integers.contains(name)) graph_.integers[name] = part.integers.at(name);
    if (part.reals.contains(name)) graph_.reals[name] = part.reals.at(name);
    if (part.booleans.contains(name)) graph_.booleans[name] = part.booleans.at(name);
  }
}

// Of a node of a region, what no later one uses.
void ProgramWriter::drop_unused_results(Json& node, const Names& used) {
  if (node["target"] != kRegion) return;
  Json kept = Json::array();
  for (const Json& r : node["outputs"])
    if (mentions(r, used)) kept.push_back(r);
  graph_of(node)["outputs"] = kept;
  node["outputs"] = std::move(kept);
}

}  // namespace tenon::jit::formats
