// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "tenon/ops.h"
#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {
namespace {

using Value = std::variant<double, int64_t, bool, Tensor, std::optional<int64_t>,
                           std::optional<std::string>, std::vector<Tensor>>;

class Collector final : public FieldVisitor {
 public:
  void field(const char*, double& value) override { values.emplace_back(value); }
  void field(const char*, int64_t& value) override { values.emplace_back(value); }
  void field(const char*, bool& value) override { values.emplace_back(value); }
  void field(const char*, Tensor& value) override { values.emplace_back(value); }
  void field(const char*, std::optional<int64_t>& value) override { values.emplace_back(value); }
  void field(const char*, std::optional<std::string>& value) override {
    values.emplace_back(value);
  }
  void field(const char*, std::vector<Tensor>& value) override { values.emplace_back(value); }

  std::vector<Value> values;
};

template <class T>
bool equal_values(const T& a, const T& b) {
  return a == b;
}
bool equal_values(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && tenon::equal(a, b);
}
bool equal_values(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal_values(a[i], b[i])) return false;
  }
  return true;
}

bool equal_values(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        return equal_values(value, *std::get_if<std::decay_t<decltype(value)>>(&b));
      },
      a);
}

template <class T>
bool equal_objects(const T& a, const T& b) {
  Collector of_a, of_b;
  a.clone()->fields(of_a);
  b.clone()->fields(of_b);
  if (of_a.values.size() != of_b.values.size()) return false;
  for (std::size_t i = 0; i < of_a.values.size(); ++i) {
    if (!equal_values(of_a.values[i], of_b.values[i])) return false;
  }
  return true;
}

}  // namespace

namespace detail {

bool equal_fields(const OptimizerOptions& a, const OptimizerOptions& b) {
  return equal_objects(a, b);
}
bool equal_fields(const OptimizerParamState& a, const OptimizerParamState& b) {
  return equal_objects(a, b);
}

}  // namespace detail
}  // namespace optim
}  // namespace tenon
