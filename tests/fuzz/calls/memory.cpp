// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors in irregular memory, and copies of them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "call.h"
#include "tenon/runtime/error.h"
#include "tests/closed_pages.h"

namespace tenon::fuzz {
namespace {

constexpr char kFiller = 0x3a;
constexpr std::size_t kPrinted = 60;

// f(offset in elements) of each element, row-major.
template <class F>
void each_element(const core::TensorImpl& t, F&& f) {
  std::vector<int64_t> at(static_cast<std::size_t>(t.ndim()), 0);
  for (int64_t i = 0; i < t.numel; ++i) {
    int64_t offset = 0;
    for (int d = 0; d < t.ndim(); ++d) offset += at[static_cast<std::size_t>(d)] * t.stride(d);
    f(offset);
    for (int d = t.ndim(); d-- > 0;) {
      if (++at[static_cast<std::size_t>(d)] < t.size(d)) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
  }
}

// A kernel that reads or writes outside of it dies: at once on one side, which is the end mostly,
// where loops over vectors have their last few elements.
core::Ref<core::Storage> closed_storage(std::size_t bytes, bool at_end) {
  auto pages = std::make_unique<test::ClosedPages>(bytes);
  const auto release = [](void* context, void*) {
    delete static_cast<test::ClosedPages*>(context);
  };
  core::Ref<core::Storage> out = core::Storage::wrap(
      core::kHost, at_end ? pages->end() - bytes : pages->begin(), bytes, release, pages.get());
  (void)pages.release();
  return out;
}

}  // namespace

Impl copy_of(core::TensorImpl& t) {
  Impl out = core::new_tensor("fuzz", t.dtype, core::kHost, t.ndim(), t.view.sizes);
  const std::size_t item = t.itemsize();
  char* to = out->host_data();
  const char* from = t.host_data();
  each_element(t, [&](int64_t offset) {
    std::memcpy(to, from + offset * static_cast<int64_t>(item), item);
    to += item;
  });
  return out;
}

Impl in_irregular_memory(core::TensorImpl& t, const std::vector<int>& repeated, Random& random) {
  const int n = t.ndim();
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (random.chance(0.5)) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
  std::vector<int64_t> strides(static_cast<std::size_t>(n), 0);
  int64_t step = random.chance(0.4) ? random.between(2, 3) : 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const int d = order[k];
    if (std::find(repeated.begin(), repeated.end(), d) != repeated.end()) continue;
    strides[static_cast<std::size_t>(d)] = step;
    step *= std::max<int64_t>(1, t.size(d));
    if (random.chance(0.2)) step += random.between(1, 3);
  }
  const std::size_t item = t.itemsize();
  const bool closed = random.chance(0.5), at_end = closed && random.chance(0.8);
  const int64_t offset = closed && !at_end ? 0 : random.between(0, 5);
  int64_t total = offset + step + 4;
  Impl flat;
  if (closed) {
    int64_t last = t.numel > 0 ? 1 : 0;
    for (int d = 0; d < n && t.numel > 0; ++d)
      last += (t.size(d) - 1) * strides[static_cast<std::size_t>(d)];
    total = offset + last;
    flat = core::TensorImpl::make(
        t.dtype, closed_storage(static_cast<std::size_t>(total) * item, at_end), 0, 1, &total);
  } else {
    flat = core::new_tensor("fuzz", t.dtype, core::kHost, 1, &total);
  }
  std::memset(flat->host_data(), kFiller, static_cast<std::size_t>(total) * item);
  Impl out = core::TensorImpl::make(t.dtype, flat->storage,
                                    flat->byte_offset() + static_cast<uint64_t>(offset) * item, n,
                                    t.view.sizes, strides.data());
  Impl dense = copy_of(t);
  const char* from = dense->host_data();
  each_element(*out, [&](int64_t at) {
    std::memcpy(out->host_data() + at * static_cast<int64_t>(item), from, item);
    from += item;
  });
  return out;
}

bool is_intact(core::TensorImpl& t) {
  std::vector<char> bytes = oracle::storage_bytes(t);
  const std::size_t item = t.itemsize(), begin = t.byte_offset();
  each_element(t, [&](int64_t at) {
    std::memset(bytes.data() + begin + static_cast<std::size_t>(at) * item, kFiller, item);
  });
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == kFiller; });
}

std::string text_of(core::TensorImpl& t) {
  const check::Values v = oracle::values_of(t);
  std::string out = core::join(dtype_name(t.dtype), core::text(t.sizes()), " strides ",
                               core::text(t.strides()), " {");
  for (std::size_t i = 0; i < v.real.size() && i < kPrinted; ++i) {
    char number[40];
    if (isFloatingType(t.dtype))
      std::snprintf(number, sizeof number, "%.17g", v.real[i]);
    else
      std::snprintf(number, sizeof number, "%ld", static_cast<long>(v.exact[i]));
    out += (i ? ", " : "") + std::string(number);
  }
  return out + (v.real.size() > kPrinted ? ", ...}" : "}");
}

}  // namespace tenon::fuzz
