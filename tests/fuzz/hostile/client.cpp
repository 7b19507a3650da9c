// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The functions of client.h with odd numbers, null pointers and texts.
#include "tenon/abi/client.h"

#include <vector>

#include "hostile.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"
#include "tenon/tenon.h"

namespace tenon::fuzz {
namespace {

struct Call {
  tn_status status;
  const char* function;
};

tn_str odd_str(Random& r, std::string& keep) {
  keep = r.chance(0.3)
             ? r.pick({std::string("cpu"), std::string("float32"), std::string("add.Tensor")})
             : odd_text(r);
  if (r.chance(0.1)) return tn_str{nullptr, keep.size()};
  return tn_str{keep.data(), keep.size()};
}

tn_device odd_device(Random& r) {
  if (r.chance(0.7)) return {TN_CPU, 0};
  return {static_cast<int32_t>(odd_int(r)), static_cast<int32_t>(odd_int(r))};
}

tn_dtype odd_dtype(Random& r) {
  if (r.chance(0.7)) return core::abi_dtype(r.pick({kFloat, kLong, kBool, kDouble}));
  return {static_cast<uint8_t>(r.bits()), static_cast<uint8_t>(r.bits()),
          static_cast<uint16_t>(r.bits())};
}

std::vector<int64_t> odd_sizes(Random& r) {
  std::vector<int64_t> sizes(r.chance(0.05) ? 70 : r.below(5));
  for (int64_t& s : sizes) s = r.chance(0.3) ? odd_int(r) : r.between(0, 4);
  return sizes;
}

Call make(Random& r) {
  const std::vector<int64_t> sizes = odd_sizes(r);
  const int32_t ndim = r.chance(0.1) ? static_cast<int32_t>(r.pick({-1, INT32_MIN, 65, INT32_MAX}))
                                     : static_cast<int32_t>(sizes.size());
  std::vector<char> bytes(r.below(4096));
  tn_handle out = nullptr;
  const int64_t* given = r.chance(0.05) ? nullptr : sizes.data();
  tn_handle* to = r.chance(0.05) ? nullptr : &out;
  Call call{TN_OK, "tn_empty"};
  if (r.chance(0.5)) {
    call.status = tn_empty(ndim, given, odd_dtype(r), odd_device(r), to);
  } else {
    call.function = "tn_from_host";
    const void* data = r.chance(0.1) ? nullptr : bytes.data();
    call.status = tn_from_host(ndim, given, odd_dtype(r), data, bytes.size(), odd_device(r), to);
  }
  if (call.status == TN_OK) tn_release(out);
  return call;
}

Call read(Random& r) {
  const Tensor t = tenon::ones({r.between(0, 3), 2});
  std::vector<char> bytes(r.chance(0.5) ? static_cast<std::size_t>(t.numel()) * 4 : r.below(100));
  const tn_handle handle = r.chance(0.1) ? nullptr : &t.unsafeGetTensorImpl()->view;
  return {tn_to_host(handle, r.chance(0.1) ? nullptr : bytes.data(), bytes.size()), "tn_to_host"};
}

Call name(Random& r) {
  std::string keep;
  const tn_str text = odd_str(r, keep);
  tn_device device;
  tn_dtype dtype;
  uint32_t layout;
  const bool null = r.chance(0.1);
  switch (r.below(5)) {
    case 0:
      return {tn_device_from_name(text, null ? nullptr : &device), "device"};
    case 1:
      return {tn_dtype_from_name(text, null ? nullptr : &dtype), "dtype"};
    case 2:
      return {tn_layout_from_name(text, null ? nullptr : &layout), "layout"};
    case 3:
      return {tn_load_plugin(text), "plugin"};
    default:
      return {tn_synchronize(odd_device(r)), "device"};
  }
}

Call op(Random& r) {
  std::string keep;
  const tn_str text = odd_str(r, keep);
  tn_value in[3] = {}, out[2] = {};
  return {tn_call_op(text, r.chance(0.2) ? nullptr : in, static_cast<uint32_t>(r.below(4)),
                     r.chance(0.2) ? nullptr : out, static_cast<uint32_t>(r.below(3))),
          "op"};
}

}  // namespace

std::string call_client(Random& r) {
  const uint64_t kind = r.below(4);
  show(core::join("client function of kind ", kind));
  const Call call = kind == 0 ? make(r) : kind == 1 ? read(r) : kind == 2 ? name(r) : op(r);
  tn_release(nullptr);
  tn_release_value(nullptr);
  tn_retain(nullptr);
  if (call.status == TN_OK) {
    tally("client calls served");
    return "";
  }
  tally("client calls refused");
  const std::string text = tn_last_error();
  if (call.status < TN_ERROR || text.empty())
    return core::join(call.function, ": status ", call.status, " '", text, "'");
  for (const char* internal : {"basic_string", "vector::", "bad_", "std::"}) {
    if (text.find(internal) != text.npos)
      return core::join(call.function, ": the error is not the library's: ", text);
  }
  return "";
}

}  // namespace tenon::fuzz
