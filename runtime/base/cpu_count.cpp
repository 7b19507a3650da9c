// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace tenon::core {
namespace {

bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// One mounted hierarchy that can limit CPU time.
struct Mount {
  bool v2;
  std::string group;  // the group that is mounted
  std::string point;  // where
};

// Lines of mountinfo: "36 31 0:35 GROUP POINT options [tags] - TYPE source SUPER".
std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> out;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    Mount m;
    std::string word, type, super;
    std::istringstream before(line), after(line.substr(dash + 3));
    before >> word >> word >> word >> m.group >> m.point;
    after >> type >> word >> super;
    m.v2 = type == "cgroup2";
    if (m.v2 || (type == "cgroup" && has_item(super, "cpu"))) out.push_back(m);
  }
  return out;
}

// This process's group of a hierarchy. Lines: "0::GROUP" for version 2, "4:cpu,cpuacct:GROUP" for
// version 1.
std::string group_of_process(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_item(controllers, "cpu")) return line.substr(second + 1);
  }
  return {};
}

double read_quota(const std::string& folder, bool v2) {
  double quota = 0, period = 0;  // "max" does not parse and -1 (version 1) is negative: no quota
  if (v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

double min_quota(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

int count_affinity_cpus() {
  for (std::size_t n = 1024; n <= 1 << 20;
       n *= 2) {  // the kernel refuses a mask shorter than its own
    cpu_set_t* set = CPU_ALLOC(n);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(n);
    CPU_ZERO_S(bytes, set);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

}  // namespace

double cpu_quota(const std::string& root) {
  double quota = 0;
  for (const Mount& m : read_mounts(root)) {
    std::string group = group_of_process(root, m.v2);
    // In a container the mount may show a group below the host's root, and the process's own path
    // begins with it.
    if (m.group != "/" && (group + '/').compare(0, m.group.size() + 1, m.group + '/') == 0) {
      group.erase(0, m.group.size());
    }
    for (;;) {  // a limit of any ancestor counts
      while (!group.empty() && group.back() == '/') group.pop_back();
      quota = min_quota(quota, read_quota(root + m.point + group, m.v2));
      if (group.empty()) break;
      const std::size_t slash = group.rfind('/');
      group.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return quota;
}

int usable_cpus() {
  const int cpus = count_affinity_cpus();
  const double quota = cpu_quota("");
  return quota > 0 ? std::max(1, static_cast<int>(std::min<double>(cpus, std::ceil(quota)))) : cpus;
}

}  // namespace tenon::core
