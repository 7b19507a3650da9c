// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The same call in other memory: inputs, `out=` and in place.
#include <algorithm>

#include "compare.h"
#include "known.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/random.h"
#include "tools/check/reference.h"
#include "ways.h"

namespace tenon::fuzz {
namespace {

bool tensors_only(const Results& results) {
  return std::all_of(results.begin(), results.end(),
                     [](const oracle::Result& r) { return bool(r.tensor); });
}

// The refused call wrote nothing.
std::string unchanged(const Call& call, const Call::Arguments& in, const Call::Arguments& before) {
  for (std::size_t i = 0; i < in.tensors.size(); ++i) {
    const std::string wrong = other_bits(*in.tensors[i], *before.tensors[i]);
    if (!wrong.empty())
      return core::join("argument '", call.op().args[call.position(i)].name, "' changed: ", wrong);
  }
  return {};
}

}  // namespace

Answer answer(const core::Op& op, Call::Arguments& in) {
  Answer out;
  try {
    out.results = call(op, in);
  } catch (const Error& e) {
    out.refusal = e.what();
    out.code = e.code();
  }
  return out;
}

namespace {

// What tells or takes strides and offsets answers for the memory that it is given.
bool is_about_geometry(const core::Op& op) {
  constexpr std::string_view kNames[] = {"_reshape_alias",  "_unsafe_view", "view_copy",
                                         "view_as_complex", "stride",       "is_contiguous"};
  const std::string_view name = op.name;
  return check::addresses_storage(op) || name.substr(0, 14) == "storage_offset" ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view n) { return name.substr(0, n.size()) == n; });
}

}  // namespace

std::string in_irregular_memory(const Call& call, const Answer& expected, Random& random) {
  Call::Arguments in = call.irregular(random);
  const Answer got = answer(call.op(), in);
  // A view may be possible in one memory alone.
  if (std::string_view(call.op().family) == "view" && got.refused() != expected.refused())
    return {};
  if (is_about_geometry(call.op())) return {};
  if (got.refused() != expected.refused()) {
    return core::join("strides: ", got.refused() ? "refused: " + got.refusal
                                                 : "accepted, contiguous: " + expected.refusal);
  }
  if (got.refused()) {
    const std::string wrong = unchanged(call, in, call.contiguous());
    return wrong.empty() ? "" : "strides: refused, but " + wrong;
  }
  if (!check::has_bits(call.op())) return {};
  std::string wrong = other_bits(got.results, expected.results);
  if (!wrong.empty() && is_known(call, Way::Strides, wrong)) return {};
  if (wrong.empty()) return {};
  wrong = "strides: " + wrong;
  for (const Impl& t : in.tensors) wrong += "\n    given " + text_of(*t);
  return wrong;
}

std::string call_into_out(const Call& call, const Answer& expected, Random& random) {
  const core::Op& op = call.op();
  if (is_about_geometry(op)) return {};
  const auto f = op.boxed_out.load();
  if (!f || expected.refused() || !tensors_only(expected.results) || check::mutates(op)) return {};
  if (static_cast<int>(expected.results.size()) != op.n_results) return {};
  std::vector<Impl> outs;
  for (const oracle::Result& r : expected.results)
    outs.push_back(in_irregular_memory(*r.tensor, {}, random));
  Call::Arguments in = random.chance(0.5) ? call.irregular(random) : call.contiguous();
  try {
    core::manual_seed(7);
    f(in.values.data(), outs.data());
  } catch (const Error& e) {
    return core::join("out: refused: ", e.what());
  }
  for (std::size_t i = 0; i < outs.size() && check::has_bits(op); ++i) {
    std::string wrong = other_bits(*outs[i], *expected.results[i].tensor);
    if (!wrong.empty() && !is_known(call, Way::Out, wrong)) {
      return core::join("out: ", wrong, "\n    out ", text_of(*outs[i]));
    }
    if (outs[i]->numel && !is_intact(*outs[i]))
      return core::join("out: bytes beside the elements were written");
  }
  return {};
}

std::string call_in_place(const Call& call, const Answer& expected, Random& random) {
  const core::Op& op = call.op();
  const core::BoxedFn f = op.boxed_inplace.load();
  if (!f || expected.refused() || expected.results.size() != 1 || !expected.results[0].tensor)
    return {};
  Call::Arguments in = call.contiguous();
  if (in.values[0].tag != TN_TAG_TENSOR) return {};
  std::vector<Impl> tensors = in.tensors;
  tensors[0] = in_irregular_memory(*tensors[0], {}, random);
  const bool twice = tensors.size() > 1 && random.chance(0.1) &&
                     tensors[1]->dtype == tensors[0]->dtype &&
                     tensors[1]->sizes() == tensors[0]->sizes();
  in = call.bind(tensors);
  if (twice) return {};
  const Impl self = in.tensors[0];
  const Impl truth = expected.results[0].tensor;
  if (self->sizes() != truth->sizes() || self->dtype != truth->dtype) return {};
  std::vector<core::OwnedValue> values(op.n_results);
  try {
    core::manual_seed(7);
    f(in.values.data(), values.data());
  } catch (const Error& e) {
    return core::join("in place: refused: ", e.what());
  }
  if (!check::has_bits(op)) return {};
  const std::string wrong = other_bits(*self, *truth);
  if (!wrong.empty() && !is_known(call, Way::InPlace, wrong)) return "in place: " + wrong;
  return is_intact(*self) ? "" : "in place: bytes beside the elements were written";
}

}  // namespace tenon::fuzz
