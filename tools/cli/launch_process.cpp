// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "launch_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tenon/runtime/error.h"

extern char** environ;

namespace tenon::command {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;  // bytes; a longer one is passed on in parts

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry = *e;
    if (changes.count(entry.substr(0, entry.find('='))) == 0) out.push_back(entry);
  }
  for (const auto& [name, value] : changes) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child: nothing but system calls. `failed` takes errno if the program cannot be run.
[[noreturn]] void become(char* const* program, char** environment, pid_t parent, int out, int err,
                         int failed) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it ended before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);  // ignored in the background of a script; here it is passed on
  const int null = ::open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  environ = environment;
  execvp(program[0], program);
  const int error = errno;
  (void)!write(failed, &error, sizeof error);
  _exit(127);
}

}  // namespace

LinePipe::~LinePipe() {
  if (fd_ >= 0) close(fd_);
}

int LinePipe::open(int to, std::string prefix) {
  int fds[2];
  TENON_CHECK(pipe2(fds, O_CLOEXEC) == 0, Error,
              "cannot create a pipe: ", std::string(std::strerror(errno)));
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  fd_ = fds[0];
  to_ = to;
  prefix_ = std::move(prefix);
  return fds[1];
}

bool LinePipe::pass_on(bool all) {
  std::size_t begin = 0;
  std::string text;
  while (begin < waiting_.size()) {
    const std::size_t end = waiting_.find('\n', begin);
    if (end == std::string::npos && !all && waiting_.size() - begin < kLongestLine) break;
    const std::size_t stop = end == std::string::npos ? waiting_.size() : end;
    text += prefix_ + waiting_.substr(begin, stop - begin) + "\n";
    begin = end == std::string::npos ? stop : stop + 1;
  }
  waiting_.erase(0, begin);
  return write_all(to_, text);
}

bool LinePipe::pump() {
  char buffer[1 << 14];
  while (fd_ >= 0) {
    const ssize_t n = read(fd_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return finish();
    waiting_.append(buffer, static_cast<std::size_t>(n));
    if (!pass_on(false)) return false;
  }
  return true;
}

bool LinePipe::finish() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  return pass_on(true);
}

void RankProcess::start(int rank, const std::vector<std::string>& program,
                        const std::map<std::string, std::string>& environment, bool prefix) {
  rank_ = rank;
  const std::string before = prefix ? "[" + std::to_string(rank) + "] " : std::string();
  const int to_out = out.open(STDOUT_FILENO, before), to_err = err.open(STDERR_FILENO, before);
  int failed[2];
  TENON_CHECK(pipe2(failed, O_CLOEXEC) == 0, Error,
              "cannot create a pipe: ", std::string(std::strerror(errno)));
  const std::vector<std::string> env = environment_with(environment);
  const std::vector<char*> arguments = pointers(program), variables = pointers(env);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become(arguments.data(), const_cast<char**>(variables.data()), parent, to_out, to_err,
           failed[1]);
  }
  const int fork_error = errno;
  close(to_out);
  close(to_err);
  close(failed[1]);
  int error = 0;
  const bool ran = pid_ > 0 && read(failed[0], &error, sizeof error) == 0;
  close(failed[0]);
  TENON_CHECK(pid_ > 0, Error, "cannot start a process: ", std::string(std::strerror(fork_error)));
  if (!ran) waitpid(pid_, nullptr, 0), pid_ = -1, ended_ = true;
  TENON_CHECK(ran, ValueError, "launch: cannot run '", program[0],
              "': ", std::string(std::strerror(error)));
}

void RankProcess::signal(int number) const {
  if (pid_ > 0 && kill(-pid_, number) != 0) kill(pid_, number);
}

bool RankProcess::ended() {
  int status = 0;
  for (pid_t p; pid_ > 0 && (p = waitpid(-pid_, &status, WNOHANG)) > 0;) {
    if (p == pid_) ended_ = true, status_ = status;
  }
  return ended_;
}

// The launcher is the parent of what its ranks leave, so a group without a child of its own is
// gone, and its number may be another's.
void RankProcess::end_left_behind() {
  for (int tries = 0; ended() && tries < 100; ++tries) {
    siginfo_t info{};
    const auto group = static_cast<id_t>(pid_);
    if (waitid(P_PGID, group, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    kill(-pid_, SIGKILL);
    usleep(10'000);
  }
}

int RankProcess::exit_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string RankProcess::failure() const {
  if (WIFSIGNALED(status_)) {
    return core::join("was killed by signal ", WTERMSIG(status_), " (",
                      std::string(strsignal(WTERMSIG(status_))), ")");
  }
  if (WEXITSTATUS(status_) == 0) return {};
  return core::join("exited with status ", WEXITSTATUS(status_));
}

}  // namespace tenon::command
