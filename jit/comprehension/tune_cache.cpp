// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/tune_cache.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "runtime/base/json.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::jit::comprehension {
namespace {

using core::Json;

constexpr int64_t kFormat = 1;
constexpr int kMaxDepth = 8;

void ignore(const std::string& file, const std::string& what, const std::string& why) {
  core::log(TN_LOG_INFO, core::join("schedules of ", file, ": ", what, " ignored: ", why));
}

// The entries; none where there is no file or it is damaged, which `note` then says.
Json::Array read(const std::string& file, std::string& note) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  std::stringstream text;
  text << in.rdbuf();
  try {
    Json json = Json::parse(text.str(), kMaxDepth);
    const Json* format = json.find("format");
    const uint64_t* number = format ? format->as<uint64_t>() : nullptr;
    Json::Object* members = json.as<Json::Object>();
    if (number && *number == kFormat)
      for (auto& [name, value] : *members)
        if (Json::Array* entries = value.as<Json::Array>(); entries && name == "entries")
          return std::move(*entries);
    note = "it is not a file of schedules, or of another version";
  } catch (const Json::Error& e) {
    note = core::join("it ", e.what());
  }
  return {};
}

std::string text_of(const Json& entry, const char* key) {
  const Json* it = entry.find(key);
  const std::string* text = it ? it->as<std::string>() : nullptr;
  return text ? *text : "";
}

double number_of(const Json& entry, const char* key) {
  const Json* it = entry.find(key);
  const double* real = it ? it->as<double>() : nullptr;
  const uint64_t* whole = it ? it->as<uint64_t>() : nullptr;
  return real ? *real : whole ? static_cast<double>(*whole) : 0;
}

// One text, so that it is compared as it is written.
std::string strides_text(const std::vector<std::vector<int64_t>>& strides) {
  std::string text;
  for (const std::vector<int64_t>& list : strides) {
    text += text.empty() ? "[" : " [";
    for (std::size_t i = 0; i < list.size(); ++i)
      text += (i > 0 ? ", " : "") + std::to_string(list[i]);
    text += "]";
  }
  return text;
}

bool is_of_program(const Json& entry, const TunedFor& key) {
  return text_of(entry, "program") == key.program &&
         text_of(entry, "strides") == strides_text(key.strides) &&
         number_of(entry, "threads") == key.threads;
}

// An entry of the same key, or empty.
bool is_same(const Json& entry, const TunedFor& key) {
  return is_of_program(entry, key) && text_of(entry, "device") == key.device &&
         text_of(entry, "versions") == key.versions;
}

std::optional<TunedEntry> entry_of(const Json& json) {
  const Json* list = json.find("schedules");
  if (!list || !list->as<Json::Array>()) return std::nullopt;
  TunedEntry entry;
  for (const Json& it : *list->as<Json::Array>()) {
    if (!it.as<std::string>()) return std::nullopt;
    entry.schedules.push_back(*it.as<std::string>());
  }
  entry.best = number_of(json, "microseconds");
  entry.untuned = number_of(json, "untuned_microseconds");
  return entry;
}

void write(const std::string& file, const std::string& text) {
  const std::string part = file + ".part" + std::to_string(::getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out && std::rename(part.c_str(), file.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  std::remove(part.c_str());
  TENON_CHECK(false, ValueError, "tune: the schedules cannot be kept in ", file, ": ", why);
}

}  // namespace

std::optional<TunedEntry> find_tuned(const std::string& file, const TunedFor& key) {
  std::string note;
  const Json::Array entries = read(file, note);
  if (!note.empty()) ignore(file, "the file is", note);
  for (const Json& it : entries) {
    if (is_same(it, key)) {
      std::optional<TunedEntry> entry = entry_of(it);
      if (!entry) ignore(file, "an entry is", "it is damaged");
      return entry;
    }
    if (is_of_program(it, key))
      ignore(file, "entry for " + text_of(it, "device"),
             "it is of " + text_of(it, "versions") + ", this is " + key.device + " with " +
                 key.versions);
  }
  return std::nullopt;
}

void keep_tuned(const std::string& file, const TunedFor& key, const TunedEntry& entry) {
  std::string note;
  Json::Array entries;
  for (Json& it : read(file, note))
    if (!is_same(it, key)) entries.push_back(std::move(it));
  entries.emplace_back(Json::object(
      "program", key.program, "strides", strides_text(key.strides), "threads", int64_t{key.threads},
      "device", key.device, "versions", key.versions, "schedules", Json::list(entry.schedules),
      "microseconds", entry.best, "untuned_microseconds", entry.untuned));
  write(file, Json(Json::object("format", kFormat, "entries", std::move(entries))).dump() + "\n");
}

}  // namespace tenon::jit::comprehension
