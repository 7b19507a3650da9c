// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls made from every operator's samples, with wild elements, in irregular memory, compared with
// the same call on contiguous copies and with tests/ref in float64: how far those may differ is
// what elements moved by a last place make of the result. With libtorch where TENON_FUZZ_TORCH
// names its module: the build has lib/libfuzz_calls_torch.so where TENON_TORCH is a wheel's folder;
// LD_LIBRARY_PATH must lead to what that needs. TENON_FUZZ_OPS, a regular expression of names,
// leaves the others out.
#include <cstdlib>
#include <map>
#include <regex>

#include "known.h"
#include "tools/check/operator_check.h"
#include "tools/check/reference.h"
#include "ways.h"

namespace {

using namespace tenon::fuzz;
namespace check = tenon::check;
namespace core = tenon::core;

// The samples of an operator, read when it is first drawn.
class Samples {
 public:
  Samples() : library_(TENON_ORACLE_DIR), calls_(TENON_CALLS_DIR) {
    const char* only = std::getenv("TENON_FUZZ_OPS");  // a regular expression of names
    const std::regex wanted(only ? only : ".*");
    for (int i = 0; i < core::op_count(); ++i) {
      const core::Op& op = core::op_at(i);
      if (check::is_callable(op) && std::regex_search(op.name, wanted)) ops_.push_back(&op);
    }
  }
  const std::vector<const core::Op*>& ops() const { return ops_; }
  const std::vector<check::Spec>& of(const core::Op& op) {
    const auto known = specs_.find(op.index);
    if (known != specs_.end()) return known->second;
    auto& specs = specs_[op.index];
    for (check::Spec& s :
         check::list_samples(op, {"cpu", "ref", 24, false, false}, library_, calls_)) {
      if (!s.large) specs.push_back(std::move(s));
    }
    return specs;
  }

 private:
  check::CaseLibrary library_;
  check::CallFiles calls_;
  std::vector<const core::Op*> ops_;
  std::map<int, std::vector<check::Spec>> specs_;
};

Samples* g_samples = nullptr;

bool takes_dtype(const core::Op& op, const check::Spec& s, tenon::ScalarType t) {
  if (!core::parse_dtype_mask(op.dtypes).has(t)) return false;
  if (s.main == tenon::kBool) return t == tenon::kBool;
  return tenon::isFloatingType(s.main) || !tenon::isFloatingType(t);
}

std::string check_call(Random& random) {
  const core::Op& op = *random.pick(g_samples->ops());
  const auto& specs = g_samples->of(op);
  if (specs.empty()) return tally("without samples"), "";
  const check::Spec& spec = random.pick(specs);
  std::vector<tenon::ScalarType> dtypes;
  for (tenon::ScalarType t : check::kDtypes) {
    if (takes_dtype(op, spec, t)) dtypes.push_back(t);
  }
  const Call call(op, spec, dtypes.empty() ? spec.main : random.pick(dtypes), random);
  Call::Arguments plain = call.contiguous();
  const Answer expected = answer(op, plain);
  tally(expected.refused() ? "refused" : "answered");
  std::string wrong = in_irregular_memory(call, expected, random);
  if (wrong.empty()) wrong = call_into_out(call, expected, random);
  if (wrong.empty()) wrong = call_in_place(call, expected, random);
  bool compared = false;
  if (wrong.empty()) wrong = compare_with_reference(call, expected, &compared);
  if (wrong.empty()) wrong = compare_with_baseline(call, expected, compared);
  return wrong.empty() ? "" : call.text() + "\n  " + wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Fuzzer fuzzer{"calls",
                "Calls with wild elements in irregular memory against contiguous ones, the "
                "reference and libtorch.",
                check_call};
  fuzzer.prepare = [] { g_samples = new Samples(); };
  return run(argc, argv, fuzzer);
}
