// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::command {
namespace {

using nlohmann::json;

constexpr double kMinAllowed = 1e-4;
constexpr double kNoiseFactor = 4;

// The names in the header of a safetensors file; the archive's reader has checked it.
std::vector<std::string> tensor_names(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  unsigned char size[8] = {};
  in.read(reinterpret_cast<char*>(size), sizeof(size));
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | size[i];
  TENON_CHECK(in && n <= std::filesystem::file_size(file), ValueError, file,
              ": its header is cut off");
  std::string text(n, '\0');
  in.read(text.data(), static_cast<std::streamsize>(n));
  std::vector<std::string> out;
  const json header = json::parse(text);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") out.push_back(name);
  }
  return out;
}

// Python writes NaN and Infinity, which JSON has not; they become null.
json parse_python_json(std::istream& in) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && text.compare(i, 3, "NaN") == 0) {
      out += "null";
      i += 2;
    } else if (!quoted && text.compare(i, 8, "Infinity") == 0) {
      if (!out.empty() && out.back() == '-') out.pop_back();
      out += "null";
      i += 7;
    } else {
      out += text[i];
    }
  }
  return json::parse(out);
}

std::string text_or_empty(const json& j) { return j.is_string() ? j.get<std::string>() : ""; }

IValue key_of(const json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<int64_t>();
  return j.get<double>();
}

Case read_case(const json& j, const json& about) {
  Case c;
  c.prefix = j.at("prefix");
  c.method = j.value("method", "forward");
  c.in = j.at("in");
  c.raises = j.contains("raises");
  if (c.raises)
    c.says = text_or_empty(j.at("raises").value("says", json()));
  else
    c.out = j.at("out");
  c.records_grad = about.value("grad", false);
  c.shapes_only = about.value("judge", "") == "shape";
  return c;
}

}  // namespace

std::map<std::string, Tensor> read_tensors(const std::string& file, bool may_be_absent) {
  std::map<std::string, Tensor> out;
  if (may_be_absent && !std::filesystem::exists(file)) return out;
  serialize::InputArchive archive;
  archive.load_from(file);
  for (const std::string& name : tensor_names(file)) archive.read(name, out[name]);
  return out;
}

CaseFolder::CaseFolder(const std::string& path) : path_(path) {
  const std::string file = path + "/about.json";
  std::ifstream in(file);
  TENON_CHECK(in, ValueError, file, " cannot be read; a folder of cases has it");
  try {
    const json about = parse_python_json(in);
    for (const json& j : about.at("cases")) cases_.push_back(read_case(j, about));
    const json noise = about.value("noise", json::object());
    for (const auto& [name, v] : noise.items()) {
      if (v.is_number()) noise_[name] = v.get<double>();
    }
  } catch (const json::exception& e) {
    throw ValueError(file + ": " + e.what());
  }
  tensors_ = read_tensors(path + "/cases.safetensors", true);
  gradients_ = read_tensors(path + "/grads.safetensors", true);
}

double CaseFolder::allowed(const std::string& entry) const {
  auto it = noise_.find(entry);
  // The noise of out.0 is that of b.out.0 too.
  if (it == noise_.end())
    it = noise_.find(entry.substr(std::min(entry.find("out."), entry.size())));
  return it == noise_.end() ? kMinAllowed : std::max(kMinAllowed, kNoiseFactor * it->second);
}

const Tensor& CaseFolder::tensor(const std::string& name) const {
  const auto it = tensors_.find(name);
  TENON_CHECK(it != tensors_.end(), ValueError, path_, "/cases.safetensors has no '", name, "'");
  return it->second;
}

IValue CaseFolder::value(const json& j, const std::string& prefix, const Device& device) const {
  const std::string kind = j.begin().key();
  const json& v = j.begin().value();
  const auto entry = [&]() -> const Tensor& {
    return tensor(prefix + std::to_string(v.get<int>()));
  };
  if (kind == "tensor") return entry().clone().to(device);
  if (kind == "int") return entry().item<int64_t>();
  if (kind == "float") return entry().item<double>();
  if (kind == "bool") return entry().item<bool>();
  if (kind == "str") return v.get<std::string>();
  if (kind == "none") return {};
  if (kind == "device") return Device(v.get<std::string>());
  if (kind == "list" || kind == "tuple") {
    std::vector<IValue> items;
    for (const json& e : v) items.push_back(value(e, prefix, device));
    if (kind == "list") return items;
    return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items)));
  }
  TENON_CHECK(kind == "dict", ValueError, path_, "/about.json: '", kind,
              "' is not a kind of value");
  auto dict = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
  for (const json& e : v) dict->insert_or_assign(key_of(e.at(0)), value(e.at(1), prefix, device));
  return dict;
}

std::vector<IValue> CaseFolder::arguments(const Case& c, const Device& device) const {
  std::vector<IValue> out;
  for (const json& j : c.in) out.push_back(value(j, c.prefix + "in.", device));
  return out;
}

IValue CaseFolder::expected(const Case& c) const {
  return value(c.out, c.prefix + "out.", Device("cpu"));
}

}  // namespace tenon::command
