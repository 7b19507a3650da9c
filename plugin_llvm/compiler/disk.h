// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Objects in a folder by what they are made from. A file holds a line that says what it is, the
// digests of the key and of the object, and the object; what does not agree is not used. Only the
// user's own files are: a folder or a file that others may write is left alone.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>

namespace tenon::llvm_loops {

class Disk {
 public:
  // Without a folder nothing is read or written.
  Disk(std::string folder, const std::string& key);

  // Null where there is none; `note` says why one that is there is not used.
  std::unique_ptr<llvm::MemoryBuffer> read(std::string& note) const;
  // Why it could not be written; empty if it was. Readers see all of it or nothing.
  std::string write(llvm::StringRef object) const;

 private:
  std::string folder_, key_, path_;
};

}  // namespace tenon::llvm_loops
