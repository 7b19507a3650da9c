// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls that an operator must refuse.
#include <optional>

#include "cell.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

constexpr const char* kNotRefused = "is not refused";

// Empty if the call raises an Error and leaves its arguments alone.
std::string refusal(const core::Op& op, Built& inputs, std::string* message = nullptr) {
  auto before = inputs.bytes();
  try {
    call_operator(op, inputs.values());
    return kNotRefused;
  } catch (const Error& e) {
    if (message) *message = e.what();
  }
  return changed(op, inputs, before);
}

bool takes_one_tensor(const core::ArgInfo& a) { return a.type == core::ArgType::Tensor; }

// A value that no operator accepts for the argument, and its name in messages.
std::optional<std::pair<tn_value, const char*>> impossible(const core::ArgInfo& a) {
  switch (a.type) {
    case core::ArgType::Tensor:
      return {{tn_value{}, "undefined"}};
    case core::ArgType::Device:
      return {{unknown_device(), "unknown"}};
    case core::ArgType::Dtype:
    case core::ArgType::OptDtype:
      return {{unknown_dtype(), "unknown"}};
    default:
      return {};
  }
}

// One tensor on another device: refused, or served with the right values where only its shape or a
// copy is needed.
std::string with_two_devices(const Cell& cell, DeviceId elsewhere) {
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  Built remote(cell.spec, cell.dtype, cell.memory, elsewhere);
  for (int i = cell.op.n_args; i-- > 0;) {
    if (!takes_one_tensor(cell.op.args[i]) || !inputs.tensor(i) || inputs.tensor(i)->ndim() == 0)
      continue;
    auto expected = bits(call_operator(cell.op, inputs.values()));
    inputs.values()[i] = remote.values()[i];
    std::string wrong = refusal(cell.op, inputs);
    if (wrong == kNotRefused && bits(call_operator(cell.op, inputs.values())) == expected)
      return {};
    return wrong.empty() ? ""
                         : core::join("'", cell.op.args[i].name, "' on another device: ", wrong);
  }
  return {};
}

// An integer or bool, where the kernels compute in another dtype: as if it had been cast to the
// result's before.
std::string as_promoted(const Cell& cell) {
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  Results ours = call_operator(cell.op, inputs.values());
  if (ours.empty() || !ours[0].tensor || ours[0].tensor->dtype == cell.dtype) return kNotRefused;
  const ScalarType to = isFloatingType(ours[0].tensor->dtype) ? kFloat : kLong;
  Spec cast = cell.spec;
  each_values(cast, [&](const SpecArg& a, Values& v) {
    if (!a.follows(v, cell.spec.main)) return;
    v = oracle::values_of(*make_tensor(v, cell.spec, cell.dtype, cell.memory, core::kHost));
    v.dtype = to;
  });
  cast.main = to;
  Built moved(cast, to, cell.memory, cell.place);
  return bits(ours) == bits(call_operator(cell.op, moved.values()))
             ? ""
             : "is neither refused nor promoted first";
}

}  // namespace

Findings run_bad_arguments(const Cell& cell, DeviceId elsewhere) {
  Findings out;
  int dimensional = 0;
  for (int i = 0; i < cell.op.n_args; ++i) {
    const core::ArgInfo& info = cell.op.args[i];
    auto bad = impossible(info);
    if (!bad) continue;
    Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
    dimensional += takes_one_tensor(info) && inputs.tensor(i) && inputs.tensor(i)->ndim() > 0;
    inputs.values()[i] = bad->first;
    std::string message, wrong = refusal(cell.op, inputs, &message);
    const bool named =
        takes_one_tensor(info) ? message.find(info.name) != std::string::npos : !message.empty();
    if (wrong.empty() && !named) wrong = "the error does not name it: " + message;
    out.judge(Property::Errors,
              wrong.empty() ? "" : core::join("'", info.name, "', ", bad->second, ": ", wrong));
  }
  if (dimensional < 2 || (cell.op.flags & core::kOpCrossDevice) ||
      elsewhere.slot == cell.place.slot)
    return out;
  out.judge(Property::Errors, with_two_devices(cell, elsewhere));
  return out;
}

namespace {

// One element more in the last dimension, one less in the first, one dimension more in front, none
// in the last.
bool reshape(Values& v, int variant) {
  std::vector<int64_t>& s = v.sizes;
  if (variant == 2) {
    s.insert(s.begin(), 2);
  } else if (s.empty() || (variant == 1 && s[0] == 0)) {
    return false;
  } else if (variant == 3) {
    s.back() = 0;
  } else {
    variant == 0 ? ++s.back() : --s.front();
  }
  std::size_t n = 1;
  for (int64_t size : s) n *= static_cast<std::size_t>(size);
  const std::size_t before = v.real.size();
  if (n > 0 && before == 0) return false;
  for (std::size_t i = before; i < n; ++i) {
    v.real.push_back(v.real[i % before]);
    if (!v.exact.empty()) v.exact.push_back(v.exact[i % before]);
  }
  v.real.resize(n);
  if (!v.exact.empty()) v.exact.resize(n);
  return true;
}

}  // namespace

Findings run_other_shapes(const Cell& cell, DeviceId reference) {
  Findings out;
  if (cell.spec.ordered) return out;
  for (std::size_t i = 0; i < cell.spec.args.size(); ++i) {
    for (int variant = 0; variant < 4; ++variant) {
      Spec other = cell.spec;
      other.valid = false;
      SpecArg& a = other.args[i];
      if (a.tensors.empty() || !a.tensors[0] || !reshape(*a.tensors[0], variant)) continue;
      std::string wrong;
      Findings found =
          run_cell({cell.op, other, cell.dtype, cell.memory, cell.place}, reference, false);
      for (const Finding& f : found.all()) {
        if (f.verdict != Verdict::Failed) continue;
        wrong = core::join("'", cell.op.args[i].name, "' of shape ",
                           core::text(IntArrayRef(a.tensors[0]->sizes)), ": ",
                           kPropertyNames[static_cast<int>(f.property)], ": ", f.reason);
      }
      out.judge(Property::Errors, wrong);
    }
  }
  return out;
}

Findings run_unclaimed(const Cell& cell) {
  Findings out;
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  std::string wrong = refusal(cell.op, inputs);
  if (wrong == kNotRefused && !isFloatingType(cell.dtype)) wrong = as_promoted(cell);
  out.judge(Property::Dtypes, wrong.empty()
                                  ? ""
                                  : core::join("the operator does not claim ",
                                               dtype_name(cell.dtype), ", which ", wrong));
  return out;
}

Findings run_refused(const core::Op& op, const Spec& spec) {
  Findings out;
  std::string wrong;
  try {
    std::vector<core::OwnedValue> values(op.n_results);
    op.boxed_call.load()(spec.given->values(), values.data());
    wrong = "is not refused";
  } catch (const Error&) {
    wrong = spec.given->changed();
    if (!wrong.empty()) wrong = core::join("argument '", wrong, "' was changed");
  }
  out.judge(Property::Errors, wrong);
  return out;
}

}  // namespace tenon::check
