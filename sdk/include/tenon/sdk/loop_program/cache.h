// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Parsed and checked programs by their text, so that a call parses nothing the second time. Errors
// are not kept. Safe from any thread.
#ifndef TENON_SDK_LOOP_PROGRAM_CACHE_H_
#define TENON_SDK_LOOP_PROGRAM_CACHE_H_

#include <map>
#include <memory>
#include <mutex>

#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"

namespace tenon::sdk::loop_program {

class Cache {
 public:
  std::shared_ptr<const Program> get(std::string_view text) {
    if (const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock) {
      const auto at = programs_.find(text);
      if (at != programs_.end()) return at->second;
    }
    auto program = std::make_shared<Program>(parse(text));
    check(*program);
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return program;
    if (programs_.size() >= max_programs) programs_.clear();  // they are cheap to read again
    programs_.emplace(text, program);
    return program;
  }

 private:
  static constexpr size_t max_programs = 512;
  // Only tried: who does not get it reads the text again.
  std::mutex mutex_;  // fork: a child without its owner never gets it, and needs it not
  std::map<std::string, std::shared_ptr<const Program>, std::less<>> programs_;
};

}  // namespace tenon::sdk::loop_program

#endif
