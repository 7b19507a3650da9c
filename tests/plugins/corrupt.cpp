// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Damaged files, from a seeded generator: 6,000 under a manifest that has the hash of the good one,
// 2,000 loaded without one, each in a probe first. Only a probe may crash, or a process that opens
// a file whose damaged code ran well in the probe: what such code does depends on its address.
// TENON_TEST_SEED and TENON_TEST_TIMES (a factor) cover more than the default run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support.h"
#include "tenon/runtime/error.h"

using namespace tenon;
using namespace tenon::test;

namespace {

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

// Under a sanitizer a process is expensive, and a tenth of the files finds as much.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kDivisor = 10;
#else
constexpr int kDivisor = 1;
#endif

class Mutator {
 public:
  explicit Mutator(std::string good)
      : good_(std::move(good)), random_(setting("TENON_TEST_SEED", 1)) {}
  // Never the good file itself.
  std::string next() {
    std::string out;
    do {
      out = good_;
      switch (below(6)) {
        case 0:
          for (std::size_t n = 1 + below(8); n > 0; --n)
            out[below(out.size())] ^= static_cast<char>(1 << below(8));
          break;
        case 1:
          out.resize(below(out.size()));
          break;
        case 2:
          swap_blocks(out);
          break;
        case 3:
          fill(out, 0, 64);
          break;
        case 4:  // a program header, or several in sequence
          fill(out, 64 + 56 * below(9), 8 * (1 + below(14)));
          break;
        default:
          fill(out, below(out.size()), 1 + below(256));
      }
    } while (out == good_);
    return out;
  }

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  void fill(std::string& s, std::size_t at, std::size_t n) {
    // Whole random headers never get past the first four bytes: most keep them.
    if (at == 0 && below(8) != 0) at = 4 + below(60), n = 1 + below(8);
    for (std::size_t i = at; i < std::min(at + n, s.size()); ++i)
      s[i] = static_cast<char>(below(256));
  }
  void swap_blocks(std::string& s) {
    std::size_t n = std::size_t{8} << below(7), a = below(s.size() - n), b = below(s.size() - n);
    std::string kept = s.substr(a, n);
    for (std::size_t i = 0; i < n; ++i) s[a + i] = s[b + i];
    for (std::size_t i = 0; i < n; ++i) s[b + i] = kept[i];
  }

  const std::string good_;
  std::mt19937_64 random_;
};

// The reason without what is specific to the file: paths, numbers, names.
std::string kind_of(const std::string& reason, const std::string& path) {
  std::string out;
  for (char c : reason.rfind(path, 0) == 0 ? reason.substr(path.size()) : reason) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) continue;
    if (c < '0' || c > '9') out += c;
  }
  return out.substr(0, 70);
}

std::string table(const std::map<std::string, int>& kinds) {
  std::string out;
  for (auto& [kind, n] : kinds) out += std::to_string(n) + "\t" + kind + "\n";
  return out;
}

}  // namespace

TEST(PluginCorruption, UnderTheGoodFilesHashNothingIsEverOpened) {
  const int times = 6000 / kDivisor * setting("TENON_TEST_TIMES", 1);
  Folder f;
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [&] {
    f.add("works", "works", {{"sha256", '"' + sha256_of(built_plugin("works")) + '"'}});
    Mutator mutator(bytes_of(built_plugin("works")));
    std::map<std::string, int> kinds;
    std::string path = (f / "libtenon_works.so").string();
    for (int i = 0; i < times; ++i) {
      f.write("libtenon_works.so", mutator.next());
      try {
        plugins::load((f / "libtenon_works.json").string());
        ADD_FAILURE() << "mutation " << i << " was opened";
      } catch (const BackendError& e) {
        ++kinds[kind_of(e.what(), path)];
      }
    }
    EXPECT_EQ(bytes_of("/proc/self/maps").find(path), std::string::npos);
    EXPECT_GE(kinds.size(), 15u);
    EXPECT_EQ(core_works(), "");
    // The folder's own good file still opens.
    f.add("works", "works", {{"sha256", '"' + sha256_of(built_plugin("works")) + '"'}});
    return std::string(
               plugins::to_string(plugins::load((f / "libtenon_works.json").string()).state)) +
           "\n" + table(kinds);
  });
  EXPECT_EQ(out.rfind("opened\n", 0), 0u) << out;
  std::printf("%d files refused before they were opened:\n%s", times, out.c_str());
}

#if !defined(__SANITIZE_THREAD__)  // where a child that crashes may hang
TEST(PluginCorruption, WithoutAManifestOnlyProbesDie) {
  const int times = 2000 / kDivisor * setting("TENON_TEST_TIMES", 1);
  Mutator mutator(bytes_of(built_plugin("works")));
  Folder f;
  std::map<std::string, int> kinds;
  int died_in_probe = 0, died_of_code = 0;
  for (int i = 0; i < times; ++i) {
    std::string name = "libtenon_m" + std::to_string(i) + ".so";
    f.write(name, mutator.next());
    std::string path = (f / name).string();
    int killed_by = 0;
    const auto load = [&] {
      std::string why = "opened";
      try {
        plugins::load(path);
      } catch (const BackendError& e) {
        why = e.what();
      }
      // It costs 7 ms. One that was opened may hold the name or the device.
      if (i % 20 == 0 && why != "opened") {
        EXPECT_EQ(core_works(), "") << why;
      }
      return why;
    };
    const std::string said = in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, load, &killed_by);
    EXPECT_TRUE(killed_by == 0 || said.empty() || said == "opened")
        << "mutation " << i << " was refused: " << said;
    EXPECT_TRUE(killed_by != 0 || !said.empty()) << "mutation " << i;
    died_of_code += killed_by != 0;
    died_in_probe += said.find("the probe process") != std::string::npos;
    ++kinds[kind_of(said, path)];
    fs::remove(f / name);
  }
  // The checks before dlopen are good, but the probe still finds some.
  EXPECT_GE(died_in_probe, times / 200);
  EXPECT_LE(died_of_code, 2) << "processes with a file that was opened died";
  std::printf("%d files, %d probes died, and %d processes of the code of an opened file:\n%s",
              times, died_in_probe, died_of_code, table(kinds).c_str());
}
#endif
