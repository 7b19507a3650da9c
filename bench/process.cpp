// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows of whole processes: what the library costs a program that adds once and exits (startup.cpp),
// and what it costs to compile a file that includes all of it (compile_all.cpp).
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <regex>
#include <stdexcept>

#include "bench/measure.h"

extern char** environ;

namespace bench {
namespace {

struct Ran {
  double ns;
  long peak;  // resident bytes, of the largest process where there are several
};

Ran run(const std::string& program) {
  char* argv[] = {const_cast<char*>(program.c_str()), nullptr};
  auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  int status = 0;
  rusage used{};
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ) != 0 ||
      wait4(pid, &status, 0, &used) != pid || status != 0) {
    throw std::runtime_error(program + " failed");
  }
  return {
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count(),
      used.ru_maxrss * 1024};
}

Json resident(const std::string& program) {
  FILE* pipe = popen(("'" + program + "' bytes").c_str(), "r");
  if (!pipe) return nullptr;
  char text[256] = {};
  bool read = std::fgets(text, sizeof text, pipe) != nullptr;
  pclose(pipe);
  Json j = read ? Json::parse(text, nullptr, false) : Json();
  return j.is_object() ? j.value("bytes", Json()) : Json();
}

std::string with_name(const std::vector<std::string>& given, const std::string& name) {
  for (const std::string& g : given) {
    if (g.rfind(name + "=", 0) == 0) return g.substr(name.size() + 1);
  }
  return "";
}

Json once(const std::string& name, const Options& o) {
  const std::string ours_program = with_name(o.process_ours, name),
                    peer_program = with_name(o.process_peer, name);
  const bool compiles = name == "compile_all";
  Json j = {{"row", name}, {"group", "process"}, {"threads", o.threads}};
  std::vector<double> ours, peer, ratios;
  Json ours_bytes, peer_bytes;
  try {
    // The first of each reads its files from disk. A compiler works for many seconds.
    for (int i = -1; i < (compiles ? std::min(o.pairs, 3) : o.pairs); ++i) {
      const Ran a = run(ours_program), b = peer_program.empty() ? Ran{} : run(peer_program);
      if (compiles) ours_bytes = a.peak;
      if (compiles && b.ns > 0) peer_bytes = b.peak;
      if (i < 0) continue;
      ours.push_back(a.ns);
      if (b.ns > 0) peer.push_back(b.ns), ratios.push_back(a.ns / b.ns);
    }
    if (!compiles) ours_bytes = resident(ours_program);
    if (!compiles && !peer_program.empty()) peer_bytes = resident(peer_program);
  } catch (const std::exception& e) {
    j["failed"] = e.what();
  }
  j["ours_ns"] = median(ours);
  j["peer_ns"] = median(peer);
  j["lower_bound_ns"] = nullptr;
  j["ratio"] = median(ratios);
  j["spread"] = spread(ratios.empty() ? ours : ratios);
  j["ours_bytes"] = ours_bytes;
  j["peer_bytes"] = peer_bytes;
  return j;
}

}  // namespace

std::vector<std::string> process_rows(const Options& o) {
  std::vector<std::string> names;
  const std::regex wanted(o.rows);
  for (const std::string& given : o.process_ours) {
    std::string name = given.substr(0, given.find('='));
    if (!o.busy && std::regex_match(name, wanted)) names.push_back(std::move(name));
  }
  return names;
}

Json measure_process(const std::string& name, const Options& o) {
  return best_of_three([&] { return once(name, o); });
}

}  // namespace bench
