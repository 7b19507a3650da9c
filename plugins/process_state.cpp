// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "process_state.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

constexpr int kSignals[8] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGCHLD};

std::string current_folder() {
  std::error_code ec;
  return std::filesystem::current_path(ec).string();  // empty if it was removed
}

// Without umask(), which would change it for a moment for every thread. Nothing if it cannot be
// read.
std::optional<mode_t> umask_now() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("Umask:", 0) == 0)
      return static_cast<mode_t>(std::stoul(line.substr(6), nullptr, 8));
  }
  return std::nullopt;
}

std::string locale_now() {
  const char* name = setlocale(LC_ALL, nullptr);
  return name ? name : "";
}

sigset_t blocked_now() {
  sigset_t now;
  sigemptyset(&now);
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return now;
}

bool same_signals(const sigset_t& a, const sigset_t& b) {
  for (int s = 1; s < 65; ++s) {
    if (sigismember(&a, s) != sigismember(&b, s)) return false;
  }
  return true;
}

// Rounding, traps and, on x86, denormals: the control word without the sticky flags.
unsigned float_mode(const fenv_t& f) {
#if defined(__x86_64__)
  constexpr unsigned kFlags = 0x3f;
  return f.__mxcsr & ~kFlags;
#elif defined(__aarch64__)
  return f.__fpcr;
#else
#error "process_state.cpp: name this machine's control word of floats"
#endif
}

}  // namespace

ProcessState::ProcessState()
    : folder_(current_folder()),
      locale_(locale_now()),
      umask_(umask_now()),
      signals_(blocked_now()) {
  for (int i = 0; i < 8; ++i) sigaction(kSignals[i], nullptr, &handlers_[i]);
  fegetenv(&floats_);
}

std::vector<std::string> ProcessState::restore() const {
  std::vector<std::string> out;
  if (std::string now = current_folder(); now != folder_ && !now.empty() && !folder_.empty()) {
    bool back = chdir(folder_.c_str()) == 0;
    out.push_back(core::join("the current directory was changed to ", now,
                             back ? "" : " and cannot be put back"));
  }
  if (std::string now = locale_now(); now != locale_) {
    setlocale(LC_ALL, locale_.c_str());
    out.push_back(core::join("the locale was changed from ", locale_, " to ", now));
  }
  if (const auto now = umask_now(); now && umask_ && now != umask_) {
    umask(*umask_);
    out.push_back("the file mode creation mask (umask) was changed");
  }
  if (!same_signals(blocked_now(), signals_)) {
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    out.push_back("the signal mask was changed");
  }
  for (int i = 0; i < 8; ++i) {
    struct sigaction now;
    sigaction(kSignals[i], nullptr, &now);
    if (now.sa_sigaction == handlers_[i].sa_sigaction) continue;
    sigaction(kSignals[i], &handlers_[i], nullptr);
    out.push_back(core::join("the handler of signal ", kSignals[i], " (", strsignal(kSignals[i]),
                             ") was changed"));
  }
  fenv_t floats;
  fegetenv(&floats);
  if (float_mode(floats) != float_mode(floats_)) {
    fesetenv(&floats_);
    out.push_back("the floating-point mode (rounding, denormals or traps) was changed");
  }
  return out;
}

}  // namespace tenon::plugins
