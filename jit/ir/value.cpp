// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Letters, digits, dots and underscores; not digits alone, which are those of %12.
std::string valid_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '_';
    if (!valid) c = '_';
  }
  if (!out.empty() && kDigits.find(out[0]) != std::string_view::npos) out.insert(0, 1, '_');
  return out;
}

// "x.3" -> "x" and 3; a name without a number: itself and 1.
std::pair<std::string, std::size_t> split_number(const std::string& name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot + 1 == name.size() || name.size() - dot > 10 ||
      name.find_first_not_of(kDigits, dot + 1) != std::string::npos)
    return {name, 1};
  return {name.substr(0, dot), std::stoul(name.substr(dot + 1))};
}

}  // namespace

Value* Value::set_name(std::string_view name) {
  Graph* g = node_->graph();
  if (!name_.empty()) g->names_.erase(name_);
  name_.clear();
  std::string wanted = valid_name(name);
  if (wanted.empty()) return this;
  auto taken = g->names_.find(wanted);
  if (taken != g->names_.end()) {
    auto [base, number] = split_number(wanted);
    std::size_t& next = g->name_numbers_[base];
    next = std::max(next, number);
    while (g->names_.count(core::join(base, ".", next))) ++next;
    Value* other = taken->second;
    g->names_.erase(taken);
    other->name_ = core::join(base, ".", next++);
    g->names_[other->name_] = other;
  }
  g->names_[wanted] = this;
  name_ = std::move(wanted);
  return this;
}

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  for (const Use& u : uses_) {
    u.user->inputs_[static_cast<std::size_t>(u.index)] = other;
    other->uses_.push_back(u);
  }
  uses_.clear();
}

}  // namespace tenon::jit
