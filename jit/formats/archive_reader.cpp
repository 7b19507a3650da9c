// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/archive_reader.h"

#include <list>

#include "jit/formats/zip.h"

namespace tenon::jit {

struct ArchiveReader::State {
  const formats::ZipReader::Entry& entry(const std::string& name) const {
    const formats::ZipReader::Entry* e = zip->find(zip->root() + name);
    TENON_CHECK(e, IndexError, "load: ", zip->file(), ": there is no entry '", name, "'");
    return *e;
  }

  std::shared_ptr<formats::ZipReader> zip;
  std::list<std::string> inflated;  // what getRecord gave and does not lie in the file
};

ArchiveReader::ArchiveReader(const std::string& file_name)
    : state_(std::make_unique<State>(State{formats::ZipReader::open(file_name), {}})) {}
ArchiveReader::~ArchiveReader() = default;

bool ArchiveReader::hasRecord(const std::string& name) const {
  return state_->zip->find(state_->zip->root() + name) != nullptr;
}

std::size_t ArchiveReader::getRecordSize(const std::string& name) const {
  return state_->entry(name).size;
}

std::tuple<DataPtr, std::size_t> ArchiveReader::getRecord(const std::string& name) {
  const formats::ZipReader::Entry& e = state_->entry(name);
  void* data = nullptr;
  if (e.deflated)
    data = state_->inflated.emplace_back(state_->zip->read(e)).data();
  else
    data = state_->zip->view(e, /*check=*/true).data;
  return {DataPtr(data, Device(kCPU)), e.size};
}

std::vector<std::string> ArchiveReader::getAllRecords() const {
  std::vector<std::string> names;
  for (const formats::ZipReader::Entry& e : state_->zip->entries())
    names.push_back(e.name.substr(state_->zip->root().size()));
  return names;
}

}  // namespace tenon::jit
