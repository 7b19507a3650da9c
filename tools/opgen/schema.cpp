// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <openssl/sha.h>

#include "tools/opgen/definition.h"

namespace opgen {

Schema parse_schema(const std::string& text, const std::string& file, int line) {
  try {
    return tenon::core::parse_schema(text);
  } catch (const tenon::core::SchemaError& e) {
    throw DefinitionError(file, line, e.what());
  }
}

std::string digest_of(const Schema& s, int version) {
  std::string form = s.canonical + ";version=" + std::to_string(version);
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(form.data()), form.size(), hash);
  std::string out;
  char buffer[8];
  for (unsigned char c : hash) {
    std::snprintf(buffer, sizeof buffer, "%s0x%02x", out.empty() ? "" : ",", c);
    out += buffer;
  }
  return out;
}

}  // namespace opgen
