// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <unordered_map>

namespace packages {
namespace {

// A virtual package of more providers says little, and would link each of its users to all of them.
constexpr std::size_t kMaxProviders = 16;

using Ids = std::unordered_map<std::string, int64_t>;

struct Builder {
  Graph graph;
  Ids ids;
  std::vector<std::string> raw_section;
  std::unordered_map<std::string, std::vector<int64_t>> providers;

  void add_node(const Package& p) {
    auto [at, is_new] = ids.emplace(p.name, graph.size());
    if (is_new) {
      graph.names.push_back(p.name);
      raw_section.emplace_back();
    }
    auto& section = raw_section[static_cast<std::size_t>(at->second)];
    if (section.empty()) section = p.section;
    for (const auto& name : p.provides) {
      auto& list = providers[name];
      bool known = std::find(list.begin(), list.end(), at->second) != list.end();
      if (!known && list.size() <= kMaxProviders) list.push_back(at->second);
    }
  }

  void add_link(int64_t from, int64_t to) {
    if (from != to) graph.links.push_back({from, to});
  }

  void add_links(const Package& p) {
    int64_t from = ids.at(p.name);
    for (const auto& name : p.needs) {
      auto real = ids.find(name);
      auto provided = providers.find(name);
      if (real != ids.end()) {
        add_link(from, real->second);
      } else if (provided == providers.end()) {
        ++graph.unanswered;
      } else if (provided->second.size() <= kMaxProviders) {
        for (int64_t to : provided->second) add_link(from, to);
      }
    }
  }

  void number_sections(int64_t smallest) {
    std::unordered_map<std::string, int64_t> count;
    for (const auto& s : raw_section) count[s] += s.empty() ? 0 : 1;
    for (const auto& [name, n] : count) {
      if (n >= smallest) graph.sections.push_back(name);
    }
    std::sort(graph.sections.begin(), graph.sections.end(), [&](const auto& a, const auto& b) {
      return count[a] != count[b] ? count[a] > count[b] : a < b;
    });
    Ids number;
    for (const auto& s : graph.sections) number.emplace(s, static_cast<int64_t>(number.size()));
    for (const auto& s : raw_section) {
      auto found = number.find(s);
      graph.section.push_back(found == number.end() ? -1 : found->second);
    }
  }
};

// std::shuffle gives different orders on different standard libraries; the generator itself does
// not.
void shuffle(std::vector<int64_t>& v, std::mt19937_64& rng) {
  for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[rng() % i]);
}

}  // namespace

Graph build(const std::vector<Package>& packages, int64_t smallest) {
  if (packages.empty()) {
    throw std::runtime_error(
        "no package is described there: no stanza begins with 'Package: NAME'. Give --status a "
        "copy of "
        "/var/lib/dpkg/status or one of /var/lib/apt/lists/*_Packages");
  }
  Builder b;
  for (const auto& p : packages) b.add_node(p);
  for (const auto& p : packages) b.add_links(p);
  std::sort(b.graph.links.begin(), b.graph.links.end());
  b.graph.links.erase(std::unique(b.graph.links.begin(), b.graph.links.end()), b.graph.links.end());
  b.number_sections(std::max<int64_t>(smallest, 2));
  if (b.graph.sections.size() < 2) {
    throw std::runtime_error(
        "of " + std::to_string(b.graph.size()) + " packages, " +
        std::to_string(b.graph.sections.size()) + " sections have " + std::to_string(smallest) +
        " or more, and there must be two to tell apart. Give --status more files, or --smallest a "
        "smaller number");
  }
  return std::move(b.graph);
}

Split split(const Graph& graph, double share, uint64_t seed) {
  std::vector<std::vector<int64_t>> members(graph.sections.size());
  for (int64_t i = 0; i < graph.size(); ++i) {
    int64_t s = graph.section[static_cast<std::size_t>(i)];
    if (s >= 0) members[static_cast<std::size_t>(s)].push_back(i);
  }
  std::mt19937_64 rng(seed);
  Split out;
  for (auto& m : members) {
    shuffle(m, rng);
    auto wanted = static_cast<int64_t>(std::lround(share * static_cast<double>(m.size())));
    auto at = m.begin() + std::clamp<int64_t>(wanted, 1, static_cast<int64_t>(m.size()) - 1);
    out.hidden.insert(out.hidden.end(), m.begin(), at);
    out.known.insert(out.known.end(), at, m.end());
  }
  std::sort(out.hidden.begin(), out.hidden.end());
  std::sort(out.known.begin(), out.known.end());
  return out;
}

int64_t largest_section(const Graph& graph, const Split& split) {
  std::vector<int64_t> count(graph.sections.size());
  for (int64_t i : split.known)
    ++count[static_cast<std::size_t>(graph.section[static_cast<std::size_t>(i)])];
  return std::max_element(count.begin(), count.end()) - count.begin();
}

std::vector<int64_t> ask_neighbors(const Graph& graph, const Split& split) {
  std::vector<int64_t> visible(graph.section.size(), -1);
  for (int64_t i : split.known)
    visible[static_cast<std::size_t>(i)] = graph.section[static_cast<std::size_t>(i)];
  std::vector<std::vector<int64_t>> votes(graph.section.size());
  for (auto [a, b] : graph.links) {
    auto from = static_cast<std::size_t>(a), to = static_cast<std::size_t>(b);
    if (visible[to] >= 0) votes[from].push_back(visible[to]);
    if (visible[from] >= 0) votes[to].push_back(visible[from]);
  }
  std::vector<int64_t> out, count(graph.sections.size());
  int64_t largest = largest_section(graph, split);
  for (int64_t i : split.hidden) {
    const auto& given = votes[static_cast<std::size_t>(i)];
    if (given.empty()) {
      out.push_back(largest);
      continue;
    }
    std::fill(count.begin(), count.end(), 0);
    for (int64_t s : given) ++count[static_cast<std::size_t>(s)];
    out.push_back(std::max_element(count.begin(), count.end()) - count.begin());
  }
  return out;
}

}  // namespace packages
