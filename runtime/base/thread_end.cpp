// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/thread_end.h"

#include <pthread.h>

namespace tenon::core {
namespace {

__thread ThreadEnd* t_ends __attribute__((tls_model("initial-exec")));

void run_ends(void*) {
  while (ThreadEnd* end = t_ends) {
    t_ends = end->next;
    end->run();
  }
}

struct Key {
  pthread_key_t key = 0;
  bool made = pthread_key_create(&key, run_ends) == 0;
};

const Key& thread_key() noexcept {
  static const Key k;
  return k;
}

}  // namespace

bool at_thread_end(ThreadEnd& end) noexcept {
  const Key& k = thread_key();
  // Of many keys the later ones need memory for their values.
  if (!k.made || pthread_setspecific(k.key, &t_ends) != 0) return false;
  end.next = t_ends;
  t_ends = &end;
  return true;
}

}  // namespace tenon::core
