// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/in_flight.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::core {

__thread FlightWord* t_flight __attribute__((tls_model("initial-exec")));

namespace {

// Words are never freed: a thread that ends leaves its own to a later one.
struct Flights {
  Flights() { pthread_key_create(&key, leave_flights); }
  static void leave_flights(void* word);
  std::mutex lock;  // fork: before_fork takes it
  std::vector<FlightWord*> all, unused;
  pthread_key_t key;  // its destructors run after those of thread-locals, which may still call ops
};

Flights& flights() {
  static Flights& f = *new Flights;  // never destroyed: threads may outlive statics
  return f;
}

void Flights::leave_flights(void* word) {
  t_flight = nullptr;
  std::lock_guard<std::mutex> hold(flights().lock);
  flights().unused.push_back(static_cast<FlightWord*>(word));  // has room: join_flights made it
}

void before_fork() { flights().lock.lock(); }
void after_fork() { flights().lock.unlock(); }
// The other threads do not exist in the child, wherever they were.
void after_fork_child() {
  for (FlightWord* word : flights().all) {
    if (word != t_flight) word->store(0, std::memory_order_relaxed);
  }
  flights().lock.unlock();
}

// At load, while there is one thread.
[[maybe_unused]] const int g_fork_handlers =
    (static_cast<void>(flights()), pthread_atfork(before_fork, after_fork, after_fork_child));

void membarrier(int command) {
  TENON_CHECK(syscall(SYS_membarrier, command, 0, 0) == 0, NotImplementedError,
              "unload: this system has no membarrier, so calls under way cannot be waited for");
}

}  // namespace

FlightWord* join_flights() {
  Flights& f = flights();
  std::lock_guard<std::mutex> hold(f.lock);
  if (f.unused.empty()) {
    f.all.reserve(f.all.size() + 1);
    f.unused.reserve(f.all.size() + 1);
    f.all.push_back(new FlightWord(0));
    f.unused.push_back(f.all.back());
  }
  t_flight = f.unused.back();
  f.unused.pop_back();
  pthread_setspecific(f.key, t_flight);
  return t_flight;
}

bool in_flight() noexcept {
  return t_flight != nullptr && (t_flight->load(std::memory_order_relaxed) & kFlightDepth) != 0;
}

void drain_flights() {
  membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  std::vector<FlightWord*> words;
  {
    std::lock_guard<std::mutex> hold(flights().lock);
    words = flights().all;
  }
  for (FlightWord* word : words) {
    const uint64_t trips = word->load(std::memory_order_acquire) / kFlightTrip;
    for (uint64_t now; (now = word->load(std::memory_order_acquire)) & kFlightDepth &&
                       now / kFlightTrip == trips;) {
      const timespec pause{0, 50000};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace tenon::core
