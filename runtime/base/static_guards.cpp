// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the compiler calls around the initializer of a static of a function. libstdc++'s leaves a
// guard closed permanently in the child of a fork that took place while another thread was in the
// initializer: whoever reaches it waits forever. Here the child begins such an initializer again.
// Compiled into each library, for its own statics.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace tenon::static_guards {

// The first byte is the compiler's, which asks it before it calls: 1 once the static is made.
struct Guard {
  uint8_t made;
  uint8_t unused[3];
  uint32_t owner;  // 0, or the generation of the process whose thread is in the initializer
};
static_assert(sizeof(Guard) == 8);

namespace {

uint32_t g_generation = 1;  // grows in the child of a fork, where there is one thread

struct ForkHandler {
  ForkHandler() {
    pthread_atfork(nullptr, nullptr, [] { ++g_generation; });
  }
};
[[gnu::init_priority(101)]] const ForkHandler g_fork_handler;

bool is_made(const Guard& g) { return __atomic_load_n(&g.made, __ATOMIC_ACQUIRE) != 0; }

void open(Guard& g) {
  __atomic_store_n(&g.owner, 0, __ATOMIC_RELEASE);
  syscall(SYS_futex, &g.owner, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

[[gnu::visibility("hidden")]] int acquire(Guard* g) asm("__cxa_guard_acquire");
[[gnu::visibility("hidden")]] void release(Guard* g) asm("__cxa_guard_release");
[[gnu::visibility("hidden")]] void give_up(Guard* g) asm("__cxa_guard_abort");

// 1: the caller is to make the static. 0: it is made.
int acquire(Guard* g) {
  while (!is_made(*g)) {
    uint32_t owner = 0;
    if (__atomic_compare_exchange_n(&g->owner, &owner, g_generation, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        (owner != g_generation &&
         __atomic_compare_exchange_n(&g->owner, &owner, g_generation, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))) {
      if (!is_made(*g)) return 1;
      open(*g);
    } else if (owner == g_generation) {
      syscall(SYS_futex, &g->owner, FUTEX_WAIT_PRIVATE, owner, nullptr, nullptr, 0);
    }
  }
  return 0;
}

void release(Guard* g) {
  __atomic_store_n(&g->made, 1, __ATOMIC_RELEASE);
  open(*g);
}

// The initializer threw.
void give_up(Guard* g) { open(*g); }

}  // namespace tenon::static_guards
