// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "cell.h"

#include <algorithm>
#include <string_view>

#include "reference.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/random.h"
#include "tenon/runtime/threads.h"

namespace tenon::check {
namespace {

Results call_again(const Cell& cell, const Spec& spec, int threads) {
  core::set_num_threads(threads);
  Built inputs(spec, cell.dtype, cell.memory, cell.place);
  return call_and_collect(cell.op, inputs);
}

void run_again(const Cell& cell, const Spec& spec, const Results& first, Findings& out) {
  auto expected = bits(first);
  out.judge(Property::Repeat,
            bits(call_again(cell, spec, 2)) == expected ? "" : "other bits in a second run");
  out.judge(Property::Threads,
            bits(call_again(cell, spec, 1)) == expected ? "" : "other bits from one thread");
  core::set_num_threads(2);
}

// The operator raised an Error.
void judge_refusal(const Cell& cell, const Truth& truth, const Error& e, DeviceId reference,
                   Findings& out) {
  bool must_work =
      cell.spec.valid && cell.dtype == cell.spec.main && cell.memory == Memory::Contiguous;
  tn_status expected =
      truth.refusal.empty() ? refusal_in_layout(cell, truth, reference) : truth.refusal_code;
  // The sample's own values may be refused where another set of values is not.
  if (expected == TN_OK && e.code() == TN_ERROR_UNSUPPORTED)
    return out.failed(Property::Dtypes, e.what());
  if (must_work || expected == TN_OK)
    return out.failed(Property::Errors, core::join("refused: ", e.what()));
  bool same = e.code() == expected;
  out.judge(Property::Errors, same ? ""
                                   : core::join("another class than the reference's error: ",
                                                e.what(), "; reference: ", truth.refusal));
}

}  // namespace

namespace {

// What a device finds wrong with the data comes to light when it is waited for, and belongs to the
// call.
Results call_and_wait(const Cell& cell, Built& inputs) {
  Results results = call_and_collect(cell.op, inputs);
  if (!cell.place.is_host()) core::synchronize(cell.place);
  return results;
}

}  // namespace

Results call_operator(const core::Op& op, const tn_value* in) {
  core::manual_seed(7);
  std::vector<core::OwnedValue> values(op.n_results);
  op.boxed_call.load()(in, values.data());
  return oracle::flatten(values.data(), op.n_results);
}

bool mutates(const core::Op& op) {
  return std::any_of(op.args, op.args + op.n_args,
                     [](const core::ArgInfo& a) { return a.mutates; });
}

bool addresses_storage(const core::Op& op) {
  return std::any_of(op.args, op.args + op.n_args, [](const core::ArgInfo& a) {
    return std::string_view(a.name) == "storage_offset";
  });
}

tn_value unknown_dtype() {
  tn_value v{TN_TAG_DTYPE, 0, {}};
  v.u.dtype = {255, 8, 1};
  return v;
}

Results collect(const core::Op& op, const Built& inputs, Results results) {
  for (std::size_t k = 0; k < inputs.tensors().size(); ++k) {
    if (op.args[inputs.position(k)].mutates) results.push_back({inputs.tensors()[k], {}});
  }
  return results;
}

Results call_and_collect(const core::Op& op, Built& inputs) {
  return collect(op, inputs, call_operator(op, inputs.values()));
}

tn_value device_value(DeviceId place) {
  tn_value v{TN_TAG_DEVICE, 0, {}};
  v.u.device = core::abi_device(place);
  return v;
}

tn_value unknown_device() {
  tn_value v{TN_TAG_DEVICE, 0, {}};
  v.u.device = {TN_DEVICE_FOREIGN + 4000, 0};
  return v;
}

std::string changed(const core::Op& op, const Built& inputs,
                    const std::vector<std::vector<char>>& before) {
  auto after = inputs.bytes();
  for (std::size_t k = 0; k < after.size(); ++k) {
    const core::ArgInfo& a = op.args[inputs.position(k)];
    if (!a.mutates && after[k] != before[k])
      return core::join("argument '", a.name, "' was changed");
  }
  return {};
}

std::vector<std::vector<char>> bits(const Results& results) {
  std::vector<std::vector<char>> out;
  for (const oracle::Result& r : results) {
    if (!r.tensor) continue;
    core::TensorImpl& t = *r.tensor;
    std::size_t n = static_cast<std::size_t>(t.numel) * t.itemsize();
    if (t.device_id.is_host() && t.contiguous()) {
      out.emplace_back(t.host_data(), t.host_data() + n);
      continue;
    }
    Values v = oracle::values_of(t);
    const char* p = reinterpret_cast<const char*>(v.real.data());
    out.emplace_back(p, p + v.real.size() * sizeof(double));
    const char* q = reinterpret_cast<const char*>(v.exact.data());
    out.back().insert(out.back().end(), q, q + v.exact.size() * sizeof(int64_t));
  }
  return out;
}

bool same_values(const Values& a, const Values& b) {
  return a.sizes == b.sizes && a.exact == b.exact &&
         std::equal(a.real.begin(), a.real.end(), b.real.begin(), b.real.end(),
                    [](double x, double y) { return x == y || (x != x && y != y); });
}

Findings run_cell(const Cell& cell, DeviceId reference, bool forms) {
  Findings out;
  Truth truth = find_truth(cell, reference);
  Built inputs(truth.spec, cell.dtype, cell.memory, cell.place);
  auto before = inputs.bytes();
  Results ours;
  try {
    ours = call_and_wait(cell, inputs);
  } catch (const Error& e) {
    judge_refusal(cell, truth, e, reference, out);
    out.judge(Property::Inputs, changed(cell.op, inputs, before));
    return out;
  }
  Property property = cell.memory == Memory::Contiguous ? Property::Values : Property::Strides;
  if (property == Property::Values) out.passed(Property::Dtypes);
  if (!before.empty()) out.judge(Property::Inputs, changed(cell.op, inputs, before));
  const Cell same{cell.op, truth.spec, cell.dtype, cell.memory, cell.place};
  if (!has_values(cell.op)) {
    if (has_bits(cell.op)) run_again(cell, truth.spec, ours, out);
    if (forms) run_forms(same, ours, reference, out);
    return out;
  }
  if (!truth.refusal.empty()) {
    out.failed(Property::Errors, "not refused, but the reference says: " + truth.refusal);
    return out;
  }
  std::string wrong = compare(cell, inputs.values(), ours, truth, reference);
  if (!wrong.empty())
    out.failed(property, wrong);
  else if (truth.dull)
    out.not_run(property, "the expected values are zeros or NaN");
  else
    out.passed(property);
  run_again(cell, truth.spec, ours, out);
  if (forms) run_forms(same, ours, reference, out);
  return out;
}

Findings run_large(const Cell& cell) {
  Findings out;
  core::set_num_threads(2);
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  try {
    Results ours = call_and_wait(cell, inputs);
    run_again(cell, cell.spec, ours, out);
  } catch (const Error& e) {
    if (cell.spec.valid && cell.dtype == cell.spec.main) out.failed(Property::Threads, e.what());
  }
  return out;
}

}  // namespace tenon::check
