// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "operator_check.h"

#include <algorithm>

#include "exempt.h"
#include "report.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {

bool accepts_on_host(const core::Op& op, const Spec& s) {
  if (s.large) return false;
  try {
    Built inputs(s, s.main, Memory::Contiguous, core::kHost);
    call_operator(op, inputs.values());
    return true;
  } catch (const tenon::Error&) {
    return false;
  }
}

const char* const OperatorCheck::kTaskNames[] = {
    "",      "large",   "gradient", "batched", "unclaimed", "bad arguments", "other shapes",
    "whole", "refused", "device"};

DeviceId find_place(const std::string& device) {
  try {
    Device d(device);
    return {core::usable_slot(d.type()), std::max<int>(0, d.index())};
  } catch (const Error&) {
  }
  return DeviceId::none();
}

namespace {

// Appends the calls of files, and shapes that follow from the schema where those have none.
void add_calls(const core::Op& op, const CallFiles& calls, std::vector<Spec>& specs) {
  bool only_large = true;
  for (Spec& s : calls.specs(op)) {
    only_large = only_large && s.large;
    specs.push_back(std::move(s));
  }
  if (!only_large) return;
  for (Spec& s : generated(op)) specs.push_back(std::move(s));
}

}  // namespace

std::vector<Spec> list_samples(const core::Op& op, const OperatorCheckOptions& o,
                               const CaseLibrary& library, const CallFiles& calls) {
  std::vector<Spec> out = library.specs(op, o.samples);
  add_calls(op, calls, out);
  return out;
}

OperatorCheck::OperatorCheck(const core::Op& op, const OperatorCheckOptions& o,
                             const CaseLibrary& library, const CallFiles& calls)
    : op_(op),
      place_(find_place(o.device)),
      reference_(find_place(o.reference)),
      judge_claims_(!o.tested_device) {
  TENON_CHECK(!place_.is_none(), ValueError, "device ", o.device, " does not exist");
  TENON_CHECK(!reference_.is_none(), ValueError, "reference device ", o.reference,
              " does not exist");
  specs_ = library.specs(op, o.samples);
  cases_ = specs_.size();
  add_calls(op, calls, specs_);
  list_items(o);
  refused_ = library.refused(op);
  for (std::size_t s = 0; s < refused_.size() && place_.is_host(); ++s) {
    items_.push_back({Task::Refused, s, refused_[s].main, Memory::Contiguous});
  }
}

bool OperatorCheck::fits(const Spec& s, ScalarType t) const {
  if (s.main == tenon::kBool) return t == tenon::kBool;
  return isFloatingType(s.main) || !isFloatingType(t);
}

// float32 and float64 in every layout, the others row-major and in one more, a different one for
// each.
void OperatorCheck::list_cells(std::size_t s) {
  core::DtypeMask claimed = core::parse_dtype_mask(op_.dtypes);
  std::size_t next = s;
  for (ScalarType t : kDtypes) {
    if (!claimed.has(t) || !fits(specs_[s], t)) continue;
    if (specs_[s].large) {
      if (t == tenon::kDouble || t == tenon::kFloat || t == tenon::kInt64) {
        items_.push_back({Task::Large, s, t, Memory::Contiguous});
      }
      continue;
    }
    const bool tensors = std::any_of(specs_[s].args.begin(), specs_[s].args.end(),
                                     [](const SpecArg& a) { return !a.tensors.empty(); });
    bool all = s < cases_ && (t == tenon::kDouble || t == tenon::kFloat || t == specs_[s].main);
    items_.push_back({Task::Cell, s, t, Memory::Contiguous});
    if (!tensors) continue;  // no tensor to lay out in another way
    for (Memory m : kMemories) {
      if (all && m != Memory::Contiguous) items_.push_back({Task::Cell, s, t, m});
    }
    if (!all) items_.push_back({Task::Cell, s, t, kMemories[1 + next++ % 4]});
  }
}

// A dtype of each kind: that of networks, a short one, the integers.
void OperatorCheck::list_tested_device(std::size_t s) {
  core::DtypeMask claimed = core::parse_dtype_mask(op_.dtypes);
  const std::size_t before = items_.size();
  for (ScalarType t : {kFloat, kHalf, kInt64}) {
    if (claimed.has(t) && fits(specs_[s], t))
      items_.push_back({Task::TestedDevice, s, t, Memory::Contiguous});
  }
  if (items_.size() == before)
    items_.push_back({Task::TestedDevice, s, specs_[s].main, Memory::Contiguous});
}

void OperatorCheck::list_items(const OperatorCheckOptions& o) {
  const bool gradients = o.gradients && place_.is_host();
  core::DtypeMask claimed = core::parse_dtype_mask(op_.dtypes);
  for (std::size_t s = 0; s < specs_.size(); ++s) {
    list_cells(s);
    if (place_.is_host() && !specs_[s].large)
      items_.push_back({Task::Batched, s, specs_[s].main, Memory::Contiguous});
    if (!gradients || specs_[s].large || !isFloatingType(specs_[s].main) ||
        !claimed.has(tenon::kDouble))
      continue;
    items_.push_back({Task::Gradients, s, tenon::kDouble, Memory::Contiguous});
    if (!addresses_storage(op_))
      items_.push_back({Task::Gradients, s, tenon::kDouble, Memory::Transposed});
  }
  auto valid = std::find_if(specs_.begin(), specs_.end(),
                            [&](const Spec& s) { return accepts_on_host(op_, s); });
  if (valid == specs_.end()) return;
  auto s = static_cast<std::size_t>(valid - specs_.begin());
  auto last = std::find_if(specs_.rbegin(), specs_.rend(),
                           [&](const Spec& spec) { return accepts_on_host(op_, spec); });
  auto other = static_cast<std::size_t>(specs_.rend() - last) - 1;
  if (other != s && place_.is_host())
    items_.push_back({Task::Whole, other, last->main, Memory::Contiguous});
  if (o.tested_device && !place_.is_host()) list_tested_device(other);
  items_.push_back({Task::BadArguments, s, valid->main, Memory::Contiguous});
  items_.push_back({Task::OtherShapes, s, valid->main, Memory::Contiguous});
  for (ScalarType t : kDtypes) {
    if (!claimed.has(t))
      items_.push_back({Task::Unclaimed, s, t, Memory::Contiguous});
    else if (place_.is_host() && fits(*valid, t))
      items_.push_back({Task::Whole, s, t, Memory::Contiguous});
  }
}

std::string OperatorCheck::id_of(const Item& item) const {
  const Spec& spec = item.task == Task::Refused ? refused_[item.spec] : specs_[item.spec];
  return core::join(op_.name, " ", kTaskNames[static_cast<int>(item.task)],
                    item.task == Task::Cell ? "" : " ", dtype_name(item.dtype), " ",
                    name(item.memory), " (", spec.origin, ")");
}

Findings OperatorCheck::findings_of(const Item& item) {
  if (item.task == Task::Refused) return run_refused(op_, refused_[item.spec]);
  const Spec& spec = specs_[item.spec];
  Cell cell{op_, spec, item.dtype, item.memory, place_};
  switch (item.task) {
    case Task::Large:
      return run_large(cell);
    case Task::Gradients:
      return run_gradients(op_, spec, item.memory);
    case Task::Batched:
      return run_batched(op_, spec);
    case Task::Unclaimed:
      return run_unclaimed(cell);
    case Task::BadArguments:
      return run_bad_arguments(cell, reference_);
    case Task::OtherShapes:
      return run_other_shapes(cell, reference_);
    case Task::Whole:
      return run_whole(cell, reference_);
    case Task::TestedDevice:
      return run_tested_device(cell);
    default:
      break;
  }
  Findings out = run_cell(cell, reference_,
                          item.memory == Memory::Contiguous || item.memory == Memory::Transposed);
  tried_.insert(item.dtype);
  for (const Finding& f : out.all()) {
    if (f.property == Property::Dtypes && f.verdict == Verdict::Passed) worked_.insert(item.dtype);
  }
  return out;
}

// A dtype that the operator claims works in one sample at least.
Findings OperatorCheck::claims() const {
  Findings out;
  for (ScalarType t : tried_) {
    if (!worked_.count(t)) {
      out.failed(Property::Dtypes, core::join("the operator claims ", dtype_name(t),
                                              " and refuses it in every sample"));
    }
  }
  return out;
}

void OperatorCheck::run(int first, const oracle::Send& send) {
  for (int i = first; i < static_cast<int>(items_.size()); ++i) {
    const Item& item = items_[static_cast<std::size_t>(i)];
    std::string id = id_of(item);
    send({"start", std::to_string(i) + " " + id});
    Findings found;
    try {
      found = findings_of(item);
    } catch (const std::exception& e) {
      found.failed(Property::Values, core::join("threw: ", e.what()));
    }
    found = without_exempt(op_, found);
    if (!found.all().empty()) send({"found", encode(id, found)});
  }
  if (!judge_claims_) return;
  Findings found = claims();
  if (first == 0 && !found.all().empty()) send({"found", encode(op_.name, found)});
}

}  // namespace tenon::check
