// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

// What the child sends: 's' text '\n' for a step, 'r' text '\0' for the result. The reader does not
// wait for the end of the pipe: a library may have started a process that still holds it.
constexpr char kStep = 's', kResult = 'r', kEnd = '\0';

void send(int fd, char kind, std::string text) {
  for (char& c : text) {
    if (c == '\n' && kind == kStep) c = ' ';
  }
  text.insert(text.begin(), kind);
  text += kind == kStep ? '\n' : kEnd;
  for (std::size_t at = 0; at < text.size();) {
    ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

using Work = std::function<std::string(const std::function<void(const char*)>&)>;

// Damaged code may return with another stack pointer. Many functions live with one that is not
// aligned, until one uses aligned instructions.
__attribute__((noinline)) bool stack_is_aligned() {
  constexpr uintptr_t kAlignment = 16;
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) % kAlignment == 0;
}

void announce(int fd, const char* step) {
  if (!stack_is_aligned()) {
    send(fd, kResult, "it moved the stack pointer of the probe process");
    _exit(0);
  }
  send(fd, kStep, step);
}

std::string call(const Work& f, int fd) {
  try {
    return f([fd](const char* step) { announce(fd, step); });
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "it threw something that is not a std::exception";
  }
}

// This process ends before it uses the frames of its callers, which the damaged code of a function
// that fills a caller's variable is likely to hit. So there is something to look at above f's own.
std::string call_below_zone(const Work& f, int fd) {
  constexpr std::size_t kZone = 16 << 10;
  constexpr unsigned char kMark = 0xa5;
  volatile unsigned char zone[kZone];
  for (volatile unsigned char& byte : zone) byte = kMark;
  std::string result = call(f, fd);
  for (const volatile unsigned char& byte : zone) {
    if (result.empty() && byte != kMark)
      result = "it wrote to the stack of the probe process, outside of what it was given";
  }
  return result;
}

[[noreturn]] void run_child(int fd, const Work& f) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(s, SIG_DFL);
  int quiet = open("/dev/null",
                   O_WRONLY | O_CLOEXEC);  // the parent reports what the runtime prints on a crash
  if (quiet >= 0) dup2(quiet, STDERR_FILENO);
  const std::string result = call_below_zone(f, fd);
  send(fd, kResult, result);
  _exit(0);
}

// Reads until the end or the deadline; false at the deadline.
bool read_all(int fd, int milliseconds, std::string& out) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd p{fd, POLLIN, 0};
    int ready = left > 0 ? poll(&p, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out.append(buffer, static_cast<std::size_t>(n));
    if (out.back() == kEnd) return true;
  }
}

// Removes the leading steps from what the child sent; true if a result follows.
bool parse_report(std::string& text, std::string& step) {
  while (!text.empty() && text[0] == kStep) {
    std::size_t end = text.find('\n');
    if (end == std::string::npos) return false;
    step = text.substr(1, end - 1);
    text.erase(0, end + 1);
  }
  if (text.size() < 2 || text[0] != kResult || text.back() != kEnd) return false;
  text = text.substr(1, text.size() - 2);
  return true;
}

std::string describe_end(int status, bool in_time, int milliseconds, const std::string& step) {
  std::string during = step.empty() ? "" : " during " + step;
  if (!in_time) return core::join("it did not finish within ", milliseconds, " ms", during);
  if (WIFSIGNALED(status)) {
    return core::join("it killed the probe process", during, ": signal ", WTERMSIG(status), " (",
                      strsignal(WTERMSIG(status)), ")");
  }
  return core::join("it ended the probe process", during, ", with status ", WEXITSTATUS(status));
}

}  // namespace

ProbeResult run_in_probe(
    const std::function<std::string(const std::function<void(const char*)>&)>& f,
    int milliseconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {core::join("no pipe for the probe process: ", strerror(errno)), true};
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], f);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return {core::join("no probe process: ", strerror(errno)), true};
  }
  std::string text, step;
  bool in_time = read_all(ends[0], milliseconds, text);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  bool has_result = parse_report(text, step);
  if (has_result && in_time) return {text, false};
  return {describe_end(status, in_time, milliseconds, step), true};
}

}  // namespace tenon::plugins
