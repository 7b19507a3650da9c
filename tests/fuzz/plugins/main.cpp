// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Damaged plugins: mutated libraries with and without a hash in their manifests, and mutated
// manifests. Each is loaded by a separate process, which must live and get an exception of the
// right class or a plugin; a damaged library is never opened if the manifest has a hash. Without a
// hash a trial may pass and damaged code may still write into foreign memory: what dies of that,
// once, or after load() has returned, is counted and no finding.
#include <elf.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "damage.h"
#include "plugins/digest.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/error.h"

namespace tenon::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string digest_of(const fs::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string out = plugins::loaded_digest(fd);
  if (fd >= 0) close(fd);
  return out;
}

// The bytes of a library's executable segments, at their places in the file of the good one.
std::string code_of(const std::string& bytes, const std::string& good) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(good.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(good.data() + header->e_phoff);
  std::string out;
  for (int i = 0; i < header->e_phnum; ++i) {
    const Elf64_Phdr& p = segments[i];
    if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && p.p_offset < bytes.size())
      out += bytes.substr(p.p_offset, p.p_filesz);
  }
  return out;
}

// A good plugin, and the folder in which its damaged copies lie.
struct Plugin {
  std::string name, bytes, digest;
  std::string manifest(bool with_digest) const {
    return "{\n  \"name\": \"" + name + "\",\n  \"library\": \"libtenon_" + name + ".so\",\n" +
           (with_digest ? "  \"digest\": \"" + digest + "\",\n" : "") +
           "  \"abi\": {\"major\": 1, \"min_minor\": 0},\n  \"arch\": \"x86_64\",\n  "
           "\"cpu_features\": [],\n  "
           "\"device\": \"" +
           name +
           "\",\n  \"layouts\": [],\n  \"third_party\": {\"libtoy.so.1\": \"1.2\"},\n  "
           "\"priority\": 0,\n" +
           "  \"variant\": \"\",\n  \"isolated\": false\n}\n";
  }
};

Plugin read_plugin(const std::string& name, const fs::path& library) {
  Plugin p{name, bytes_of(library), digest_of(library)};
  if (p.bytes.empty() || p.digest.empty())
    throw std::runtime_error("no plugin is at " + library.string());
  return p;
}

const Plugin& small_plugin() {
  static const fs::path build = fs::canonical("/proc/self/exe").parent_path().parent_path();
  static const Plugin p = read_plugin("works", build / "tests/bad_plugins/libtenon_works.so");
  return p;
}

const Plugin& cpu_plugin() {
  static const fs::path build = fs::canonical("/proc/self/exe").parent_path().parent_path();
  static const Plugin p = read_plugin("cpu", build / "lib/libtenon_cpu.so");
  return p;
}

struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tenon-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path = fs::canonical(pattern);
  }
  ~Folder() {
    std::error_code ec;
    fs::remove_all(path, ec);
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path / file, std::ios::binary) << text;
    fs::permissions(path / file, fs::perms::owner_read | fs::perms::owner_write);
  }
  fs::path path;
};

enum class Outcome { Opened, Refused, WrongClass, Died, DiedLater };

// Loads in a separate process. `why` is what the exception says, or how the process ended.
Outcome load(const fs::path& file, std::string& why) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    close(ends[0]);
    std::string said = "o";
    try {
      plugins::load(file.string());
    } catch (const BackendError& e) {
      said = std::string("r") + e.what();
    } catch (const std::exception& e) {
      said = std::string("w") + e.what();
    }
    said.resize(std::min<std::size_t>(said.size(), 4000));
    _exit(write(ends[1], said.data(), said.size()) < 0);
  }
  close(ends[1]);
  char buffer[4096];
  const ssize_t n = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  why.assign(buffer + 1, static_cast<std::size_t>(n > 1 ? n - 1 : 0));
  if (n <= 0 || status != 0) {
    why = WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                              : "exit status " + std::to_string(WEXITSTATUS(status));
    return n > 0 && buffer[0] == 'o' ? Outcome::DiedLater : Outcome::Died;
  }
  return buffer[0] == 'o'   ? Outcome::Opened
         : buffer[0] == 'r' ? Outcome::Refused
                            : Outcome::WrongClass;
}

// After a death without a hash: empty, or the finding. Damaged code may write into foreign memory
// in a way that its trial does not show. Any other death is a finding if it comes again.
std::string judged_again(const fs::path& file, bool code_is_good, const std::string& first) {
  constexpr int kTimes = 5;
  std::string why;
  int again = 0;
  for (int i = 0; i < kTimes; ++i) again += load(file, why) == Outcome::Died;
  if (again > 0 && code_is_good)
    return core::join("the process died, ", again + 1, " times of ", kTimes + 1, ": ", first);
  const char* kind = code_is_good ? "died once after its trial" : "died of damaged code";
  tally(kind);
  std::printf("%s, and again %d times of %d: %s\n", kind, again, kTimes, first.c_str());
  std::fflush(stdout);
  return {};
}

// Empty, or the finding. With a hash, only the loaded bytes of the good library may be opened.
std::string judged(Outcome outcome, const std::string& why, bool damage_is_known) {
  switch (outcome) {
    case Outcome::Died:
      return "the process died: " + why;
    case Outcome::WrongClass:
      return "not a BackendError: " + why;
    case Outcome::Refused:
      tally(why.find("opened in a child process first") != std::string::npos
                ? "refused by the trial"
            : why.find(": damaged: ") != std::string::npos ? "refused as damaged"
                                                           : "refused");
      return why.find('/') == std::string::npos ? "no file is named: " + why : "";
    case Outcome::DiedLater:
      tally("opened, died later");
      return damage_is_known ? "a damaged library was opened, and the process died: " + why : "";
    case Outcome::Opened:
      break;
  }
  tally("opened");
  return damage_is_known ? "a damaged library was opened" : "";
}

std::string check(Random& random) {
  // The large one is slow and differs from the small one in its size only.
  const Plugin& plugin = random.chance(0.005) ? cpu_plugin() : small_plugin();
  const std::string so = "libtenon_" + plugin.name + ".so",
                    json = "libtenon_" + plugin.name + ".json";
  Folder folder;
  const uint64_t kind = random.below(4);
  const bool hashed = kind == 0 || (kind == 3 && random.chance(0.5));
  const bool damage = kind != 3 || random.chance(0.5);
  const std::string damaged = damage ? damaged_library(random, plugin.bytes) : plugin.bytes;
  folder.write(so, damaged);
  std::string manifest = plugin.manifest(hashed);
  if (kind == 3) manifest = damaged_manifest(random, manifest);
  if (kind != 2) folder.write(json, manifest);
  const bool same = digest_of(folder.path / so) ==
                    plugin.digest;  // the damage is outside of what the loader reads
  std::string why;
  const fs::path file = folder.path / (kind == 2 ? so : json);
  const Outcome outcome = load(file, why);
  tally(kind == 0   ? "library, hashed"
        : kind == 1 ? "library, not hashed"
        : kind == 2 ? "library alone"
                    : "manifest");
  if (outcome == Outcome::Died && !hashed) {
    const std::string good = code_of(plugin.bytes, plugin.bytes);
    return judged_again(file, code_of(damaged, plugin.bytes) == good, why);
  }
  return judged(outcome, why, hashed && kind == 0 && !same);
}

void prepare() {
  setenv("TENON_PLUGIN_PATH", "/nonexistent", 1);
  unsetenv("TENON_PLUGIN_PROBE");
  (void)small_plugin();
  (void)cpu_plugin();
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  using namespace tenon::fuzz;
  return run(argc, argv,
             {"plugins", "Damaged libraries and manifests of plugins.", check, prepare});
}
