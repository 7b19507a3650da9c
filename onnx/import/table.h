// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operators that are known. An entry is a name, the versions of the operator set for which it
// holds, and what makes nodes of it: a function in the language of programs, or one of C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/import/item.h"

namespace tenon::onnx {

class Builder;
struct Call;

// The dtype of the first result, which later nodes may want to know. Same, Second: that of the
// first or the second input.
enum class Gives : uint8_t { Unknown, Same, Second, Bool, Long };
using Translate = std::vector<ItemPtr> (*)(Builder& b, Call& c);

struct Entry {
  const char* name;
  int since = 1, until = 0;  // 0: the newest
  Gives gives = Gives::Unknown;
  const char* function = nullptr;  // of the texts; null: the name of the operator
  Translate translate = nullptr;   // instead of a function
};

// Registers entries of a domain; in static initializers.
struct Entries {
  Entries(const char* domain, const Entry* list, std::size_t n);
};
// Functions in the language of programs. The positional arguments of one are the inputs of the
// operator, a last Tensor[] takes all that remain; keyword-only ones are attributes, or what the
// builder knows: `n_outputs`, `opset`. A tuple gives several results. Of `Name` there may be forms
// Name__1, Name__2, ... over integers, taken where all inputs are integers of its types.
struct Texts {
  explicit Texts(const char* text);
};

// Null: not known for this version.
const Entry* find_entry(std::string_view domain, std::string_view name, int64_t version);
// The versions for which the name is known, "7 to 12, 13 and later"; empty: not at all.
std::string known_versions(std::string_view domain, std::string_view name);
std::vector<std::string> similar_entries(std::string_view domain, std::string_view name);
struct NamedEntry {
  std::string domain;
  const Entry* entry;
};
std::vector<NamedEntry> all_entries();

// The text of one function; null: there is none.
const std::string* find_text(std::string_view function);
// Functions of two texts, which would be called instead of one another; for tests.
const std::vector<std::string>& texts_with_one_name();

}  // namespace tenon::onnx
