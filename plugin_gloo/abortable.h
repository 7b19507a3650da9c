// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A context of gloo whose waits can be ended. gloo tells a failed connection to those that wait for
// what it brings, not to those that wait until it has sent: they wait for their timeout.
#pragma once

#include <gloo/rendezvous/context.h>

#include <memory>

namespace tenon::gloo_engine {

class Waits;

class AbortableContext : public gloo::rendezvous::Context {
 public:
  AbortableContext(int rank, int size);
  void connect(gloo::rendezvous::Store& store, std::shared_ptr<gloo::transport::Device>& device);
  // Closes all connections: who waits, now or later, gets gloo::IoException.
  void abort();

 private:
  std::shared_ptr<Waits> waits_;
};

}  // namespace tenon::gloo_engine
