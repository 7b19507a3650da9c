// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a dataset can ask about the thread that reads it, and what a loader does with a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "tenon/data/example.h"
#include "tenon/tensor.h"

namespace tenon::data {

struct WorkerInfo {
  std::size_t id = 0;           // below num_workers
  std::size_t num_workers = 0;  // of the loader
  uint64_t seed = 0;            // base seed + id; make_generator(kCPU, seed) draws from it
};
// Of the worker that calls it; nothing on any other thread.
TENON_API std::optional<WorkerInfo> get_worker_info();

namespace detail {

TENON_API void set_worker_info(WorkerInfo* info);  // which lives as long as the thread
// The base seed of a loader's workers. It leaves the generator as it was, so that what a program
// draws later does not depend on the number of workers.
TENON_API uint64_t draw_seed();

// The tensor in pinned memory; itself if it lies on a device, or where no device can pin.
TENON_API Tensor pinned(const Tensor& t);

// Calls f with the tensors of a batch: a tensor, those of examples, and lists of them.
template <class T, class F>
void each_tensor(T&, const F&) {}
template <class F>
void each_tensor(Tensor& t, const F& f);
template <class Data, class Target, class F>
void each_tensor(Example<Data, Target>& e, const F& f);
template <class Data, class F>
void each_tensor(Example<Data, void>& e, const F& f);
template <class T, class F>
void each_tensor(std::vector<T>& list, const F& f);

template <class F>
void each_tensor(Tensor& t, const F& f) {
  f(t);
}
template <class Data, class Target, class F>
void each_tensor(Example<Data, Target>& e, const F& f) {
  each_tensor(e.data, f);
  each_tensor(e.target, f);
}
template <class Data, class F>
void each_tensor(Example<Data, void>& e, const F& f) {
  each_tensor(e.data, f);
}
template <class T, class F>
void each_tensor(std::vector<T>& list, const F& f) {
  if constexpr (!std::is_arithmetic_v<T>) {
    for (T& item : list) each_tensor(item, f);
  }
}

}  // namespace detail
}  // namespace tenon::data
