// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Against libtorch, where TENON_FUZZ_TORCH names the module: the same tensors, in contiguous
// memory.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "baseline.h"
#include "compare.h"
#include "known.h"
#include "tools/check/reference.h"
#include "ways.h"

namespace tenon::fuzz {
namespace {

struct Baseline {
  baseline_call_fn call = nullptr;
  baseline_release_fn release = nullptr;
  Baseline() {
    const char* module = std::getenv("TENON_FUZZ_TORCH");
    if (!module || !*module) return;
    void* library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw ValueError(core::join("TENON_FUZZ_TORCH: ", dlerror()));
    call = reinterpret_cast<baseline_call_fn>(dlsym(library, "baseline_call"));
    release = reinterpret_cast<baseline_release_fn>(dlsym(library, "baseline_release"));
  }
};

const Baseline& baseline() {
  static const Baseline p;
  return p;
}

// What one alone refuses is counted; TENON_FUZZ_REFUSALS makes it a finding.
bool asks_for_refusals() {
  static const bool asked = std::getenv("TENON_FUZZ_REFUSALS") != nullptr;
  return asked;
}

Impl tensor_of(const baseline_tensor& t) {
  if (t.ndim < 0) return {};
  Impl out = core::new_tensor("fuzz", core::dtype_from_abi(t.dtype), core::kHost, t.ndim, t.sizes);
  std::memcpy(out->host_data(), t.data, t.bytes);
  return out;
}

std::string other_dtypes(const Results& ours, const Results& theirs) {
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (!ours[i].tensor || !theirs[i].tensor || ours[i].tensor->dtype == theirs[i].tensor->dtype)
      continue;
    return core::join("result ", i, " is ", dtype_name(ours[i].tensor->dtype), " instead of ",
                      dtype_name(theirs[i].tensor->dtype));
  }
  return {};
}

}  // namespace

bool has_baseline() { return baseline().call != nullptr; }

std::string compare_with_baseline(const Call& call, const Answer& ours, bool loosely) {
  const core::Op& op = call.op();
  if (!has_baseline() || !check::has_values(op) || call.spec().device_arg >= 0 ||
      is_left_out(op, Way::Baseline)) {
    return {};
  }
  Call::Arguments in = call.contiguous();
  std::vector<baseline_arg> args;
  args.reserve(static_cast<std::size_t>(op.n_args));
  for (int i = 0; i < op.n_args; ++i)
    args.push_back({op.args[i].name, in.values[static_cast<std::size_t>(i)]});
  const std::string full = op.name, name = full.substr(0, full.find('.'));
  const std::string overload = name.size() == full.size() ? "" : full.substr(name.size() + 1);
  const auto result = std::make_unique<baseline_result>();
  baseline().call(name.c_str(), overload.c_str(), args.data(), op.n_args, result.get());
  const std::unique_ptr<baseline_result, baseline_release_fn> released(result.get(),
                                                                       baseline().release);
  if (result->status == BASELINE_UNKNOWN) return {};
  if (result->status == BASELINE_REFUSED) {
    if (ours.refused()) return tally("both refuse"), "";
    tally("only libtorch refuses");
    const std::string wrong = core::join("libtorch refuses: ", result->text);
    return !asks_for_refusals() || is_known(call, Way::BaselineRefuses, wrong) ? "" : wrong;
  }
  if (ours.refused()) {
    tally("only libtorch accepts");
    const std::string wrong = "libtorch accepts, here: " + ours.refusal;
    return !asks_for_refusals() || is_known(call, Way::BaselineAccepts, wrong) ? "" : wrong;
  }
  Results theirs;
  for (int i = 0; i < result->n; ++i) theirs.push_back({tensor_of(result->tensors[i]), {}});
  for (std::size_t i = 0; i < in.tensors.size(); ++i) {
    if (op.args[call.position(i)].mutates) theirs.push_back({in.tensors[i], {}});
  }
  tally("against libtorch");
  std::string wrong = other_dtypes(ours.results, theirs);
  Call::Arguments plain = call.contiguous();
  Nearness near = nearness(call, Way::Baseline);
  if (loosely) near = {near.units * 1000, near.of_operands, near.min_unit, true};
  if (wrong.empty()) wrong = too_far(op, plain.values.data(), ours.results, theirs, near);
  if (!wrong.empty() && !call.mixed()) {
    Slack slack;
    const Answer middle = call_widened(call, {}, 0, 0);
    for (unsigned signs = 1; signs < 5; ++signs)
      widen(slack, call_widened(call, {}, 2, signs).results, middle.results);
    wrong = other_dtypes(ours.results, theirs);
    if (wrong.empty()) wrong = too_far(op, plain.values.data(), ours.results, theirs, near, slack);
  }
  return wrong.empty() || is_known(call, Way::Baseline, wrong) ? "" : "libtorch: " + wrong;
}

}  // namespace tenon::fuzz
