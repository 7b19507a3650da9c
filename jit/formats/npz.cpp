// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/npz.h"

#include <set>
#include <sstream>

#include "jit/formats/zip.h"
#include "tenon/io/file_writer.h"
#include "tenon/npy.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

void save_npz(const NamedArrays& arrays, const std::string& filename) {
  serialize::detail::FileWriter file(filename);
  formats::ZipWriter zip("", [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
  std::set<std::string> names;
  for (const auto& [name, tensor] : arrays) {
    TENON_CHECK(names.insert(name).second, ValueError, "save_npz: two arrays are named '", name,
                "'");
    std::ostringstream content;
    save_npy(tensor, content);
    zip.add(name + std::string(kSuffix), std::move(content).str());
  }
  zip.finish();
  file.commit();
}

NamedArrays load_npz(const std::string& filename) {
  const auto zip = formats::ZipReader::open(filename);
  NamedArrays out;
  for (const auto& entry : zip->entries()) {
    std::string name = entry.name;
    if (name.size() > kSuffix.size() &&
        name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0) {
      name.resize(name.size() - kSuffix.size());
    }
    const std::string bytes = zip->read(entry);
    out.emplace_back(
        name, load_npy(bytes.data(), bytes.size(), "'" + filename + "', array '" + name + "'"));
  }
  return out;
}

}  // namespace tenon::jit
