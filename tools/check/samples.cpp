// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

using core::ArgType;
using oracle::json;
using Shape = std::vector<int64_t>;

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

void make_integers(Values& v, ScalarType dtype, int64_t below, bool in_turn) {
  v.dtype = dtype;
  for (std::size_t i = 0; i < v.real.size(); ++i) {
    auto raw = static_cast<int64_t>((v.real[i] + 2) * 1e6);
    v.exact.push_back((in_turn ? static_cast<int64_t>(i) : raw) % below);
    v.real[i] = static_cast<double>(v.exact.back());
  }
}

void make_ascending(Values& v) {
  auto length = static_cast<std::ptrdiff_t>(v.sizes.empty() ? 1 : v.sizes.back());
  for (auto row = v.real.begin(); length > 0 && row != v.real.end(); row += length)
    std::sort(row, row + length);
}

int64_t parse_integer(std::string_view text) {
  int64_t n = 0;
  for (char c : text) {
    TENON_CHECK(c >= '0' && c <= '9', ValueError, "samples: '", text, "' is not an integer");
    n = n * 10 + (c - '0');
  }
  return n;
}

// What a number between -2 and 2 becomes in a dtype that the tensor keeps.
void keep_dtype(Values& v, std::string_view name) {
  v.dtype = core::dtype_from_name(name);
  if (isFloatingType(v.dtype)) return;
  for (double& x : v.real) {
    x = in_dtype(x, kDouble, v.dtype, false);
    v.exact.push_back(static_cast<int64_t>(x));
  }
}

// "2x3+" and similar texts.
Values tensor_from(std::string_view text, Spec& spec, SpecArg& arg, uint32_t seed) {
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    Values v = tensor_from(text.substr(0, at), spec, arg, seed);
    keep_dtype(v, text.substr(at + 1));
    arg.fixed = true;
    return v;
  }
  std::size_t end = text.find_first_of("+~?^<%:");
  std::string_view sizes = text.substr(0, end);
  Shape shape;
  for (std::size_t begin = 0; sizes != "0d" && begin <= sizes.size();) {
    std::size_t x = std::min(sizes.find('x', begin), sizes.size());
    shape.push_back(parse_integer(sizes.substr(begin, x - begin)));
    begin = x + 1;
  }
  Values v = sequence(shape, seed);
  if (end == std::string_view::npos) return v;
  switch (text[end]) {
    case '+':
      for (double& x : v.real) x = 0.1 + (x + 2) / 2;
      break;
    case '~':
      for (double& x : v.real) x = 0.5 + 0.225 * x;
      break;
    case '^':
      make_ascending(v);
      spec.ordered = true;
      break;
    case '?':
      make_integers(v, kBool, 2, false);
      break;
    case ':':
      std::fill(v.real.begin(), v.real.end(),
                static_cast<double>(parse_integer(text.substr(end + 1))));
      arg.constant = true;
      break;
    default:
      make_integers(v, kInt64, parse_integer(text.substr(end + 1)), text[end] == '%');
  }
  arg.fixed = v.dtype != kDouble;
  return v;
}

SpecArg tensors_from(std::string_view text, Spec& spec, uint32_t& seed) {
  SpecArg a;
  a.is_list = text.front() == '[';
  if (a.is_list) text = text.substr(1, text.size() - 2);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t comma = std::min(text.find(',', begin), text.size());
    std::string_view one = text.substr(begin, comma - begin);
    if (one == "none")
      a.tensors.emplace_back();
    else
      a.tensors.push_back(tensor_from(one, spec, a, ++seed));
    begin = comma + 1;
  }
  // Of a list with both, the indices keep their dtype by not having the main one.
  a.fixed = a.fixed && std::none_of(a.tensors.begin(), a.tensors.end(),
                                    [](const auto& t) { return t && t->dtype == kDouble; });
  return a;
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Owns what the plain values point to.
struct Bound {
  oracle::CaseFile none;
  std::unique_ptr<oracle::Arguments> args;
};

std::string shape_text(const Shape& s) {
  std::string out;
  for (int64_t n : s) out += (out.empty() ? "" : "x") + std::to_string(n);
  return out.empty() ? "0d" : out;
}

// Tensors of these shapes in turn, scalars where they have no default. Empty where that does not
// fit.
std::string text_with(const core::Op& op, const std::vector<Shape>& shapes) {
  std::string out;
  std::size_t next = 0;
  for (int i = 0; i < op.n_args; ++i) {
    const core::ArgInfo& info = op.args[i];
    std::string value;
    if (info.type == ArgType::Tensor) {
      if (next >= shapes.size()) return {};
      value = shape_text(shapes[next++]);
    } else if (info.has_default || info.type == ArgType::Generator) {
      continue;
    } else if (info.type == ArgType::Scalar || info.type == ArgType::Float) {
      value = std::string_view(op.family) == "compare" ? "1" : "1.5";
    } else {
      return {};
    }
    out += core::join(out.empty() ? "" : " ", info.name, "=", value);
  }
  return next == shapes.size() ? out : "";
}

enum class Kind { None, Unary, Binary };

Kind kind_of(const core::Op& op) {
  int tensors = 0;
  for (int i = 0; i < op.n_args; ++i) tensors += op.args[i].type == ArgType::Tensor;
  const std::string_view family = op.family;
  if (family == "reduce") return tensors == 1 ? Kind::Unary : Kind::None;
  if (family != "pointwise" && family != "compare" && family != "activation" &&
      family != "special") {
    return Kind::None;
  }
  return tensors == 1 ? Kind::Unary : tensors == 2 ? Kind::Binary : Kind::None;
}

const Shape kRank6 = {2, 1, 3, 2, 1, 2};
const Shape kLarge = {301, 257};  // more than two grains of a pointwise kernel

std::vector<std::vector<Shape>> shapes_of(Kind kind) {
  if (kind == Kind::Unary)
    return {{{0}}, {{}}, {{3, 0, 2}}, {{7}}, {kRank6}, {{3, 1, 5}}, {{67, 3}}, {kLarge}};
  if (kind == Kind::None) return {};
  return {{{0}, {0}},       {{}, {}},      {{}, {3, 2}},   {{4, 1, 3}, {2, 1}},
          {kRank6, kRank6}, {{3, 0}, {1}}, {{67, 3}, {3}}, {kLarge, kLarge}};
}

}  // namespace

namespace {

// Where all tensors are integers or bools, they are what takes other dtypes.
void choose_main_dtype(Spec& s) {
  const SpecArg* first = nullptr;
  for (const SpecArg& a : s.args) {
    if (a.tensors.empty() || !a.tensors[0]) continue;
    if (!a.fixed) return;
    if (!first) first = &a;
  }
  if (!first) return;
  s.main = first->tensors[0]->dtype;
  for (SpecArg& a : s.args)
    a.fixed = a.fixed && !(a.tensors.size() == 1 && a.tensors[0]->dtype == s.main);
}

}  // namespace

Spec from_text(const core::Op& op, std::string_view text) {
  Spec s;
  const std::size_t lines = std::min(text.find('\n'), text.size());
  const std::string below(text.substr(std::min(lines + 1, text.size())));
  text = text.substr(0, lines);
  s.origin = std::string(text);
  s.valid = true;
  json plain = json::object();
  std::map<std::string_view, std::string_view> tensors;
  std::string_view same_dtype;
  for (std::string_view token : split_text(text, ' ')) {
    s.large = s.large || token == "large";
    std::size_t equals = token.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name(token.substr(0, equals));
    const auto* info =
        std::find_if(op.args, op.args + op.n_args, [&](const auto& a) { return name == a.name; });
    TENON_CHECK(info != op.args + op.n_args, ValueError, "samples: the operator has no argument '",
                name, "'");
    if (token.substr(equals + 1) == "same") {
      same_dtype = info->name;
      plain[name] = {{"dtype", "float64"}};
      continue;
    }
    if (token.substr(equals + 1) == "below") {
      s.text_arg = static_cast<int>(info - op.args);
      plain[name] = below;
      continue;
    }
    bool tensor = info->type <= ArgType::OptTensorList;
    if (tensor) tensors[info->name] = token.substr(equals + 1);
    plain[name] = tensor ? json() : json::parse(token.substr(equals + 1));
  }
  auto bound = std::make_shared<Bound>();
  for (int i = 0; i < op.n_args; ++i) {
    if (op.args[i].type == ArgType::TensorList || op.args[i].type == ArgType::OptTensorList) {
      plain[op.args[i].name] = json::array();
    }
  }
  bound->args = std::make_unique<oracle::Arguments>(op, bound->none, plain, core::kHost);
  uint32_t seed = 0;
  for (int i = 0; i < op.n_args; ++i) {
    SpecArg a;
    auto given = tensors.find(op.args[i].name);
    if (given != tensors.end() && given->second != "none")
      a = tensors_from(given->second, s, seed);
    else
      a.plain = bound->args->values()[i];
    s.args.push_back(std::move(a));
    if (tensors.empty() && op.args[i].type == ArgType::Device) s.device_arg = i;
    if (same_dtype == op.args[i].name) s.dtype_arg = i;
  }
  choose_main_dtype(s);
  s.owner = bound;
  return s;
}

CallFiles::CallFiles(const std::string& folder) {
  std::error_code ignored;
  for (const auto& e : std::filesystem::directory_iterator(folder, ignored)) {
    std::ifstream file(e.path());
    std::string line;
    std::vector<std::string> operators;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      if (line.compare(0, 4, "    ") == 0) {
        for (const std::string& op : operators)
          if (!calls_[op].empty()) calls_[op].back() += "\n" + line.substr(4);
        continue;
      }
      if (line[0] != ' ') {
        operators.clear();
        for (std::string_view op : split_text(line, ' ')) operators.emplace_back(op);
        continue;
      }
      for (const std::string& op : operators)
        calls_[op].push_back(line.substr(line.find_first_not_of(' ')));
    }
  }
}

std::vector<Spec> CallFiles::specs(const core::Op& op) const {
  std::vector<Spec> out;
  for (std::string_view text : split_text(op.samples ? op.samples : "", ';'))
    out.push_back(from_text(op, text));
  auto it = calls_.find(op.name);
  if (it == calls_.end()) return out;
  for (const std::string& text : it->second) out.push_back(from_text(op, text));
  return out;
}

std::vector<std::string> CallFiles::unknown_operators() const {
  std::vector<std::string> out;
  for (const auto& [name, unused] : calls_) {
    if (!core::find_op(name)) out.push_back(name);
  }
  return out;
}

std::vector<Spec> generated(const core::Op& op) {
  std::vector<Spec> out;
  for (const auto& shapes : shapes_of(kind_of(op))) {
    std::string text = text_with(op, shapes);
    if (text.empty()) continue;
    out.push_back(from_text(op, text));
    out.back().valid = false;  // nothing says that the operator takes this shape
    out.back().large = shapes[0] == kLarge;
  }
  return out;
}

}  // namespace tenon::check
