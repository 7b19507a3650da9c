// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/launches.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon::emulator {
namespace {

const Launches* g_first = nullptr;  // filled while libraries load

std::string without(std::string s, std::string_view what) {
  for (std::size_t at; (at = s.find(what)) != std::string::npos;) s.erase(at, what.size());
  return s;
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// "dense<pw::Op_add, float>" of "constexpr const char* kernel_name() [with auto Kernel =
// tenon::cuda::pw::dense<...>]"
std::string instance_name(std::string_view pretty) {
  constexpr std::string_view kBefore = "Kernel = ";
  const std::size_t begin = pretty.find(kBefore) + kBefore.size();
  return without(std::string(pretty.substr(begin, pretty.rfind(']') - begin)), "tenon::cuda::");
}

// "masked.cu scatter_selected", "pointwise dense add": as in tests/cuda/registers.
std::string kernel_name(const std::string& instance, const char* file) {
  constexpr std::string_view kPointwise = "pw::", kUnnamed = "{anonymous}::";
  const std::size_t arguments = instance.find('<');
  std::string name = instance.substr(0, arguments);
  if (name.rfind(kPointwise, 0) == 0) {
    const std::string op = without(without(instance.substr(arguments + 1), kUnnamed), "Op_");
    return "pointwise " + name.substr(kPointwise.size()) + " " +
           op.substr(0, op.find_first_of(",<>"));
  }
  const bool own = instance.find(kUnnamed) != std::string::npos;
  return (own ? file_name(file) + " " : "") + without(name, kUnnamed);
}

// FOLDER/LIBRARY; empty: not recorded.
const std::string& path_prefix() {
  static const std::string path = [] {
    const char* folder = std::getenv("TENON_EMULATOR_LAUNCHES");
    Dl_info here{};
    if (folder == nullptr || dladdr(&g_first, &here) == 0) return std::string();
    return std::string(folder) + "/" + file_name(here.dli_fname);
  }();
  return path;
}

// Several processes may append concurrently.
void append(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const bool whole =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  if (!whole) throw std::runtime_error("cannot write " + path);
}

}  // namespace

Launches::Launches(const char* instance, const char* file)
    : instance_(instance), file_(file), next_(g_first) {
  g_first = this;
}

std::string Launches::to_line() const {
  const std::string instance = instance_name(instance_);
  return kernel_name(instance, file_) + "\t" + instance;
}

void Launches::record(int block) const {
  if (path_prefix().empty()) return;
  static const bool listed = [] {
    std::string all;
    for (const Launches* k = g_first; k != nullptr; k = k->next_) all += k->to_line() + "\n";
    const std::string own = path_prefix() + "." + std::to_string(getpid());
    append(own, all);
    return std::rename(own.c_str(), (path_prefix() + ".kernels").c_str()) == 0;
  }();
  if (listed) append(path_prefix() + ".launches", to_line() + "\t" + std::to_string(block) + "\n");
}

int choose_block(int own) {
  static const int given = [] {
    const char* s = std::getenv("TENON_EMULATOR_BLOCK");
    return s ? std::atoi(s) : 0;
  }();
  return given > 0 ? given : own;
}

}  // namespace tenon::emulator
