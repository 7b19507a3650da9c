// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include "tenon/core/error.h"

namespace tenon::check {
namespace {

using core::ArgType;
using oracle::json;
using Shape = std::vector<int64_t>;

constexpr std::size_t kLargest = 4000;  // elements of one argument

std::string base_name(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

std::string row_name(const json& c) {
  std::string schema = c.at("schema").get<std::string>();
  return schema.substr(schema.find("::") + 2, schema.find('(') - schema.find("::") - 2);
}

// Keeps the bound arguments of a case alive beside their values.
struct Kept {
  std::shared_ptr<oracle::CaseFile> file;
  std::unique_ptr<oracle::Arguments> args;
};

bool kink(const Values& v) {
  return std::any_of(v.real.begin(), v.real.end(),
                     [](double x) { return !std::isfinite(x) || x == std::round(x) || std::fabs(x) > 50; });
}

Spec from_case(const core::Op& op, const std::shared_ptr<oracle::CaseFile>& file, const json& c) {
  auto kept = std::make_shared<Kept>();
  kept->file = file;
  kept->args = std::make_unique<oracle::Arguments>(op, *file, c.at("args"), Place{});
  Spec s;
  s.origin = c.at("id").get<std::string>();
  bool found = false;
  bool smooth = c.contains("grads");
  auto value = [&](const core::Impl& t) {
    Values v = oracle::values_of(*t);
    if (!found || (isFloatingType(v.dtype) && !isFloatingType(s.main))) s.main = v.dtype;
    found = true;
    return v;
  };
  for (int i = 0; i < op.n_args; ++i) {
    const tn_value& v = kept->args->values()[i];
    const std::string_view name = op.args[i].name;
    if (name == "sorted_sequence" || name == "boundaries") s.ordered = true;
    // Its gradient is scaled on purpose.
    if (name == "scale_grad_by_freq" && v.u.i64) smooth = false;
    SpecArg a;
    if (v.tag == TN_TAG_TENSOR) {
      a.tensors.push_back(value(kept->args->tensor(op.args[i].name)));
      if (smooth && c.at("grads").contains(op.args[i].name) && !c.at("grads").at(op.args[i].name).is_null()) {
        s.gradients.push_back(i);
        smooth = smooth && !kink(*a.tensors[0]);
      }
    } else if (v.tag == TN_TAG_TENSOR_LIST) {
      a.is_list = true;
      for (uint32_t k = 0; k < v.len; ++k) {
        if (!v.u.tensors[k])
          a.tensors.emplace_back();
        else
          a.tensors.push_back(value(kept->args->tensor(core::join(op.args[i].name, ".", k))));
      }
    } else {
      a.plain = v;
    }
    s.args.push_back(std::move(a));
  }
  if (!smooth) s.gradients.clear();
  s.keep = kept;
  return s;
}

// What makes a case different from another: everything but the elements.
std::string signature(const json& args, const oracle::CaseFile& file) {
  std::string out;
  for (auto& [name, v] : args.items()) {
    out += name + "=";
    out += oracle::CaseFile::is_ref(v) ? core::text(IntArrayRef(file.values(v).sizes)) : v.dump();
    out += ";";
  }
  return out;
}

std::size_t largest(const Spec& s) {
  std::size_t n = 0;
  for (const SpecArg& a : s.args) {
    for (const auto& t : a.tensors) n = std::max(n, t ? t->real.size() : 0);
  }
  return n;
}

// Values between -2 and 2 in a fixed sequence, none of them an integer.
Values sequence(const Shape& sizes, uint32_t seed) {
  Values v{kDouble, sizes, {}, {}};
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    v.real.push_back(static_cast<double>(seed >> 8) / (1 << 22) - 2 + 1e-3);
  }
  return v;
}

// Tensor arguments with these shapes, the rest by default. Empty if an argument without default is left.
std::optional<Spec> with_shapes(const core::Op& op, const std::vector<Shape>& shapes) {
  Spec s;
  std::size_t next = 0;
  for (int i = 0; i < op.n_args; ++i) {
    const core::ArgInfo& info = op.args[i];
    SpecArg a;
    if (info.type == ArgType::Tensor) {
      if (next >= shapes.size()) return std::nullopt;
      a.tensors.push_back(sequence(shapes[next], static_cast<uint32_t>(next) + 1));
      s.origin += (next ? " x " : "") + core::text(IntArrayRef(shapes[next]));
      ++next;
    } else if (info.has_default) {
      a.plain = info.value;
    } else {
      return std::nullopt;
    }
    s.args.push_back(std::move(a));
  }
  if (next != shapes.size()) return std::nullopt;
  return s;
}

std::string_view infer_kind(const core::Op& op) {
  if (op.samples && *op.samples) return op.samples;
  int tensors = 0;
  for (int i = 0; i < op.n_args; ++i) tensors += op.args[i].type == ArgType::Tensor;
  std::string_view family = op.family;
  if (family != "pointwise" && family != "compare" && family != "reduce" && family != "activation") return "none";
  if (family == "reduce") return tensors == 1 ? "reduce" : "none";
  return tensors == 1 ? "unary" : tensors == 2 ? "binary" : "none";
}

const Shape kRank6 = {2, 1, 3, 2, 1, 2};

}  // namespace

std::vector<Spec> generated(const core::Op& op) {
  std::string_view kind = infer_kind(op);
  std::vector<std::vector<Shape>> shapes;
  if (kind == "unary" || kind == "reduce") {
    for (const Shape& s : {Shape{0}, Shape{}, Shape{3, 0, 2}, Shape{7}, kRank6, Shape{3, 1, 5}, Shape{67, 3}}) {
      shapes.push_back({s});
    }
  }
  if (kind == "binary") {
    shapes = {{Shape{0}, Shape{0}}, {Shape{}, Shape{}},      {Shape{}, Shape{3, 2}},  {Shape{4, 1, 3}, Shape{2, 1}},
              {kRank6, kRank6},     {Shape{3, 0}, Shape{1}}, {Shape{67, 3}, Shape{3}}};
  }
  std::vector<Spec> out;
  for (const auto& s : shapes) {
    if (auto spec = with_shapes(op, s)) out.push_back(std::move(*spec));
  }
  return out;
}

CaseLibrary::CaseLibrary(const std::string& folder) {
  std::error_code ignored;
  for (const auto& e : std::filesystem::directory_iterator(folder, ignored)) {
    if (e.path().extension() == ".json") files_[e.path().stem().string()].push_back(e.path().string());
  }
}

std::vector<Spec> CaseLibrary::specs(const core::Op& op, std::size_t most) const {
  std::vector<Spec> out;
  auto it = files_.find(base_name(op.name));
  if (it == files_.end()) return out;
  std::set<std::string> seen;
  for (const std::string& path : it->second) {
    auto file = std::make_shared<oracle::CaseFile>(path);
    for (const json& c : file->cases()) {
      if (!c.contains("schema") || c.contains("raises") || row_name(c) != op.name) continue;
      if (!seen.insert(signature(c.at("args"), *file)).second) continue;
      Spec s = from_case(op, file, c);
      if (largest(s) <= kLargest) out.push_back(std::move(s));
    }
  }
  // float64 first: its values mean something in every other dtype.
  std::stable_sort(out.begin(), out.end(),
                   [](const Spec& a, const Spec& b) { return (a.main == kDouble) > (b.main == kDouble); });
  if (out.size() > most) out.erase(out.begin() + static_cast<std::ptrdiff_t>(most), out.end());
  return out;
}

}  // namespace tenon::check
