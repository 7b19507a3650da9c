// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The thread pool.
//
// A call publishes its work in a slot, wakes sleeping workers and works itself; each thread takes
// the next free blocks. A worker that the system does not schedule takes none, so a busy neighbor
// costs its share of the machine and nothing more: the caller never waits for a worker that has not
// started.
//
// Life of a slot: the caller owns it (owned), fills it, opens it (open), works, closes it, and
// waits until nobody is inside. A worker counts itself in before it looks at `open`, so that after
// closing, inside == 0 means that no thread reads the slot any more.
#include "tenon/runtime/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/base/block_signals.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/settings.h"
#include "runtime/base/threads.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kLanes = 64;
// Calls from different threads that share the workers; further ones run on their own thread.
constexpr int kSlots = 8;
constexpr int kFewWorkers = 7;
constexpr int64_t kSpinNs = 20000, kLongSpinNs = 320000, kTurnNs = 200000;

// A lane is the range of blocks that a thread starts with: the same thread gets the same data in
// the next call.
struct alignas(64) Lane {
  std::atomic<int64_t> next;
  int64_t end;
};

struct alignas(64) Slot {
  std::atomic<bool> owned{false};
  std::atomic<bool> open{false};
  alignas(64) std::atomic<uint32_t> inside{0};
  alignas(64) int64_t n = 0;
  int64_t grain = 1;
  int lanes = 1;
  int limit = 1;  // threads that may take part
  RangeFn body = nullptr;
  void* arg = nullptr;
  std::mutex fault_lock;  // fork: after_fork_child makes another
  int64_t fault_block = -1;
  std::exception_ptr fault;
  Lane lane[kLanes];
};

// The caller may move a sleeping worker to another processor than the one where it fell asleep.
struct alignas(64) Worker {
  enum State { Awake, Asleep, Moving, Moved };
  std::atomic<int> state{Awake};
  std::atomic<int> cpu{-1};  // where it fell asleep
  pid_t thread = 0;
  cpu_set_t allowed;  // while Moved: what it may run on
};

struct Pool {
  Slot slot[kSlots];
  Worker worker[kMaxThreads];
  alignas(64) std::atomic<uint32_t> epoch{0};  // grows when work appears; futex
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<int> wanted{0};   // threads with the caller; 0: not decided yet
  std::atomic<int> workers{0};  // started
  std::mutex start_lock;        // fork: before_fork takes it
};

Pool& thread_pool() {
  static Pool& p = *new Pool;  // never destroyed: workers may outlive statics
  return p;
}

thread_local int t_index = 0;
thread_local bool t_inside = false;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int n) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

// How long a thread spins before it sleeps. Waking it costs its caller some 25 us on a virtual
// machine: where work came soon after it fell asleep, as in a program of small kernels, it spins
// longer, until none comes in that time, or another thread gets its processor meanwhile.
class Spin {
 public:
  // Spins, then calls sleep(); returns when `word` differs from `value`, or spuriously.
  template <class Sleep>
  void wait_change(const std::atomic<uint32_t>& word, uint32_t value, Sleep sleep) {
    int64_t begin = 0, last = 0;
    for (int i = 1; word.load(std::memory_order_acquire) == value; ++i) {
      cpu_relax();
      if (i % 32 != 0) continue;
      const int64_t now = now_ns();
      if (begin == 0) begin = last = now;
      if (now - last > kTurnNs) shared();
      last = now;
      if (now - begin <= limit_) continue;
      sleep();
      return slept(now_ns() - begin);
    }
  }

 private:
  void shared() {
    limit_ = kSpinNs;
    hold_ = std::min(4 * hold_, 4096);
    short_ = hold_;
  }
  void slept(int64_t ns) {
    limit_ = ns < kLongSpinNs && short_ == 0 ? kLongSpinNs : kSpinNs;
    short_ -= short_ != 0;
  }

  int64_t limit_ = kSpinNs;
  int hold_ = 4, short_ = 0;  // sleeps that leave the limit short: each time, and still
};

void run_block(Slot& s, int64_t block) noexcept {
  int64_t begin = block * s.grain;
  try {
    s.body(s.arg, begin, s.n - begin > s.grain ? begin + s.grain : s.n);
  } catch (...) {
    // Keeps the exception of the lowest block: the one that a single thread would have met first.
    std::lock_guard<std::mutex> hold(s.fault_lock);
    if (s.fault_block < 0 || block < s.fault_block) {
      s.fault_block = block;
      s.fault = std::current_exception();
    }
  }
}

// Own lane first, then what others have left.
void run_blocks(Slot& s, int index) noexcept {
  int lanes = s.lanes;
  for (int k = 0; k < lanes; ++k) {
    Lane& lane = s.lane[(index + k) % lanes];
    while (lane.next.load(std::memory_order_relaxed) < lane.end) {
      int64_t block = lane.next.fetch_add(1, std::memory_order_relaxed);
      if (block >= lane.end) break;
      run_block(s, block);
    }
  }
}

void visit_slot(Slot& s, int index) noexcept {
  if (!s.open.load(std::memory_order_relaxed)) return;
  s.inside.fetch_add(1, std::memory_order_seq_cst);
  if (s.open.load(std::memory_order_seq_cst) && index < s.limit) run_blocks(s, index);
  // The caller sleeps on `inside` only after closing.
  if (s.inside.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
      !s.open.load(std::memory_order_seq_cst)) {
    futex_wake(s.inside, 1);
  }
}

void fall_asleep(Pool& p, Worker& w, uint32_t seen) {
  w.cpu.store(sched_getcpu(), std::memory_order_relaxed);
  w.state.store(Worker::Asleep, std::memory_order_release);
  p.sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(p.epoch, seen);
  p.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  int state = Worker::Asleep;
  while (!w.state.compare_exchange_weak(state, Worker::Awake, std::memory_order_acquire)) {
    if (state == Worker::Moved) sched_setaffinity(0, sizeof w.allowed, &w.allowed);
    if (state == Worker::Moving) {
      cpu_relax();
      state = Worker::Asleep;
    }
  }
}

void* worker_main(void* arg) {
  Pool& p = thread_pool();
  int index = static_cast<int>(reinterpret_cast<intptr_t>(arg));
  Worker& me = p.worker[index - 1];
  me.thread = static_cast<pid_t>(syscall(SYS_gettid));
  me.state.store(Worker::Awake, std::memory_order_release);
  t_index = index;
  t_inside = true;
  Spin spin;
  for (;;) {
    uint32_t seen = p.epoch.load(std::memory_order_seq_cst);
    for (Slot& s : p.slot) visit_slot(s, index);
    spin.wait_change(p.epoch, seen, [&] { fall_asleep(p, me, seen); });
  }
  return nullptr;
}

// Locks are taken before a fork, so that the child finds them unlocked; its workers do not exist.
void before_fork() { thread_pool().start_lock.lock(); }
void after_fork_parent() { thread_pool().start_lock.unlock(); }
void after_fork_child() {
  Pool& p = thread_pool();
  p.workers.store(0, std::memory_order_relaxed);
  p.sleepers.store(0, std::memory_order_relaxed);
  // Else the child would move the parent's workers, whose ids are still there.
  for (Worker& w : p.worker) w.state.store(Worker::Awake, std::memory_order_relaxed);
  for (Slot& s : p.slot) {
    s.open.store(false, std::memory_order_relaxed);
    s.inside.store(0, std::memory_order_relaxed);
    s.owned.store(false, std::memory_order_relaxed);
    new (&s.fault_lock) std::mutex;
    new (&s.fault) std::exception_ptr;
  }
  t_index = 0;
  t_inside = false;
  p.start_lock.unlock();
}

// Registered at load, while there is one thread: a fork that races with a registration would leave
// a lock locked.
[[maybe_unused]] const int g_fork_handlers =
    (static_cast<void>(thread_pool()),
     pthread_atfork(before_fork, after_fork_parent, after_fork_child));

// 0 if it cannot be determined now.
int default_threads() noexcept {
  if (auto given = number_setting("NUM_THREADS", 1, kMaxThreads, "one per available CPU is used")) {
    return static_cast<int>(*given);
  }
  try {
    return std::clamp(usable_cpus(), 1, kMaxThreads);
  } catch (const std::exception&) {  // no memory to read the control groups
    return 0;
  }
}

bool start_worker(int index) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int fault;
  {
    const BlockSignals blocked;
    fault = pthread_create(&thread, &attributes, worker_main,
                           reinterpret_cast<void*>(static_cast<intptr_t>(index)));
  }
  pthread_attr_destroy(&attributes);
  if (fault == 0) pthread_setname_np(thread, "tenon");
  return fault == 0;
}

// With fewer workers than wanted the pool still works: the caller takes every block that no worker
// takes.
TENON_COLD void start_workers(Pool& p, int n) {
  std::lock_guard<std::mutex> hold(p.start_lock);
  for (int have = p.workers.load(std::memory_order_relaxed); have < n; ++have) {
    if (!start_worker(have + 1)) return;
    p.workers.store(have + 1, std::memory_order_relaxed);
  }
}

Slot* take_slot(Pool& p) {
  for (Slot& s : p.slot) {
    if (!s.owned.load(std::memory_order_relaxed) &&
        !s.owned.exchange(true, std::memory_order_acquire))
      return &s;
  }
  return nullptr;
}

void run_alone(int64_t n, int64_t grain, RangeFn body, void* arg) {
  for (int64_t begin = 0; begin < n;) {
    int64_t end = n - begin > grain ? begin + grain : n;
    body(arg, begin, end);
    begin = end;
  }
}

void fill_slot(Slot& s, int64_t n, int64_t grain, int threads, RangeFn body, void* arg) {
  int64_t blocks = (n - 1) / grain + 1;
  s.n = n;
  s.grain = grain;
  s.limit = threads;
  s.body = body;
  s.arg = arg;
  s.fault_block = -1;
  s.lanes = static_cast<int>(std::min<int64_t>({threads, kLanes, blocks}));
  int64_t each = blocks / s.lanes, more = blocks % s.lanes, begin = 0;
  for (int i = 0; i < s.lanes; ++i) {
    int64_t end = begin + each + (i < more ? 1 : 0);
    s.lane[i].next.store(begin, std::memory_order_relaxed);
    s.lane[i].end = end;
    begin = end;
  }
}

// The system may wake a thread on the caller's processor although others are idle: where it slept,
// or anywhere on a virtual machine that packs its threads. The two would alternate until the system
// balances its load, milliseconds later. Of many workers only those that slept here are moved,
// because each move costs the caller two system calls.
void move_sleepers(Pool& p) {
  const int here = sched_getcpu();
  for (int i = 0, n = p.workers.load(std::memory_order_relaxed); i < n; ++i) {
    Worker& w = p.worker[i];
    int state = Worker::Asleep;
    if ((n > kFewWorkers && w.cpu.load(std::memory_order_relaxed) != here) ||
        !w.state.compare_exchange_strong(state, Worker::Moving, std::memory_order_acquire))
      continue;
    cpu_set_t others;
    const bool known = sched_getaffinity(w.thread, sizeof w.allowed, &w.allowed) == 0;
    others = w.allowed;
    CPU_CLR(static_cast<std::size_t>(here), &others);
    const bool moved = known && CPU_COUNT(&others) != 0 &&
                       sched_setaffinity(w.thread, sizeof others, &others) == 0;
    w.state.store(moved ? Worker::Moved : Worker::Asleep, std::memory_order_release);
  }
}

// Sleepers cannot be chosen: if set_num_threads excludes some workers, all are woken.
void wake_workers(Pool& p, int helpers, int threads) {
  p.epoch.fetch_add(1, std::memory_order_seq_cst);
  if (p.sleepers.load(std::memory_order_seq_cst) == 0) return;
  move_sleepers(p);
  futex_wake(p.epoch, p.workers.load(std::memory_order_relaxed) < threads ? helpers : INT_MAX);
}

thread_local Spin t_closing;

// After this no thread reads the slot.
void close_slot(Slot& s) {
  s.open.store(false, std::memory_order_seq_cst);
  for (uint32_t in; (in = s.inside.load(std::memory_order_seq_cst)) != 0;) {
    t_closing.wait_change(s.inside, in, [&] { futex_wait(s.inside, in); });
  }
}

}  // namespace

void parallel_for(int64_t n, int64_t grain, RangeFn body, void* arg) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int threads;
  if (n <= grain || t_inside || (threads = num_threads()) == 1)
    return run_alone(n, grain, body, arg);
  Pool& p = thread_pool();
  if (TENON_UNLIKELY(p.workers.load(std::memory_order_relaxed) < threads - 1))
    start_workers(p, threads - 1);
  Slot* s = take_slot(p);
  if (s == nullptr) return run_alone(n, grain, body, arg);
  fill_slot(*s, n, grain, threads, body, arg);
  t_inside = true;
  s->open.store(true, std::memory_order_seq_cst);
  wake_workers(p, static_cast<int>(std::min<int64_t>(threads, (n - 1) / grain + 1)) - 1, threads);
  run_blocks(*s, 0);
  close_slot(*s);
  t_inside = false;
  std::exception_ptr fault = std::exchange(s->fault, nullptr);
  s->owned.store(false, std::memory_order_release);
  if (TENON_UNLIKELY(fault != nullptr)) std::rethrow_exception(fault);
}

int num_threads() noexcept {
  Pool& p = thread_pool();
  int n = p.wanted.load(std::memory_order_relaxed);
  if (TENON_LIKELY(n > 0)) return n;
  int undecided = 0;
  n = default_threads();
  if (n == 0) return 1;  // the next call asks again
  return p.wanted.compare_exchange_strong(undecided, n) ? n : undecided;
}

void set_num_threads(int n) {
  TENON_CHECK(n >= 1, ValueError, "the number of threads must be at least 1, got ", n);
  thread_pool().wanted.store(std::min(n, kMaxThreads), std::memory_order_relaxed);
}

bool in_parallel_region() noexcept { return t_inside; }
bool exchange_parallel_region(bool inside) noexcept { return std::exchange(t_inside, inside); }
int thread_index() noexcept { return t_index; }

}  // namespace tenon::core
