// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <algorithm>

#include "gradients.h"
#include "named_case.h"
#include "replay_training.h"
#include "results.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::oracle {
namespace {

// "aten::softmax.int(Tensor ..." names the operator "softmax.int".
std::string operator_name(const std::string& schema) {
  std::string name = schema.substr(0, schema.find('('));
  std::size_t space = name.find("::");
  return space == std::string::npos ? name : name.substr(space + 2);
}

class Case {
 public:
  // `called`: the form that the schema names.
  Case(const core::Op& op, core::BoxedFn called, const CaseFile& file, const json& c,
       core::DeviceId place)
      : op_(op), called_(called), file_(file), c_(c), place_(place) {}

  // Each returns what is wrong, or an empty string.
  std::string error();
  std::string functional();
  std::string inplace();
  std::string inplace_gradient();
  std::string out(bool empty);

  bool has_gradients() const { return c_.contains("grads"); }

 private:
  std::vector<Result> call(const Arguments& args, core::BoxedFn f) {
    std::vector<core::OwnedValue> values(op_.n_results);
    f(args.values(), values.data());
    return flatten(values.data(), op_.n_results);
  }
  std::string check_unchanged(const Arguments& args) {
    std::string name = args.changed();
    const std::string written = name.substr(0, name.find('.'));
    if (c_.contains("after") && c_.at("after").contains(written)) return {};
    if (called_ != op_.boxed_call && written == op_.args[0].name) return {};
    return name.empty() ? "" : "argument '" + name + "' was changed";
  }
  bool result_fits_first_argument(const Arguments& args) const;
  std::string check_layout(const std::vector<Result>& results) const {
    const auto expected = c_.find("sparse_result");
    if (expected == c_.end() || !results.at(0).tensor) return {};
    const Layout layout = Tensor(results[0].tensor).layout();
    return (layout != kStrided) == expected->get<bool>()
               ? ""
               : core::join("a result of layout ", toString(layout));
  }
  // Such an argument cannot be made: it is refused before the call.
  bool too_many_dimensions() const {
    for (const json& a : c_.at("args")) {
      if (CaseFile::is_ref(a) && file_.stored(a).sizes.size() > core::kMaxDims) return true;
    }
    return false;
  }

  const core::Op& op_;
  core::BoxedFn called_;
  const CaseFile& file_;
  const json& c_;
  core::DeviceId place_;
};

std::string Case::error() {
  std::string expected = c_.at("raises").is_array() ? c_.at("raises").at(0).get<std::string>()
                                                    : c_.at("raises").get<std::string>();
  if (too_many_dimensions()) return {};
  Arguments args(op_, file_, c_.at("args"), place_);
  try {
    call(args, called_);
    core::synchronize(place_);  // an asynchronous device reports its errors here
    return "no error, expected " + expected;
  } catch (const IndexError&) {
  } catch (const Error& e) {
    if (expected == "IndexError") return core::join("another class than IndexError: ", e.what());
  }
  return check_unchanged(args);
}

std::string Case::functional() {
  Arguments args(op_, file_, c_.at("args"), place_);
  if (has_gradients()) require_gradients(c_, args);
  std::vector<Result> results = call(args, called_);
  Judgment j = judge(op_, file_, c_, args, results);
  if (!j.difference.empty()) return j.difference;
  std::string wrong = check_layout(results);
  if (wrong.empty()) wrong = judge_written(file_, c_, args);
  if (wrong.empty()) wrong = check_unchanged(args);
  if (wrong.empty() && has_gradients() && !j.other_choice) {
    wrong = judge_gradients(file_, c_, args, results, place_);
    if (wrong.empty()) wrong = check_unchanged(args);
  }
  return wrong;
}

bool Case::result_fits_first_argument(const Arguments& args) const {
  const json& outputs = c_.at("outputs");
  if (outputs.size() != 1 || !CaseFile::is_ref(outputs[0]) || args.tensors().empty()) return false;
  if (args.count() == 0 || args.values()[0].tag != TN_TAG_TENSOR) return false;
  core::TensorImpl& self = *args.tensors().front();
  if (self.view.flags & TN_TENSOR_OVERLAPPING) return false;
  return dtype_name(self.dtype) == c_.at("out_dtypes").at(0).get<std::string>() &&
         file_.values(outputs[0]).sizes == self.sizes().vec();
}

std::string Case::inplace() {
  Arguments args(op_, file_, c_.at("args"), place_);
  if (!result_fits_first_argument(args)) return {};
  core::Impl self = args.tensors().front();
  args.replace(0, core::Impl(self));
  std::vector<Result> results = call(args, op_.boxed_inplace);
  if (results.empty() || results[0].tensor != self) return "does not return its first argument";
  Arguments fresh(op_, file_, c_.at("args"), place_);
  std::string wrong = judge(op_, file_, c_, fresh, {results[0]}).difference;
  if (!wrong.empty()) return wrong;
  wrong = args.changed();
  return wrong.empty() || wrong == op_.args[0].name ? "" : "argument '" + wrong + "' was changed";
}

// The gradient through a copy of the first argument that the in-place form overwrites.
std::string Case::inplace_gradient() {
  Arguments args(op_, file_, c_.at("args"), place_);
  if (!result_fits_first_argument(args)) return {};
  require_gradients(c_, args);
  args.replace(0, recorded_copy(args.tensors().front()));
  std::vector<Result> results = call(args, op_.boxed_inplace);
  return judge_gradients(file_, c_, args, results, place_);
}

// `empty`: into tensors without elements, which are resized; else into tensors of the final shape
// whose last two dimensions lie transposed in memory.
std::string Case::out(bool empty) {
  const json& outputs = c_.at("outputs");
  if (c_.value("sparse_result", false)) return {};  // these outs are strided
  std::vector<core::Impl> outs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!CaseFile::is_ref(outputs[i])) return {};
    std::vector<int64_t> sizes = empty ? std::vector<int64_t>{0} : file_.values(outputs[i]).sizes;
    std::vector<int64_t> transposed = sizes, strides(sizes.size());
    std::size_t n = sizes.size();
    if (n > 1) std::swap(transposed[n - 1], transposed[n - 2]);
    core::contiguous_strides(static_cast<int>(n), transposed.data(), strides.data());
    if (n > 1) std::swap(strides[n - 1], strides[n - 2]);
    outs.push_back(core::new_tensor(
        "oracle", core::dtype_from_name(c_.at("out_dtypes").at(i).get<std::string>()), place_,
        static_cast<int>(n), sizes.data(), strides.data()));
  }
  Arguments args(op_, file_, c_.at("args"), place_);
  (*op_.boxed_out)(args.values(), outs.data());
  std::vector<Result> results;
  results.reserve(outs.size());
  for (core::Impl& t : outs) results.push_back({t, {}, 0});
  std::string wrong = judge(op_, file_, c_, args, results).difference;
  return wrong.empty() ? check_unchanged(args) : wrong;
}

// Runs one form; an exception is a failure that names it.
template <class F>
std::string run_guarded(const char* form, F f) {
  std::string wrong;
  try {
    wrong = f();
  } catch (const std::exception& e) {
    wrong = core::join("threw: ", e.what());
  }
  return wrong.empty() || !*form ? wrong : core::join(form, ": ", wrong);
}

// Values that no seed repeats, and written arguments, belong to the form that the case calls.
bool is_of_one_form(const core::Op& op, core::BoxedFn called, const json& c) {
  return called != op.boxed_call || c.contains("after") || c.contains("check");
}

std::string run_all_forms(const core::Op& op, core::BoxedFn called, const CaseFile& file,
                          const json& c, core::DeviceId place) {
  Case one(op, called, file, c, place);
  if (c.contains("raises")) return run_guarded("", [&] { return one.error(); });
  std::string wrong = run_guarded("", [&] { return one.functional(); });
  if (is_of_one_form(op, called, c)) return wrong;
  if (wrong.empty() && op.boxed_inplace) {
    wrong = run_guarded("in-place", [&] { return one.inplace(); });
    if (wrong.empty() && one.has_gradients())
      wrong = run_guarded("in-place", [&] { return one.inplace_gradient(); });
  }
  if (wrong.empty() && op.boxed_out && !c.at("list").get<bool>()) {
    wrong = run_guarded("out", [&] { return one.out(false); });
    if (wrong.empty()) wrong = run_guarded("out, resized", [&] { return one.out(true); });
  }
  return wrong;
}

Outcome replay_operator(const CaseFile& file, const json& c, core::DeviceId place) {
  std::string name = operator_name(c.at("schema").get<std::string>());
  const core::Op* op = core::find_op(name);
  core::BoxedFn called = op ? op->boxed_call.load() : nullptr;
  if (!called) {  // "add_.Tensor" is the in-place form of "add.Tensor"
    const std::size_t end = std::min(name.find('.'), name.size());
    if (end > 1 && name[end - 1] == '_') {
      op = core::find_op(std::string(name).erase(end - 1, 1));
      called = op ? op->boxed_inplace.load() : nullptr;
    }
  }
  if (!called) return {Verdict::Skipped, "no operator named " + name};
  std::string wrong = run_guarded("", [&] { return run_all_forms(*op, called, file, c, place); });
  return {wrong.empty() ? Verdict::Passed : Verdict::Failed, wrong};
}

Outcome replay_named(const CaseFile& file, const json& c, core::DeviceId place) {
  const NamedCase named = name_case(c);
  const std::string name = c.at("op").get<std::string>();
  if (!named.op)
    return {Verdict::Failed, "no overload of " + name + " takes " + c.at("args").dump()};
  std::string wrong = run_guarded(
      "", [&] { return run_all_forms(*named.op, named.op->boxed_call, file, named.c, place); });
  return {wrong.empty() ? Verdict::Passed : Verdict::Failed, wrong};
}

}  // namespace

Outcome replay(const CaseFile& file, const json& c, core::DeviceId place) {
  if (c.contains("schema") && c.contains("args")) return replay_operator(file, c, place);
  if (c.contains("op") && c.contains("args")) return replay_named(file, c, place);
  try {
    if (c.contains("module")) {
      if (!place.is_host()) return {Verdict::Skipped, "modules are replayed on the host"};
      return replay_module(file, c);
    }
    if (c.contains("optimizer")) return replay_optimizer(file, c);
    if (c.contains("scheduler")) return replay_schedule(c);
  } catch (const std::exception& e) {
    return {Verdict::Failed, core::join("threw: ", e.what())};
  }
  return {Verdict::Skipped,
          "the format is not read yet: no schema, module, optimizer or scheduler"};
}

}  // namespace tenon::oracle
