// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <omp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <regex>
#include <set>
#include <thread>

namespace bench {
namespace {

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}

}  // namespace

Json median(const std::vector<double>& v) { return v.empty() ? Json() : Json(quantile(v, 0.5)); }

Json spread(const std::vector<double>& v) {
  return v.empty() ? Json() : Json((quantile(v, 0.75) - quantile(v, 0.25)) / quantile(v, 0.5));
}

namespace {

struct Contender {
  Side* side;
  int omp_threads;
  Loop loop{};
  long calls = 0;
  double per = 1;
  std::vector<double> ns{};
  bool ok = false;
  std::string failed{};

  // The sides share one OpenMP runtime: each sets its own number of threads before it runs. Ours
  // distributes its work over core's pool, so that oneDNN uses one thread.
  void restore_threads() const {
    if (side->set_threads && omp_threads > 1) side->set_threads(omp_threads);
    omp_set_num_threads(omp_threads);
  }

  // Of several implementations under one name, as lower bounds have, the fastest is kept.
  Contender& prepare(const std::string& name, double min_seconds = 2e-3) {
    double best = 0;
    for (std::size_t i = 0; side && i < side->suite.rows.size(); ++i) {
      const Row& row = side->suite.rows[i];
      if (row.name != name) continue;
      try {
        restore_threads();
        Loop candidate = row.make();
        long n = calibrate(candidate, min_seconds);
        double each =
            std::min(seconds(candidate, n), seconds(candidate, n)) / static_cast<double>(n);
        if (ok && each >= best) continue;
        loop = std::move(candidate);
        calls = n;
        per = row.per;
        best = each;
        ok = true;
      } catch (const std::exception& e) {
        failed = std::string(e.what()).substr(0, 120);
      }
    }
    return *this;
  }

  double run() {
    restore_threads();
    ns.push_back(seconds(loop, calls) / static_cast<double>(calls) * 1e9 / per);
    return ns.back();
  }
};

Contender of_ours(const Sides& s) { return {s.ours, 1}; }
Contender of_peer(const Sides& s, const Options& o) { return {s.peer, o.threads}; }
Contender of_lower_bounds(const Sides& s, const Options& o) { return {s.lower_bounds, o.threads}; }

// Idle workers of the other side's runtime may still spin.
void settle(const Options& o) {
  if (o.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Json once(const Sides& s, const Row& row, const Options& o) {
  Contender ours = of_ours(s), peer = of_peer(s, o), lower_bound = of_lower_bounds(s, o);
  for (Contender* c : {&ours, &peer, &lower_bound}) c->prepare(row.name);
  std::vector<double> ratios;
  for (int i = 0; i < o.pairs; ++i) {
    for (Contender* c : {&ours, &peer, &lower_bound}) {
      if (!c->ok) continue;
      settle(o);
      c->run();
    }
    if (ours.ok && peer.ok) ratios.push_back(ours.ns.back() / peer.ns.back());
  }
  Json j = {{"row", row.name}, {"group", row.group}, {"threads", o.threads}};
  j["ours_ns"] = median(ours.ns);
  j["peer_ns"] = median(peer.ns);
  j["lower_bound_ns"] = median(lower_bound.ns);
  j["ratio"] = median(ratios);
  j["spread"] = spread(!ratios.empty() ? ratios : ours.ok ? ours.ns : lower_bound.ns);
  if (!ours.failed.empty()) j["failed"] = ours.failed;
  return j;
}

}  // namespace

std::vector<const Row*> rows(const Sides& s, const std::string& pattern) {
  std::vector<const Row*> found;
  std::set<std::string> seen;
  std::regex wanted(pattern);
  for (Side* side : {s.ours, s.lower_bounds}) {
    if (!side) continue;
    for (const Row& row : side->suite.rows) {
      if (std::regex_match(row.name, wanted) && seen.insert(row.name).second) found.push_back(&row);
    }
  }
  return found;
}

Json best_of_three(const std::function<Json()>& once) {
  Json best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    Json j = once();
    if (best.is_null() || (j["spread"].is_number() && j["spread"] < best["spread"])) best = j;
    if (!best["spread"].is_number() || best["spread"] <= 0.15) return best;
  }
  best["noisy"] = true;
  return best;
}

Json measure(const Sides& s, const Row& row, const Options& o) {
  return best_of_three([&] { return once(s, row, o); });
}

Neighbors::Neighbors(int count) {
  for (int i = 0; i < count; ++i) {
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      for (volatile unsigned long turns = 0;;) turns = turns + 1;
    }
    if (pid > 0) pids.push_back(pid);
  }
  pause();
}

Neighbors::~Neighbors() {
  for (int pid : pids) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void Neighbors::run() const {
  for (int pid : pids) kill(pid, SIGCONT);
}

void Neighbors::pause() const {
  for (int pid : pids) kill(pid, SIGSTOP);
}

Json measure_busy(const Sides& s, const Row& row, const Options& o, const Neighbors& n) {
  Json j = {{"row", row.name}, {"group", row.group}, {"threads", o.threads}, {"busy", o.busy}};
  for (auto [name, c] :
       {std::pair<std::string, Contender>{"ours", of_ours(s)}, {"peer", of_peer(s, o)}}) {
    // Many time slices of the scheduler in one repetition.
    if (c.side) c.prepare(row.name, 0.1);
    std::vector<double> alone, beside, ratios;
    for (int i = 0; c.ok && i < o.pairs; ++i) {
      settle(o);
      alone.push_back(c.run());
      n.run();
      settle(o);
      beside.push_back(c.run());
      n.pause();
      ratios.push_back(beside.back() / alone.back());
    }
    j[name + "_ns"] = median(alone);
    j[name + "_busy_ns"] = median(beside);
    j[name + "_busy_ratio"] = median(ratios);
    j[name + "_busy_spread"] = spread(ratios);
    if (name == "ours" && !c.failed.empty()) j["failed"] = c.failed;
  }
  return j;
}

}  // namespace bench
