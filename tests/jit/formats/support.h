// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of saved programs.
#pragma once

#include <functional>
#include <string>

#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/tenon.h"

namespace tenon::jit {

inline std::string data(const std::string& name) { return TENON_TEST_JIT "/data/" + name; }

inline Module define(const std::string& text) {
  Module m("__torch__.Program");
  m.define(text);
  return m;
}

// 0, 1, ... n - 1 around 0, in eighths.
inline Tensor counted(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return ((arange(n, kFloat) - n / 2) / 8).view(sizes);
}

// The archive with one entry changed.
inline std::string changed(const std::string& name, const std::string& entry,
                           const std::function<std::string(std::string)>& change) {
  const auto zip = formats::ZipReader::open(data(name));
  const std::string root = zip->root();
  formats::ZipWriter out(root.substr(0, root.size() - 1));
  for (const auto& e : zip->entries()) {
    const std::string short_name = e.name.substr(root.size());
    const std::string content = zip->read(e);
    out.add(short_name, short_name == entry ? change(content) : content);
  }
  return out.finish();
}

}  // namespace tenon::jit
