// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/engine.h"

#include <algorithm>

#include "distributed/store/bytes.h"
#include "tenon/core/extension.h"
#include "tenon/distributed/process_group.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/device.h"

namespace tenon::distributed {
namespace {

const tn_ext_collective* open_engine(const std::string& name) {
  for (const core::OpenExtension& e : core::open_extensions(TN_EXT_COLLECTIVE)) {
    const auto* engine = reinterpret_cast<const tn_ext_collective*>(e.node);
    if (e.plugin == name && TN_HAS(&engine->head, tn_ext_collective, last_error)) return engine;
  }
  return nullptr;
}

constexpr const char* kNames[] = {
    "all_reduce",     "reduce",     "broadcast", "all_gather", "gather", "scatter",
    "reduce_scatter", "all_to_all", "barrier",   "send",       "recv"};

// The last fault of a rendezvous, by thread; its memory is kept until the thread ends.
std::string& last_fault() {
  static thread_local std::string* text = nullptr;
  if (!text) text = new std::string();
  return *text;
}

template <class F>
tn_status guarded(F f) {
  try {
    f();
    return TN_OK;
  } catch (const std::exception& e) {
    last_fault() = e.what();
  } catch (...) {
    last_fault() = "the store threw an unknown exception";
  }
  return TN_ERROR_BACKEND;
}

Store& store_of(void* context) { return *static_cast<Store*>(context); }

tn_status set(void* context, tn_str key, const void* data, size_t bytes) {
  return guarded([&] {
    const auto* p = static_cast<const uint8_t*>(data);
    store_of(context).set(std::string(key.ptr, key.len), Bytes(p, p + bytes));
  });
}

tn_status get(void* context, tn_str key, int64_t ms,
              void (*take)(void* arg, const void* data, size_t bytes), void* arg) {
  return guarded([&] {
    const std::string name(key.ptr, key.len);
    store_of(context).wait({name}, std::chrono::milliseconds(ms));
    const Bytes value = store_of(context).get(name);
    take(arg, value.data(), value.size());
  });
}

tn_str last_error(void*) { return {last_fault().data(), last_fault().size()}; }

}  // namespace

const char* name_of(int32_t operation) { return kNames[operation]; }
bool is_reduction(int32_t operation) {
  return operation == TN_COLLECTIVE_ALL_REDUCE || operation == TN_COLLECTIVE_REDUCE ||
         operation == TN_COLLECTIVE_REDUCE_SCATTER;
}

const tn_ext_collective& find_engine(const std::string& name) {
  if (const auto* engine = open_engine(name)) return *engine;
  std::string reason = "no plugin of this name was found", known;
  for (const plugins::Info& info : plugins::list()) {
    if (info.device == "none") known += core::join(known.empty() ? "" : ", ", info.name);
    if (info.name != name || info.library.empty()) continue;
    try {
      plugins::load(info.manifest.empty() ? info.library : info.manifest);
      reason = "its plugin has no extension collective";
    } catch (const Error& e) {
      reason = e.msg();
    }
  }
  if (const auto* engine = open_engine(name)) return *engine;
  throw BackendError(core::join("distributed: backend '", name, "' cannot be used: ", reason,
                                "; found are: ", known.empty() ? "none" : known));
}

bool serves(const tn_ext_collective& engine, int32_t operation, ReduceOp op, ScalarType dtype,
            std::string_view device) {
  return engine.supports(engine.context, operation, op.op_, core::dtype_info(dtype).abi,
                         {device.data(), device.size()}) == TN_OK;
}

std::string error_of(const tn_ext_collective& engine) {
  const tn_str s = engine.last_error(engine.context);
  return std::string(s.ptr, s.len);
}

Membership::Membership(const tn_ext_collective& engine, std::shared_ptr<Store> store, int rank,
                       int size, const std::string& name, std::chrono::milliseconds timeout,
                       Device device)
    : engine_(engine),
      store_(std::move(store)),
      rendezvous_{sizeof rendezvous_, store_.get(), set, get, last_error} {
  const tn_group_options options{sizeof options,
                                 rank,
                                 size,
                                 timeout.count(),
                                 {name.data(), name.size()},
                                 store_ ? &rendezvous_ : nullptr,
                                 core::abi_device(device)};
  if (engine.join(engine.context, &options, &group_) != TN_OK)
    throw DistributedError(core::join("distributed: joining group '", name, "' as rank ", rank,
                                      " failed: ", error_of(engine)));
}

Membership::~Membership() {
  if (group_) engine_.leave(engine_.context, group_);
}

bool is_backend_available(const std::string& name) {
  try {
    find_engine(name);
    return true;
  } catch (const BackendError&) {
    return false;
  }
}

std::vector<Capability> capabilities() {
  for (const plugins::Info& info : plugins::list()) {
    if (info.device == "none") is_backend_available(info.name);
  }
  std::vector<Capability> out;
  for (const core::OpenExtension& e : core::open_extensions(TN_EXT_COLLECTIVE)) {
    const auto* engine = open_engine(e.plugin);
    for (const char* device : {"cpu", "cuda"}) {
      for (int32_t operation = 0; engine && operation <= TN_COLLECTIVE_RECV; ++operation) {
        for (int op = ReduceOp::SUM; op <= ReduceOp::BXOR; ++op) {
          const ReduceOp as(static_cast<ReduceOp::RedOpType>(op));
          if (op > 0 && !is_reduction(operation)) break;
          Capability c{
              e.plugin, name_of(operation), device, is_reduction(operation) ? text(as) : "", {}};
          for (ScalarType t : core::kBuiltInDtypes) {
            if (serves(*engine, operation, as, t, device))
              c.dtypes.push_back(core::dtype_info(t).name);
          }
          if (!c.dtypes.empty()) out.push_back(std::move(c));
        }
      }
    }
  }
  return out;
}

}  // namespace tenon::distributed
