// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The entries of the archive that a program is saved in, such as what was saved as an extra file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::jit {

// libtorch's PyTorchStreamReader. Names are those below the archive's own folder:
// "extra/producer.json". Nothing in the file is trusted; errors are ValueErrors that name the file
// and what is wrong with it.
class TENON_API ArchiveReader {
 public:
  explicit ArchiveReader(const std::string& file_name);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  bool hasRecord(const std::string& name) const;
  // The bytes and how many there are; they live as long as the reader. IndexError names an entry
  // that is not there.
  std::tuple<DataPtr, std::size_t> getRecord(const std::string& name);
  std::size_t getRecordSize(const std::string& name) const;
  std::vector<std::string> getAllRecords() const;  // in the order of the file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::jit
