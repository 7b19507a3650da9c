// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <time.h>

#include <string>

#include "plugin_gloo/group.h"
#include "tenon/sdk/collective_reduce.h"
#include "tenon/sdk/plugin.h"

namespace tenon::gloo_engine {
namespace {

// gloo writes to sockets whose other end may be gone, and SIGPIPE would end the process. It is held
// back in this thread, and in the threads that are started meanwhile: gloo's own among them.
class SigpipeHeld {
 public:
  SigpipeHeld() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    if (!sigismember(&before_, SIGPIPE)) return;  // then none was pending
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE)) sigemptyset(&pipe_);
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

struct Engine : sdk::CollectiveEngine<Group> {
  using Scope = SigpipeHeld;
  static bool supports(int32_t operation, int32_t reduction, tn_dtype dtype,
                       std::string_view device) {
    if (device != "cpu") return false;
    const size_t bytes = size_t{dtype.bits} * dtype.lanes / 8;
    switch (operation) {
      case TN_COLLECTIVE_ALL_REDUCE:
      case TN_COLLECTIVE_REDUCE:
        return sdk::combine_of(dtype, reduction);
      case TN_COLLECTIVE_ALL_TO_ALL:
        return bytes <= 16 && (bytes & (bytes - 1)) == 0;
      case TN_COLLECTIVE_BROADCAST:
      case TN_COLLECTIVE_ALL_GATHER:
      case TN_COLLECTIVE_GATHER:
      case TN_COLLECTIVE_SCATTER:
      case TN_COLLECTIVE_BARRIER:
      case TN_COLLECTIVE_SEND:
      case TN_COLLECTIVE_RECV:
        return true;
      default:
        return false;
    }
  }
};

constexpr tn_ext_collective kCollective = sdk::collective_functions<Engine>();

tn_str describe() { return sdk::detail::text("gloo 0.5 over TCP"); }

}  // namespace
}  // namespace tenon::gloo_engine

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("gloo")
              .device("none")
              .host_memory()
              .ext(&tenon::gloo_engine::kCollective.head)
              .describe(&tenon::gloo_engine::describe));
