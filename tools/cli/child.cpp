// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>

#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

constexpr int kThrew = 97;                    // exit status of a child whose body threw
constexpr std::size_t kMaxBytes = 64u << 20;  // of what a child may send
constexpr char kFault = '\x01';  // begins the text of an exception, at the end of what was sent
constexpr char kDone = '\x02';   // the end of what a body sent that returned

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(kThrew);
    at += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void run_child(int fd, const std::function<void(const Send&)>& body) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  try {
    body([fd](const std::string& text) { write_all(fd, text); });
    write_all(fd, std::string(1, kDone));
  } catch (const std::exception& e) {
    write_all(fd, kFault + std::string(e.what()));
    _exit(kThrew);
  } catch (...) {
    write_all(fd, kFault + std::string("threw an exception of an unknown type"));
    _exit(kThrew);
  }
  _exit(0);  // no destructors of a library that is not trusted
}

std::string failure_of(int status, std::string& text) {
  if (WIFSIGNALED(status)) {
    return core::join("crashed with signal ", WTERMSIG(status), " (",
                      std::string(strsignal(WTERMSIG(status))), ")");
  }
  if (WEXITSTATUS(status) == 0 && !text.empty() && text.back() == kDone) {
    text.pop_back();
    return {};
  }
  std::size_t at = text.rfind(kFault);
  if (WEXITSTATUS(status) != kThrew || at == std::string::npos) {
    return core::join("ended the process with status ", WEXITSTATUS(status));
  }
  std::string out = text.substr(at + 1);
  text.erase(at);
  return out;
}

}  // namespace

ChildResult run_in_child(const std::function<void(const Send&)>& body, int seconds) {
  int fds[2];
  TENON_CHECK(pipe2(fds, O_CLOEXEC) == 0, Error,
              "cannot create a pipe: ", std::string(std::strerror(errno)));
  pid_t pid = fork();
  TENON_CHECK(pid >= 0, Error, "cannot start a child process: ", std::string(std::strerror(errno)));
  if (pid == 0) run_child(fds[1], body);
  close(fds[1]);
  ChildResult out;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    pollfd p{fds[0], POLLIN, 0};
    int ready = left > 0 ? poll(&p, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    char buffer[1 << 16];
    ssize_t n = ready > 0 ? read(fds[0], buffer, sizeof buffer) : -1;
    if (n > 0) out.text.append(buffer, static_cast<std::size_t>(n));
    if (n > 0 && out.text.size() < kMaxBytes) continue;
    if (n != 0) {
      kill(pid, SIGKILL);
      out.failure =
          n > 0 ? "sent more than 64 MiB" : core::join("did not end within ", seconds, " s");
    }
    break;
  }
  close(fds[0]);
  int status = 0;  // the pipe may have been closed by a child that goes on
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (out.failure.empty() && std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      out.failure = core::join("did not end within ", seconds, " s");
    }
    usleep(1000);
  }
  if (out.failure.empty()) out.failure = failure_of(status, out.text);
  return out;
}

}  // namespace tenon::command
