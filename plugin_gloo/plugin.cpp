// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <time.h>

#include <string>

#include "plugin_gloo/group.h"
#include "plugin_gloo/reduce.h"
#include "tenon/sdk/plugin.h"

struct tn_group : tenon::gloo_engine::Group {
  using Group::Group;
};
struct tn_work {
  std::shared_ptr<tenon::gloo_engine::Operation> op;
  tn_group* group;
};

namespace tenon::gloo_engine {
namespace {

// Kept until the process ends: a destructor would keep the library mapped.
thread_local std::string* t_text = nullptr;
std::string& error_text() {
  if (!t_text) t_text = new std::string();
  return *t_text;
}

// gloo writes to sockets whose other end may be gone, and SIGPIPE would end the process. It is held
// back in this thread, and in the threads that are started meanwhile: gloo's own among them.
class SigpipeHeld {
 public:
  SigpipeHeld() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigpending(&pending);
    if (!sigismember(&pending, SIGPIPE)) sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeHeld() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeHeld(const SigpipeHeld&) = delete;

 private:
  sigset_t pipe_, before_;
};

template <class F>
tn_status guarded(F f) {
  const SigpipeHeld held;
  try {
    return f();
  } catch (const std::bad_alloc&) {
    error_text() = "out of memory";
    return TN_ERROR_MEMORY;
  } catch (const std::exception& e) {
    error_text() = e.what();
  } catch (...) {
    error_text() = "gloo threw an unknown exception";
  }
  return TN_ERROR_BACKEND;
}

tn_status supports(void*, int32_t operation, int32_t reduction, tn_dtype dtype, tn_str device) {
  if (std::string_view(device.ptr, device.len) != "cpu") return TN_DECLINED;
  switch (operation) {
    case TN_COLLECTIVE_ALL_REDUCE:
    case TN_COLLECTIVE_REDUCE:
      return combine_of(dtype, reduction) ? TN_OK : TN_DECLINED;
    case TN_COLLECTIVE_ALL_TO_ALL:
      return item_bytes(dtype) <= 16 && (item_bytes(dtype) & (item_bytes(dtype) - 1)) == 0
                 ? TN_OK
                 : TN_DECLINED;
    case TN_COLLECTIVE_BROADCAST:
    case TN_COLLECTIVE_ALL_GATHER:
    case TN_COLLECTIVE_GATHER:
    case TN_COLLECTIVE_SCATTER:
    case TN_COLLECTIVE_BARRIER:
    case TN_COLLECTIVE_SEND:
    case TN_COLLECTIVE_RECV:
      return TN_OK;
    default:
      return TN_DECLINED;
  }
}

tn_status join(void*, const tn_group_options* options, tn_group** out) {
  return guarded([&] {
    *out = new tn_group(*options);
    return TN_OK;
  });
}

void leave(void*, tn_group* group) { delete group; }

tn_status start(void*, tn_group* group, const tn_collective_call* call, tn_work** out) {
  return guarded([&] {
    *out = new tn_work{group->start(*call), group};
    return TN_OK;
  });
}

tn_status wait(void*, tn_work* work, int64_t ms, int32_t* done) {
  return guarded([&]() -> tn_status {
    *done = work->op->wait(ms);
    if (!*done || work->op->fault.empty()) return TN_OK;
    error_text() = work->op->fault;
    return TN_ERROR_BACKEND;
  });
}

int32_t source(void*, tn_work* work) { return work->op->source; }

void release(void*, tn_work* work) {
  if (!work->op->wait(0)) {
    work->group->abort();
    work->op->wait(INT64_MAX);
  }
  if (work->op->thread.joinable()) work->op->thread.join();
  delete work;
}

void abort(void*, tn_group* group) { group->abort(); }
tn_str last_error(void*) { return {error_text().data(), error_text().size()}; }

constexpr tn_ext_collective kCollective = {
    {sizeof(tn_ext_collective), TN_EXT_COLLECTIVE, 0, nullptr},
    nullptr,
    supports,
    join,
    leave,
    start,
    wait,
    source,
    release,
    abort,
    last_error};

tn_str describe() { return sdk::detail::text("gloo 0.5 over TCP"); }

}  // namespace
}  // namespace tenon::gloo_engine

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("gloo")
              .device("none")
              .host_memory()
              .ext(&tenon::gloo_engine::kCollective.head)
              .describe(&tenon::gloo_engine::describe));
