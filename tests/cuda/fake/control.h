// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Test controls of the fake libcudart, and the launch of emulated kernels.
#pragma once

#include <cstdint>

extern "C" {

// Enqueues work; captured work runs once per replay. The caller owns `arg`.
int tenon_fake_enqueue(void* stream, void (*run)(void*), void* arg);
// The same; calls drop(arg) after the last run.
int tenon_fake_enqueue_owned(void* stream, void (*run)(void*), void (*drop)(void*), void* arg);
// The stream goes on when is_done(arg) is true, which is asked again and again: what another thread
// or process does. It must not call the fakes.
int tenon_fake_enqueue_until(void* stream, int (*is_done)(void*), void (*drop)(void*), void* arg);

// The n-th call from now on (1: the next) fails with the code, once; 0: none does. Release
// functions release and report the code, as the real ones report errors of earlier work.
void tenon_fake_fail(int64_t nth, int code);
// The n-th work item that a stream runs fails with a sticky error.
void tenon_fake_fail_work(int64_t nth, int code);
int64_t tenon_fake_injected(void);  // failures so far

// From now on the work of all streams is put on a timeline, on which a launch and a megabyte that
// the host and a device exchange take so long: how much of it runs side by side. Work that has run
// counts.
void tenon_fake_timeline(double launch_ms, double megabyte_ms);
struct tenon_fake_times {
  double kernels_ms, copies_ms, end_ms;
};
struct tenon_fake_times tenon_fake_timeline_end(void);

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
int64_t tenon_fake_work(void);                  // work items pending in streams
int tenon_fake_device_of(const void* address);  // -1: not device memory

// For the other fakes: counts a call, which may be injected to fail; and counts their handles.
int tenon_fake_call(const char* name);
void tenon_fake_count(int what, int64_t more);

// The engines that the fake cuDNN has for every convolution from now on, in the order of its
// heuristics; none: it proposes some, but supports no plan.
struct tenon_fake_engine {
  int note;           // a cudnnBackendNumericalNote_t, or -1
  int ms;             // duration of a convolution
  int64_t workspace;  // bytes
  bool refuses;       // plans
  bool compiles;      // at run time
};
void tenon_fake_engines(const struct tenon_fake_engine* engines, int n);
int64_t tenon_fake_engine_runs(int engine);
// Whether the fake cuDNN refuses recurrent layers from now on.
void tenon_fake_refuse_rnn(int refuse);

// Resets injections, errors and counts. Live objects stay, except those of a broken device.
void tenon_fake_reset(void);
}
