// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schedules of a program's nests as text, and the space of those that are worth trying.
#pragma once

#include <random>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::jit::comprehension {

// The program's text with a schedule for each nest: what follows the word `schedule`, or nothing.
std::string add_schedules(const std::string& text, const std::vector<std::string>& lines);

// The schedules of a program's nests, without the word.
std::vector<std::string> schedules_of(const sdk::loop_program::Program& program);

// Draws schedules for the nests of a program whose sizes are numbers.
class ScheduleSpace {
 public:
  ScheduleSpace(sdk::loop_program::Program program, uint64_t seed);

  using Schedules = std::vector<sdk::loop_program::Schedule>;  // by nest
  Schedules draw();
  Schedules mutate(Schedules schedules);
  Schedules cross(const Schedules& a, const Schedules& b);
  // As lines of text.
  std::vector<std::string> lines(const Schedules& schedules);

 private:
  using Schedule = sdk::loop_program::Schedule;
  int64_t below(int64_t n);
  bool chance(double p);
  Schedule draw(const sdk::loop_program::Nest& nest);
  void draw_vector(const sdk::loop_program::Nest& nest, Schedule& s);
  void draw_tiles(const sdk::loop_program::Nest& nest, Schedule& s);
  void draw_packed(const sdk::loop_program::Nest& nest, Schedule& s);
  void draw_order(const sdk::loop_program::Nest& nest, Schedule& s);
  void draw_grain(Schedule& s);

  sdk::loop_program::Program program_;
  std::mt19937_64 random_;
};

}  // namespace tenon::jit::comprehension
