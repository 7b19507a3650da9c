// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace tenon::fake {
namespace {

std::mutex g_lock;

std::map<std::string, std::string>& values() {
  static auto& all = *new std::map<std::string, std::string>;
  return all;
}

// Under g_lock.
std::string& value(const std::string& name) {
  const auto [place, fresh] = values().try_emplace(name);
  if (fresh) {
    std::string variable = "TENON_FAKE_NCCL_" + name;
    for (char& c : variable) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (const char* set = std::getenv(variable.c_str())) place->second = set;
  }
  return place->second;
}

}  // namespace

std::string setting(const std::string& name) {
  std::lock_guard held(g_lock);
  return value(name);
}

int take_code(const std::string& setting_name, const std::string& name) {
  std::lock_guard held(g_lock);
  std::string& text = value(setting_name);
  const std::string begin = name.empty() ? "" : name + "=";
  if (text.empty() || text.rfind(begin, 0) != 0) return 0;
  const int code = std::atoi(text.c_str() + begin.size());
  text.clear();
  return code;
}

}  // namespace tenon::fake

extern "C" void tenon_fake_nccl_set(const char* name, const char* text) {
  std::lock_guard held(tenon::fake::g_lock);
  tenon::fake::value(name) = text;
}
