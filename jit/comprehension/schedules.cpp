// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/schedules.h"

#include <algorithm>
#include <set>

#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/print.h"

namespace tenon::jit::comprehension {
namespace {

namespace lp = sdk::loop_program;

constexpr int64_t kMaxTogether = 32;  // vectors times points of tiles: what registers could hold

template <class T, std::size_t n>
const T& pick(const T (&list)[n], int64_t i) {
  return list[static_cast<std::size_t>(i) % n];
}

int64_t extent(const lp::Nest& nest, int loop) { return nest.loops[loop].extent.constant; }

// Loops that the indices of the first store name: those of the others are added up.
std::set<int> named_loops(const lp::Nest& nest) {
  std::set<int> named;
  for (const lp::Affine& it : nest.stores[0].indices)
    for (const auto& [loop, by] : it.loops) named.insert(loop);
  return named;
}

int64_t together(const lp::Schedule& s) {
  int64_t n = std::max<int64_t>(1, s.vectors);
  for (const auto& [loop, points] : s.tiles) n *= points;
  return n;
}

}  // namespace

std::string add_schedules(const std::string& text, const std::vector<std::string>& lines) {
  std::string out;
  std::size_t nest = 0;
  const auto close = [&] {
    if (nest > 0 && nest <= lines.size() && !lines[nest - 1].empty())
      out += "  schedule " + lines[nest - 1] + "\n";
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.rfind("for", 0) == 0) {
      close();
      ++nest;
    }
    out += line;
    at = end;
  }
  close();
  lp::check(lp::parse(out));
  return out;
}

std::vector<std::string> schedules_of(const lp::Program& program) {
  std::vector<std::string> lines;
  const lp::Printer printer(program);
  for (const lp::Nest& it : program.nests)
    lines.push_back(it.schedule.empty() ? "" : printer.schedule(it));
  return lines;
}

ScheduleSpace::ScheduleSpace(lp::Program program, uint64_t seed)
    : program_(std::move(program)), random_(seed) {}

// The same on all standard libraries, which a distribution of theirs is not.
int64_t ScheduleSpace::below(int64_t n) {
  return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
}
bool ScheduleSpace::chance(double p) { return static_cast<double>(below(1 << 20)) < p * (1 << 20); }

void ScheduleSpace::draw_vector(const lp::Nest& nest, Schedule& s) {
  constexpr int64_t kVectors[] = {1, 2, 3, 4, 4, 6, 8};
  std::vector<int> loops;
  for (int l = 0; l < static_cast<int>(nest.loops.size()); ++l)
    if (extent(nest, l) > 1) loops.push_back(l);
  s.vector = loops.empty() ? -1 : loops[below(static_cast<int64_t>(loops.size()))];
  s.vectors = s.vector < 0 ? 0 : pick(kVectors, below(7));
}

void ScheduleSpace::draw_tiles(const lp::Nest& nest, Schedule& s) {
  constexpr int64_t kPoints[] = {2, 3, 4, 5, 6, 8, 10, 12, 14};
  s.tiles.clear();
  std::vector<int> loops;
  for (const int l : named_loops(nest))
    if (l != s.vector && extent(nest, l) > 1) loops.push_back(l);
  for (int t = 0; t < 2 && !loops.empty() && chance(t == 0 ? 0.9 : 0.3); ++t) {
    const auto i = loops.begin() + below(static_cast<int64_t>(loops.size()));
    const int64_t room = kMaxTogether / together(s);
    const int64_t points = std::min(pick(kPoints, below(9)), std::min(extent(nest, *i), room));
    if (points > 1) s.tiles.emplace_back(*i, points);
    loops.erase(i);
  }
}

// What vectors read by neighbors already is not packed, whatever the schedule says.
void ScheduleSpace::draw_packed(const lp::Nest& nest, Schedule& s) {
  s.packed.clear();
  for (const lp::Node& it : nest.nodes)
    if (it.kind == lp::Kind::kRead && chance(0.6) &&
        std::find(s.packed.begin(), s.packed.end(), it.source) == s.packed.end())
      s.packed.push_back(it.source);
}

void ScheduleSpace::draw_order(const lp::Nest& nest, Schedule& s) {
  s.order.clear();
  if (!chance(0.3)) return;
  for (int l = 0; l < static_cast<int>(nest.loops.size()); ++l) s.order.push_back(l);
  for (std::size_t i = s.order.size(); i > 1; --i)
    std::swap(s.order[i - 1], s.order[below(static_cast<int64_t>(i))]);
}

void ScheduleSpace::draw_grain(Schedule& s) {
  constexpr int64_t kGrains[] = {1 << 13, 1 << 16, 1 << 17, 1 << 18, 1 << 20};
  s.grain = chance(0.7) ? 0 : pick(kGrains, below(5));
}

lp::Schedule ScheduleSpace::draw(const lp::Nest& nest) {
  Schedule s;
  draw_vector(nest, s);
  draw_tiles(nest, s);
  draw_packed(nest, s);
  draw_order(nest, s);
  draw_grain(s);
  return s;
}

ScheduleSpace::Schedules ScheduleSpace::draw() {
  Schedules all;
  for (const lp::Nest& nest : program_.nests) all.push_back(chance(0.3) ? Schedule() : draw(nest));
  return all;
}

ScheduleSpace::Schedules ScheduleSpace::mutate(Schedules all) {
  const int64_t i = below(static_cast<int64_t>(all.size()));
  const lp::Nest& nest = program_.nests[i];
  Schedule& s = all[i];
  if (s.vector < 0) {
    s = draw(nest);
    return all;
  }
  switch (below(5)) {
    case 0:
      draw_vector(nest, s);
      draw_tiles(nest, s);
      break;
    case 1:
      draw_tiles(nest, s);
      break;
    case 2:
      draw_packed(nest, s);
      break;
    case 3:
      draw_order(nest, s);
      break;
    default:
      draw_grain(s);
  }
  return all;
}

ScheduleSpace::Schedules ScheduleSpace::cross(const Schedules& a, const Schedules& b) {
  Schedules all = a;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chance(0.5)) all[i] = b[i];
  return all;
}

std::vector<std::string> ScheduleSpace::lines(const Schedules& schedules) {
  for (std::size_t i = 0; i < schedules.size(); ++i) program_.nests[i].schedule = schedules[i];
  return schedules_of(program_);
}

}  // namespace tenon::jit::comprehension
