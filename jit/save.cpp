// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <ostream>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/formats/write.h"
#include "tenon/io/file_writer.h"
#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

void write_to(const Module& m, const formats::ZipWriter::Sink& sink, const std::string& root,
              const ExtraFiles& extra) {
  formats::ZipWriter zip(formats::archive_root(m, root), sink);
  if (formats::is_exported(m))
    formats::write_exported(m, zip, extra);
  else
    formats::write_torchscript(m, zip, extra);
  (void)zip.finish();
}

}  // namespace

void Module::save(std::ostream& out, const ExtraFiles& extra) const {
  const auto sink = [&](const void* data, std::size_t bytes) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  write_to(*this, sink, "archive", extra);
  TENON_CHECK(out.good(), ValueError, "save: the stream takes no more");
}

// The file has its old content or all of the new one: it may be the one that the weights are mapped
// from.
void Module::save(const std::string& path, const ExtraFiles& extra) const {
  serialize::detail::FileWriter file(path);
  const std::string stem = std::filesystem::path(path).stem().string();
  write_to(
      *this, [&](const void* data, std::size_t bytes) { file.write(data, bytes); },
      stem.empty() ? "archive" : stem, extra);
  file.commit();
}

void export_program(const Module& m, const std::vector<IValue>& inputs, const std::string& path,
                    const ExportProgramOptions& options) {
  formats::ProgramWriter program(m, options);
  program.walk(inputs);
  serialize::detail::FileWriter file(path);
  const std::string stem = std::filesystem::path(path).stem().string();
  formats::ZipWriter zip(stem.empty() ? "archive" : stem,
                         [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
  program.write(zip);
  (void)zip.finish();
  file.commit();
}

void save(const Module& m, const std::string& path, const ExtraFiles& extra) {
  m.save(path, extra);
}

}  // namespace tenon::jit
