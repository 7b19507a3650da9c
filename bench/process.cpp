// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The row of whole processes: what having the library costs a program that adds once and exits (startup.cpp).
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "bench/measure.h"

extern char** environ;

namespace bench {
namespace {

double wall_ns(const std::string& program) {
  char* argv[] = {const_cast<char*>(program.c_str()), nullptr};
  auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  int status = 0;
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ) != 0 || waitpid(pid, &status, 0) != pid ||
      status != 0) {
    throw std::runtime_error(program + " failed");
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
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

Json once(const Options& o) {
  Json j = {{"row", "startup"}, {"group", "process"}, {"threads", o.threads}};
  std::vector<double> ours, peer, ratios;
  try {
    for (int i = -1; i < o.pairs; ++i) {  // the first of each reads its files from disk
      double a = wall_ns(o.startup_ours), b = o.startup_peer.empty() ? 0 : wall_ns(o.startup_peer);
      if (i < 0) continue;
      ours.push_back(a);
      if (b > 0) peer.push_back(b), ratios.push_back(a / b);
    }
  } catch (const std::exception& e) {
    j["failed"] = e.what();
  }
  j["ours_ns"] = median(ours);
  j["peer_ns"] = median(peer);
  j["floor_ns"] = nullptr;
  j["ratio"] = median(ratios);
  j["spread"] = spread(ratios.empty() ? ours : ratios);
  j["ours_bytes"] = resident(o.startup_ours);
  j["peer_bytes"] = o.startup_peer.empty() ? Json() : resident(o.startup_peer);
  return j;
}

}  // namespace

Json measure_startup(const Options& o) {
  return best_of_three([&] { return once(o); });
}

}  // namespace bench
