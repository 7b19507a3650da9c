// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An engine of collectives, a table for PluginInfo::ext(), from a class of one rank's membership:
//
//   class Group {
//    public:
//     explicit Group(const tn_group_options& options);  // joins
//     std::shared_ptr<tenon::sdk::CollectiveWork> start(const tn_collective_call& call);
//     void abort();
//   };
//   struct Engine : tenon::sdk::CollectiveEngine<Group> {
//     static bool supports(int32_t operation, int32_t reduction, tn_dtype, std::string_view
//     device); static std::pair<int32_t, int32_t> world();  // optional, see
//     tn_ext_collective::world
//   };
//   constexpr tn_ext_collective kCollective = tenon::sdk::collective_functions<Engine>();
//   TN_PLUGIN(tenon::sdk::PluginInfo{}.name("mine").device("none").ext(&kCollective.head));
//
// What these functions throw is TN_ERROR_BACKEND, with its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenon/abi/ext/collective.h"

namespace tenon::sdk {

// TN_COLLECTIVE_: whether an operation combines elements, and whether it has one peer.
constexpr bool is_reduction(int32_t operation) {
  return operation == TN_COLLECTIVE_ALL_REDUCE || operation == TN_COLLECTIVE_REDUCE ||
         operation == TN_COLLECTIVE_REDUCE_SCATTER;
}
constexpr bool is_to_one(int32_t operation) {
  return operation == TN_COLLECTIVE_SEND || operation == TN_COLLECTIVE_RECV;
}

// One operation.
class CollectiveWork {
 public:
  CollectiveWork() = default;
  CollectiveWork(const CollectiveWork&) = delete;
  virtual ~CollectiveWork() = default;
  // Waits for at most so many milliseconds, 0: not at all. True: it is done.
  virtual bool wait(int64_t ms) = 0;
  // Called last, after abort of the group where it is still under way. False: its buffers are used
  // until the process ends; the object is kept, too.
  virtual bool end() { return wait(INT64_MAX); }
  // Of a work that is done: why it failed, empty if it succeeded, and the rank it was received
  // from.
  std::string fault;
  int32_t source = -1;
  // When the engine began and ended to work on it, by collective_clock(), for profiles; 0: that is
  // not known.
  int64_t begin_ns = 0, end_ns = 0;
};

// CLOCK_MONOTONIC, in nanoseconds.
inline int64_t collective_clock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// For tags of messages, so that ranks that do not have the same operation do not mix them up.
inline uint32_t collective_hash(std::initializer_list<int64_t> words) {
  uint64_t h = 0x9e3779b97f4a7c15;
  for (int64_t w : words) {
    h = (h ^ static_cast<uint64_t>(w)) * 0xbf58476d1ce4e5b9;
    h ^= h >> 29;
  }
  return static_cast<uint32_t>(h >> 32);
}

template <class G>
struct CollectiveEngine {
  using Group = G;
  // Made before each call of a group, and destroyed after it. Works have none: they are asked
  // often.
  struct Scope {};
};

// The elements of `in` or `out` of a call; none where it is null.
struct CollectiveBuffer {
  char* data = nullptr;
  size_t elements = 0;
  tn_dtype dtype{TN_UINT, 8, 1};

  CollectiveBuffer() = default;
  explicit CollectiveBuffer(const tn_tensor* t) {
    if (!t) return;
    data = static_cast<char*>(t->data) + t->byte_offset;
    dtype = t->dtype;
    elements = 1;
    for (int32_t d = 0; d < t->ndim; ++d) elements *= static_cast<size_t>(t->sizes[d]);
  }
  size_t item_bytes() const { return size_t{dtype.bits} * dtype.lanes / 8; }
  size_t bytes() const { return elements * item_bytes(); }
};

// Bytes by key that all ranks of a group see.
class Rendezvous {
 public:
  Rendezvous(const tn_rendezvous& to, int64_t timeout_ms) : to_(to), timeout_ms_(timeout_ms) {}
  void set(std::string_view key, std::string_view value) const {
    check(to_.set(to_.context, {key.data(), key.size()}, value.data(), value.size()));
  }
  // Waits for it.
  std::string get(std::string_view key) const { return get(key, timeout_ms_); }
  std::string get(std::string_view key, int64_t timeout_ms) const {
    std::string out;
    const auto take = [](void* arg, const void* data, size_t n) {
      static_cast<std::string*>(arg)->assign(static_cast<const char*>(data), n);
    };
    check(to_.get(to_.context, {key.data(), key.size()}, timeout_ms, take, &out));
    return out;
  }

 private:
  void check(tn_status s) const {
    if (s == TN_OK) return;
    const tn_str why = to_.last_error(to_.context);
    throw std::runtime_error(std::string(why.ptr, why.len));
  }
  const tn_rendezvous& to_;
  int64_t timeout_ms_;
};

namespace detail {

// Kept until the process ends: a destructor would keep the library mapped.
inline std::string& collective_error() {
  static thread_local std::string* text = nullptr;
  if (!text) text = new std::string();
  return *text;
}

template <class Scope, class F>
tn_status collective_call(F f) {
  [[maybe_unused]] const Scope scope;
  try {
    return f();
  } catch (const std::bad_alloc&) {
    collective_error() = "out of memory";
    return TN_ERROR_MEMORY;
  } catch (const std::exception& e) {
    collective_error() = e.what();
  } catch (...) {
    collective_error() = "the engine threw an unknown exception";
  }
  return TN_ERROR_BACKEND;
}

struct NoScope {};

template <class E, class = void>
struct KnowsWorld : std::false_type {};
template <class E>
struct KnowsWorld<E, std::void_t<decltype(E::world())>> : std::true_type {};

// The functions of tn_ext_collective.
template <class E>
struct CollectiveFunctions {
  using Group = typename E::Group;
  using Scope = typename E::Scope;
  struct Held {
    std::shared_ptr<CollectiveWork> work;
    Group* group;
  };
  static Group* of(tn_group* g) { return reinterpret_cast<Group*>(g); }
  static Held* of(tn_work* w) { return reinterpret_cast<Held*>(w); }

  static tn_status supports(void*, int32_t operation, int32_t reduction, tn_dtype dtype,
                            tn_str device) {
    return E::supports(operation, reduction, dtype, std::string_view(device.ptr, device.len))
               ? TN_OK
               : TN_DECLINED;
  }
  static tn_status join(void*, const tn_group_options* options, tn_group** out) {
    return collective_call<Scope>([&] {
      *out = reinterpret_cast<tn_group*>(new Group(*options));
      return TN_OK;
    });
  }
  static void leave(void*, tn_group* group) {
    [[maybe_unused]] const Scope scope;
    delete of(group);
  }
  static tn_status start(void*, tn_group* group, const tn_collective_call* call, tn_work** out) {
    return collective_call<Scope>([&] {
      auto held = std::make_unique<Held>();
      held->group = of(group);
      held->work = of(group)->start(*call);
      *out = reinterpret_cast<tn_work*>(held.release());
      return TN_OK;
    });
  }
  static tn_status wait(void*, tn_work* work, int64_t ms, int32_t* done) {
    return collective_call<NoScope>([&]() -> tn_status {
      *done = of(work)->work->wait(ms);
      if (!*done || of(work)->work->fault.empty()) return TN_OK;
      collective_error() = of(work)->work->fault;
      return TN_ERROR_BACKEND;
    });
  }
  static int32_t source(void*, tn_work* work) { return of(work)->work->source; }
  static int32_t release(void*, tn_work* work) {
    Held* held = of(work);
    if (!held->work->wait(0)) abort(nullptr, reinterpret_cast<tn_group*>(held->group));
    if (!held->work->end()) return 0;
    delete held;
    return 1;
  }
  static void abort(void*, tn_group* group) {
    [[maybe_unused]] const Scope scope;
    of(group)->abort();
  }
  static tn_str last_error(void*) { return {collective_error().data(), collective_error().size()}; }
  static tn_status world(void*, int32_t* rank, int32_t* size) {
    return collective_call<NoScope>([&] {
      std::tie(*rank, *size) = E::world();
      return TN_OK;
    });
  }
  static tn_status span(void*, tn_work* work, int64_t* begin_ns, int64_t* end_ns) {
    const CollectiveWork& done = *of(work)->work;
    *begin_ns = done.begin_ns;
    *end_ns = done.end_ns;
    return done.end_ns == 0 ? TN_DECLINED : TN_OK;
  }
};

}  // namespace detail

template <class E>
constexpr tn_ext_collective collective_functions() {
  using F = detail::CollectiveFunctions<E>;
  tn_ext_collective out{{sizeof(tn_ext_collective), TN_EXT_COLLECTIVE, 0, nullptr},
                        nullptr,
                        F::supports,
                        F::join,
                        F::leave,
                        F::start,
                        F::wait,
                        F::source,
                        F::release,
                        F::abort,
                        F::last_error,
                        nullptr,
                        F::span};
  if constexpr (detail::KnowsWorld<E>::value) out.world = F::world;
  return out;
}

}  // namespace tenon::sdk
