// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <algorithm>
#include <cmath>

#include "known.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tools/check/operator_check.h"
#include "wild.h"

namespace tenon::fuzz {
namespace {

constexpr double kMixed = 0.1;

Wild wildness(Family family, ScalarType dtype, Random& random) {
  Wild w;
  w.chance = random.pick({0.0, 0.1, 0.5});
  if (family != Family::Sums) return w;
  // Sums of numbers of one size can be compared with a tolerance of that size.
  w.whole_range = false;
  const int powers = dtype == kHalf ? 4 : 12;
  w.power = random.chance(0.5)
                ? 0
                : static_cast<int>(random.between(-powers, dtype == kHalf ? 3 : powers));
  w.finite = random.chance(0.7);
  return w;
}

}  // namespace

Family family_of(const core::Op& op) {
  const std::string_view f = op.family;
  if (f == "pointwise" || f == "compare" || f == "activation") return Family::Elements;
  if (f == "view" || f == "copy" || f == "index" || f == "join" || f == "create" || f == "sort" ||
      f == "pad") {
    return Family::Copies;
  }
  return Family::Sums;
}

Call::Call(const core::Op& op, const Spec& spec, ScalarType dtype, Random& random)
    : op_(op), spec_(spec), dtype_(dtype), wild_(wildness(family_of(op), dtype, random)) {
  const ScalarType main = spec_.main;
  const bool keep = spec_.ordered || has_sizes_as_elements(op) || random.chance(0.2),
             mix = random.chance(kMixed);
  for (std::size_t i = 0; i < spec_.args.size(); ++i) {
    check::SpecArg& a = spec_.args[i];
    for (auto& given : a.tensors) {
      if (!given) continue;
      check::Values v = *given;
      ScalarType own = a.follows(v, main) ? dtype : v.dtype;
      if (own == dtype && a.follows(v, main) && mix) {
        own = check::kDtypes[random.below(std::size(check::kDtypes))];
        mixed_ = mixed_ || own != dtype;
      }
      if (a.follows(v, main) && !a.constant && !keep) fill(v, own, random);
      tensors_.push_back(check::make_tensor(v, spec_, own, check::Memory::Contiguous, {}));
      positions_.push_back(static_cast<int>(i));
      auto& dims = repeated_.emplace_back();
      for (int d = 0; d < tensors_.back()->ndim(); ++d) {
        if (random.chance(0.08) && !op.args[i].mutates) dims.push_back(d);
      }
      // Elements of a dimension of stride 0 are one: also in the contiguous tensor.
      if (!dims.empty())
        tensors_.back() = copy_of(*in_irregular_memory(*tensors_.back(), dims, random));
    }
  }
}

void Call::fill(check::Values& v, ScalarType dtype, Random& random) const {
  v.dtype = dtype;
  v.exact.clear();
  const std::size_t n = v.real.size();
  if (isFloatingType(dtype)) {
    for (double& x : v.real) x = wild_real(dtype, wild_, random);
    return;
  }
  v.exact.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    v.exact[i] = wild_integer(dtype, wild_, random);
    v.real[i] = static_cast<double>(v.exact[i]);
  }
}

Call::Arguments Call::bind(std::vector<Impl> tensors) const {
  Arguments out;
  out.tensors = std::move(tensors);
  std::size_t next = 0;
  for (std::size_t i = 0; i < spec_.args.size(); ++i) {
    const check::SpecArg& a = spec_.args[i];
    tn_value value = a.plain;
    if (a.is_list) {
      auto& list = out.lists.emplace_back();
      for (const auto& t : a.tensors) list.push_back(t ? &out.tensors[next++]->view : nullptr);
      value.tag = TN_TAG_TENSOR_LIST;
      value.len = static_cast<uint32_t>(list.size());
      value.u.tensors = list.data();
    } else if (!a.tensors.empty() && a.tensors[0]) {
      value.tag = TN_TAG_TENSOR;
      value.u.tensor = &out.tensors[next++]->view;
    }
    if (static_cast<int>(i) == spec_.dtype_arg) value.u.dtype = core::abi_dtype(dtype_);
    out.values.push_back(value);
  }
  return out;
}

Call::Arguments Call::contiguous() const {
  std::vector<Impl> own;
  for (const Impl& t : tensors_) own.push_back(copy_of(*t));
  return bind(std::move(own));
}

Call::Arguments Call::irregular(Random& random) const {
  std::vector<Impl> own;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    own.push_back(random.chance(0.2) && repeated_[i].empty()
                      ? copy_of(*tensors_[i])
                      : in_irregular_memory(*tensors_[i], repeated_[i], random));
  }
  return bind(std::move(own));
}

Results call(const core::Op& op, Call::Arguments& in) {
  Results out = check::call_operator(op, in.values.data());
  std::size_t tensor = 0;
  for (int i = 0; i < op.n_args; ++i) {
    const tn_value& v = in.values[static_cast<std::size_t>(i)];
    const std::size_t n = v.tag == TN_TAG_TENSOR ? 1 : 0;
    if (n && op.args[i].mutates)
      out.push_back({core::Impl::share(core::TensorImpl::from_view(v.u.tensor)), {}});
    tensor += n;
  }
  return out;
}

std::string Call::text() const {
  std::string out =
      core::join(op_.name, " ", dtype_name(dtype_), " (", spec_.origin.substr(0, 300), ")");
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    out += core::join("\n    ", op_.args[positions_[i]].name, " = ", text_of(*tensors_[i]));
  }
  return out;
}

}  // namespace tenon::fuzz
