// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <tenon/distributed.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace digits {

void launch_ranks(int ranks, char** argv) {
  if (ranks < 2 || std::getenv("RANK") != nullptr) return;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto beside = std::filesystem::path(self).parent_path() / "tenon";
  const std::string tenon = std::filesystem::exists(beside) ? beside.string() : "tenon";
  std::vector<std::string> words = {tenon,         "launch", "-n", std::to_string(ranks),
                                    "--no-prefix", self};
  for (char** word = argv + 1; *word != nullptr; ++word) words.push_back(*word);
  std::vector<char*> command;
  command.reserve(words.size() + 1);
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  execvp(command[0], command.data());
  throw std::runtime_error("'" + tenon + "' cannot be run, which starts the ranks");
}

Ranks::Ranks(int expected) {
  if (expected < 2) return;
  tenon::distributed::init_process_group("gloo");
  rank_ = tenon::distributed::get_rank();
  size_ = tenon::distributed::get_world_size();
  if (size_ != expected)
    throw std::runtime_error("--ranks is " + std::to_string(expected) + ", but " +
                             std::to_string(size_) + " were launched");
}

Ranks::~Ranks() {
  if (tenon::distributed::is_initialized()) tenon::distributed::destroy_process_group();
}

std::optional<std::vector<std::size_t>> PartSampler::next(std::size_t part) {
  if (ranks_ == 0) return all_.next(part);
  const std::size_t whole = part * static_cast<std::size_t>(ranks_);
  const auto batch = all_.next(whole);
  if (!batch || batch->size() < whole) return std::nullopt;
  const auto begin = batch->begin() + static_cast<std::ptrdiff_t>(part) * rank_;
  return std::vector<std::size_t>(begin, begin + static_cast<std::ptrdiff_t>(part));
}

}  // namespace digits
