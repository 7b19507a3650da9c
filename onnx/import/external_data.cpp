// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "onnx/import/tensors.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

struct Mapping {
  const char* data = nullptr;
  uint64_t size = 0;
  ~Mapping() {
    if (data) munmap(const_cast<char*>(data), size);
  }
};

// ValueError with the reason of the system.
std::shared_ptr<const Mapping> map_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TENON_CHECK(fd >= 0, ValueError, "external data '", path, "': ", std::strerror(errno));
  struct stat s {};
  const bool regular = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
  auto m = std::make_shared<Mapping>();
  if (regular && s.st_size > 0) {
    void* p = mmap(nullptr, static_cast<std::size_t>(s.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) {
      m->data = static_cast<const char*>(p);
      m->size = static_cast<uint64_t>(s.st_size);
    }
  }
  close(fd);
  TENON_CHECK(regular && (m->data || s.st_size == 0), ValueError, "external data '", path,
              "': it is not a regular file, or cannot be mapped");
  return m;
}

uint64_t number_of(const std::string& text, const char* what) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  TENON_CHECK(digits, ValueError, "external data: ", what, " is '", text.substr(0, 40),
              "', not a number of bytes");
  return std::stoull(text);
}

}  // namespace

struct ExternalData::Files {
  std::filesystem::path folder;
  std::map<std::string, std::shared_ptr<const Mapping>> mapped;
};

ExternalData::ExternalData(const std::string& model_path) : files_(std::make_unique<Files>()) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(model_path).parent_path();
  files_->folder = std::filesystem::canonical(folder.empty() ? "." : folder, ignored);
}
ExternalData::ExternalData() = default;
ExternalData::~ExternalData() = default;

ExternalData::Bytes ExternalData::read(const pb::TensorProto& t) const {
  std::map<std::string, std::string> entries;
  for (const auto& e : t.external_data()) entries[e.key()] = e.value();
  const std::string location = entries["location"];
  TENON_CHECK(files_, ValueError, "tensor '", t.name(), "' is in the external file '", location,
              "', and the model was not loaded from a file");
  namespace fs = std::filesystem;
  const fs::path relative(location);
  bool inside =
      !location.empty() && relative.is_relative() && location.find('\0') == std::string::npos;
  for (const fs::path& part : relative) inside = inside && part != "..";
  TENON_CHECK(inside, ValueError, "tensor '", t.name(), "': external data at '",
              location.substr(0, 200), "' is not inside of the model's folder");
  std::shared_ptr<const Mapping>& file = files_->mapped[location];
  if (!file) {
    std::error_code error;
    const fs::path real = fs::canonical(files_->folder / relative, error);
    TENON_CHECK(!error, ValueError, "tensor '", t.name(), "': external data '", location,
                "': ", error.message());
    const auto end =
        std::mismatch(files_->folder.begin(), files_->folder.end(), real.begin(), real.end());
    TENON_CHECK(end.first == files_->folder.end(), ValueError, "tensor '", t.name(),
                "': external data '", location, "' is a link out of the model's folder");
    file = map_file(real.string());
  }
  const uint64_t offset = entries.count("offset") ? number_of(entries["offset"], "the offset") : 0;
  TENON_CHECK(offset <= file->size, ValueError, "tensor '", t.name(), "': external data '",
              location, "' has ", file->size, " bytes, and the tensor begins at ", offset);
  const uint64_t length =
      entries.count("length") ? number_of(entries["length"], "the length") : file->size - offset;
  TENON_CHECK(length <= file->size - offset, ValueError, "tensor '", t.name(), "': external data '",
              location, "' has ", file->size, " bytes, and the tensor ends at ", offset + length);
  return {file, file->data + offset, length};
}

}  // namespace tenon::onnx
