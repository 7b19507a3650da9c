// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a test says to the fake libcudart, which it finds with dlsym; and what an emulated kernel is launched with.
#pragma once

#include <cstdint>

extern "C" {

// Work of the stream: runs when the stream does, once for every replay where it was captured. `arg` stays the caller's.
int tenon_fake_enqueue(void* stream, void (*run)(void*), void* arg);
// The same; drop(arg) follows the last run.
int tenon_fake_enqueue_owned(void* stream, void (*run)(void*), void (*drop)(void*), void* arg);

// The n-th call from now on (1: the next) fails with the code, once; 0: none does. What releases something does so and
// reports the code then, as the real one reports errors of earlier work.
void tenon_fake_fail(int64_t nth, int code);
// The n-th piece of work that a stream runs fails with a code which its device does not survive.
void tenon_fake_fail_work(int64_t nth, int code);
int64_t tenon_fake_injected(void);  // failures so far

// Of every device. The default is 16 GiB; memory is taken from the host when it is asked for.
void tenon_fake_capacity(uint64_t bytes);

enum {
  TENON_FAKE_MEMORY,
  TENON_FAKE_PINNED,
  TENON_FAKE_STREAMS,
  TENON_FAKE_EVENTS,
  TENON_FAKE_GRAPHS,
  TENON_FAKE_HANDLES
};
int64_t tenon_fake_alive(int what);
uint64_t tenon_fake_bytes(void);                // of device memory, alive
int64_t tenon_fake_calls(const char* name);     // of one function, null: of all
int64_t tenon_fake_work(void);                  // pieces of work that wait in streams
int tenon_fake_device_of(const void* address);  // -1: no memory of a device

// For the other fakes: a call of theirs, which may be told to fail; and handles that they give out and take back.
int tenon_fake_call(const char* name);
void tenon_fake_count(int what, int64_t more);

// The engines that the fake cuDNN has for every convolution from now on, in the order in which its heuristics propose
// them; none: it proposes some, and supports no plan.
struct tenon_fake_engine {
  int note;           // a cudnnBackendNumericalNote_t, or -1
  int ms;             // that it takes for a convolution
  int64_t workspace;  // bytes
  bool refuses;       // plans
};
void tenon_fake_engines(const struct tenon_fake_engine* engines, int n);
int64_t tenon_fake_engine_runs(int engine);
// The fake cuDNN describes no recurrent layers from now on, or does again.
void tenon_fake_refuse_rnn(int refuse);

// As new: nothing is injected, broken or counted. What is alive stays, but for what a broken device had.
void tenon_fake_reset(void);
}
