// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which reader a file is for. Its name says nothing.
#include <algorithm>
#include <istream>
#include <iterator>

#include "jit/formats/foreign.h"
#include "jit/formats/mapped_file.h"
#include "jit/formats/read.h"
#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using formats::ZipReader;

// What a file looks like that is not an archive.
std::string kind_of(std::string_view head) {
  const auto begins = [&](std::string_view with, std::size_t at = 0) {
    return head.size() >= at + with.size() && head.substr(at, with.size()) == with;
  };
  using namespace std::literals;
  if (head.empty()) return "it is empty";
  if (begins("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv))
    return "it is a state dictionary or a Python module of torch.save before torch 1.6; save the "
           "program by torch.jit.save or torch.export.save";
  if (begins("\x80"sv)) return "it is a pickle of Python; save the program by torch.jit.save";
  if (begins("ustar", 257)) return "it is a tar archive, as torch.save wrote before torch 0.2";
  if (begins("PTMF", 4)) return "it is a flatbuffer for mobile devices; save it by torch.jit.save";
  if (begins("\x7f"
             "ELF"sv))
    return "it is a shared library; a program that AOTInductor compiled cannot be loaded";
  if (begins("\x89HDF")) return "it is an HDF5 file";
  if (begins("{", 8)) return "it is a safetensors file, which holds tensors and no program";
  return "it is neither a TorchScript archive nor an exported program nor ONNX";
}

bool has_folder(const ZipReader& zip, const std::string& folder) {
  const auto& all = zip.entries();
  return std::any_of(all.begin(), all.end(), [&](const ZipReader::Entry& e) {
    return e.name.compare(0, folder.size(), folder) == 0;
  });
}

Module read(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
            ExtraFiles* extra) {
  const std::string& root = zip->root();
  const auto has = [&](const char* name) { return zip->find(root + name) != nullptr; };
  if (has("archive_format") || has("serialized_exported_program.json") ||
      has_folder(*zip, root + "models/"))
    return formats::read_exported(zip, device, extra);
  if (has("constants.pkl") || has_folder(*zip, root + "code/"))
    return formats::read_torchscript(zip, device, extra);
  TENON_CHECK(!has("data.pkl"), ValueError, "load: ", zip->file(),
              ": it is a state dictionary or a Python module of torch.save; save the program by "
              "torch.jit.save or torch.export.save");
  TENON_CHECK(!has("model.json"), NotImplementedError, "load: ", zip->file(),
              ": it is an archive of torch before 1.4; load and save it there again");
  throw ValueError(core::join("load: ", zip->file(),
                              ": it is a zip archive, but neither TorchScript nor an exported "
                              "program"));
}

// Errors name the file.
Module read_named(const std::shared_ptr<ZipReader>& zip, std::optional<Device> device,
                  ExtraFiles* extra) {
  try {
    return read(zip, device, extra);
  } catch (const Error& e) {
    const std::string prefix = "load: " + zip->file() + ": ";
    if (e.msg().compare(0, prefix.size(), prefix) == 0) throw;
    core::throw_error(e.code(), prefix + e.msg());
  }
}

// Not an archive: another library may read it. `path` is empty for a stream.
Module load_foreign(const std::string& path, std::string_view bytes, std::optional<Device> device,
                    ExtraFiles* extra) {
  const std::string_view head = bytes.substr(0, 512);
  std::string reason;
  if (const ForeignFormat* f = formats::find_foreign_format(head, reason))
    return f->read(path, bytes, device, extra);
  const std::string file = path.empty() ? "the stream" : path;
  TENON_CHECK(reason.empty(), NotImplementedError, "load: ", file,
              ": it looks like an ONNX model, which libtenon_onnx reads: it belongs beside "
              "libtenon_jit, is built where protobuf (libprotobuf-dev, protobuf-compiler) is "
              "installed, and could not be opened: ",
              reason);
  throw ValueError(core::join("load: ", file, ": ", kind_of(head)));
}

Module load_path(const std::string& path, std::optional<Device> device, ExtraFiles* extra) {
  {
    const formats::MappedFile file(path);
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    if (bytes.substr(0, 2) != "PK") return load_foreign(path, bytes, device, extra);
  }
  return read_named(ZipReader::open(path), device, extra);
}

Module load_stream(std::istream& in, std::optional<Device> device, ExtraFiles* extra) {
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  if (std::string_view(bytes).substr(0, 2) != "PK") return load_foreign({}, bytes, device, extra);
  return read_named(ZipReader::from_bytes(std::move(bytes), "the stream"), device, extra);
}

}  // namespace

Module load(const std::string& path, std::optional<Device> device) {
  return load_path(path, device, nullptr);
}
Module load(const std::string& path, std::optional<Device> device, ExtraFiles& extra) {
  return load_path(path, device, &extra);
}
Module load(std::istream& in, std::optional<Device> device) {
  return load_stream(in, device, nullptr);
}
Module load(std::istream& in, std::optional<Device> device, ExtraFiles& extra) {
  return load_stream(in, device, &extra);
}

}  // namespace tenon::jit
