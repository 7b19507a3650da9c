// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One rank of `tenon launch`: a process in a group of its own, whose output comes through pipes.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace tenon::command {

// What a process writes, passed on in whole lines, each with a prefix.
class LinePipe {
 public:
  LinePipe() = default;
  LinePipe(const LinePipe&) = delete;
  LinePipe& operator=(const LinePipe&) = delete;
  ~LinePipe();
  // Makes the pipe; the result is the end to write to. `to` is what lines are passed on to.
  int open(int to, std::string prefix);
  int fd() const { return fd_; }  // -1: at its end
  // Reads what is there. False if nobody takes what is passed on.
  bool pump();
  // The rest, without a newline or not.
  bool finish();

 private:
  bool pass_on(bool all);

  int fd_ = -1, to_ = -1;
  std::string prefix_, waiting_;
};

class RankProcess {
 public:
  // Error: the program cannot be run.
  void start(int rank, const std::vector<std::string>& program,
             const std::map<std::string, std::string>& environment, bool prefix);
  // To all processes of its group.
  void signal(int number) const;
  // False while it runs. Takes the exit status of every process of its group that has ended.
  bool ended();
  // Ends what it has started and left behind; waits for that, up to a second.
  void end_left_behind();
  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  // As a shell has it: 128 + N for signal N.
  int exit_status() const;
  // Empty, or "exited with status 3", "was killed by signal 9 (Killed)".
  std::string failure() const;

  LinePipe out, err;

 private:
  int rank_ = 0, status_ = 0;
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace tenon::command
