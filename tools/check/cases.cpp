// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "samples.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

using oracle::json;

constexpr std::size_t kMaxElements = 4000;  // elements of one argument

std::string base_name(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

std::string operator_name(const json& c) {
  std::string schema = c.at("schema").get<std::string>();
  return schema.substr(schema.find("::") + 2, schema.find('(') - schema.find("::") - 2);
}

bool selects(std::string_view argument) {
  return argument.substr(0, 5) == "index" || argument.substr(0, 7) == "indices" ||
         argument == "mask";
}

Spec from_case(const core::Op& op, const std::shared_ptr<oracle::CaseFile>& file, const json& c) {
  auto given = std::make_shared<oracle::Arguments>(op, *file, c.at("args"), core::kHost);
  Spec s;
  s.origin = c.at("id").get<std::string>();
  s.valid = true;
  bool found = false, tensors = false;
  for (int i = 0; i < op.n_args; ++i) {
    const tn_value& v = given->values()[i];
    const std::string_view name = op.args[i].name;
    if (name == "sorted_sequence" || name == "boundaries" || name == "bins") s.ordered = true;
    SpecArg a;
    a.fixed = selects(name);
    tensors = tensors || op.args[i].type <= core::ArgType::OptTensorList;
    auto value = [&](const core::Impl& t) {
      Values read = oracle::values_of(*t);
      if (!a.fixed && (!found || (isFloatingType(read.dtype) && !isFloatingType(s.main)))) {
        s.main = read.dtype;
        found = true;
      }
      return read;
    };
    if (v.tag == TN_TAG_TENSOR) {
      a.tensors.push_back(value(given->tensor(op.args[i].name)));
    } else if (v.tag == TN_TAG_TENSOR_LIST) {
      a.is_list = true;
      for (uint32_t k = 0; k < v.len; ++k) {
        if (!v.u.tensors[k])
          a.tensors.emplace_back();
        else
          a.tensors.push_back(value(given->tensor(core::join(op.args[i].name, ".", k))));
      }
    } else {
      a.plain = v;
    }
    s.args.push_back(std::move(a));
  }
  for (int i = 0; i < op.n_args && !tensors; ++i) {
    if (op.args[i].type == core::ArgType::Device) s.device_arg = i;
  }
  s.given = given;
  s.owner = file;
  return s;
}

bool is_complex(Spec& s) {
  bool any = false;
  each_values(s, [&](const SpecArg&, const Values& v) { any = any || !v.imaginary.empty(); });
  for (const SpecArg& a : s.args) any = any || a.plain.tag == TN_TAG_COMPLEX;
  return any;
}

// What makes a case different from another: everything but the elements.
std::string signature(const json& args, const oracle::CaseFile& file) {
  std::string out;
  for (auto& [name, v] : args.items()) {
    out += name + "=";
    out += oracle::CaseFile::is_ref(v) ? core::text(IntArrayRef(file.stored(v).sizes)) : v.dump();
    out += ";";
  }
  return out;
}

bool too_many_dimensions(const json& args, const oracle::CaseFile& file) {
  return std::any_of(args.begin(), args.end(), [&](const json& a) {
    return oracle::CaseFile::is_ref(a) && file.stored(a).sizes.size() > core::kMaxDims;
  });
}

std::size_t count_largest(Spec& s) {
  std::size_t n = 0;
  each_values(s, [&](const SpecArg&, const Values& v) { n = std::max(n, v.real.size()); });
  return n;
}

bool same_arguments(const core::Op& a, const core::Op& b) {
  if (a.n_args != b.n_args || a.n_args == 0) return false;
  for (int i = 0; i < a.n_args; ++i) {
    if (a.args[i].type != b.args[i].type || std::string_view(a.args[i].name) != b.args[i].name)
      return false;
    if (b.args[i].has_default && !a.args[i].has_default) return false;
  }
  return true;
}

constexpr std::size_t kMaxTextElements = 300;  // elements of one argument in a text

// "2x3", and what the elements are. Empty where that has no text.
std::string tensor_text(const json& ref, const oracle::CaseFile& file) {
  if (ref.is_null()) return "none";
  if (!oracle::CaseFile::is_ref(ref)) return {};
  const Values v = file.values(ref);
  if (v.real.size() > kMaxTextElements) return {};
  std::string out;
  for (int64_t n : v.sizes) out += core::join(out.empty() ? "" : "x", n);
  if (out.empty()) out = "0d";
  if (v.dtype == kBool) return out + "?";
  if (!isFloatingType(v.dtype)) {
    const int64_t max = v.exact.empty() ? 0 : *std::max_element(v.exact.begin(), v.exact.end());
    return core::join(out, "<", std::max<int64_t>(max, 0) + 1);
  }
  const auto within = [&](double low, double high) {
    return std::all_of(v.real.begin(), v.real.end(),
                       [=](double x) { return low <= x && x <= high; });
  };
  return v.real.empty() ? out : within(0, 1) ? out + "~" : within(0, 1e9) ? out + "+" : out;
}

// The arguments of a case for from_text(). Empty where one of them has no text.
std::string text_of(const core::Op& op, const json& args, const oracle::CaseFile& file) {
  std::string out;
  for (int i = 0; i < op.n_args; ++i) {
    const core::ArgInfo& info = op.args[i];
    if (!args.contains(info.name)) continue;
    const json& given = args.at(info.name);
    std::string value;
    if (info.type > core::ArgType::OptTensorList) {
      if (given.is_null()) continue;
      value = given.dump();
    } else if (given.is_array()) {
      for (const json& one : given) {
        const std::string t = tensor_text(one, file);
        if (t.empty()) return {};
        value += (value.empty() ? "[" : ",") + t;
      }
      if (value.empty()) return {};
      value += "]";
    } else {
      value = tensor_text(given, file);
    }
    if (value.empty() || value.find(' ') != std::string::npos) return {};
    out += core::join(out.empty() ? "" : " ", info.name, "=", value);
  }
  return out;
}

}  // namespace

CaseLibrary::CaseLibrary(const std::string& folder) {
  std::error_code ignored;
  for (const auto& e : std::filesystem::directory_iterator(folder, ignored)) {
    if (e.path().extension() == ".json")
      files_[e.path().stem().string()].push_back(e.path().string());
  }
}

std::vector<Spec> CaseLibrary::read(const core::Op& op, const core::Op& donor, bool raises) const {
  std::vector<Spec> out;
  auto it = files_.find(base_name(donor.name));
  if (it == files_.end()) return out;
  std::set<std::string> seen;
  for (const std::string& path : it->second) {
    auto file = std::make_shared<oracle::CaseFile>(path);
    for (const json& c : file->cases()) {
      if (!c.contains("schema") || c.contains("raises") != raises || operator_name(c) != donor.name)
        continue;
      if (!seen.insert(signature(c.at("args"), *file)).second) continue;
      if (raises && too_many_dimensions(c.at("args"), *file))
        continue;  // such a tensor cannot be created
      Spec s = from_case(op, file, c);
      if (is_complex(s)) continue;  // elements are drawn in real dtypes
      if (&op != &donor) s.valid = false;
      if (count_largest(s) <= kMaxElements) out.push_back(std::move(s));
    }
  }
  return out;
}

std::vector<Spec> CaseLibrary::specs(const core::Op& op, std::size_t max_count) const {
  std::vector<Spec> out = read(op, op, false);
  for (bool family : {true, false}) {
    for (int i = 0; i < core::op_count() && out.empty(); ++i) {
      const core::Op& donor = core::op_at(i);
      bool same_family = std::string_view(donor.family) == op.family;
      if (same_family == family && same_arguments(op, donor)) out = read(op, donor, false);
    }
  }
  // float64 first: its values mean something in every other dtype.
  std::stable_sort(out.begin(), out.end(), [](const Spec& a, const Spec& b) {
    return (a.main == kDouble) > (b.main == kDouble);
  });
  if (out.size() > max_count)
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(max_count), out.end());
  return out;
}

std::vector<std::string> CaseLibrary::texts(const core::Op& op) const {
  std::vector<std::string> out;
  auto read_texts = [&](const core::Op& donor) {
    auto it = files_.find(base_name(donor.name));
    if (it == files_.end()) return;
    for (const std::string& path : it->second) {
      const oracle::CaseFile file(path);
      for (const json& c : file.cases()) {
        if (!c.contains("schema") || c.contains("raises") || operator_name(c) != donor.name)
          continue;
        std::string text = text_of(op, c.at("args"), file);
        if (!text.empty() && std::find(out.begin(), out.end(), text) == out.end())
          out.push_back(std::move(text));
      }
    }
  };
  read_texts(op);
  for (bool family : {true, false}) {
    for (int i = 0; i < core::op_count() && out.empty(); ++i) {
      const core::Op& donor = core::op_at(i);
      const bool same_family = std::string_view(donor.family) == op.family;
      if (same_family == family && same_arguments(op, donor)) read_texts(donor);
    }
  }
  // Calls without integers first: their tensors take every dtype.
  std::stable_partition(out.begin(), out.end(),
                        [](const std::string& t) { return t.find('<') == std::string::npos; });
  return out;
}

std::vector<Spec> CaseLibrary::refused(const core::Op& op) const { return read(op, op, true); }

}  // namespace tenon::check
