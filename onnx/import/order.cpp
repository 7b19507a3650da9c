// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/order.h"

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenon::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

constexpr int kMaxDepth = 60;  // the builder refuses what nests deeper

// The names that a node takes, also those that graphs in its attributes may take from outside.
void for_each_taken(const pb::NodeProto& n, int depth,
                    const std::function<void(const std::string&)>& f) {
  for (const std::string& name : n.input())
    if (!name.empty()) f(name);
  if (depth > kMaxDepth) return;
  const auto inside = [&](const pb::GraphProto& g) {
    for (const pb::NodeProto& m : g.node()) for_each_taken(m, depth + 1, f);
    for (const pb::ValueInfoProto& o : g.output()) f(o.name());
  };
  for (const pb::AttributeProto& a : n.attribute()) {
    if (a.has_g()) inside(a.g());
    for (const pb::GraphProto& g : a.graphs()) inside(g);
  }
}

// For each node, those whose outputs it takes.
std::vector<std::vector<int>> find_needed(const Nodes& nodes) {
  std::unordered_map<std::string_view, int> makers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].output())
      if (!name.empty()) makers.emplace(name, i);
  std::vector<std::vector<int>> needed(static_cast<std::size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i)
    for_each_taken(nodes[i], 0, [&](const std::string& name) {
      const auto made = makers.find(name);
      if (made != makers.end() && made->second != i)
        needed[static_cast<std::size_t>(i)].push_back(made->second);
    });
  return needed;
}

bool is_sorted(const std::vector<std::vector<int>>& needed) {
  for (std::size_t i = 0; i < needed.size(); ++i)
    for (const int k : needed[i])
      if (k > static_cast<int>(i)) return false;
  return true;
}

// Of the nodes that can be next, always the first of the file. Shorter where there is a cycle.
std::vector<int> order_of(const std::vector<std::vector<int>>& needed) {
  std::vector<std::vector<int>> users(needed.size());
  std::vector<std::size_t> waits(needed.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    waits[i] = needed[i].size();
    if (needed[i].empty()) ready.push(static_cast<int>(i));
    for (const int k : needed[i]) users[static_cast<std::size_t>(k)].push_back(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const int user : users[static_cast<std::size_t>(i)])
      if (--waits[static_cast<std::size_t>(user)] == 0) ready.push(user);
  }
  return order;
}

void sort_nodes(Nodes& nodes, int depth) {
  if (depth > kMaxDepth) return;
  for (pb::NodeProto& n : nodes)
    for (pb::AttributeProto& a : *n.mutable_attribute())
      if (a.has_g()) sort_nodes(*a.mutable_g()->mutable_node(), depth + 1);
  const std::vector<std::vector<int>> needed = find_needed(nodes);
  if (is_sorted(needed)) return;
  const std::vector<int> order = order_of(needed);
  if (order.size() != needed.size()) return;
  Nodes sorted;
  sorted.Reserve(nodes.size());
  for (const int i : order) sorted.Add()->Swap(nodes.Mutable(i));
  nodes.Swap(&sorted);
}

}  // namespace

void sort_nodes(pb::ModelProto& model) {
  sort_nodes(*model.mutable_graph()->mutable_node(), 0);
  for (pb::FunctionProto& f : *model.mutable_functions()) sort_nodes(*f.mutable_node(), 0);
}

}  // namespace tenon::onnx
