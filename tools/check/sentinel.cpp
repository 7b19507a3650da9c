// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "sentinel.h"

#include <algorithm>
#include <cstring>

#include "tenon/core/dispatch.h"
#include "tenon/core/error.h"

namespace tenon::check {
namespace {

constexpr int64_t kMargin = 8;
constexpr char kByte = 0x3a;

// Every second element of a filled storage, with a margin on both sides.
core::Impl guarded(const core::TensorImpl& like, Place place) {
  std::vector<int64_t> strides(static_cast<std::size_t>(like.ndim()));
  core::contiguous_strides(like.ndim(), like.view.sizes, strides.data());
  for (int64_t& s : strides) s *= 2;
  int64_t item = like.itemsize();
  int64_t bytes = (2 * like.numel + 2 * kMargin) * item;
  core::Impl flat = core::new_tensor("check", kUInt8, 0, 0, 1, &bytes);
  std::memset(flat->host_data(), kByte, static_cast<std::size_t>(bytes));
  if (place.slot != 0) {
    core::Impl there = core::new_tensor("check", kUInt8, place.slot, place.index, 1, &bytes);
    core::copy(*there, *flat);
    flat = there;
  }
  return core::TensorImpl::make(like.dtype, flat->storage, flat->view.byte_offset + kMargin * item, like.ndim(),
                                like.view.sizes, strides.data());
}

// True if the bytes before, between and behind the elements are as they were.
bool intact(core::TensorImpl& t) {
  std::vector<char> bytes = oracle::storage_bytes(t);
  std::size_t item = t.itemsize(), begin = t.view.byte_offset;
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.numel); ++i) {
    std::memset(bytes.data() + begin + i * 2 * item, kByte, item);
  }
  std::size_t end = begin + (2 * static_cast<std::size_t>(t.numel) + kMargin) * item;
  begin -= kMargin * item;
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                     bytes.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c == kByte; });
}

bool same(const Values& a, const Values& b) {
  return a.sizes == b.sizes && a.exact == b.exact &&
         std::equal(a.real.begin(), a.real.end(), b.real.begin(),
                    [](double x, double y) { return x == y || (x != x && y != y); });
}

}  // namespace

std::string out_stays_inside(const Cell& cell, const std::vector<oracle::Result>& expected) {
  std::vector<core::Impl> outs;
  for (const oracle::Result& r : expected) {
    if (!r.tensor) return {};
    outs.push_back(guarded(*r.tensor, cell.place));
  }
  if (static_cast<int>(outs.size()) != cell.op.n_results) return {};
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  try {
    cell.op.row_call_out.load()(inputs.values(), outs.data());
  } catch (const Error& e) {
    return core::join("out: ", e.what());
  }
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!intact(*outs[i])) return core::join("out: bytes beside the elements of output ", i, " were written");
    if (!same(oracle::values_of(*outs[i]), oracle::values_of(*expected[i].tensor))) {
      return core::join("out: other values in output ", i);
    }
  }
  return {};
}

}  // namespace tenon::check
