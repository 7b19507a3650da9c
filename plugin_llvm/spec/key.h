// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

// All that code depends on but the processor and LLVM, as text.
inline std::string key_of(const Spec& s, std::string_view text, int lanes) {
  std::string t = "lanes " + std::to_string(lanes) + " nest " + std::to_string(s.nest);
  const auto add = [&](const char* word, int v) {
    t += std::string(" ") + word + std::to_string(v);
  };
  for (const int it : s.stores) add("s", it);
  for (const int it : s.late) add("l", it);
  for (const auto& [node, store] : s.results) {
    add("g", node);
    add("of", store);
  }
  for (const int it : s.unwritten) add("h", it);
  for (const Loop& it : s.loops) add(it.named ? "n" : "r", it.original);
  for (const Access& it : s.accesses) {
    t += " ";
    for (const uint8_t c : it.classes) t += static_cast<char>('0' + c);
  }
  add("v", s.vector_loop);
  add("x", s.vectors);
  add("w", s.whole ? 1 : 0);
  add("a", s.tail);
  add("u", s.unrolled);
  for (int i = 0; i < 2; ++i) {
    add("t", s.tile_loop[i]);
    add("of", s.tile[i]);
    add("e", s.has_rest[i] ? 1 : 0);
  }
  add("f", s.flush_level);
  add("b", s.blocked ? 1 : 0);
  return t.append("\n").append(text);
}

}  // namespace tenon::llvm_loops
