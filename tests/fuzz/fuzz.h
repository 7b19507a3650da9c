// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What all fuzzers share: a seed that is printed, checks that can be repeated one by one, and a
// child process that makes a death or a hang a finding like any other. docs/hacking.md says how to
// run them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace tenon::fuzz {

// The random choices of one check; the same for the same seed and number of the check.
class Random {
 public:
  Random(uint64_t seed, uint64_t check) {
    std::seed_seq words{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                        static_cast<uint32_t>(check), static_cast<uint32_t>(check >> 32)};
    engine_.seed(words);
  }
  uint64_t bits() { return engine_(); }
  // Uniform in [0, n); n > 0.
  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(engine_); }
  // Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  bool chance(double p) { return real(0, 1) < p; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// One check. Returns what is wrong, or nothing; an exception that leaves it is a finding, too.
using Check = std::function<std::string(Random&)>;

struct Fuzzer {
  const char* name;  // of the program: fuzz_NAME
  const char* what;  // one sentence for --help
  Check check;
  std::function<void()> prepare = {};  // once in each child, before its first check
  double hang_seconds = 20;            // a check that takes longer is a hang
};

// Counts a check under a word of the fuzzer's own ("refused", "compared"); the totals are printed.
// Literals only; at most 32 different ones.
void tally(const char* kind);

// Any bytes changed, cut, doubled or added.
std::string scramble(std::string bytes, Random& random);

// The process may map `more` bytes beside those of now; no limit under the address sanitizer.
void limit_address_space(uint64_t more);

// The whole program: parses --seed, --seconds, --checks and --only, runs checks in children, prints
// findings as they come and the totals at the end. Returns the exit status: 1 if anything was
// found.
int run(int argc, char** argv, const Fuzzer& fuzzer);

}  // namespace tenon::fuzz
