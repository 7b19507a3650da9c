// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The forms with an output of their own: out= in five situations, in-place, and arguments that
// share memory.
#include <algorithm>
#include <cstring>
#include <functional>

#include "cell.h"
#include "reference.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/random.h"

namespace tenon::check {
namespace {

constexpr int64_t kMargin = 8;
constexpr char kByte = 0x3a;

// Whether a tensor of dtype `to` may be given results of dtype `from`.
bool can_hold(ScalarType from, ScalarType to) {
  if (isFloatingType(from)) return isFloatingType(to);
  return to != kBool || from == kBool;
}

class Forms {
 public:
  Forms(const Cell& cell, const Results& expected, DeviceId elsewhere, Findings& out)
      : cell_(cell), op_(cell.op), elsewhere_(elsewhere), out_(out) {
    for (const oracle::Result& r : expected) expected_.push_back(r.tensor);
    tensors_only_ = std::all_of(expected_.begin(), expected_.end(),
                                [](const core::Impl& t) { return bool(t); });
  }
  void check_outs();
  void check_inplace();
  void check_alias();

 private:
  using Outs = std::vector<core::Impl>;
  Built build_inputs() const { return Built(cell_.spec, cell_.dtype, cell_.memory, cell_.place); }
  Outs make_outs(const std::function<core::Impl(const core::TensorImpl&)>& one) const {
    Outs out;
    for (const core::Impl& t : expected_) out.push_back(one(*t));
    return out;
  }
  std::string call_out(const Outs& outs,
                       const std::function<std::string(const Outs&)>& besides = {}) const;
  std::string check_refused(const Outs& outs) const;
  core::Impl make_empty(ScalarType dtype, DeviceId place, const std::vector<int64_t>& sizes) const {
    return core::new_tensor("check", dtype, place, static_cast<int>(sizes.size()), sizes.data());
  }
  std::string differs(const core::Impl& ours, const core::Impl& expected) const {
    if (!has_bits(op_)) return ours->sizes() == expected->sizes() ? "" : "another shape";
    // An operator that creates on the host unless an argument names a device: each device has its
    // last digits.
    if (ours->device_id.slot != expected->device_id.slot)
      return close_values(oracle::values_of(*ours), oracle::values_of(*expected));
    return same_values(oracle::values_of(*ours), oracle::values_of(*expected)) ? ""
                                                                               : "other values";
  }
  core::Impl make_filled(const core::TensorImpl& like) const;
  core::Impl make_guarded(const core::TensorImpl& like) const;
  void check_refused_outs();
  bool result_fits_first(bool same_dtype) const;

  const Cell& cell_;
  const core::Op& op_;
  DeviceId elsewhere_;
  Findings& out_;
  std::vector<core::Impl> expected_;
  bool tensors_only_ = true;
};

std::string Forms::call_out(const Outs& outs,
                            const std::function<std::string(const Outs&)>& besides) const {
  Built inputs = build_inputs();
  auto before = inputs.bytes();
  try {
    core::manual_seed(7);
    op_.boxed_out.load()(inputs.values(), outs.data());
  } catch (const Error& e) {
    return e.what();
  }
  for (std::size_t i = 0; i < outs.size(); ++i) {
    std::string wrong = differs(outs[i], expected_[i]);
    if (!wrong.empty()) return core::join("output ", i, ": ", wrong);
  }
  std::string wrong = changed(op_, inputs, before);
  return wrong.empty() && besides ? besides(outs) : wrong;
}

std::string Forms::check_refused(const Outs& outs) const {
  Built inputs = build_inputs();
  auto before = inputs.bytes();
  auto written = oracle::storage_bytes(*outs[0]);
  try {
    core::manual_seed(7);
    op_.boxed_out.load()(inputs.values(), outs.data());
    return core::join("out= of ", dtype_name(outs[0]->dtype), " on ", outs[0]->device().str(),
                      " is not refused");
  } catch (const Error&) {
  }
  if (oracle::storage_bytes(*outs[0]) != written) return "a refused out= was written";
  return changed(op_, inputs, before);
}

// NaN, or the largest number.
core::Impl Forms::make_filled(const core::TensorImpl& like) const {
  Values v{like.dtype, like.sizes().vec(), {}, {}};
  bool floating = isFloatingType(like.dtype);
  const uint64_t bits =
      like.dtype == kBool ? 1 : 8 * like.itemsize() - (like.dtype == kUInt8 ? 0 : 1);
  const auto max = static_cast<int64_t>((uint64_t{1} << (floating ? 0 : bits)) - 1);
  v.real.assign(static_cast<std::size_t>(like.numel), floating ? NAN : static_cast<double>(max));
  if (!floating) v.exact.assign(v.real.size(), max);
  return make_tensor(v, cell_.spec, like.dtype, Memory::Contiguous, cell_.place);
}

// Every second element of a filled storage, with a margin on both sides.
core::Impl Forms::make_guarded(const core::TensorImpl& like) const {
  std::vector<int64_t> strides(static_cast<std::size_t>(like.ndim()));
  core::contiguous_strides(like.ndim(), like.view.sizes, strides.data());
  for (int64_t& s : strides) s *= 2;
  int64_t item = like.itemsize();
  int64_t bytes = (2 * like.numel + 2 * kMargin) * item;
  core::Impl flat = make_empty(kUInt8, core::kHost, {bytes});
  std::memset(flat->host_data(), kByte, static_cast<std::size_t>(bytes));
  if (!cell_.place.is_host()) {
    core::Impl remote = make_empty(kUInt8, cell_.place, {bytes});
    core::copy(*remote, *flat);
    flat = remote;
  }
  return core::TensorImpl::make(like.dtype, flat->storage, flat->byte_offset() + kMargin * item,
                                like.ndim(), like.view.sizes, strides.data());
}

// True if the bytes before, between and after the elements are as they were.
bool is_intact(core::TensorImpl& t) {
  std::vector<char> bytes = oracle::storage_bytes(t);
  std::size_t item = t.itemsize(), begin = t.byte_offset();
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.numel); ++i) {
    std::memset(bytes.data() + begin + i * 2 * item, kByte, item);
  }
  std::size_t end = begin + (2 * static_cast<std::size_t>(t.numel) + kMargin) * item;
  begin -= kMargin * item;
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                     bytes.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return c == kByte; });
}

void Forms::check_outs() {
  if (!op_.boxed_out.load() || !tensors_only_ ||
      static_cast<int>(expected_.size()) != op_.n_results)
    return;
  Outs full = make_outs([&](const core::TensorImpl& t) { return make_filled(t); });
  std::vector<uint64_t> addresses;
  for (const core::Impl& t : full) addresses.push_back(t->view.byte_offset);
  out_.judge(Property::OutFilled, call_out(full, [&](const Outs& outs) -> std::string {
               for (std::size_t i = 0; i < outs.size(); ++i) {
                 if (outs[i]->view.byte_offset != addresses[i]) return "another address";
               }
               return {};
             }));
  Outs gaps = make_outs([&](const core::TensorImpl& t) { return make_guarded(t); });
  std::vector<std::vector<int64_t>> strides;
  for (const core::Impl& t : gaps) strides.push_back(t->strides().vec());
  out_.judge(Property::OutStrided, call_out(gaps, [&](const Outs& outs) -> std::string {
               for (std::size_t i = 0; i < outs.size(); ++i) {
                 if (outs[i]->strides() != IntArrayRef(strides[i])) return "other strides";
                 if (!is_intact(*outs[i])) return "bytes outside of the elements were written";
               }
               return {};
             }));
  out_.judge(Property::OutEmpty, call_out(make_outs([&](const core::TensorImpl& t) {
               return make_empty(t.dtype, cell_.place, {0});
             })));
  out_.judge(Property::OutShape, call_out(make_outs([&](const core::TensorImpl& t) {
               return make_empty(t.dtype, cell_.place, {t.numel + 1, 2});
             })));
  check_refused_outs();
}

void Forms::check_refused_outs() {
  // What such an operator creates is of the dtype and on the device of out.
  const auto takes_device = [](const core::ArgInfo& a) { return a.type == core::ArgType::Device; };
  if (std::any_of(op_.args, op_.args + op_.n_args, takes_device)) return;
  const core::TensorImpl& first = *expected_[0];
  auto with_first = [&](core::Impl t) {
    Outs outs = make_outs([&](const core::TensorImpl& like) { return make_filled(like); });
    outs[0] = std::move(t);
    return outs;
  };
  std::string wrong;
  if (first.dtype != kBool) {
    ScalarType other = isFloatingType(first.dtype) ? kLong : kBool;
    wrong = check_refused(with_first(make_empty(other, cell_.place, first.sizes().vec())));
  }
  if (wrong.empty() && !(op_.flags & core::kOpCrossDevice) && elsewhere_.slot != cell_.place.slot) {
    wrong = check_refused(with_first(make_empty(first.dtype, elsewhere_, first.sizes().vec())));
  }
  out_.judge(Property::OutRefused, wrong);
}

// Whether the one result has the sizes of the first argument, and its dtype or one that the
// argument can hold.
bool Forms::result_fits_first(bool same_dtype) const {
  if (expected_.size() != 1 || !tensors_only_ || op_.n_args == 0) return false;
  core::Impl self = build_inputs().tensor(0);
  if (!self || self->sizes() != expected_[0]->sizes()) return false;
  return same_dtype ? self->dtype == expected_[0]->dtype
                    : can_hold(expected_[0]->dtype, self->dtype);
}

void Forms::check_inplace() {
  core::BoxedFn f = op_.boxed_inplace.load();
  Built inputs = build_inputs();
  core::Impl self = op_.n_args ? inputs.tensor(0) : core::Impl();
  if (!f || !self || expected_.size() != 1 || !tensors_only_) return;
  bool fits = result_fits_first(false);
  if (fits && self->numel > 1 && (self->view.flags & TN_TENSOR_OVERLAPPING)) fits = false;
  auto before = inputs.bytes();
  const core::Storage* storage = self->storage.get();
  std::vector<core::OwnedValue> values(op_.n_results);
  try {
    core::manual_seed(7);
    f(inputs.values(), values.data());
  } catch (const Error& e) {
    std::string wrong = fits                       ? e.what()
                        : inputs.bytes() != before ? "a refused call wrote to its arguments"
                                                   : "";
    return out_.judge(Property::InPlace, wrong);
  }
  if (!fits) return out_.failed(Property::InPlace, "a result that does not fit is not refused");
  if (values[0].tensor != self)
    return out_.failed(Property::InPlace, "does not return its first argument");
  if (self->storage.get() != storage) return out_.failed(Property::InPlace, "another storage");
  core::Impl truth = expected_[0];
  if (truth->dtype != self->dtype) {
    truth = make_empty(self->dtype, cell_.place, self->sizes().vec());
    core::copy(*truth, *expected_[0]);
  }
  auto after = inputs.bytes();
  for (std::size_t k = 1; k < after.size(); ++k) {
    if (after[k] != before[k])
      return out_.failed(Property::InPlace, "another argument was changed");
  }
  out_.judge(Property::InPlace, differs(self, truth));
}

void Forms::check_alias() {
  Built inputs = build_inputs();
  std::string wrong;
  // out= over the first argument.
  if (op_.boxed_out.load() && op_.n_results == 1 && result_fits_first(true) &&
      cell_.memory != Memory::Expanded) {
    core::Impl self = inputs.tensor(0);
    try {
      core::manual_seed(7);
      op_.boxed_out.load()(inputs.values(), &self);
      wrong = differs(self, expected_[0]);
    } catch (const Error& e) {
      wrong = e.what();
    }
    if (!wrong.empty())
      return out_.failed(Property::Alias, "out= over the first argument: " + wrong);
  }
  // One tensor as two arguments.
  const bool two = op_.n_args > 1 && cell_.spec.args[0].tensors.size() == 1 &&
                   cell_.spec.args[1].tensors.size() == 1 && !cell_.spec.args[0].is_list &&
                   !cell_.spec.args[1].is_list && !mutates(op_);
  Built twice = build_inputs(), apart = build_inputs();
  if (two && twice.tensor(1)->sizes() == twice.tensor(0)->sizes() &&
      twice.tensor(0)->dtype == twice.tensor(1)->dtype && cell_.memory != Memory::Expanded) {
    core::copy(*apart.tensor(1), *apart.tensor(0));
    twice.values()[1].u.tensor = twice.values()[0].u.tensor;
    try {
      Results separate = call_operator(op_, apart.values());
      if (has_bits(op_) && bits(call_operator(op_, twice.values())) != bits(separate))
        wrong = "one tensor as two arguments: other values";
    } catch (const Error&) {  // refused by its values: nothing to compare
    }
  }
  // New results do not share storage, views do.
  if (wrong.empty() && op_.kind != core::OpKind::Composite) {
    Built again = build_inputs();
    for (const oracle::Result& r : call_operator(op_, again.values())) {
      if (!r.tensor || r.tensor->numel == 0) continue;
      bool shares =
          std::any_of(again.tensors().begin(), again.tensors().end(),
                      [&](const core::Impl& t) { return t->storage == r.tensor->storage; });
      if (shares != (op_.kind == core::OpKind::View))
        wrong = shares ? "shares storage" : "a view has its own storage";
    }
  }
  out_.judge(Property::Alias, wrong);
}

}  // namespace

void run_forms(const Cell& cell, const Results& expected, DeviceId elsewhere, Findings& out) {
  Forms forms(cell, expected, elsewhere, out);
  forms.check_outs();
  forms.check_inplace();
  forms.check_alias();
}

}  // namespace tenon::check
