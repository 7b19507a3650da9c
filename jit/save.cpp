// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <system_error>

#include "jit/formats/write.h"
#include "tenon/core/error.h"
#include "tenon/jit.h"

namespace tenon::jit {
namespace {

void write_to(const Module& m, std::ostream& out, const std::string& root,
              const ExtraFiles& extra) {
  formats::ZipWriter zip(root, [&](const void* data, std::size_t bytes) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  });
  if (formats::is_exported(m))
    formats::write_exported(m, zip, extra);
  else
    formats::write_torchscript(m, zip, extra);
  (void)zip.finish();
}

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw ValueError(
      core::join("save: cannot ", what, " '", path, "': ", std::generic_category().message(error)));
}

// Removed unless it got the file's name.
struct Temporary {
  std::filesystem::path path;
  bool kept = false;
  ~Temporary() {
    std::error_code ignored;
    if (!kept) std::filesystem::remove(path, ignored);
  }
};

}  // namespace

void Module::save(std::ostream& out, const ExtraFiles& extra) const {
  write_to(*this, out, "archive", extra);
  TENON_CHECK(out.good(), ValueError, "save: the stream takes no more");
}

// The file has its old content or all of the new one: it may be the one that the weights are mapped
// from.
void Module::save(const std::string& path, const ExtraFiles& extra) const {
  TENON_CHECK(path.find('\0') == std::string::npos, ValueError,
              "save: the name of the file has a zero byte");
  std::error_code error;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (error) target = path;
  TENON_CHECK(!std::filesystem::is_directory(target, error), ValueError, "save: '", path,
              "' is a folder");
  Temporary temporary{target};
  temporary.path += ".tenon-" + std::to_string(std::random_device{}()) + ".part";
  {
    std::ofstream out(temporary.path, std::ios::binary | std::ios::trunc);
    if (!out) fail(path, "write", errno);
    const std::string stem = target.stem().string();
    write_to(*this, out, stem.empty() ? "archive" : stem, extra);
    out.close();
    if (!out) fail(path, "write", errno);
  }
  std::filesystem::rename(temporary.path, target, error);
  if (error) fail(path, "replace", error.value());
  temporary.kept = true;
}

void save(const Module& m, const std::string& path, const ExtraFiles& extra) {
  m.save(path, extra);
}

}  // namespace tenon::jit
