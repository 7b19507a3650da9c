// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include "formula.h"
#include "tenon/runtime/error.h"

namespace tenon::oracle {
namespace {

std::string judge_plain(const Result& r, const json& truth, Tolerance tol) {
  if (r.tensor) return "a tensor instead of the value " + truth.dump();
  if (truth.is_object() && truth.contains("dtype")) {
    if (r.plain.tag != TN_TAG_DTYPE) return "not a dtype";
    const ScalarType want = core::dtype_from_name(truth.at("dtype").get<std::string>());
    const ScalarType got = core::dtype_from_abi(r.plain.u.dtype);
    return got == want ? "" : core::join("dtype ", toString(got));
  }
  if (is_complex_number(truth)) {
    if (r.plain.tag != TN_TAG_COMPLEX) return "not a complex number";
    const auto want = complex_number(truth);
    return compare_values({kComplexDouble, {}, {r.plain.u.f64}, {}, {r.imaginary}},
                          {kComplexDouble, {}, {want.real()}, {}, {want.imag()}}, tol);
  }
  if (truth.is_boolean()) {
    if (r.plain.tag != TN_TAG_BOOL) return "not a bool";
    return (r.plain.u.i64 != 0) == truth.get<bool>() ? "" : "not " + truth.dump();
  }
  if (r.plain.tag != TN_TAG_I64 && r.plain.tag != TN_TAG_F64) return "not a number";
  double ours = r.plain.tag == TN_TAG_I64 ? static_cast<double>(r.plain.u.i64) : r.plain.u.f64;
  Values mine{kDouble, {}, {ours}, {}, {}}, theirs{kDouble, {}, {number(truth)}, {}, {}};
  return compare_values(mine, theirs, tol);
}

// Cases with integer inputs name no tolerance; a floating result of theirs is rounded all the same.
Tolerance of_dtype(const std::string& dtype) {
  if (dtype == "float64" || dtype == "complex128") return {1e-7, 1e-8};
  if (dtype == "float32" || dtype == "complex64") return {2e-5, 2e-6};
  if (dtype == "float16") return {4e-3, 2e-3};
  if (dtype == "bfloat16") return {3e-2, 2e-2};
  return {};
}

// Results that a formula judges, or nobody, come with a shape alone, or with nothing.
std::string judge_shape(const Result& r, const json& truth, const std::string& dtype) {
  if (!r.tensor) return "no tensor";
  const std::string mine(dtype_name(r.tensor->dtype));
  if (mine != dtype) return "dtype " + mine + " instead of " + dtype;
  const auto shape = truth.at("shape").get<std::vector<int64_t>>();
  return r.tensor->sizes() == IntArrayRef(shape)
             ? ""
             : core::join("shape ", r.tensor->sizes(), " instead of ", IntArrayRef(shape));
}

std::string judge_tensor(const Result& r, const Values& truth, const std::string& dtype,
                         Tolerance tol) {
  if (tol.rtol == 0 && tol.atol == 0) tol = of_dtype(dtype);
  if (!r.tensor) return "no tensor";
  std::string mine(dtype_name(r.tensor->dtype));
  if (mine != dtype) return "dtype " + mine + " instead of " + dtype;
  return compare_values(values_of(*r.tensor), truth, tol);
}

}  // namespace

Tolerance tolerance(const json& c) {
  auto tol = c.find("tol");
  // Cases of integers have no tolerance; where their results are floats, they are float32's own.
  if (tol == c.end()) return {2e-6, 1e-6};
  return tolerance_of(*tol);
}
Tolerance tolerance_of(const json& tol) {
  return {tol.at("rtol").get<double>(), tol.at("atol").get<double>()};
}

std::vector<Result> flatten(const core::OwnedValue* values, int n) {
  std::vector<Result> out;
  for (int i = 0; i < n; ++i) {
    if (values[i].tag == TN_TAG_TENSOR_LIST) {
      for (const core::Impl& t : values[i].tensors) out.push_back({t, {}, 0});
    } else if (values[i].tag == TN_TAG_TENSOR) {
      out.push_back({values[i].tensor, {}, 0});
    } else if (values[i].tag == TN_TAG_I64_LIST) {
      for (const int64_t n : values[i].ints) {
        tn_value v{};
        v.tag = TN_TAG_I64;
        v.u.i64 = n;
        out.push_back({{}, v, 0});
      }
    } else {
      tn_value v = values[i].plain;
      v.tag = values[i].tag;
      out.push_back({{}, v, values[i].imaginary});
    }
  }
  return out;
}

Judgment judge(const core::Op& op, const CaseFile& file, const json& c, const Arguments& args,
               const std::vector<Result>& results) {
  const json& outputs = c.at("outputs");
  if (results.size() != outputs.size()) {
    return {core::join(results.size(), " results instead of ", outputs.size()), false};
  }
  EqualValueRule rule(op, args.values());
  Tolerance tol = tolerance(c);
  Judgment j;
  for (std::size_t i = 0; i < outputs.size() && j.difference.empty(); ++i) {
    const json& truth = outputs[i];
    if (truth.is_object() && truth.contains("any")) continue;
    if (truth.is_object() && truth.contains("shape")) {
      j.difference = judge_shape(results[i], truth, c.at("out_dtypes").at(i).get<std::string>());
    } else if (truth.is_null()) {
      if (results[i].tensor) j.difference = "a tensor instead of none";
    } else if (!CaseFile::is_ref(truth)) {
      j.difference = judge_plain(results[i], truth, tol);
    } else {
      Values expected = file.values(truth);
      j.difference =
          judge_tensor(results[i], expected, c.at("out_dtypes").at(i).get<std::string>(), tol);
      if (rule.covers(static_cast<int>(i)) && !j.difference.empty() && results[i].tensor &&
          results[i].tensor->dtype == kInt64) {
        j.difference = rule.compare(values_of(*results[i].tensor), expected);
        j.other_choice = true;
      }
    }
    if (!j.difference.empty()) j.difference = core::join("output ", i, ": ", j.difference);
  }
  const auto check = c.find("check");
  if (j.difference.empty() && check != c.end()) j.difference = judge_formula(*check, results);
  return j;
}

std::string judge_written(const CaseFile& file, const json& c, const Arguments& args) {
  const auto after = c.find("after");
  if (after == c.end()) return {};
  const auto compare = [&](const std::string& name, const json& truth) -> std::string {
    const core::Impl t = args.tensor(name);
    if (!t) return "no tensor '" + name + "'";
    Tolerance tol = tolerance(c);
    if (isFloatingType(t->dtype) && !c.contains("tol"))
      tol = of_dtype(std::string(dtype_name(t->dtype)));
    const std::string wrong = compare_values(values_of(*t), file.values(truth), tol);
    return wrong.empty() ? "" : "'" + name + "' after the call: " + wrong;
  };
  for (const auto& [name, truth] : after->items()) {
    if (!truth.is_array()) {
      if (std::string wrong = compare(name, truth); !wrong.empty()) return wrong;
      continue;
    }
    for (std::size_t i = 0; i < truth.size(); ++i) {
      std::string wrong = compare(core::join(name, ".", i), truth[i]);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

}  // namespace tenon::oracle
