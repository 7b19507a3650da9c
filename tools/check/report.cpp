// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

constexpr char kVerdicts[] = "+!?";

std::string one_line(std::string s) {
  for (char& c : s) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return s;
}

// Without numbers, so that similar ones are counted together.
std::string kind_of_reason(const std::string& reason) {
  std::string out;
  for (char c : reason) {
    bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != '#')) out += '#';
  }
  return out.substr(0, 100);
}

}  // namespace

std::map<std::string, std::string> read_reasons(const std::string& path) {
  std::map<std::string, std::string> out;
  std::ifstream file(path);
  TENON_CHECK(file, ValueError, path, ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::istringstream operators(line.substr(0, colon));
    for (std::string op; operators >> op;) {
      TENON_CHECK(core::find_op(op), ValueError, path, ": there is no operator ", op);
      out[op] = line.substr(colon + 2);
    }
  }
  return out;
}

std::string encode(const std::string& id, const Findings& findings) {
  std::string out = one_line(id);
  for (const Finding& f : findings.all()) {
    out += '\t';
    out += kVerdicts[static_cast<int>(f.verdict)];
    out += static_cast<char>('A' + static_cast<int>(f.property));
    out += one_line(f.reason);
  }
  return out;
}

std::vector<Finding> decode(const std::string& encoded, std::string& id) {
  std::vector<Finding> out;
  std::size_t tab = encoded.find('\t');
  id = encoded.substr(0, tab);
  while (tab != std::string::npos) {
    std::size_t end = encoded.find('\t', tab + 1);
    const std::string part =
        encoded.substr(tab + 1, end == std::string::npos ? end : end - tab - 1);
    auto verdict = static_cast<Verdict>(std::find(kVerdicts, kVerdicts + 3, part[0]) - kVerdicts);
    out.push_back({static_cast<Property>(part[1] - 'A'), verdict, part.substr(2)});
    tab = end;
  }
  return out;
}

void Report::Counts::add(const Counts& c) {
  passed += c.passed;
  failed += c.failed;
  not_run += c.not_run;
}

void Report::count(const std::string& id, Property p, Verdict v) {
  std::string op = id.substr(0, id.find(' '));
  ops_[op].add(v);
  properties_[static_cast<std::size_t>(p)].add(v);
  if (v != Verdict::NotRun) of_op_[op].insert(static_cast<int>(p));
}

void Report::add(const std::string& encoded) {
  std::string id;
  for (const Finding& f : decode(encoded, id)) {
    const char* name = kPropertyNames[static_cast<int>(f.property)];
    count(id, f.property, f.verdict);
    if (f.verdict == Verdict::NotRun)
      ++reasons_[std::string(name) + ": " + kind_of_reason(f.reason)];
    if (f.verdict == Verdict::Failed || (list_ && f.verdict == Verdict::NotRun)) {
      std::printf("%s %s, %s: %s\n", f.verdict == Verdict::Failed ? "FAILED" : "not run",
                  id.c_str(), name, f.reason.c_str());
      std::fflush(stdout);
    }
  }
}

void Report::died(const std::string& id, int signal) {
  std::printf("FAILED %s: the process died of signal %d\n", id.c_str(), signal);
  ops_[id.substr(0, id.find(' '))].add(Verdict::Failed);
}

void Report::print_counts(const std::string& name, const Counts& c) {
  std::printf("%-40s %8ld %8ld %8ld\n", name.c_str(), c.passed, c.failed, c.not_run);
}

// Prints the minimum and the mean, and the operators that have few; the number of those without a
// reason, or with one that they do not need.
long Report::check_property_counts() const {
  std::size_t sum = 0, smallest = kProperties;
  long failed = 0;
  std::printf("\n");
  for (const auto& [op, unused] : ops_) {
    auto found = of_op_.find(op);
    const std::size_t n = found == of_op_.end() ? 0 : found->second.size();
    auto reason = few_.find(op);
    const bool few = n < static_cast<std::size_t>(min_properties_), excused = reason != few_.end();
    sum += n;
    smallest = std::min(smallest, n);
    if (few && excused)
      std::printf("%s: %zu properties: %s\n", op.c_str(), n, reason->second.c_str());
    if (few == excused) continue;
    std::printf("FAILED %s: %zu properties%s\n", op.c_str(), n,
                few ? "" : ", and a reason why it has few");
    ++failed;
  }
  std::printf(
      "%zu operators, properties per operator: at least %zu, %.1f in the mean\n", ops_.size(),
      smallest,
      static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(ops_.size(), 1)));
  return failed;
}

int Report::finish() const {
  std::map<std::string, Counts> families;
  Counts all;
  for (const auto& [op, c] : ops_) {
    const core::Op* definition = core::find_op(op);
    families[definition ? definition->family : "?"].add(c);
    all.add(c);
    if (table_) print_counts(op, c);
  }
  std::printf("\n%-40s %8s %8s %8s\n", "family", "passed", "failed", "not run");
  for (const auto& [family, c] : families) print_counts(family, c);
  std::printf("\n%-40s %8s %8s %8s\n", "property", "passed", "failed", "not run");
  for (int p = 0; p < kProperties; ++p)
    print_counts(kPropertyNames[p], properties_[static_cast<std::size_t>(p)]);
  std::vector<std::pair<long, std::string>> why;
  for (const auto& [reason, n] : reasons_) why.emplace_back(n, reason);
  std::sort(why.rbegin(), why.rend());
  if (!why.empty()) std::printf("\nnot run, because of\n");
  for (std::size_t k = 0; k < why.size() && (list_ || k < 10); ++k) {
    std::printf("%8ld %s\n", why[k].first, why[k].second.c_str());
  }
  all.failed += check_property_counts();
  for (const std::string& op : no_samples_) std::printf("FAILED %s: has no samples\n", op.c_str());
  std::printf("%ld passed, %ld failed, %ld not run\n", all.passed,
              all.failed + static_cast<long>(no_samples_.size()), all.not_run);
  return all.failed || !no_samples_.empty() || !all.passed ? 1 : 0;
}

}  // namespace tenon::check
