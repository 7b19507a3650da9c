// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/difference.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::tracing {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string without_numbers(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    out += line[i];
    if (line[i] != '%') continue;
    while (i + 1 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '9') ++i;
  }
  return out;
}

Lines plain(const Lines& lines) {
  Lines out;
  for (const std::string& l : lines) out.push_back(without_numbers(l));
  return out;
}

constexpr std::size_t kMaxShown = 20, kMaxCompared = 4000;

class Shown {
 public:
  void add(const char* sign, const std::string& line) {
    if (n_++ < kMaxShown) text_ += sign + line + "\n";
  }
  std::string text() const {
    return n_ <= kMaxShown ? text_ : core::join(text_, "... and ", n_ - kMaxShown, " more lines\n");
  }

 private:
  std::size_t n_ = 0;
  std::string text_;
};

}  // namespace

std::string text_difference(const std::string& a, const std::string& b) {
  Lines x = lines_of(a), y = lines_of(b);
  if (x.size() > kMaxCompared) x.resize(kMaxCompared);
  if (y.size() > kMaxCompared) y.resize(kMaxCompared);
  const Lines p = plain(x), q = plain(y);
  // length[i][j]: of the longest common subsequence from line i and line j on.
  std::vector<std::vector<uint16_t>> length(p.size() + 1, std::vector<uint16_t>(q.size() + 1));
  for (std::size_t i = p.size(); i-- > 0;) {
    for (std::size_t j = q.size(); j-- > 0;) {
      length[i][j] = p[i] == q[j] ? static_cast<uint16_t>(length[i + 1][j + 1] + 1)
                                  : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  Shown shown;
  std::size_t i = 0, j = 0;
  while (i < p.size() || j < q.size()) {
    if (i < p.size() && j < q.size() && p[i] == q[j]) {
      ++i;
      ++j;
    } else if (j == q.size() || (i < p.size() && length[i + 1][j] >= length[i][j + 1])) {
      shown.add("- ", x[i++]);
    } else {
      shown.add("+ ", y[j++]);
    }
  }
  return shown.text();
}

namespace {

std::string tensor_difference(const std::string& name, const Tensor& a, const Tensor& b,
                              double tolerance) {
  if (a.defined() != b.defined()) return name + " is undefined on one side";
  if (!a.defined()) return {};
  if (a.scalar_type() != b.scalar_type()) {
    return core::join(name, " is ", toString(a.scalar_type()), " and ", toString(b.scalar_type()));
  }
  if (a.sizes() != b.sizes())
    return core::join(name, " has the shapes ", a.sizes(), " and ", b.sizes());
  if (a.layout() != kStrided || b.layout() != kStrided)
    return tensor_difference(name, a.to_dense(), b.to_dense(), tolerance);
  if (!a.is_floating_point()) return a.equal(b) ? std::string() : name + " has other elements";
  if (a.allclose(b, tolerance, tolerance, true)) return {};
  return core::join(name, " is off by ", (a - b).abs().max().item<double>());
}

std::string items_difference(const std::string& name, const std::vector<IValue>& a,
                             const std::vector<IValue>& b, double tolerance) {
  if (a.size() != b.size())
    return core::join(name, " has ", a.size(), " and ", b.size(), " elements");
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string item = core::join(name, "[", i, "]");
    if (std::string d = value_difference(item, a[i], b[i], tolerance); !d.empty()) return d;
  }
  return {};
}

}  // namespace

std::string value_difference(const std::string& name, const IValue& a, const IValue& b,
                             double tolerance) {
  const auto undefined = [](const IValue& v) { return v.isTensor() && !v.toTensor().defined(); };
  if ((a.isNone() && undefined(b)) || (b.isNone() && undefined(a))) return {};
  if (a.tag() != b.tag()) return core::join(name, " is ", a.tagKind(), " and ", b.tagKind());
  if (a.isTensor()) return tensor_difference(name, a.toTensor(), b.toTensor(), tolerance);
  if (a.isList())
    return items_difference(name, a.toListRef().items, b.toListRef().items, tolerance);
  if (a.isTuple())
    return items_difference(name, a.toTupleRef().items, b.toTupleRef().items, tolerance);
  if (a.isGenericDict()) {
    std::vector<IValue> x, y;
    for (const auto& item : a.toDictRef().items()) x.push_back(item.second);
    for (const auto& item : b.toDictRef().items()) y.push_back(item.second);
    return items_difference(name, x, y, tolerance);
  }
  if (a.isObject() || a == b) return {};
  return name + " is another value";
}

}  // namespace tenon::jit::tracing
