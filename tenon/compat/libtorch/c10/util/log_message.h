// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A line of a program's log by libtorch's names: "[W file.cpp:12] text".
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string_view>

namespace c10 {

inline constexpr int GLOG_INFO = 0, GLOG_WARNING = 1, GLOG_ERROR = 2, GLOG_FATAL = 3;

namespace detail {

inline int log_level_of_environment() {
  const char* text = std::getenv("TORCH_CPP_LOG_LEVEL");
  if (!text || !*text) return GLOG_WARNING;
  constexpr const char* kNames[] = {"INFO", "WARNING", "ERROR", "FATAL"};
  for (int level = GLOG_INFO; level <= GLOG_FATAL; ++level) {
    if (std::strcmp(text, kNames[level]) == 0) return level;
  }
  return std::atoi(text);
}

}  // namespace detail

// Lines below it are dropped. A program sets it before its threads begin.
inline int& log_level() {
  static int level = detail::log_level_of_environment();
  return level;
}
inline void ShowLogInfoToStderr() { log_level() = GLOG_INFO; }

// Writes the line as it ends; one of FATAL always, and then ends the program.
class MessageLogger {
 public:
  MessageLogger(const char* file, int line, int severity) : severity_(severity) {
    const std::string_view path(file);
    text_ << '[' << "VIWEF"[std::clamp(severity, -1, GLOG_FATAL) + 1] << ' '
          << path.substr(path.find_last_of('/') + 1) << ':' << line << "] ";
  }
  ~MessageLogger() {
    if (severity_ < log_level() && severity_ != GLOG_FATAL) return;
    text_ << '\n';
    std::cerr << text_.str() << std::flush;
    if (severity_ == GLOG_FATAL) std::abort();
  }
  MessageLogger(const MessageLogger&) = delete;
  MessageLogger& operator=(const MessageLogger&) = delete;
  std::ostream& stream() { return text_; }

 private:
  int severity_;
  std::ostringstream text_;
};

// Makes a statement of a line that may not be written.
struct LoggerVoidify {
  void operator&(const std::ostream&) {}
};

}  // namespace c10
