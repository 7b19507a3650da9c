// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which tensor arguments of an operator broadcast, as its documentation says it.
#include <algorithm>
#include <map>

#include "tools/opgen/emit.h"

namespace opgen {
namespace {

using Names = std::vector<std::string>;

// Shape rules that expand arguments. Those of other pointwise operators expand all tensors.
// tests/core/broadcasting.cpp compares both with what the rules do.
const std::map<std::string, std::string> kOfRule = {
    {"addmm", "self to the result"},
    {"addmv", "self to the result"},
    {"baddbmm", "self to the result"},
    {"bernoulli_tensor", "p to self"},
    {"copy", "src to self"},
    {"index", "indices"},
    {"index_put", "indices; values to the elements of self"},
    {"masked_scatter", "self, mask"},
    {"masked_select", "self, mask"},
    {"pointwise_masked_fill_tensor", "self, mask"},  // the value has no dimensions
    {"prim_binary", "self, other"},
};

std::string joined(const Names& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

Names tensors_of(const Schema& s) {
  Names out;
  for (const Arg& a : s.args) {
    if (a.type.tensor()) out.push_back(a.name);
  }
  return out;
}

// "self, other" as two names; empty if it is a sentence.
Names names_in(const std::string& text, const Schema& s) {
  const Names tensors = tensors_of(s);
  Names out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    out.push_back(text.substr(at, end - at));
    if (std::find(tensors.begin(), tensors.end(), out.back()) == tensors.end()) return {};
    at = end + 2;
  }
  return out;
}

// What an in-place form writes keeps its shape: the others are expanded to it.
std::string written_form(const std::string& text, const Schema& s) {
  if (text.rfind("self to ", 0) == 0) return "nothing";
  Names names = names_in(text, s);
  if (names.size() < 2 || names.front() != s.args.front().name) return text;
  names.erase(names.begin());
  return joined(names) + " to " + s.args.front().name;
}

// A body that passes all arguments on, `self.bitwise_and(other)`: the name that it calls; empty if
// the body is anything else.
std::string passes_on_to(const Definition& r) {
  std::string all;
  for (const Arg& a : r.schema.args) all += (all.empty() ? "" : ", ") + a.name;
  const std::string function = "tenon::";
  const std::size_t open = r.body.find('(');
  if (open == std::string::npos || r.body.back() != ')') return {};
  const std::string passed = r.body.substr(open + 1, r.body.size() - open - 2);
  if (r.body.rfind(function, 0) == 0 && passed == all)
    return r.body.substr(function.size(), open - function.size());
  const std::size_t dot = r.body.find('.');
  if (dot < open && r.body.substr(0, dot) + (passed.empty() ? "" : ", ") + passed == all)
    return r.body.substr(dot + 1, open - dot - 1);
  return {};
}

// The overload that takes tensors where r does.
const Definition* overload_for(const Definition& r, const std::string& name,
                               const std::vector<Definition>& definitions) {
  for (const Definition& o : definitions) {
    const std::vector<Arg>&a = r.schema.args, &b = o.schema.args;
    if (&o != &r && o.schema.name == name && a.size() <= b.size() &&
        std::equal(a.begin(), a.end(), b.begin(), [](const Arg& x, const Arg& y) {
          return x.name == y.name && type_code(x.type) == type_code(y.type);
        })) {
      return &o;
    }
  }
  return nullptr;
}

// Of the functional form; null: nothing tells.
std::optional<std::string> functional(const Definition& r,
                                      const std::vector<Definition>& definitions) {
  const Names tensors = tensors_of(r.schema);
  if (!r.broadcasts.empty()) return r.broadcasts == "nothing" ? "" : r.broadcasts;
  if (auto at = kOfRule.find(r.infer); at != kOfRule.end()) return at->second;
  if (r.infer.rfind("pointwise", 0) == 0) return tensors.size() > 1 ? joined(tensors) : "";
  if (r.infer == "layout") return std::nullopt;  // the plugin of the layout infers
  if (!r.infer.empty() || tensors.empty()) return "";
  if (std::string name = passes_on_to(r); !name.empty()) {
    const bool written = name.back() == '_' && name.front() != '_';
    if (written) name.pop_back();
    if (const Definition* called = overload_for(r, name, definitions)) {
      std::optional<std::string> text = functional(*called, definitions);
      if (text && written) text = written_form(*text, called->schema);
      return text == "nothing" ? "" : text;
    }
  }
  const bool one = tensors.size() == 1 &&
                   std::none_of(r.schema.args.begin(), r.schema.args.end(),
                                [](const Arg& a) { return a.type.tensor() && a.type.list; });
  return one ? std::optional<std::string>("") : std::nullopt;
}

void check_line(const Definition& r) {
  const auto bad = [&](const std::string& what) {
    throw DefinitionError(r.file, r.line, r.schema.full() + ": " + what);
  };
  if (r.broadcasts.empty()) return;
  if (!r.composite()) bad("a broadcasts line is for 'kind composite': else the shape rule tells");
  const bool sentence = r.broadcasts.find(" to ") != std::string::npos ||
                        r.broadcasts.find(" of ") != std::string::npos || r.broadcasts == "nothing";
  if (!sentence && names_in(r.broadcasts, r.schema).empty()) {
    bad("broadcasts '" + r.broadcasts +
        "': expected names of tensor arguments, 'x to y', 'batches of x, y' or 'nothing'");
  }
}

}  // namespace

void find_broadcasting(std::vector<Definition>& definitions) {
  for (Definition& r : definitions) {
    check_line(r);
    r.broadcasting = functional(r, definitions);
    if (!r.inplace || !r.broadcasting || r.broadcasting->empty()) continue;
    const std::string written = written_form(*r.broadcasting, r.schema);
    if (written != *r.broadcasting) *r.broadcasting += "; in place: " + written;
  }
}

// A byte per operator, and what the bytes mean: most operators have one of a few texts.
std::string broadcasting_table(const std::vector<Definition>& definitions) {
  std::map<std::string, std::size_t> known;
  std::string texts = "nullptr, \"\"", bytes;
  for (const Definition& r : definitions) {
    std::size_t at = r.broadcasting ? 1 : 0;
    if (r.broadcasting && !r.broadcasting->empty()) {
      const auto [entry, is_new] = known.emplace(*r.broadcasting, known.size() + 2);
      if (is_new) texts += ", \"" + *r.broadcasting + "\"";
      at = entry->second;
    }
    if (at > 255) throw DefinitionError(r.file, r.line, "more than 255 ways to broadcast");
    bytes += std::to_string(at) + ", ";
  }
  return "extern const char* const g_broadcasting_texts[] = {" + texts +
         "};\nextern const uint8_t g_broadcasting[] = {" + bytes + "};\n";
}

}  // namespace opgen
