// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What holds of every operator's call as a whole, whatever it computes.
#include <algorithm>
#include <optional>
#include <thread>

#include "cell.h"
#include "reference.h"
#include "schema_text.h"
#include "tenon/abi/client.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/random.h"

namespace tenon::check {
namespace {

using Verdicts = std::optional<std::string>;  // nothing: does not apply; empty: passed

struct Whole {
  const Cell& cell;
  DeviceId elsewhere;
  const core::Op& op = cell.op;
  Built build_inputs() const { return Built(cell.spec, cell.dtype, cell.memory, cell.place); }
  Results call() const {
    Built inputs = build_inputs();
    return call_and_collect(op, inputs);
  }
  Results draw() const {  // from the generator as it is
    Built inputs = build_inputs();
    std::vector<core::OwnedValue> values(op.n_results);
    op.boxed_call.load()(inputs.values(), values.data());
    return collect(op, inputs, oracle::flatten(values.data(), op.n_results));
  }
  std::string differs(const Results& a, const Results& b) const {
    std::string wrong = other_geometry(a, b);
    return wrong.empty() && has_bits(op) && bits(a) != bits(b) ? "other bits" : wrong;
  }
};

Verdicts check_schema(const Whole& w) {
  if (core::find_op(w.op.name) != &w.op) return "is not found by its name";
  if (!w.op.doc || !*w.op.doc) return "has no doc";
  const std::string ours = schema_text(w.op), theirs = plain_schema(w.op.schema);
  return ours == theirs ? "" : core::join("the table says ", ours, ", the schema ", theirs);
}

bool is_default(const core::ArgInfo& a, const tn_value& v) {
  return a.has_default && v.tag <= TN_TAG_BOOL && v.tag == a.value.tag && v.u.i64 == a.value.u.i64;
}

core::OwnedValue to_owned(const tn_value& v) {
  core::OwnedValue out;
  out.tag = v.tag;
  auto share = [](const tn_tensor* t) {
    return t ? core::Impl::share(core::TensorImpl::from_view(t)) : core::Impl();
  };
  if (v.tag == TN_TAG_TENSOR) {
    out.tensor = share(v.u.tensor);
  } else if (v.tag == TN_TAG_TENSOR_LIST) {
    for (uint32_t k = 0; k < v.len; ++k) out.tensors.push_back(share(v.u.tensors[k]));
  } else {
    out.plain = v;
  }
  return out;
}

// Through the C interface, without the arguments at the end that have their default.
Verdicts check_by_name(const Whole& w) {
  Results expected = w.call();
  Built inputs = w.build_inputs();
  uint32_t n = w.op.n_args;
  while (n > 0 && is_default(w.op.args[n - 1], inputs.values()[n - 1])) --n;
  std::vector<tn_value> out(w.op.n_results);
  core::manual_seed(7);
  const tn_str name{w.op.name, std::char_traits<char>::length(w.op.name)};
  if (tn_call_op(name, inputs.values(), n, out.data(), w.op.n_results) != TN_OK)
    return tn_last_error();
  std::vector<core::OwnedValue> results;
  for (tn_value& v : out) {
    results.push_back(to_owned(v));
    tn_release_value(&v);
  }
  Results ours = collect(w.op, inputs, oracle::flatten(results.data(), w.op.n_results));
  return w.differs(ours, expected);
}

// Arguments on a device that is not the host: so are the results, described as on the host.
Verdicts check_device(const Whole& w) {
  Results expected = w.call();
  Built remote(w.cell.spec, w.cell.dtype, w.cell.memory, w.elsewhere);
  for (int i = 0; i < w.op.n_args; ++i) {
    if (w.op.args[i].type == core::ArgType::Device) remote.values()[i] = device_value(w.elsewhere);
  }
  Results ours = call_and_collect(w.op, remote);
  for (std::size_t k = 0; k < ours.size(); ++k) {
    if (ours[k].tensor && ours[k].tensor->device_id.slot != w.elsewhere.slot)
      return core::join("output ", k, " is on the host");
  }
  return other_geometry(ours, expected);
}

// Writes are counted where they happen, and nowhere else.
Verdicts check_version(const Whole& w) {
  Built inputs = w.build_inputs();
  if (inputs.tensors().empty()) return std::nullopt;
  auto before = inputs.bytes();
  std::vector<uint32_t> versions;
  std::vector<uint64_t> writes;
  for (const core::Impl& t : inputs.tensors()) {
    versions.push_back(t->version());
    writes.push_back(t->storage->head.writes);
  }
  call_operator(w.op, inputs.values());
  auto after = inputs.bytes();
  for (std::size_t k = 0; k < after.size(); ++k) {
    const core::TensorImpl& t = *inputs.tensors()[k];
    const core::ArgInfo& a = w.op.args[inputs.position(k)];
    const bool moved = t.version() != versions[k], counted = t.storage->head.writes != writes[k];
    if (moved != counted)
      return core::join("'", a.name, "': autograd and plugins see different counts of writes");
    if (after[k] != before[k] && !moved)
      return core::join("'", a.name, "' was written and its version stays");
    if (!a.mutates && moved) return core::join("the version of '", a.name, "' moved");
  }
  return "";
}

// A call that is refused, then one that is not: the second is not affected.
Verdicts check_recovery(const Whole& w) {
  Results expected = w.call();
  Built inputs = w.build_inputs();
  int bad = -1;
  for (int i = 0; i < w.op.n_args && bad < 0; ++i) {
    if (w.op.args[i].type == core::ArgType::Tensor || w.op.args[i].type == core::ArgType::Device)
      bad = i;
  }
  if (bad < 0) return std::nullopt;
  const tn_value good = inputs.values()[bad];
  inputs.values()[bad] =
      w.op.args[bad].type == core::ArgType::Tensor ? tn_value{} : unknown_device();
  try {
    call_operator(w.op, inputs.values());
    return core::join("a bad '", w.op.args[bad].name, "' is not refused");
  } catch (const Error&) {
  }
  inputs.values()[bad] = good;
  return w.differs(call_and_collect(w.op, inputs), expected);
}

// Once the results are gone, as much tensor memory is in use as before.
Verdicts check_memory(const Whole& w) {
  Built inputs = w.build_inputs();
  call_operator(w.op, inputs.values());
  const uint64_t before = core::memory_stats(core::kHost).allocated;
  call_operator(w.op, inputs.values());
  const uint64_t after = core::memory_stats(core::kHost).allocated;
  return after == before
             ? ""
             : core::join(after, " bytes are in use after the call, ", before, " before");
}

// Other than an argument that is handed back.
bool is_recorded(const Built& inputs, const Results& results, bool integers_only) {
  for (const oracle::Result& r : results) {
    if (!r.tensor ||
        (integers_only && (isFloatingType(r.tensor->dtype) || isComplexType(r.tensor->dtype))))
      continue;
    const auto& given = inputs.tensors();
    const bool handed_back = std::find(given.begin(), given.end(), r.tensor) != given.end();
    if (!handed_back && (r.tensor->flags & core::kTracked)) return true;
  }
  return false;
}

// Recording changes no bit; nothing is recorded under NoGradGuard, of integers or by an operator
// without gradient.
Verdicts check_recording(const Whole& w) {
  Results expected = w.call();
  Built inputs = w.build_inputs();
  bool any = false;
  for (std::size_t k = 0; k < inputs.tensors().size(); ++k) {
    const core::Impl& t = inputs.tensors()[k];
    if (!isFloatingType(t->dtype) || w.op.args[inputs.position(k)].mutates) continue;
    Tensor(t).requires_grad_(true);
    any = true;
  }
  if (!any) return std::nullopt;
  Results plain, ours = call_operator(w.op, inputs.values());
  {
    NoGradGuard guard;
    plain = call_operator(w.op, inputs.values());
  }
  if (is_recorded(inputs, plain, false)) return "recorded under NoGradGuard";
  if (is_recorded(inputs, ours, true)) return "a result of integers is recorded";
  const bool may = w.op.kind == core::OpKind::Composite || w.op.flags & core::kOpDifferentiable;
  if (!may && is_recorded(inputs, ours, false)) return "recorded by an operator without gradient";
  return mutates(w.op) ? "" : w.differs(ours, expected);
}

Verdicts check_served(const Whole& w) {
  core::reset_fallback_counts();
  w.call();
  return core::fallback_summary();
}

Verdicts check_draws(const Whole& w) {
  if (has_values(w.op) || !has_bits(w.op)) return std::nullopt;
  core::GeneratorImpl& generator = core::default_generator(Device(DeviceType::CPU));
  auto after = [&](uint64_t seed, int calls) {
    core::manual_seed(seed);
    for (int k = 1; k < calls; ++k) w.draw();
    return w.draw();
  };
  const Results one = after(7, 1);
  const bool several = std::any_of(one.begin(), one.end(),
                                   [](const auto& r) { return r.tensor && r.tensor->numel > 1; });
  if (!several || generator.offset() == 0) return std::nullopt;  // as dropout that is turned off
  // Few elements may be the same in one draw, but not in all of them.
  constexpr int kTries = 20;
  const auto first = bits(one);
  bool seeds = false, calls = false;
  for (int k = 1; k <= kTries && !(seeds && calls); ++k) {
    seeds = seeds || bits(after(7 + static_cast<uint64_t>(k), 1)) != first;
    calls = calls || bits(after(7, 1 + k)) != first;
  }
  return !seeds ? "other seeds give the same" : !calls ? "further calls draw the same" : "";
}

// Two threads of the program call the operator at once.
Verdicts check_together(const Whole& w) {
  if (!has_values(w.op)) return std::nullopt;
  Results expected = w.call(), mine, theirs;
  std::string thrown;
  std::thread other([&] {
    try {
      theirs = w.call();
    } catch (const std::exception& e) {
      thrown = e.what();
    }
  });
  try {
    mine = w.call();
  } catch (const std::exception& e) {
    thrown = e.what();
  }
  other.join();
  if (!thrown.empty()) return thrown;
  std::string wrong = w.differs(mine, expected);
  return wrong.empty() ? w.differs(theirs, expected) : wrong;
}

struct Check {
  Property property;
  Verdicts (*run)(const Whole&);
};
constexpr Check kChecks[] = {
    {Property::Schema, check_schema},       {Property::ByName, check_by_name},
    {Property::Device, check_device},       {Property::Version, check_version},
    {Property::Recovery, check_recovery},   {Property::Memory, check_memory},
    {Property::Recording, check_recording}, {Property::Served, check_served},
    {Property::Draws, check_draws},         {Property::Together, check_together},
};

}  // namespace

std::string other_geometry(const Results& a, const Results& b) {
  if (a.size() != b.size()) return core::join(a.size(), " results instead of ", b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!a[k].tensor || !b[k].tensor) {
      if (!a[k].tensor != !b[k].tensor)
        return core::join("output ", k, ": a tensor on one side alone");
      if (a[k].plain.tag != b[k].plain.tag)
        return core::join("output ", k, ": a value of another kind");
      continue;
    }
    const core::TensorImpl &x = *a[k].tensor, &y = *b[k].tensor;
    if (x.dtype != y.dtype)
      return core::join("output ", k, ": ", dtype_name(x.dtype), " instead of ",
                        dtype_name(y.dtype));
    if (x.sizes() != y.sizes())
      return core::join("output ", k, ": sizes ", core::text(x.sizes()), " instead of ",
                        core::text(y.sizes()));
    if (x.strides() != y.strides())
      return core::join("output ", k, ": strides ", core::text(x.strides()), " instead of ",
                        core::text(y.strides()));
  }
  return {};
}

Findings run_whole(const Cell& cell, DeviceId elsewhere) {
  Findings out;
  const Whole w{cell, elsewhere};
  try {
    w.call();
  } catch (const Error&) {
    return out;  // the operator does not take the sample in this dtype, which other tasks judge
  }
  for (const Check& c : kChecks) {
    try {
      if (Verdicts v = c.run(w)) out.judge(c.property, *v);
    } catch (const Error& e) {
      out.failed(c.property, e.what());
    }
  }
  return out;
}

}  // namespace tenon::check
