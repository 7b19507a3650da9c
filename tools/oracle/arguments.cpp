// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <algorithm>
#include <cstring>

#include "named_case.h"
#include "tenon/call.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::oracle {
namespace {

using core::ArgInfo;
using core::ArgType;

tn_value value(tn_tag tag) {
  tn_value v{};
  v.tag = tag;
  return v;
}

tn_value integer(tn_tag tag, int64_t i) {
  tn_value v = value(tag);
  v.u.i64 = i;
  return v;
}

tn_value real(double d) {
  tn_value v = value(TN_TAG_F64);
  v.u.f64 = d;
  return v;
}

[[noreturn]] void refuse_value(const ArgInfo& info, const json& given) {
  throw ValueError(core::join("case: argument '", info.name, "' cannot be ", given.dump()));
}

tn_value scalar(const ArgInfo& info, const json& given,
                std::deque<core::complex<double>>& complex_numbers) {
  if (is_complex_number(given)) {
    tn_value v = value(TN_TAG_COMPLEX);
    v.u.f64s =
        reinterpret_cast<const double*>(&complex_numbers.emplace_back(complex_number(given)));
    return v;
  }
  if (given.is_boolean()) return integer(TN_TAG_BOOL, given.get<bool>());
  if (given.is_number_integer()) return integer(TN_TAG_I64, given.get<int64_t>());
  if (is_number(given)) return real(number(given));
  refuse_value(info, given);
}

tn_value plain(const ArgInfo& info, const json& given,
               std::deque<core::complex<double>>& complex_numbers) {
  switch (info.type) {
    case ArgType::Scalar:
    case ArgType::OptScalar:
      return scalar(info, given, complex_numbers);
    case ArgType::Float:
    case ArgType::OptFloat:
      if (is_number(given)) return real(number(given));
      break;
    case ArgType::Int:
    case ArgType::OptInt:
    case ArgType::MemoryFormat:
      if (given.is_number_integer() || given.is_boolean())
        return integer(TN_TAG_I64, given.is_boolean() ? given.get<bool>() : given.get<int64_t>());
      break;
    case ArgType::Bool:
    case ArgType::OptBool:
      if (given.is_boolean()) return integer(TN_TAG_BOOL, given.get<bool>());
      break;
    case ArgType::Device:
      if (given.is_string()) {
        const Device d(given.get<std::string>());
        tn_value v = value(TN_TAG_DEVICE);
        v.u.device = {core::device_entry(core::device_slot(d.type())).abi_type,
                      std::max<int>(0, d.index())};
        return v;
      }
      break;
    case ArgType::Dtype:
    case ArgType::OptDtype:
      if (given.is_object() && given.contains("dtype")) {
        tn_value v = value(TN_TAG_DTYPE);
        v.u.dtype = core::abi_dtype(core::dtype_from_name(given.at("dtype").get<std::string>()));
        return v;
      }
      break;
    default:
      break;
  }
  refuse_value(info, given);
}

core::Impl tensor_of(const CaseFile& file, const json& given, core::DeviceId place) {
  if (CaseFile::is_ref(given)) return file.tensor(given, place);
  const json& parts = given.at("sparse");
  const Tensor indices(file.tensor(parts.at("indices"), place));
  const Tensor values(file.tensor(parts.at("values"), place));
  return tenon::call("_sparse_coo_tensor",
                     {indices, values, parts.at("size").get<std::vector<int64_t>>(), true,
                      parts.at("coalesced").get<bool>()})[0]
      .getIntrusivePtr();
}

bool takes_tensors(const core::Op& op) {
  for (int i = 0; i < op.n_args; ++i) {
    if (op.args[i].type <= ArgType::OptTensorList) return true;
  }
  return false;
}

}  // namespace

std::vector<char> storage_bytes(core::TensorImpl& t) {
  core::Storage& s = *t.storage;
  std::vector<char> out(s.bytes);
  if (s.bytes == 0) return out;
  if (t.device_id.is_host()) {
    std::memcpy(out.data(), s.data, s.bytes);
    return out;
  }
  uint64_t base = 0;
  int64_t n = static_cast<int64_t>(s.bytes);
  core::Impl flat = core::TensorImpl::make(kUInt8, t.storage, base, 1, &n);
  core::Impl host = core::new_tensor("oracle", kUInt8, core::kHost, 1, &n);
  core::copy(*host, *flat);
  std::memcpy(out.data(), host->host_data(), s.bytes);
  return out;
}

Arguments::Arguments(const core::Op& op, const CaseFile& file, const json& args,
                     core::DeviceId place) {
  const bool creates = !takes_tensors(op);
  for (int i = 0; i < op.n_args; ++i) {
    const ArgInfo& info = op.args[i];
    auto given = args.find(info.name);
    bool absent = given == args.end();
    if (info.type == ArgType::Device && creates && !place.is_host() &&
        (absent || given->is_null())) {
      tn_value v = value(TN_TAG_DEVICE);
      v.u.device = core::abi_device(place);
      values_.push_back(v);
    } else if (!absent) {
      values_.push_back(bind(info, file, *given, place));
    } else if (info.has_default) {
      values_.push_back(info.value);
    } else if (info.type == ArgType::Generator) {
      values_.push_back(value(TN_TAG_NONE));
    } else {
      throw ValueError(
          core::join("case: argument '", info.name, "' is not given and has no default"));
    }
  }
  for (auto& [name, unused] : args.items()) {
    bool known = false;
    for (int i = 0; i < op.n_args; ++i) known = known || name == op.args[i].name;
    TENON_CHECK(known, ValueError, "case: the operator has no argument '", name, "'");
  }
}

tn_value Arguments::bind(const ArgInfo& info, const CaseFile& file, const json& given,
                         core::DeviceId place) {
  if (given.is_null()) return value(TN_TAG_NONE);
  switch (info.type) {
    case ArgType::Tensor:
    case ArgType::OptTensor: {
      if (!is_tensor(given)) refuse_value(info, given);
      tn_value v = value(TN_TAG_TENSOR);
      v.u.tensor = add_tensor(info.name, tensor_of(file, given, place), info.mutates);
      return v;
    }
    case ArgType::TensorList:
    case ArgType::OptTensorList:
      return bind_tensors(info, file, given, place);
    case ArgType::Str:
    case ArgType::OptStr: {
      if (!given.is_string()) refuse_value(info, given);
      strings_.push_back(given.get<std::string>());
      tn_value v = value(TN_TAG_STR);
      v.u.str = strings_.back().data();
      v.len = static_cast<uint32_t>(strings_.back().size());
      return v;
    }
    case ArgType::IntList:
    case ArgType::OptIntList:
    case ArgType::FloatList:
    case ArgType::OptFloatList:
    case ArgType::BoolList:
    case ArgType::ScalarList:
      return bind_list(info, given);
    default:
      return plain(info, given, complex_numbers_);
  }
}

tn_value Arguments::bind_tensors(const ArgInfo& info, const CaseFile& file, const json& given,
                                 core::DeviceId place) {
  if (!given.is_array()) refuse_value(info, given);
  auto& list = lists_.emplace_back();
  for (const json& one : given) {
    std::string name = core::join(info.name, ".", list.size());
    list.push_back(one.is_null() ? nullptr
                                 : add_tensor(name, tensor_of(file, one, place), info.mutates));
  }
  tn_value v = value(TN_TAG_TENSOR_LIST);
  v.u.tensors = list.data();
  v.len = static_cast<uint32_t>(list.size());
  return v;
}

tn_value Arguments::bind_list(const ArgInfo& info, const json& given) {
  json items = given.is_array() ? given : json::array({given});
  tn_value v{};
  if (info.type == ArgType::IntList || info.type == ArgType::OptIntList) {
    auto& list = ints_.emplace_back();
    for (const json& i : items) {
      if (!i.is_number_integer()) refuse_value(info, given);
      list.push_back(i.get<int64_t>());
    }
    v.tag = TN_TAG_I64_LIST;
    v.u.i64s = list.data();
  } else if (info.type == ArgType::BoolList) {
    auto& list = bools_.emplace_back();
    for (const json& i : items) list.push_back(i.get<bool>());
    v.tag = TN_TAG_BOOL_LIST;
    v.u.bools = list.data();
  } else if (info.type == ArgType::ScalarList) {
    auto& list = scalars_.emplace_back();
    for (const json& i : items) list.push_back(scalar(info, i, complex_numbers_));
    v.tag = TN_TAG_SCALAR_LIST;
    v.u.values = list.data();
  } else {
    auto& list = floats_.emplace_back();
    for (const json& i : items) list.push_back(number(i));
    v.tag = TN_TAG_F64_LIST;
    v.u.f64s = list.data();
  }
  v.len = static_cast<uint32_t>(items.size());
  return v;
}

const tn_tensor* Arguments::add_tensor(const std::string& name, core::Impl t, bool mutates) {
  by_name_[name] = t;
  tensors_.push_back(t);
  if (!mutates) take_snapshot(name, t);
  return &t->view;
}

void Arguments::take_snapshot(const std::string& name, const core::Impl& t) {
  if (!t->composite()) {
    snapshots_.push_back({name, t, t->sizes().vec(), t->strides().vec(), storage_bytes(*t), {}, 0});
    return;
  }
  for (int k = 0; k < t->components->n; ++k) {
    take_snapshot(name, core::Impl::share(t->components->impl[k]));
    snapshots_.back().whole = t;
    snapshots_.back().part = k;
  }
}

core::Impl Arguments::tensor(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? core::Impl() : it->second;
}

void Arguments::replace(int argument, core::Impl with) {
  values_.at(static_cast<std::size_t>(argument)).u.tensor = &with->view;
  tensors_.push_back(std::move(with));
}

std::string Arguments::changed() const {
  for (const Snapshot& s : snapshots_) {
    bool same = (!s.whole || s.whole->components->impl[s.part] == s.tensor.get()) &&
                s.tensor->sizes() == IntArrayRef(s.sizes) &&
                s.tensor->strides() == IntArrayRef(s.strides) &&
                storage_bytes(*s.tensor) == s.bytes;
    if (!same) return s.name;
  }
  return {};
}

}  // namespace tenon::oracle
