// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/reduce/plan.h"

#include "plugin_cpu/simd/convert.h"

namespace tenon::cpu::reduce {

using sdk::Tensor;

void Dims::add(int64_t size, int64_t in_stride, int64_t out_stride) {
  count *= size;
  if (size == 1) return;
  int d = n++;
  const auto magnitude = [](int64_t s) { return s < 0 ? -s : s; };
  for (; d > 0 && magnitude(in[d - 1]) > magnitude(in_stride); --d) {
    sizes[d] = sizes[d - 1];
    in[d] = in[d - 1];
    out[d] = out[d - 1];
  }
  sizes[d] = size;
  in[d] = in_stride;
  out[d] = out_stride;
}

void Dims::finish() {
  int last = -1;
  for (int d = 0; d < n; ++d) {
    if (last >= 0 && in[d] == in[last] * sizes[last] && out[d] == out[last] * sizes[last]) {
      sizes[last] *= sizes[d];
      continue;
    }
    ++last;
    sizes[last] = sizes[d];
    in[last] = in[d];
    out[last] = out[d];
  }
  n = last + 1;
  if (n > 0) return;
  n = 1;
  sizes[0] = count;
  in[0] = out[0] = 0;
}

namespace {

Narrow kind_of(sdk::DType d) {
  if (!sdk::is_floating(d) || d.bits != 16) return Narrow::None;
  return d.code == TN_FLOAT ? Narrow::Half : Narrow::BFloat16;
}

template <class H>
void widen_as(const char* p, int64_t stride, int64_t n, float* out) {
  if (stride == static_cast<int64_t>(sizeof(H)))
    return to_float(reinterpret_cast<const H*>(p), out, n);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(*reinterpret_cast<const H*>(p + i * stride));
}

}  // namespace

void widen(Narrow kind, const char* p, int64_t stride, int64_t n, float* out) {
  if (kind == Narrow::Half)
    widen_as<sdk::Half>(p, stride, n, out);
  else
    widen_as<sdk::BFloat16>(p, stride, n, out);
}

void narrow(Narrow kind, float value, char* out) {
  if (kind == Narrow::Half)
    *reinterpret_cast<sdk::Half*>(out) = static_cast<sdk::Half>(value);
  else
    *reinterpret_cast<sdk::BFloat16*>(out) = static_cast<sdk::BFloat16>(value);
}

Plan::Plan(const Tensor& result, const Tensor& self, const std::optional<sdk::Ints>& dims,
           bool keepdim)
    : in(self.data<char>()),
      out(result.data<char>()),
      in_kind(kind_of(self.dtype())),
      out_kind(kind_of(result.dtype())) {
  const int64_t item = sdk::item_size(self.dtype()), out_item = sdk::item_size(result.dtype());
  const uint64_t mask = sdk::dim_mask(dims, self.ndim());
  // From the innermost dimension outwards, so that equal strides keep that order.
  int k = result.ndim() - 1;
  for (int d = self.ndim() - 1; d >= 0; --d) {
    const bool gone = mask >> d & 1;
    if (gone)
      reduced.add(self.size(d), self.stride(d) * item, 0);
    else
      kept.add(self.size(d), self.stride(d) * item, result.stride(k) * out_item);
    if (!gone || keepdim) --k;
  }
  kept.finish();
  reduced.finish();
  const auto step = [](const Dims& x) { return x.in[0] < 0 ? -x.in[0] : x.in[0]; };
  by_columns = kept.count > 1 && reduced.count > 1 && kept.sizes[0] >= 4 && kept.in[0] == item &&
               step(reduced) > step(kept);
}

Plan into_buffer(const Plan& plan, void* buffer, int64_t item) {
  Plan p = plan;
  p.out = static_cast<char*>(buffer);
  p.out_kind = Narrow::None;
  for (int d = 0; d < p.kept.n; ++d) {
    p.kept.out[d] = item;
    item *= p.kept.sizes[d];
  }
  return p;
}

WideResults::WideResults(const Plan& to)
    : buffer(static_cast<std::size_t>(to.kept.count)),
      plan(into_buffer(to, buffer.data(), sizeof(int64_t))) {}

void WideResults::store(const Plan& to, sdk::DType dtype) const {
  sdk::dispatch_all(dtype, [&](auto tag) {
    using T = tn_type(tag);
    for (int64_t o = 0; o < to.kept.count; ++o) {
      int64_t in, out;
      to.kept.locate(o, &in, &out);
      *reinterpret_cast<T*>(to.out + out) = static_cast<T>(buffer[static_cast<std::size_t>(o)]);
    }
  });
}

}  // namespace tenon::cpu::reduce
