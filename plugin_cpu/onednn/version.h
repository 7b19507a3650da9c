// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// All that differs between oneDNN 2.x and 3.x. No other file depends on the version.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <oneapi/dnnl/dnnl_version.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace tenon::cpu::onednn {

// P's primitive descriptor. 2.x needs a descriptor of the operation first, of the same arguments.
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                    const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine, args..., attr);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr, engine);
#endif
}

// The first implementation whose name `accept` takes; the best one where it takes none. The
// descriptor of 2.x has to live as long as implementations are asked for.
template <class P, class Accept, class... Args>
typename P::primitive_desc describe_if(const Accept& accept, const dnnl::engine& engine,
                                       const dnnl::primitive_attr& attr, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  typename P::primitive_desc pd(engine, args..., attr);
#else
  const typename P::desc operation(args...);
  typename P::primitive_desc pd(operation, attr, engine);
#endif
  do {
    if (accept(std::string_view(pd.impl_info_str()))) return pd;
  } while (pd.next_impl());
  return describe<P>(engine, attr, args...);
}

// The same as describe() of a gradient, which also needs the descriptor of the forward primitive.
template <class P, class Forward, class... Args>
typename P::primitive_desc describe_backward(const dnnl::engine& engine, const Forward& forward,
                                             const dnnl::primitive_attr& attr,
                                             const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine, args..., forward, attr);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr, engine, forward);
#endif
}

// A zero point of all elements, which is an argument of each call.
inline void append_zero_point(dnnl::primitive_attr& attr, int argument) {
#if DNNL_VERSION_MAJOR >= 3
  attr.set_zero_points_mask(argument, 0);
#else
  attr.set_zero_points(argument, 0, {DNNL_RUNTIME_S32_VAL});
#endif
}

inline void append_function(dnnl::post_ops& ops, dnnl::algorithm function) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(function, 0, 0);
#else
  ops.append_eltwise(1, function, 0, 0);
#endif
}

// What distinguishes a blocked layout from others, appended to a key.
inline void append_layout(std::vector<int64_t>& key, const dnnl::memory::desc& d) {
  const auto append = [&](const auto* values, int64_t n) {
    key.push_back(n);
    key.insert(key.end(), values, values + n);
  };
#if DNNL_VERSION_MAJOR >= 3
  key.push_back(static_cast<int64_t>(d.get_data_type()));
  for (const auto& v :
       {d.get_dims(), d.get_strides(), d.get_inner_blks(), d.get_inner_idxs(), d.get_padded_dims()})
    append(v.data(), static_cast<int64_t>(v.size()));
#else
  const dnnl_memory_desc_t& m = d.data;
  const dnnl_blocking_desc_t& b = m.format_desc.blocking;
  key.push_back(m.data_type);
  for (const auto* v : {m.dims, b.strides, m.padded_dims}) append(v, m.ndims);
  for (const auto* v : {b.inner_blks, b.inner_idxs}) append(v, b.inner_nblks);
#endif
}

}  // namespace tenon::cpu::onednn
