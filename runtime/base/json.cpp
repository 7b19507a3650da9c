// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/json.h"

#include <nlohmann/json.hpp>
#include <set>

namespace tenon::core {
namespace {

using Library = nlohmann::json;

// Builds values from the events of the parser, and rejects what a header must not contain.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  explicit Builder(int max_depth) : max_depth_(max_depth) {}
  Json take() { return std::move(root_); }

  bool null() override { return put({}); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(int64_t v) override { return put(v); }
  bool number_unsigned(uint64_t v) override { return put(v); }
  bool number_float(double v, const std::string&) override { return put(v); }
  bool string(std::string& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (!open_.back().keys.insert(name).second) throw Json::Error("names '" + name + "' twice");
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    throw Json::Error(std::string("is not valid JSON: ") + e.what());
  }

 private:
  struct Level {
    bool object;
    Json::Array items;
    Json::Object members;
    std::string key;
    std::set<std::string> keys;
  };

  bool put(Json v) {
    if (open_.empty()) {
      root_ = std::move(v);
    } else if (open_.back().object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(v));
    } else {
      open_.back().items.push_back(std::move(v));
    }
    return true;
  }
  bool open(bool object) {
    if (static_cast<int>(open_.size()) == max_depth_) {
      throw Json::Error("nests deeper than " + std::to_string(max_depth_) + " levels");
    }
    open_.push_back({object, {}, {}, {}, {}});
    return true;
  }
  bool close() {
    Level level = std::move(open_.back());
    open_.pop_back();
    return put(level.object ? Json(std::move(level.members)) : Json(std::move(level.items)));
  }

  int max_depth_;
  std::vector<Level> open_;
  Json root_;
};

void write(std::string& out, const Json& v) {
  char between = 0;
  if (auto* members = v.as<Json::Object>()) {
    out += '{';
    for (const auto& [key, value] : *members) {
      if (between) out += between;
      between = ',';
      out += Library(key).dump() + ':';
      write(out, value);
    }
    out += '}';
  } else if (auto* items = v.as<Json::Array>()) {
    out += '[';
    for (const auto& item : *items) {
      if (between) out += between;
      between = ',';
      write(out, item);
    }
    out += ']';
  } else if (auto* text = v.as<std::string>()) {
    out += Library(*text).dump();
  } else if (auto* real = v.as<double>()) {
    out += Library(*real).dump();
  } else if (auto* negative = v.as<int64_t>()) {
    out += std::to_string(*negative);
  } else if (auto* natural = v.as<uint64_t>()) {
    out += std::to_string(*natural);
  } else if (auto* truth = v.as<bool>()) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

const Json* Json::find(std::string_view key) const {
  if (auto* members = as<Object>()) {
    for (const auto& [name, value] : *members) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

Json Json::parse(std::string_view text, int max_depth) {
  Builder builder(max_depth);
  Library::sax_parse(text, &builder);
  return builder.take();
}

std::string Json::dump() const {
  std::string out;
  try {
    write(out, *this);
  } catch (const Library::exception&) {
    throw Error("has a string that is not UTF-8");
  }
  return out;
}

}  // namespace tenon::core
