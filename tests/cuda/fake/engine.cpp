// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "control.h"

namespace tenon::fake {

thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;
thread_local cudaStreamCaptureMode t_mode = cudaStreamCaptureModeGlobal;
thread_local int t_captures = 0;

State& state() {
  static State& s = *[] {
    auto* made = new State;
    if (const char* n = std::getenv("TENON_FAKE_CUDA_DEVICES")) made->devices = std::atoi(n);
    for (int d = 0; d < kMaxDevices; ++d)
      made->streams.push_back(new CUstream_st{d, {}, nullptr, 0});
    return made;
  }();
  return s;
}

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

cudaError_t fail(cudaError_t code) {
  if (code != cudaSuccess) t_last = code;
  return code;
}

cudaError_t enter(const char* name) {
  State& s = state();
  ++s.calls[name];
  if (s.fail_in > 0 && --s.fail_in == 0) {
    ++s.injected;
    return fail(s.fail_code);
  }
  if (s.devices < 0) return fail(cudaErrorInsufficientDriver);
  if (s.devices == 0) return fail(cudaErrorNoDevice);
  return fail(s.device[t_device].broken);
}

cudaStream_t resolve(cudaStream_t s) {
  // Null, and the legacy stream's and the thread's stream's handles, which are small numbers.
  if (reinterpret_cast<uintptr_t>(s) <= 2)
    return state().streams[static_cast<std::size_t>(t_device)];
  return s;
}

int device_of(cudaStream_t s) { return resolve(s)->device; }

namespace {

// Lets other threads in. Whoever waits holds the lock once.
void pause() {
  state().lock.unlock();
  usleep(50);
  state().lock.lock();
}

void run_on_timeline(cudaStream_t s, const Work& w, const Record* before) {
  Timeline& t = state().timeline;
  s->timeline_ms = std::max({s->timeline_ms, w.enqueued_ms, before ? before->timeline_ms : 0});
  s->timeline_ms += w.takes_ms;
  t.copies_ms += w.copies_ms;
  t.kernels_ms += w.takes_ms - w.copies_ms;
  t.end_ms = std::max(t.end_ms, s->timeline_ms);
  if (w.marks) w.marks->timeline_ms = s->timeline_ms;
}

// False: it would wait for another thread, and `waits` is false.
bool advance(cudaStream_t s, bool waits) {
  while (s->stepping) {
    if (!waits) return false;
    pause();
  }
  if (s->work.empty()) return true;
  struct Stepping {
    bool& on;
    explicit Stepping(bool& o) : on(o) { on = true; }
    ~Stepping() { on = false; }
  } stepping(s->stepping);
  const std::shared_ptr<Record> before = s->work.front().waits_for;
  if (before && !before->done && !waits) try_step(before->stream);
  if (before && !before->done && !waits) return false;
  if (before && !before->done) run_until(*before);
  Device& d = state().device[s->device];
  while (s->work.front().until && d.broken == cudaSuccess && !s->work.front().until()) {
    if (!waits) return false;
    pause();
  }
  const Work w = std::move(s->work.front());
  s->work.pop_front();
  State& all = state();
  if (w.run && all.fail_work_in > 0 && --all.fail_work_in == 0) {
    ++all.injected;
    d.broken = all.fail_work_code;
  }
  if (w.run && d.broken == cudaSuccess) w.run();  // a lost context drops its work
  run_on_timeline(s, w, before.get());
  if (w.marks) {
    w.marks->done = true;
    w.marks->at_ms = now_ms();
  }
  return true;
}

}  // namespace

void step(cudaStream_t s) { advance(s, /*waits=*/true); }
void try_step(cudaStream_t s) { advance(s, /*waits=*/false); }

void run_all(cudaStream_t s) {
  s = resolve(s);
  while (!s->work.empty() || s->stepping) step(s);
  host_waits(s->timeline_ms);
}

// An event is recorded before anything waits for it, so this ends.
void run_until(const Record& r) {
  while (!r.done && (!r.stream->work.empty() || r.stream->stepping)) step(r.stream);
}

void run_device(int device) {
  const std::vector<cudaStream_t> all = state().streams;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    if ((*it)->device == device) run_all(*it);
  }
}

void host_waits(double until_ms) {
  double& host = state().timeline.host_ms;
  host = std::max(host, until_ms);
}

namespace {

cudaError_t enqueue(cudaStream_t stream, std::function<void()> run, double takes_ms,
                    double copies_ms) {
  cudaStream_t s = resolve(stream);
  if (s->capture) {
    s->capture->nodes.push_back(std::move(run));
    if (s != s->capture->origin) s->capture->joined.insert(s);
    return cudaSuccess;
  }
  s->work.push_back(
      {std::move(run), nullptr, nullptr, nullptr, takes_ms, copies_ms, state().timeline.host_ms});
  return cudaSuccess;
}

}  // namespace

cudaError_t enqueue(cudaStream_t s, std::function<void()> run) {
  return enqueue(s, std::move(run), state().timeline.launch_ms, 0);
}

cudaError_t enqueue_copy(cudaStream_t s, std::size_t bytes, std::function<void()> run) {
  const double ms = static_cast<double>(bytes) / (1 << 20) * state().timeline.megabyte_ms;
  return enqueue(s, std::move(run), ms, ms);
}

bool forbidden() {
  if (t_captures == 0 || t_mode == cudaStreamCaptureModeRelaxed) return false;
  for (cudaStream_t s : state().streams) {
    if (s->capture) s->capture->invalid = true;
  }
  return true;
}

const Memory* memory_at(const void* p, std::size_t bytes) {
  auto& all = state().memory;
  const char* at = static_cast<const char*>(p);
  auto it = all.upper_bound(at);
  if (it == all.begin()) return nullptr;
  --it;
  return at + bytes <= it->first + it->second.bytes ? &it->second : nullptr;
}

}  // namespace tenon::fake

using namespace tenon::fake;
using Hold = std::lock_guard<std::recursive_mutex>;

extern "C" {

int tenon_fake_enqueue(void* stream, void (*run)(void*), void* arg) {
  Hold hold(state().lock);
  return enqueue(static_cast<cudaStream_t>(stream), [=] { run(arg); });
}

int tenon_fake_enqueue_owned(void* stream, void (*run)(void*), void (*drop)(void*), void* arg) {
  Hold hold(state().lock);
  auto owned = std::shared_ptr<void>(arg, drop);
  return enqueue(static_cast<cudaStream_t>(stream), [=] { run(owned.get()); });
}

int tenon_fake_enqueue_until(void* stream, int (*is_done)(void*), void (*drop)(void*), void* arg) {
  Hold hold(state().lock);
  auto owned = std::shared_ptr<void>(arg, drop);
  cudaStream_t s = resolve(static_cast<cudaStream_t>(stream));
  if (s->capture) return fail(cudaErrorStreamCaptureUnsupported);
  s->work.push_back({nullptr, nullptr, nullptr, [=] { return is_done(owned.get()) != 0; }});
  return cudaSuccess;
}

void tenon_fake_fail(int64_t nth, int code) {
  Hold hold(state().lock);
  state().fail_in = nth;
  state().fail_code = static_cast<cudaError_t>(code);
}

void tenon_fake_fail_work(int64_t nth, int code) {
  Hold hold(state().lock);
  state().fail_work_in = nth;
  state().fail_work_code = static_cast<cudaError_t>(code);
}

void tenon_fake_timeline(double launch_ms, double megabyte_ms) {
  Hold hold(state().lock);
  state().timeline = {launch_ms, megabyte_ms};
  for (cudaStream_t s : state().streams) s->timeline_ms = 0;
}

tenon_fake_times tenon_fake_timeline_end(void) {
  Hold hold(state().lock);
  const Timeline& t = state().timeline;
  return {t.kernels_ms, t.copies_ms, std::max(t.end_ms, t.host_ms)};
}

int64_t tenon_fake_injected(void) {
  Hold hold(state().lock);
  return state().injected;
}

void tenon_fake_capacity(uint64_t bytes) {
  Hold hold(state().lock);
  state().capacity = bytes;
}

// A lost device loses its memory, events and streams, and all pinned memory.
static void drop_context(int device) {
  State& s = state();
  for (auto it = s.memory.begin(); it != s.memory.end();) {
    const bool is_lost = it->second.device == device || it->second.device < 0;
    if (is_lost) munmap(const_cast<char*>(it->first), it->second.bytes);
    it = is_lost ? s.memory.erase(it) : std::next(it);
  }
  for (auto it = s.events.begin(); it != s.events.end();)
    it = (*it)->device == device ? s.events.erase(it) : std::next(it);
  const auto gone = [&](cudaStream_t x) { return x->device == device; };
  s.streams.erase(std::remove_if(s.streams.begin() + kMaxDevices, s.streams.end(), gone),
                  s.streams.end());
  s.device[device] = Device{};
}

int64_t tenon_fake_alive(int what) {
  State& s = state();
  Hold hold(s.lock);
  int64_t device = 0, pinned = 0;
  for (auto& [p, m] : s.memory) ++(m.device < 0 ? pinned : device);
  switch (what) {
    case TENON_FAKE_MEMORY:
      return device;
    case TENON_FAKE_PINNED:
      return pinned;
    case TENON_FAKE_STREAMS:
      return static_cast<int64_t>(s.streams.size()) - kMaxDevices;
    case TENON_FAKE_EVENTS:
      return static_cast<int64_t>(s.events.size());
    case TENON_FAKE_GRAPHS:
      return s.graphs;
    default:
      return s.handles;
  }
}

int tenon_fake_call(const char* name) {
  Hold hold(state().lock);
  const cudaError_t e = enter(name);
  t_last = cudaSuccess;
  return e;
}

void tenon_fake_count(int, int64_t more) {
  Hold hold(state().lock);
  state().handles += more;
}

uint64_t tenon_fake_bytes(void) {
  Hold hold(state().lock);
  uint64_t sum = 0;
  for (const Device& d : state().device) sum += d.used;
  return sum;
}

int64_t tenon_fake_calls(const char* name) {
  Hold hold(state().lock);
  if (name) return state().calls[name];
  int64_t sum = 0;
  for (auto& [_, n] : state().calls) sum += n;
  return sum;
}

int64_t tenon_fake_work(void) {
  Hold hold(state().lock);
  int64_t n = 0;
  for (cudaStream_t s : state().streams) n += static_cast<int64_t>(s->work.size());
  return n;
}

int tenon_fake_device_of(const void* address) {
  Hold hold(state().lock);
  const Memory* m = memory_at(address, 1);
  return m ? m->device : -1;
}

void tenon_fake_reset(void) {
  State& s = state();
  Hold hold(s.lock);
  for (int d = 0; d < kMaxDevices; ++d) {
    run_device(d);
    if (s.device[d].broken != cudaSuccess) drop_context(d);
  }
  s.fail_in = s.fail_work_in = s.injected = 0;
  s.capacity = std::size_t{16} << 30;
  s.calls.clear();
}
}
