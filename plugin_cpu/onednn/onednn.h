// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// oneDNN as this plugin uses it: one engine, one stream per thread, one OpenMP thread per call,
// primitives cached in a bounded cache of each thread. The instruction set is capped before the
// first call if AMX would raise SIGILL.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugin_cpu/memory/hash.h"
#include "plugin_cpu/memory/per_thread.h"
#include "plugin_cpu/onednn/version.h"

namespace tenon::cpu::onednn {

// Also prepares the calling thread. Call it before any other function of the library, on every
// thread.
const dnnl::engine& engine();
dnnl::stream& stream();
// "oneDNN 2.6.0" and what was capped, for the plugin's line.
const char* description();

// The key of a primitive: op, dtype, shape, strides.
using Key = std::vector<int64_t>;

// Evicts the least recently used. Not shared between threads.
template <class Entry>
class Cache {
 public:
  // The thread's own.
  static Cache& local() { return of_this_thread<Cache>(); }
  template <class Make>
  Entry& get(const Key& key, Make&& make) {
    const auto found = places_.find(key);
    if (found != places_.end()) {
      items_.splice(items_.begin(), items_, found->second);
      return *items_.front().second;
    }
    auto entry = std::make_unique<Entry>(make());
    if (items_.size() >= kBound) {
      places_.erase(items_.back().first);
      items_.pop_back();
    }
    items_.emplace_front(key, std::move(entry));
    places_.emplace(key, items_.begin());
    return *items_.front().second;
  }

 private:
  // As the rows of images in parts, a network of a hundred layers needs several hundred.
  static constexpr std::size_t kBound = 512;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return hash_of({key.data(), static_cast<int64_t>(key.size())});
    }
  };
  std::list<std::pair<Key, std::unique_ptr<Entry>>> items_;
  std::unordered_map<Key, typename decltype(items_)::iterator, Hash> places_;
};

// Whether the processor has bfloat16 instructions.
bool native_bf16();
// Whether it has dot products of 8-bit integers whose sums do not saturate.
bool native_int8();

// Element type of oneDNN; undef where it has none.
dnnl::memory::data_type data_type(int code, int bits);

// Runs a reorder of `from` into `to`; layouts may differ in anything but sizes.
void reorder(const dnnl::memory::desc& from, const void* src, const dnnl::memory::desc& to,
             void* dst);

inline bool same(const dnnl::memory::desc& a, const dnnl::memory::desc& b) { return a == b; }

// Memory over a caller's bytes.
inline dnnl::memory wrap(const dnnl::memory::desc& d, const void* p) {
  return dnnl::memory(d, engine(), const_cast<void*>(p));
}

}  // namespace tenon::cpu::onednn
